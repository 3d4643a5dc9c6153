"""tf.compat.v1.distributions.Normal: names of all methods in a graph, copies with other parameters, comparisons with
another distribution, and seeds of samples."""

from __future__ import annotations

import itertools
import re
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf
from scipy import special, stats

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.distributions import NORMAL_METHODS, to_float64
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1
_LOC, _SCALE, _AT = 1.0, 2.0, 0.3
_METHODS: Mapping[str, tuple[list[float], Any]] = {
    "prob": ([_AT], stats.norm.pdf(_AT, _LOC, _SCALE)),
    "log_prob": ([_AT], stats.norm.logpdf(_AT, _LOC, _SCALE)),
    "cdf": ([_AT], stats.norm.cdf(_AT, _LOC, _SCALE)),
    "log_cdf": ([_AT], stats.norm.logcdf(_AT, _LOC, _SCALE)),
    "survival_function": ([_AT], stats.norm.sf(_AT, _LOC, _SCALE)),
    "log_survival_function": ([_AT], stats.norm.logsf(_AT, _LOC, _SCALE)),
    "quantile": ([_AT], stats.norm.ppf(_AT, _LOC, _SCALE)),
    "mean": ([], _LOC),
    "mode": ([], _LOC),
    "stddev": ([], _SCALE),
    "variance": ([], _SCALE**2),
    "entropy": ([], stats.norm.entropy(_LOC, _SCALE)),
    "sample": ([], None),
    "batch_shape_tensor": ([], np.zeros(0)),
    "event_shape_tensor": ([], np.zeros(0)),
    "is_scalar_batch": ([], True),
    "is_scalar_event": ([], True),
}


def named(trial: Trial) -> None:
    """In a graph each method's operations have the given name, or the method's, inside of the distribution's; the name
    changes no value."""

    def body(normal: Callable[..., Any]) -> Any:
        with building(trial) as graph, tf.name_scope("part"):
            made = normal(_LOC, _SCALE, name="errors")
            found = {}
            for method, (given, _) in _METHODS.items():
                call = getattr(made, method)
                found[method] = call(*given, name=f"own_{method}"), call(*given)
            return graph, found

    graph, found = trial.call_inside(body)
    # Shapes that are known need no operation of their own.
    shapes = ("batch_shape_tensor", "event_shape_tensor", "is_scalar_batch", "is_scalar_event")
    for method, (own, plain) in found.items():
        for tensor, name in ((own, f"own_{method}"), (plain, method)):
            # Other methods may have used the method's own name already.
            pattern = f"part/errors/{name}" + (r"(_\d+)?" if name == method else "") + "(/.*)?"
            path = tensor.op.name
            trial.check(re.fullmatch(pattern, path), f"a result of {method} is named {path}, expected {pattern}")
    with v1.Session(graph=graph) as session:
        for method, values in session.run(found).items():
            expected = _METHODS[method][1]
            for value in values if expected is not None else ():
                if method in shapes:
                    trial.equal(np.asarray(value).tolist(), np.asarray(expected).tolist())
                else:
                    close(trial, value, expected, "float32", 1e-5, 1e-6)


def copied(trial: Trial) -> None:
    """A copy has the parameters of its distribution, except those that are given again, and changes nothing of it."""
    made = trial.call(_LOC, _SCALE, name="errors", allow_nan_stats=False)
    changes: list[dict[str, Any]] = [
        {},
        {"loc": -3.0},
        {"scale": 0.5},
        {"loc": -3.0, "scale": 0.5},
        {"validate_args": True},
        {"allow_nan_stats": True},
        {"name": "others"},
    ]
    kept = {"loc": _LOC, "scale": _SCALE, "validate_args": False, "allow_nan_stats": False, "name": "errors"}
    for change in changes:
        expected = {**kept, **change}
        other = made.copy(**change)
        trial.check(other is not made, "the copy is the distribution itself")
        for each, wanted in ((other, expected), (made, kept)):
            trial.equal(
                (each.validate_args, each.allow_nan_stats), (wanted["validate_args"], wanted["allow_nan_stats"])
            )
            trial.close(each.mean(), wanted["loc"], dtype="float32")
            trial.close(each.stddev(), wanted["scale"], dtype="float32")
            trial.equal({key: value for key, value in each.parameters.items() if key in kept}, wanted)
            trial.equal(
                (each.dtype, each.reparameterization_type), (tf.float32, v1.distributions.FULLY_REPARAMETERIZED)
            )
    negative = made.copy(scale=-1.0)
    trial.close(negative.scale, -1.0, dtype="float32")
    trial.raises_inside(["InvalidArgumentError"], "", lambda function: negative.copy(validate_args=True).sample())


def compared(trial: Trial, dtype: str) -> None:
    """Divergence and cross entropy from one distribution to another have their closed forms, in each direction, and
    broadcast; the divergence from itself is zero, and the cross entropy then the entropy."""
    loc, other_loc = trial.random(3, 1, dtype=dtype, seed=1), trial.random(4, dtype=dtype, seed=2)
    scale = trial.random(4, dtype=dtype, seed=3, low=0.5, high=2.0)
    other_scale = trial.random(3, 1, dtype=dtype, seed=4, low=0.5, high=2.0)
    one = trial.call(trial.tensor(loc), trial.tensor(scale))
    other = trial.call(trial.tensor(other_loc), trial.tensor(other_scale))
    rounded = 1e-5 if dtype == "float32" else 1e-12

    def divergence(a: Any, s: Any, b: Any, t: Any) -> Any:
        a, s, b, t = (each.astype("float64") for each in (a, s, b, t))
        return np.log(t / s) + (s**2 + (a - b) ** 2) / (2 * t**2) - 0.5

    first, second = (loc, scale), (other_loc, other_scale)
    for left, right, p, q in ((one, other, first, second), (other, one, second, first), (one, one, first, first)):
        expected = divergence(*p, *q)
        entropy = 0.5 * np.log(2 * np.pi * np.e * p[1].astype("float64") ** 2)
        trial.close(left.kl_divergence(right), expected, rounded, rounded, dtype=dtype)
        trial.close(left.cross_entropy(right), expected + entropy, rounded, rounded, dtype=dtype)


def seeds_of_samples(trial: Trial) -> None:
    """Each seed of a sample, also 0, gives draws of its own, which are repeated when the general seed is set again; it
    takes no seed from the general stream, a sample without one takes one."""
    seeds = [None, 0, 1, 2, 7, -1]
    made = trial.call(trial.tensor(np.asarray([0.0, 1.0], "float32")), 2.0)
    rows, left = [], []
    for _ in range(2):
        row = []
        for seed in seeds:
            tf.random.set_seed(29)
            row.append(trial.numpy(made.sample([40], seed=seed)))
            left.append(v1.get_seed(None))
        rows.append(row)
    trial.equal(rows[1], rows[0])
    for number, draws in enumerate(rows[0]):
        for other in rows[0][:number]:
            trial.check((draws != other).mean() > 0.99, "two seeds gave the same draws")
    tf.random.set_seed(29)
    unused, after_one = v1.get_seed(None), v1.get_seed(None)
    for found, seed in zip(left, seeds * 2):
        trial.equal(found, after_one if seed is None else unused)


def of_all_sizes(trial: Trial, dtype: str) -> None:
    """Each method broadcasts parameters and values of many axes and of long ones, at large, small and usual scales; the
    quantile is the inverse of the distribution function."""
    bound = {"float32": 2e-4, "float64": 1e-10}[dtype]
    shapes = [
        ([], [], [300, 2]),
        ([2], [300, 1], [300, 2]),
        ([3, 1], [], [2, 3, 270]),
        ([2, 1, 1, 3], [2, 1], [2, 2, 2, 3]),
    ]
    for size, (loc_shape, scale_shape, x_shape) in [
        *zip(itertools.repeat(1.0), shapes[1:]),
        (1e15, shapes[0]),
        (1e-15, shapes[0]),
    ]:
        loc = trial.random(*loc_shape, dtype=dtype, seed=1, low=-2.0, high=2.0) * np.asarray(size, dtype)
        scale = trial.random(*scale_shape, dtype=dtype, seed=2, low=0.5, high=2.0) * np.asarray(size, dtype)
        z = trial.random(*x_shape, dtype=dtype, seed=3, low=-3.0, high=3.0)
        x = (loc + z * scale).astype(dtype)
        made = trial.make(trial.tensor(loc), trial.tensor(scale))
        wide = [to_float64(each) for each in (x, loc, scale)]
        for method, reference in NORMAL_METHODS.items():
            found = trial.call_method(made, method, trial.tensor(x))
            trial.close(found, reference(*wide), bound, bound, dtype=dtype)
        shares = trial.random(*x_shape, dtype=dtype, seed=4, low=0.01, high=0.99)
        expected = wide[1] + wide[2] * special.ndtri(to_float64(shares))
        trial.close(
            trial.call_method(made, "quantile", trial.tensor(shares)), expected, bound, bound * size, dtype=dtype
        )
