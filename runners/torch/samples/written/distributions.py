"""torch.distributions: logarithms of densities against SciPy, moments and entropies against the CPU."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_HALF = t(4, low=0.1, high=0.9)
_REAL = t(4, seed=1)
_POSITIVE = t(4, seed=2, low=0.3, high=2.0)
_OTHER = t(4, seed=3, low=0.5, high=3.0)
_COUNTS = of(0.0, 1.0, 2.0, 5.0)


def table(call: Call) -> None:
    for name, arguments, value, expect in _UNIVARIATE:
        full = f"torch.distributions.{name}"
        call(full, _log_prob, value, *arguments, expect=_of_scipy(expect) if expect else None, gradient=True)
        call(full, _moments, *arguments, variant="moments")
    _multivariate(call)
    _composed(call)
    _related(call)
    _utilities(call)


def _of_scipy(expect: Callable[..., Any]) -> Callable[..., Any]:
    def expected(value: Any, *arguments: Any) -> Any:
        from scipy import stats

        return expect(stats, value, *arguments)

    return expected


def _log_prob(f: Any, value: torch.Tensor, *arguments: Any) -> torch.Tensor:
    return f(*arguments).log_prob(value)  # type: ignore[no-any-return]


def _moments(f: Any, *arguments: Any) -> Any:
    made = f(*arguments)
    found = [made.mean, made.variance, list(made.sample((2,)).shape)]
    try:
        return [*found, made.entropy()]
    except NotImplementedError:
        return found


_UNIVARIATE: Any = (
    ("Bernoulli", (_HALF,), of(0.0, 1.0, 1.0, 0.0), lambda s, x, p: s.bernoulli.logpmf(x, p)),
    ("Beta", (_POSITIVE, _OTHER), _HALF, lambda s, x, a, b: s.beta.logpdf(x, a, b)),
    ("Binomial", (9, _HALF), _COUNTS, lambda s, x, n, p: s.binom.logpmf(x, n, p)),
    ("Cauchy", (_REAL, _POSITIVE), _OTHER, lambda s, x, m, d: s.cauchy.logpdf(x, m, d)),
    ("Chi2", (_POSITIVE,), _OTHER, lambda s, x, d: s.chi2.logpdf(x, d)),
    ("ContinuousBernoulli", (_HALF,), _HALF.flip(0), None),
    ("Exponential", (_POSITIVE,), _OTHER, lambda s, x, r: s.expon.logpdf(x, scale=1 / r)),
    ("FisherSnedecor", (_POSITIVE + 5, _OTHER + 6), _OTHER, lambda s, x, a, b: s.f.logpdf(x, a, b)),
    ("Gamma", (_POSITIVE, _OTHER), _OTHER, lambda s, x, a, r: s.gamma.logpdf(x, a, scale=1 / r)),
    (
        "GeneralizedPareto",
        (_REAL, _POSITIVE, _HALF / 4),
        _REAL + 0.5,
        lambda s, x, m, d, c: s.genpareto.logpdf(x, c, m, d),
    ),
    ("Geometric", (_HALF,), _COUNTS, lambda s, x, p: s.geom.logpmf(x + 1, p)),
    ("Gumbel", (_REAL, _POSITIVE), _OTHER, lambda s, x, m, d: s.gumbel_r.logpdf(x, m, d)),
    ("HalfCauchy", (_POSITIVE,), _OTHER, lambda s, x, d: s.halfcauchy.logpdf(x, scale=d)),
    ("HalfNormal", (_POSITIVE,), _OTHER, lambda s, x, d: s.halfnorm.logpdf(x, scale=d)),
    ("InverseGamma", (_POSITIVE + 2, _OTHER), _OTHER, lambda s, x, a, r: s.invgamma.logpdf(x, a, scale=r)),
    ("Kumaraswamy", (_POSITIVE, _OTHER), _HALF, None),
    ("Laplace", (_REAL, _POSITIVE), _OTHER, lambda s, x, m, d: s.laplace.logpdf(x, m, d)),
    ("LogNormal", (_REAL, _POSITIVE), _OTHER, lambda s, x, m, d: s.lognorm.logpdf(x, d, scale=np.exp(m))),
    ("NegativeBinomial", (4, _HALF), _COUNTS, lambda s, x, n, p: s.nbinom.logpmf(x, n, 1 - p)),
    ("Normal", (_REAL, _POSITIVE), _OTHER, lambda s, x, m, d: s.norm.logpdf(x, m, d)),
    ("Pareto", (_HALF / 4, _POSITIVE + 2), _OTHER, lambda s, x, d, a: s.pareto.logpdf(x, a, scale=d)),
    ("Poisson", (_OTHER,), _COUNTS, lambda s, x, r: s.poisson.logpmf(x, r)),
    ("StudentT", (_OTHER + 3, _REAL, _POSITIVE), _OTHER, lambda s, x, n, m, d: s.t.logpdf(x, n, m, d)),
    ("Uniform", (_REAL - 3, _REAL + 4), _REAL, lambda s, x, a, b: s.uniform.logpdf(x, a, b - a)),
    ("VonMises", (_REAL, _POSITIVE), _HALF, lambda s, x, m, k: s.vonmises.logpdf(x, k, loc=m)),
    ("Weibull", (_POSITIVE, _OTHER), _OTHER, lambda s, x, d, c: s.weibull_min.logpdf(x, c, scale=d)),
)
"""Name, parameters, values, and the logarithm of the density in SciPy."""

_SHARES = of(0.1, 0.2, 0.7)
_FACTOR = of([1.5, 0.0], [0.3, 0.8])


def _multivariate(call: Call) -> None:
    d = "torch.distributions."
    one = of(0.0, 1.0, 0.0)
    log = _of_scipy
    call(f"{d}Categorical", _log_prob, of(2, 0, 1), _SHARES, expect=lambda x, p: np.log(p[x]))
    call(f"{d}Categorical", lambda f, p: f(p).entropy(), _SHARES, expect=lambda p: -(p * np.log(p)).sum())
    for name in ("OneHotCategorical", "OneHotCategoricalStraightThrough"):
        call(f"{d}{name}", _log_prob, one, _SHARES, expect=lambda x, p: np.log(p[1]))
    counts = of(1.0, 2.0, 3.0)
    call(
        f"{d}Multinomial",
        lambda f, x, p: f(6, p).log_prob(x),
        counts,
        _SHARES,
        expect=log(lambda s, x, p: s.multinomial.logpmf(x, 6, p / p.sum())),
    )
    call(f"{d}Dirichlet", _log_prob, _SHARES, counts, expect=log(lambda s, x, a: s.dirichlet.logpdf(x / x.sum(), a)))
    pair, mean = of(0.5, -1.0), of(0.1, 0.2)
    call(
        f"{d}MultivariateNormal",
        lambda f, x, m, c: f(m, scale_tril=c).log_prob(x),
        *(pair, mean, _FACTOR),
        expect=log(lambda s, x, m, c: s.multivariate_normal.logpdf(x, m, c @ c.T)),
    )
    call(
        f"{d}LowRankMultivariateNormal",
        lambda f, x, m, w, v: f(m, w, v).log_prob(x),
        *(pair, mean, _FACTOR[:, :1], of(0.5, 0.7)),
        expect=log(lambda s, x, m, w, v: s.multivariate_normal.logpdf(x, m, w @ w.T + np.diag(v))),
    )
    matrix = of([2.0, 0.3], [0.3, 1.0])
    call(
        f"{d}Wishart",
        lambda f, x, c: f(torch.full((), 4.0, dtype=x.dtype, device=x.device), scale_tril=c).log_prob(x),
        *(matrix, _FACTOR),
        expect=log(lambda s, x, c: s.wishart.logpdf(x, 4, c @ c.T)),
    )
    call(f"{d}LKJCholesky", lambda f, x: f(2, 1.5).log_prob(x), of([1.0, 0.0], [0.6, 0.8]))
    call(f"{d}LogisticNormal", _log_prob, _SHARES, mean, of(0.5, 0.7))
    temperature = of(0.7)
    call(f"{d}RelaxedBernoulli", _log_prob, _HALF, temperature, _HALF.flip(0))
    call(f"{d}RelaxedOneHotCategorical", _log_prob, _SHARES, temperature, _SHARES.flip(0))
    call(f"{d}relaxed_bernoulli.LogitRelaxedBernoulli", _log_prob, _REAL, temperature, _HALF)
    call(f"{d}relaxed_categorical.ExpRelaxedCategorical", _log_prob, _SHARES.log(), temperature, _SHARES.flip(0))


def _composed(call: Call) -> None:
    d, normal = "torch.distributions.", torch.distributions.Normal
    call(
        f"{d}Independent",
        lambda f, x, m, s: f(normal(m, s), 1).log_prob(x),
        _OTHER,
        _REAL,
        _POSITIVE,
        expect=_of_scipy(lambda s, x, m, d: s.norm.logpdf(x, m, d).sum()),
    )
    call(
        f"{d}MixtureSameFamily",
        lambda f, x, p, m, s: f(torch.distributions.Categorical(p), normal(m, s)).log_prob(x),
        *(_REAL[0], _SHARES, _REAL[:3], _POSITIVE[:3]),
        expect=_of_scipy(lambda s, x, p, m, d: np.log((p * s.norm.pdf(x, m, d)).sum())),
    )
    call(
        f"{d}TransformedDistribution",
        lambda f, x, m, s: f(normal(m, s), [torch.distributions.ExpTransform()]).log_prob(x),
        *(_OTHER, _REAL, _POSITIVE),
        expect=_of_scipy(lambda s, x, m, d: s.lognorm.logpdf(x, d, scale=np.exp(m))),
    )
    call(
        f"{d}Distribution",
        lambda f: list(f(torch.Size([2]), torch.Size([3]), validate_args=False).batch_shape),
        expect=[2],
    )
    call(f"{d}ExponentialFamily", lambda f: list(f(torch.Size([2]), validate_args=False).batch_shape), expect=[2])


def _related(call: Call) -> None:
    normal = torch.distributions.Normal
    call(
        "torch.distributions.kl_divergence",
        lambda f, m, s, o: f(normal(m, s), normal(m * 0, o)),
        *(_REAL, _POSITIVE, _OTHER),
        expect=lambda m, s, o: np.log(o / s) + (s**2 + m**2) / (2 * o**2) - 0.5,
    )
    call("torch.distributions.register_kl", lambda f: f(_OwnOne, _OwnOne)(lambda p, q: 0) is not None, expect=True)
    constraint = torch.distributions.constraints.positive
    for name in ("biject_to", "transform_to"):
        call(f"torch.distributions.{name}", lambda f, x: f(constraint)(x), _REAL, expect=np.exp)
    call("torch.distributions.constraint_registry.ConstraintRegistry", _registered, _REAL, expect=np.exp)


class _OwnOne(torch.distributions.Distribution):
    pass


def _registered(f: Any, x: torch.Tensor) -> Any:
    registry, constraint = f(), torch.distributions.constraints.positive
    registry.register(constraint, lambda each: torch.distributions.ExpTransform())
    return registry(constraint)(x)


def _utilities(call: Call) -> None:
    u = "torch.distributions.utils."
    shares = t(2, 3, low=0.1, high=0.9)
    call(f"{u}broadcast_all", lambda f, x: [*f(x, 2.0)], _REAL, expect=lambda x: [x, np.full(4, 2.0)])
    call(f"{u}clamp_probs", lambda f, x: f(x), of(0.0, 0.3, 1.0), expect=np.array([2.0**-23, 0.3, 1 - 2.0**-23]))
    call(f"{u}logits_to_probs", lambda f, x: f(x, True), _REAL, expect=lambda x: 1 / (1 + np.exp(-x)))
    call(f"{u}probs_to_logits", lambda f, x: f(x, True), _HALF, expect=lambda p: np.log(p / (1 - p)))
    call(f"{u}probs_to_logits", lambda f, x: f(x), shares, expect=np.log)
    call(f"{u}tril_matrix_to_vec", None, t(3, 3), expect=lambda x: x[np.tril_indices(3)])
    call(f"{u}vec_to_tril_matrix", None, t(3), expect=lambda x: np.array([[x[0], 0], [x[1], x[2]]]))
    call(f"{u}lazy_property", lambda f: type("Own", (), {"five": f(lambda self: 5)})().five, expect=5)
    c = "torch.distributions.constraints."
    x = of(-1.0, 0.0, 0.5, 2.0)
    for name, arguments, expected in (
        ("greater_than", (0,), [False, False, True, True]),
        ("greater_than_eq", (0,), [False, True, True, True]),
        ("less_than", (0.5,), [True, True, False, False]),
        ("interval", (0, 1), [False, True, True, False]),
        ("half_open_interval", (0, 2), [False, True, True, False]),
        ("integer_interval", (0, 2), [False, True, False, True]),
    ):
        call(f"{c}{name}", _checked(arguments), x, expect=np.array(expected))
    positive, unit = torch.distributions.constraints.positive, torch.distributions.constraints.unit_interval
    call(f"{c}independent", lambda f, x: f(positive, 1).check(x), x, expect=False)
    call(
        f"{c}cat", lambda f, x: f([positive, unit], 0, [2, 2]).check(x), x, expect=np.array([False, False, True, False])
    )
    call(
        f"{c}stack",
        lambda f, x: f([positive, unit]).check(x.reshape(2, 2)),
        x,
        expect=np.array([[False, False], [True, False]]),
    )
    call(f"{c}multinomial", lambda f: f(3).check(torch.tensor([1.0, 2.0])), expect=True)
    call(
        f"{c}is_dependent", lambda f: [f(torch.distributions.constraints.dependent), f(positive)], expect=[True, False]
    )
    call(f"{c}dependent_property", lambda f: f(is_discrete=True, event_dim=0).is_discrete, expect=True)
    call(f"{c}Constraint", lambda f: f().event_dim, expect=0)


def _checked(arguments: Any) -> Any:
    return lambda f, x: f(*arguments).check(x)
