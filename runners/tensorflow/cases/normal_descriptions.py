"""tf.compat.v1.distributions.Normal: how it describes itself, the names of its operations, and the gradients of its
statistics."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def described(trial: Trial) -> None:
    """Location and scale of two shapes are one batch of scalars. The parameters are kept as they were given, each has
    the shape of a sample that is asked for, and each statistic has the shape of the batch."""
    loc, scale = trial.random(2, 1, seed=1), trial.random(3, seed=2, low=0.5, high=2.0)
    given = {"loc": trial.tensor(loc), "scale": trial.tensor(scale), "validate_args": True, "allow_nan_stats": False}
    made = trial.call(**given)
    kept = made.parameters
    trial.check(all(kept[key] is value for key, value in given.items()), f"the parameters are {kept}")
    trial.equal((made.event_shape.as_list(), made.batch_shape.as_list()), ([], [2, 3]))
    trial.close(made.event_shape_tensor(), np.zeros([0]), dtype="int32")
    trial.close(made.batch_shape_tensor(), [2, 3], dtype="int32")
    trial.equal((trial.numpy(made.is_scalar_event()), trial.numpy(made.is_scalar_batch())), (True, False))
    shapes = made.param_shapes([4, 5])
    trial.equal(sorted(shapes), ["loc", "scale"])
    for shape in shapes.values():
        trial.close(shape, [4, 5], dtype="int32")
    static = made.param_static_shapes([4, 5])
    trial.equal({name: shape.as_list() for name, shape in static.items()}, {"loc": [4, 5], "scale": [4, 5]})
    wide = np.broadcast_to(scale.astype("float64"), [2, 3])
    expected = {"mean": loc + 0 * wide, "mode": loc + 0 * wide, "stddev": wide, "variance": wide**2}
    for name, wanted in {**expected, "entropy": 0.5 * np.log(2 * np.pi * np.e) + np.log(wide)}.items():
        found = getattr(made, name)()
        trial.equal(found.shape.as_list(), [2, 3])
        trial.close(found, wanted, 1e-5, 1e-6, dtype="float32")
    for shape in ([0], [0, 4], [3, 0]):
        trial.equal(made.sample(shape).shape.as_list(), [*shape, 2, 3])


def named_in_graph(trial: Trial) -> None:
    """In a graph all operations of a method have the names of the distribution and of the call, or of the method if
    the call has none; a second distribution of the same name is numbered."""

    def body(normal: Callable[..., Any]) -> Any:
        with building(trial) as graph, tf.name_scope("part"):
            made, other = (normal(1.0, 2.0, name="errors") for _ in range(2))
            return graph, made, other, made.log_prob(1.0, name="own"), made.cdf(1.0), other.stddev(name="own")

    graph, made, other, *found = trial.call_inside(body)
    trial.equal([each.name.rstrip("/") for each in (made, other)], ["part/errors", "part/errors_1"])
    for tensor, name in zip(found, ("part/errors/own", "part/errors/cdf", "part/errors_1/own")):
        trial.check(tensor.op.name.startswith(name + "/"), f"the result is named {tensor.op.name}, expected {name}")
    with v1.Session(graph=graph) as session:
        for value, expected in zip(session.run(found), (-np.log(2) - 0.5 * np.log(2 * np.pi), 0.5, 2.0)):
            close(trial, value, expected, "float32")


def survival_named_in_graph(
    trial: Trial, kind: str = "Normal", method: str = "survival_function", expected: float = 0.5
) -> None:
    """In a graph the operations of the method have the names of the distribution and of the call."""
    with building(trial) as graph:
        made = getattr(v1.distributions, kind)(1.0, 2.0, name="errors")

    def body(survival_function: Callable[..., Any]) -> Any:
        with building(trial, graph):
            return [survival_function(made, 1.0, name="own"), survival_function(made, 1.0)]

    trial.repeatable = False
    found = trial.call_inside(body)
    for tensor, name in zip(found, ("errors/own/", f"errors/{method}/")):
        trial.check(tensor.op.name.startswith(name), f"the result is named {tensor.op.name}, expected {name}")
    with v1.Session(graph=graph) as session:
        for value in session.run(found):
            close(trial, value, expected, "float32")


def gradients_of_statistics(trial: Trial, dtype: str) -> None:
    """Statistics of one distribution, and of how it differs from another, have the gradients of their formulas by the
    parameters of both."""
    hosts = [
        trial.random(2, 3, dtype=dtype, seed=seed, low=low, high=2.0) for seed, low in enumerate((-2, 0.5, -2, 0.5))
    ]
    shares = trial.random(2, 3, dtype=dtype, seed=5, low=0.1, high=0.9)
    given, share = [trial.tensor(host) for host in hosts], trial.tensor(shares)
    calls: Mapping[str, Callable[[Any, Any], Any]] = {
        "stddev": lambda one, other: one.stddev(),
        "variance": lambda one, other: one.variance(),
        "entropy": lambda one, other: one.entropy(),
        "quantile": lambda one, other: one.quantile(share),
        "divergence": lambda one, other: one.kl_divergence(other),
        "cross entropy": lambda one, other: one.cross_entropy(other),
    }

    def body(normal: Callable[..., Any]) -> Any:
        found = {}
        for name, call in calls.items():
            with tf.GradientTape() as tape:
                tape.watch(given)
                value = call(normal(*given[:2]), normal(*given[2:]))
            found[name] = [value, *tape.gradient(value, given, unconnected_gradients="zero")]
        return found

    loc, scale, to, wide = (host.astype("float64") for host in hosts)
    none, one, z = np.zeros([2, 3]), np.ones([2, 3]), special.ndtri(shares.astype("float64"))
    entropy, square = 0.5 * np.log(2 * np.pi * np.e) + np.log(scale), scale**2 + (loc - to) ** 2
    apart, by_wide = (loc - to) / wide**2, 1 / wide - square / wide**3
    divergence = np.log(wide / scale) + square / (2 * wide**2) - 0.5
    expected = {
        "stddev": (scale, none, one, none, none),
        "variance": (scale**2, none, 2 * scale, none, none),
        "entropy": (entropy, none, 1 / scale, none, none),
        "quantile": (loc + scale * z, one, z, none, none),
        "divergence": (divergence, apart, scale / wide**2 - 1 / scale, -apart, by_wide),
        "cross entropy": (entropy + divergence, apart, scale / wide**2, -apart, by_wide),
    }
    rtol, atol = {"float32": (1e-4, 1e-5), "float64": (1e-10, 1e-11)}[dtype]
    for name, row in trial.call_inside(body).items():
        for found, wanted in zip(row, expected[name]):
            trial.close(found, wanted, rtol, atol, dtype=dtype)


def own_shapes(trial: Trial) -> None:
    """Each call returns a dictionary of its own, and a class that is derived from this one says itself which parameters
    it has, as ``_param_shapes``."""

    class Longer(v1.distributions.Normal):
        @staticmethod
        def _param_shapes(sample_shape: Any) -> Any:
            return {"own": tf.concat([sample_shape, [2]], 0)}

    def body(param_shapes: Callable[..., Any]) -> Any:
        first = param_shapes([4, 5])
        first.clear()
        of_class = getattr(param_shapes, "__func__", None)
        return first, param_shapes([4, 5]), Longer.param_shapes([3]) if of_class is None else of_class(Longer, [3])

    first, second, longer = trial.call_inside(body)
    trial.equal((first, sorted(second), sorted(longer)), ({}, ["loc", "scale"], ["own"]))
    trial.close(second["scale"], [4, 5], dtype="int32")
    trial.close(longer["own"], [3, 2], dtype="int32")
