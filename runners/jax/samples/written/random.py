"""jax.random: the same draws as the CPU's for the same key, and the distribution of 4,000 draws of a fixed key.

Draws are a function of the key, so a right implementation gives the same verdict each time. For another key, a
Kolmogorov-Smirnov test (of discrete values: a chi-squared test) and one of independence would each raise a false alarm
with a probability of 1e-6.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.distribution import FALSE_ALARM, check_independent
from runners.core.testing.written import Call

_DRAWS = 4000
_SEED = np.uint32(7)

_CONTINUOUS: Any = {
    "beta": ((2.0, 3.0), ("beta", 2, 3)),
    "cauchy": ((), ("cauchy",)),
    "chisquare": ((3.0,), ("chi2", 3)),
    "double_sided_maxwell": ((0.0, 1.0), None),
    "exponential": ((), ("expon",)),
    "f": ((4.0, 6.0), ("f", 4, 6)),
    "gamma": ((2.5,), ("gamma", 2.5)),
    "generalized_normal": ((1.5,), ("gennorm", 1.5)),
    "gumbel": ((), ("gumbel_r",)),
    "laplace": ((), ("laplace",)),
    "loggamma": ((2.5,), ("loggamma", 2.5)),
    "logistic": ((), ("logistic",)),
    "lognormal": ((0.5,), ("lognorm", 0.5)),
    "maxwell": ((), ("maxwell",)),
    "normal": ((), ("norm",)),
    "pareto": ((3.0,), ("pareto", 3)),
    "rayleigh": ((2.0,), ("rayleigh", 0, 2)),
    "t": ((4.0,), ("t", 4)),
    "triangular": ((-1.0, 0.0, 2.0), ("triang", 1 / 3, -1, 3)),
    "truncated_normal": ((-1.0, 2.0), ("truncnorm", -1, 2)),
    "uniform": ((), ("uniform",)),
    "wald": ((1.5,), ("invgauss", 1.5)),
    "weibull_min": ((2.0, 1.5), ("weibull_min", 1.5, 0, 2)),
}
"""Parameters, and the distribution in SciPy."""

_DISCRETE: Any = {
    "bernoulli": ((0.3,), ("bernoulli", 0.3)),
    "binomial": ((6.0, 0.4), ("binom", 6, 0.4)),
    "geometric": ((0.4,), ("geom", 0.4)),
    "poisson": ((3.0,), ("poisson", 3)),
    "rademacher": ((), None),
}


def table(call: Call) -> None:
    for name, (parameters, law) in _CONTINUOUS.items():
        call(f"jax.random.{name}", _drawn(name, parameters, 100), _SEED)
        if law:
            call(f"jax.random.{name}", _tested(name, parameters, law), _SEED, variant="law", expect=[True, True, True])
    for name, (parameters, law) in _DISCRETE.items():
        call(f"jax.random.{name}", _drawn(name, parameters, 100), _SEED)
        if law:
            call(f"jax.random.{name}", _counted(name, parameters, law), _SEED, variant="law", expect=[True, True, True])
    _several(call)
    _keys(call)


def _key(seed: Any) -> Any:
    return jax.random.key(seed)


def _drawn(name: str, parameters: Any, *shape: int) -> Any:
    def body(f: Any, seed: Any) -> Any:
        return f(_key(seed), *parameters, shape=shape)

    return body


def _tested(name: str, parameters: Any, law: Any) -> Any:
    """A body that gives whether draws have the law, the shape, and are the same for the same key."""
    draw = _drawn(name, parameters, _DRAWS)

    def body(f: Any, seed: Any) -> Any:
        from scipy import stats

        draws = np.asarray(draw(f, seed))
        kind, *arguments = law
        fits = stats.kstest(draws.astype("float64"), kind, args=tuple(arguments)).pvalue > FALSE_ALARM
        check_independent((getattr(stats, kind)(*arguments).cdf(draws) - 0.5) * 12**0.5)
        return [bool(fits), draws.shape == (_DRAWS,), bool((np.asarray(draw(f, seed)) == draws).all())]

    return body


def _counted(name: str, parameters: Any, law: Any) -> Any:
    draw = _drawn(name, parameters, _DRAWS)

    def body(f: Any, seed: Any) -> Any:
        from scipy import stats

        draws = np.asarray(draw(f, seed)).astype(int)
        kind, *arguments = law
        values = np.arange(draws.max() + 1)
        expected = getattr(stats, kind)(*arguments).pmf(values) * _DRAWS
        often = expected > 5
        counts = np.bincount(draws, minlength=len(values))
        rest = [(_DRAWS - counts[often].sum(), _DRAWS - expected[often].sum())]
        pairs = [*zip(counts[often], expected[often]), *(each for each in rest if each[1] > 5)]
        statistic = sum((found - wanted) ** 2 / wanted for found, wanted in pairs)
        fits = stats.chi2.sf(statistic, max(1, len(pairs) - 1)) > FALSE_ALARM
        return [bool(fits), draws.shape == (_DRAWS,), bool((np.asarray(draw(f, seed)) == draws).all())]

    return body


def _several(call: Call) -> None:
    mean, matrix = np.array([1.0, -1.0], "float32"), np.array([[2.0, 0.5], [0.5, 1.0]], "float32")
    rows = np.arange(24, dtype="float32").reshape(12, 2)
    for name, body in (
        ("ball", lambda f, s: f(_key(s), 3, shape=(50,))),
        ("bits", lambda f, s: f(_key(s), (100,))),
        ("categorical", lambda f, s: f(_key(s), jax.numpy.log(jax.numpy.array([0.2, 0.3, 0.5])), shape=(100,))),
        ("choice", lambda f, s: f(_key(s), 9, (5,), replace=False)),
        ("dirichlet", lambda f, s: f(_key(s), jax.numpy.array([1.0, 2.0, 3.0]), (20,))),
        ("multinomial", lambda f, s: f(_key(s), 9.0, jax.numpy.array([0.2, 0.3, 0.5]), shape=(20, 3))),
        ("orthogonal", lambda f, s: f(_key(s), 3)),
        ("randint", lambda f, s: f(_key(s), (100,), 3, 9)),
        ("permutation", lambda f, s: f(_key(s), 10)),
        ("split", lambda f, s: jax.random.key_data(f(_key(s), 3))),
        ("fold_in", lambda f, s: jax.random.key_data(f(_key(s), 3))),
    ):
        call(f"jax.random.{name}", body, _SEED)
    call("jax.random.multivariate_normal", lambda f, s, m, c: f(_key(s), m, c, (20,)), _SEED, mean, matrix)
    law = {"variant": "law", "expect": True}
    call("jax.random.ball", lambda f, s: bool((abs(f(_key(s), 3, shape=(50,))) <= 1).all()), _SEED, **law)
    call(
        "jax.random.choice",
        lambda f, s: len(set(np.asarray(f(_key(s), 9, (9,), replace=False)).tolist())) == 9,
        _SEED,
        **law,
    )
    call(
        "jax.random.dirichlet",
        lambda f, s: f(_key(s), jax.numpy.array([1.0, 2.0]), (20,)).sum(1),
        _SEED,
        variant="law",
        expect=np.ones(20),
    )
    call(
        "jax.random.multinomial",
        lambda f, s: f(_key(s), 9.0, jax.numpy.array([0.4, 0.6]), shape=(20, 2)).sum(1),
        _SEED,
        variant="law",
        expect=np.full(20, 9.0),
    )
    call("jax.random.orthogonal", lambda f, s: _gram(f(_key(s), 3)), _SEED, variant="law", expect=np.eye(3))
    call(
        "jax.random.permutation",
        lambda f, s, x: jax.numpy.sort(f(_key(s), x), 0),
        _SEED,
        rows,
        variant="law",
        expect=lambda s, x: x,
    )
    call("jax.random.randint", lambda f, s: _range(f(_key(s), (1000,), 3, 9)), _SEED, variant="law", expect=[3, 8])
    call("jax.random.rademacher", lambda f, s: _range(f(_key(s), (1000,))), _SEED, variant="law", expect=[-1, 1])
    call(
        "jax.random.bits",
        lambda f, s: abs(int(jax.lax.population_count(f(_key(s), (1000,))).sum()) - 16000) < 5 * 8000**0.5,
        _SEED,
        **law,
    )
    shares = np.array([0.2, 0.3, 0.5], "float32")
    call(
        "jax.random.categorical",
        lambda f, s, p: _shares(f(_key(s), jax.numpy.log(p), shape=(4000,)), p),
        _SEED,
        shares,
        **law,
    )
    call("jax.random.multivariate_normal", _covariance, _SEED, mean, matrix, **law)


def _gram(matrix: Any) -> Any:
    return matrix.T @ matrix


def _range(draws: Any) -> Any:
    return [int(draws.min()), int(draws.max())]


def _shares(draws: Any, shares: Any) -> bool:
    """Whether each share lies within five standard errors."""
    found = np.bincount(np.asarray(draws), minlength=3) / 4000
    wanted = np.asarray(shares)
    return bool((abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 4000)).all())


def _covariance(f: Any, seed: Any, mean: Any, matrix: Any) -> bool:
    """Whether covariances of 4,000 draws differ by less than 0.2, five standard errors of the largest."""
    found = np.cov(np.asarray(f(_key(seed), mean, matrix, (4000,))).T)
    return bool((abs(found - np.asarray(matrix)) < 5 * 2 * np.sqrt(2 / 4000)).all())


def _keys(call: Call) -> None:
    data = jax.random.key_data
    call("jax.random.key", lambda f, s: data(f(s)), _SEED, expect=np.array([0, 7]))
    call("jax.random.PRNGKey", lambda f, s: f(s), _SEED, expect=np.array([0, 7]))
    call("jax.random.key_data", lambda f, s: f(_key(s)), _SEED, expect=np.array([0, 7]))
    call("jax.random.wrap_key_data", lambda f, s: data(f(jax.numpy.stack([0 * s, s]))), _SEED, expect=np.array([0, 7]))
    call("jax.random.clone", lambda f, s: data(f(_key(s))), _SEED, expect=np.array([0, 7]))
    call("jax.random.key_impl", lambda f, s: str(f(_key(s))) == "threefry2x32", _SEED, expect=True)
    call("jax.random.key_dtype", lambda f: jax.numpy.issubdtype(f("threefry2x32"), jax.dtypes.prng_key), expect=True)
    call(
        "jax.random.split",
        lambda f, s: len({tuple(each) for each in np.asarray(data(f(_key(s), 100))).tolist()}),
        _SEED,
        variant="law",
        expect=100,
    )
    call(
        "jax.random.fold_in",
        lambda f, s: bool((data(f(_key(s), 1)) != data(f(_key(s), 2))).any()),
        _SEED,
        variant="law",
        expect=True,
    )
    generator = "jax.lax.rng_bit_generator"
    call(generator, lambda f: f(jax.numpy.arange(4, dtype="uint32"), (5,))[1].shape[0], expect=5)
    call("jax.lax.rng_uniform", lambda f: bool(((d := f(0.0, 1.0, (100,))) >= 0).all() and (d < 1).all()), expect=True)
