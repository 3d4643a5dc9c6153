"""Several calls in one process, of the same tensors with other values of one argument.

What one call keeps, such as a kernel or a program that was made for its shape, must fit the next call too.
"""

from __future__ import annotations

import gc
import itertools
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing import references
from runners.core.testing.cases import case as find_case
from runners.core.testing.trial import Trial

Sizes = Sequence[int]
Call = Mapping[str, Any]


def options(
    trial: Trial,
    reference: str,
    calls: Sequence[Call],
    shape: Sizes | None = None,
    dtype: str = "float32",
    pieces: int = 0,
    library: str = "numpy",
    as_tensors: bool = False,
) -> None:
    """Each call has the output of its own arguments, whatever was called before with the same tensors; the first call
    is made once more at the end.

    ``shape`` is that of the first argument, or of each of ``pieces`` in a list. With ``as_tensors`` the arguments of
    the calls are tensors too."""
    count = 0 if shape is None else pieces or 1
    hosts = [trial.random(*(shape or ()), dtype=dtype, seed=1 + number) for number in range(count)]
    tensors: list[Any] = [trial.tensor(host) for host in hosts]
    given: list[Any] = [hosts] if pieces else [*hosts]
    compute = references.find(library, reference)
    for call in [*calls, calls[0]]:
        args, kwargs, kind = call.get("args", []), call.get("kwargs", {}), call.get("dtype", dtype)
        expected = np.asarray(
            compute(*given, *call.get("reference_args", args), **call.get("reference_kwargs", kwargs))
        )
        if as_tensors:
            args = [trial.tensor(np.asarray(arg), "float32" if isinstance(arg, float) else "int32") for arg in args]
        output = trial.call(*([tensors] if pieces else tensors), *args, **kwargs)
        trial.close(output, expected != 0 if kind == "bool" else expected, dtype=kind)


def inputs(trial: Trial, reference: str, calls: Sequence[Call], library: str = "numpy", listed: bool = False) -> None:
    """Each call has the output of its own tensors, whatever was called before with others; the first call is made once
    more at the end, with other values. Neither outputs nor tensors are changed by a later call.

    A call has the ``shapes`` and ``dtypes`` of its tensors, ``low`` and ``high`` of their values, and may have the
    ``dtype`` of its output. With ``listed`` the function gets the tensors in a list."""
    compute = references.find(library, reference)
    kept: list[Any] = []
    for number, call in enumerate([*calls, calls[0]]):
        dtypes = call.get("dtypes") or ["float32"] * len(call["shapes"])
        tensors: list[Any] = []
        for place, (shape, dtype) in enumerate(zip(call["shapes"], dtypes)):
            limits = {key: call[key] for key in ("low", "high") if key in call}
            host = trial.random(*shape, dtype=dtype, seed=10 * number + place, **limits)
            tensors.append(trial.tensor(host, dtype))
        hosts = [np.array(trial.numpy(tensor)) for tensor in tensors]
        wide = [host.astype("float64") if host.dtype.kind == "f" or dtype == "bfloat16" else host for host in hosts]
        args, kwargs = call.get("args", []), call.get("kwargs", {})
        output = trial.call(*([tensors] if listed else tensors), *args, **kwargs)
        others = call.get("reference_args", args), call.get("reference_kwargs", kwargs)
        expected = np.asarray(compute(*([wide] if listed else wide), *others[0], **others[1]))
        kept.append((output, expected, call.get("dtype", dtypes[0]), tensors, hosts))
    for output, expected, dtype, tensors, hosts in kept:
        trial.close(output, expected, dtype=dtype)
        trial.equal(tensors, hosts)


def values(trial: Trial, tensors: Sequence[Any], calls: Sequence[Call], dtype: str = "float32") -> None:
    """Calls with the same tensors have the values of their own arguments: also those without options that the calls
    before had."""
    made = [trial.tensor(np.asarray(each, dtype)) for each in tensors]
    for call in [*calls, calls[0]]:
        output = trial.call(*made, *call.get("args", []), **call.get("kwargs", {}))
        trial.close(output, np.asarray(call["value"]), dtype=dtype)


def in_turn(trial: Trial, topic: str, case: str, each: Sequence[Call]) -> None:
    """Each call has the output of its own arguments, whatever was called before: another case of a ``topic`` is run
    with each set of parameters in turn, and with the first one again."""
    check = find_case(f"tensorflow.{topic}:{case}")
    for params in [*each, each[0]]:
        check(trial, **params)


def contexts(trial: Trial, batches: Sizes, replicas: Sizes) -> None:
    """Each context divides a batch by its own number of replicas, whichever was asked before, and so does a context
    that replaces another one."""
    kept = [tf.distribute.InputContext(2, number % 2, count) for number, count in enumerate(replicas)]
    for order in (1, -1):
        for batch in batches:
            for context, count in list(zip(kept, replicas))[::order]:
                trial.equal(trial.call(context, batch), batch // count)
            for count in replicas[::order]:
                trial.equal(trial.call(tf.distribute.InputContext(num_replicas_in_sync=count), batch), batch // count)
    uneven = tf.distribute.InputContext(num_replicas_in_sync=batches[0] - 1)
    trial.raises(["ValueError"], "divisible", uneven, batches[0])


def host_functions(trial: Trial) -> None:
    """Each call runs its own Python function and has its own dtype of output, though functions, names and shapes of the
    inputs look alike; a function that is deleted is not called any more."""
    host = trial.random(2, 3, dtype="float64", seed=1)
    value = trial.tensor(host)

    def scaling(factor: float, dtype: str) -> Callable[[Any], Any]:
        return lambda values: (values * factor).astype(dtype)

    steps = [(2.0, "float64"), (-4.0, "float64"), (8.0, "float32"), (0.5, "float64")]
    for factor, dtype in steps:
        output = trial.call(scaling(factor, dtype), [value], trial.dtype(dtype), name="scaled")
        trial.close(output, host * factor, dtype=dtype)
        gc.collect()

    def body(numpy_function: Callable[..., Any]) -> Any:
        made = [(scaling(factor, dtype), trial.dtype(dtype)) for factor, dtype in steps]
        programs = [tf.function(lambda x: [numpy_function(call, [x], kind) for call, kind in made])]
        for call, kind in made:
            programs.append(tf.function(lambda x, call=call, kind=kind: [numpy_function(call, [x], kind)]))
        return [output for program in programs for output in program(value)]

    for output, (factor, dtype) in zip(trial.call_inside(body), steps * 2):
        trial.close(output, host * factor, dtype=dtype)


def variables_of_one_name(trial: Trial) -> None:
    """Variables of one name, shape and dtype hold their own values and keep them when another is created, updated or
    deleted; a callable is called for each; other options and another dtype are those of the last call."""
    hosts = [trial.random(2, 3, seed=number) for number in range(4)]
    kept = [trial.call(trial.tensor(host), name="weights") for host in hosts[:3]]
    kept[1].assign_add(tf.ones_like(kept[1]))
    del kept[2]
    gc.collect()
    kept.append(trial.call(lambda: trial.tensor(hosts[3]), name="weights", trainable=False))
    for variable, expected in zip(kept, (hosts[0], hosts[1] + np.float32(1), hosts[3])):
        trial.exact(variable, expected, "float32")
    trial.equal([variable.trainable for variable in kept], [True, True, False])
    drawn = itertools.cycle(hosts)
    calls = [trial.call(lambda: trial.tensor(next(drawn)), name="drawn") for _ in range(2)]
    for variable, expected in zip(calls, hosts):
        trial.exact(variable, expected, "float32")
    wide = trial.call(hosts[0], dtype=tf.float64, name="weights", shape=tf.TensorShape(None))
    trial.exact(wide, hosts[0].astype("float64"), "float64")
    trial.equal([wide.shape.rank, kept[0].shape.rank], [None, 2])


def listed_again(trial: Trial) -> None:
    """Data sets of lists have the elements of their time, though the list is changed later, and are read in turn."""
    elements = [1.5, 2.5, 3.5]
    trial.repeatable = False
    first = trial.call(elements)
    elements[0] = 9.0
    second = trial.call(elements)
    elements.append(4.5)
    third = trial.call(elements)
    for made, expected in ((first, [1.5, 2.5, 3.5]), (second, [9.0, 2.5, 3.5]), (third, [9.0, 2.5, 3.5, 4.5])) * 2:
        trial.equal(trial.numpy(list(made)), [np.float32(each) for each in expected])
    pairs = trial.numpy(list(zip(first, second, third)))
    trial.equal([[float(each) for each in row] for row in pairs], [[1.5, 9.0, 9.0], [2.5] * 3, [3.5] * 3])


def shards_in_turn(trial: Trial) -> None:
    """Shards of one data set, and the data set itself, are read in turn: each has its own place."""
    source = tf.data.Dataset.range(9)

    def body(shard: Callable[..., Any]) -> Any:
        parts = [shard(source, 3, index) for index in (2, 0, 1)]
        return list(zip(source, *parts)), list(parts[0]), list(shard(parts[1], 2, 1)), list(shard(source, 2, 0))

    rows, last, inner, half = trial.numpy(trial.call_inside(body))
    trial.equal([[int(each) for each in row] for row in rows], [[0, 2, 0, 1], [1, 5, 3, 4], [2, 8, 6, 7]])
    trial.equal([int(each) for each in last], [2, 5, 8])
    trial.equal([int(each) for each in inner], [3])
    trial.equal([int(each) for each in half], [0, 2, 4, 6, 8])
