"""tf.distribute.InputContext.get_per_replica_batch_size: the batch size of each replica."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def per_replica(trial: Trial, replicas: int, sizes: Sequence[int], pipelines: int = 1) -> None:
    """The result is the whole batch divided by the number of replicas, for every input pipeline."""
    for pipeline in range(pipelines):
        context = tf.distribute.InputContext(pipelines, pipeline, replicas)
        for size in sizes:
            trial.equal(trial.call(context, size * replicas), size)


def remainders_raise(trial: Trial, replicas: int) -> None:
    """A batch that cannot be divided without a remainder raises an error."""
    context = tf.distribute.InputContext(num_replicas_in_sync=replicas)

    def body(get_per_replica_batch_size: Callable[..., Any]) -> Any:
        found: dict[int, Any] = {}
        for size in range(2 * replicas + 1):
            try:
                found[size] = get_per_replica_batch_size(context, global_batch_size=size)
            except ValueError:
                found[size] = "error"
        return found

    expected = {size: size // replicas if size % replicas == 0 else "error" for size in range(2 * replicas + 1)}
    trial.equal(trial.call_inside(body), expected)


def remainders_of_pipelines(trial: Trial) -> None:
    """Every input pipeline refuses a batch that cannot be divided, with both numbers in the message, and divides the
    next one."""

    def body(get_per_replica_batch_size: Callable[..., Any]) -> Any:
        found: list[Any] = []
        for pipeline in range(3):
            context = tf.distribute.InputContext(3, pipeline, 6)
            for size in (17, 3, 13, 12):
                try:
                    found.append(get_per_replica_batch_size(context, size))
                except ValueError as error:
                    found.append(str(size) in str(error) and "6" in str(error))
        return found

    trial.equal(trial.call_inside(body), [True, True, True, 2] * 3)


def shares_of_input(trial: Trial, size: int) -> None:
    """A strategy passes its context to the input function; batches of that size reach the replica unchanged."""
    strategy = tf.distribute.OneDeviceStrategy(trial.device)

    def body(get_per_replica_batch_size: Callable[..., Any]) -> Any:
        sizes = []

        def inputs(context: Any) -> Any:
            sizes.append(get_per_replica_batch_size(context, size))
            numbers = tf.data.Dataset.range(3 * size).shard(context.num_input_pipelines, context.input_pipeline_id)
            return numbers.batch(sizes[-1])

        batches = strategy.distribute_datasets_from_function(inputs)
        return sizes, [strategy.run(lambda batch: batch + 1, args=(batch,)) for batch in batches]

    sizes, batches = trial.call_inside(body)
    trial.equal(sizes, [size])
    trial.equal(len(batches), 3)
    for number, batch in enumerate(batches):
        trial.close(batch, np.arange(size) + 1 + number * size, dtype="int64")


def tensors(trial: Trial, dtype: str) -> None:
    """A size that is a tensor has a share that is one, of its dtype; remainders are refused."""
    for replicas in (1, 3):
        context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=replicas)
        for size in (0, 3, 96):
            found = trial.call(context, trial.tensor(np.asarray(size, dtype)))
            trial.check(tf.is_tensor(found), f"the share is {found!r}")
            trial.close(found, size // replicas, dtype=dtype)
        if replicas > 1:
            for size in (1, 100, 97):
                trial.raises(["ValueError"], "divisible", context, trial.tensor(np.asarray(size, dtype)))
