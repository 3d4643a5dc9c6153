"""Functions that change nothing but their output: settings, random numbers, and the lists that they get, stay."""

from __future__ import annotations

import copy
import functools
import gc
import os
import warnings
from typing import Any, Callable, Sequence

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS
from runners.tensorflow.process_settings import process_settings
from runners.tensorflow.seeded_draws import SeededDraws, check_same
from runners.tensorflow.uses import USES

v1 = tf.compat.v1


def _counts(graph: tf.Graph, collects: Sequence[str]) -> dict[str, int]:
    # Those whose names are no text are TensorFlow's own.
    keys = [key for key in graph.collections if isinstance(key, str) and key not in collects]
    counts = {key: len(graph.get_collection(key)) for key in keys}
    return {key: count for key, count in counts.items() if count}


def _settings(collects: Sequence[str] = ()) -> dict[str, Any]:
    graph = v1.get_default_graph()
    step = tf.summary.experimental.get_step()
    # The cases draw by themselves.
    shared = {name: value for name, value in process_settings().items() if not name.startswith("draws")}
    return {
        **shared,
        "logged placement": tf.debugging.get_log_device_placement(),
        "resource variables": v1.resource_variables_enabled(),
        "control flow": v1.control_flow_v2_enabled(),
        "tensor equality": getattr(tf.Tensor, "_USE_EQUALITY", None),
        "traceback filtering": tf.debugging.is_traceback_filtering_enabled(),
        "collections of the default graph": _counts(graph, collects),
        "seed of the default graph": graph.seed,
        "name scope": tf.get_current_name_scope(),
        "strategy": tf.distribute.has_strategy(),
        "device": tf.constant(0.0).device,
        "summary step": None if step is None else int(step),
        "recorded summaries": bool(tf.summary.should_record_summaries()),
        "level of the logger": tf.get_logger().level,
        "warnings": list(map(repr, warnings.filters)),
        "environment": dict(os.environ),
        "garbage collection": gc.isenabled(),
    }


def _check_settings(trial: Trial, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.items():
        trial.check(after[name] == value, f"{name}: {value!r} before the call, {after[name]!r} after it")


def subjects(trial: Trial, subject: str, varied: bool = True) -> None:
    """A call leaves all settings of TensorFlow, NumPy and Python as they were, and its inputs, tensors or variables."""
    topic = SUBJECTS[subject]
    hosts = topic.hosts(trial, "float32")
    tensors = [trial.tensor(host) for host in hosts]
    variables = [tf.Variable(tensor) for tensor in tensors] if varied else tensors

    def body(function: Callable[..., Any]) -> Any:
        before = _settings()
        outputs = [topic.call(function, *tensors), topic.call(function, *variables)]
        return outputs, before, _settings()

    # Settings are no outputs that a second call could give again.
    trial.repeatable = False
    outputs, before, after = trial.call_inside(body)
    _check_settings(trial, before, after)
    expected = topic.compute(*(host.astype("float64") for host in hosts))
    for output in outputs:
        trial.close(output, expected, topic.rtol, topic.rtol, dtype="float32")
    for tensor, variable, host in zip(tensors, variables, hosts):
        trial.exact(tensor, host, "float32")
        trial.exact(variable.read_value() if varied else variable, host, "float32")


def uses(trial: Trial, use: str) -> None:
    """A call leaves all settings of TensorFlow, NumPy and Python as they were, and the lists, dictionaries and arrays
    that it gets. After a seed was set, draws are the same with and without calls in between."""
    seeded, made = SeededDraws(trial), USES[use]()

    def body(function: Callable[..., Any]) -> Any:
        given, outputs, settings = copy.deepcopy(made.given), [], []

        def call(times: int) -> None:
            settings.append(_settings(made.collects))
            outputs.extend(made.call(function, given) for _ in range(times))
            settings.append(_settings(made.collects))

        found = [seeded.around(functools.partial(call, times)) for times in (0, 1, 2)]
        return given, found, outputs, settings

    trial.repeatable = False
    given, (without, *others), outputs, (before, *later) = trial.call_inside(body)
    for after in later:
        _check_settings(trial, before, after)
    for output in outputs:
        trial.equal(trial.numpy(output), made.expected)
    check_same(trial, without, others)
    trial.check(repr(given) == repr(made.given), f"the arguments were {made.given!r}, and are {given!r} after the call")
