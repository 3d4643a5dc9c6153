"""jax.lax: choosing, comparing, slicing, powers and bits, values that derivatives stop at, and eigenvectors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing import names, properties, references
from runners.core.testing.arrays import widened
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial
from runners.jax.double import x64

# For any function with a reference


def double(
    trial: Trial,
    reference: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    reference_kwargs: Mapping[str, Any] | None = None,
    dtype: str = "float64",
    tolerance: float = 1e-12,
) -> None:
    """With 64-bit types switched on, the output is 64 bits wide and right to twelve digits, not to seven.

    ``args`` are arguments as in a manifest's ``call``, ``reference`` is such as ``numpy.where``.
    """
    named = dict(kwargs or {})

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        with x64():
            return function(*tensors, **named)

    with x64():
        built = Builder(trial, names.framework(trial.framework)).all(args)
    output = trial.call_inside(body, *[item.device for item in built])
    expected = _reference(reference)(*[item.host for item in built], **(reference_kwargs or {}))
    allowed = tolerance if dtype.startswith(("float", "complex")) else 0.0
    trial.close(output, expected, rtol=allowed, atol=allowed, dtype=dtype)


def compiled(trial: Trial, reference: str, args: Sequence[Any], dtype: str = "float32") -> None:
    """Mapped over the rows of all tensors and compiled, with the other arguments fixed, it gives the same."""
    built = Builder(trial, names.framework(trial.framework)).all(args)
    tensors = [item.device for item in built if trial.dtype_name(item.device)]
    fixed = tuple(item.device for item in built[len(tensors) :])

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        return _mapped_and_compiled(function, fixed)(*tensors)

    output = trial.call_inside(body, *tensors)
    trial.close(output, _reference(reference)(*[item.host for item in built]), dtype=dtype)


# jax.lax.select


def select_gradient(trial: Trial) -> None:
    """The cotangent goes to the chosen side alone, and an infinite one that was not chosen does no harm."""
    host, weights = trial.random(6, 50), trial.random(6, 50, seed=1)

    def body(select: Callable[..., Any], x: Any, weights: Any) -> Any:
        def weighted(x: Any, other: Any) -> Any:
            root = lax.sqrt(select(x > 0, x, jnp.ones_like(x)))
            chosen = select(x > 0, root, other)
            return jnp.sum(weights * chosen), chosen

        return jax.grad(weighted, argnums=(0, 1), has_aux=True)(x, jnp.zeros_like(x) + 3)

    (to_x, to_other), chosen = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    positive = host > 0
    roots = np.sqrt(np.where(positive, widened(host), 1))
    trial.close(chosen, np.where(positive, roots, 3), dtype="float32")
    # The root and the quotient are rounded, and half of the roots are small.
    trial.close(to_x, np.where(positive, weights / (2 * roots), 0), rtol=5e-6, dtype="float32")
    trial.close(to_other, np.where(positive, 0, weights), dtype="float32")


def select_mapped_predicate(trial: Trial) -> None:
    """Mapped over a vector of truths and a stack of matrices, each truth chooses a whole matrix."""
    pred = trial.random(7, dtype="bool", seed=2)
    left, right = trial.random(7, 3, 4), trial.random(7, 3, 4, seed=1)

    def body(select: Callable[..., Any], *tensors: Any) -> Any:
        return jax.vmap(select)(*tensors)

    output = trial.call_inside(body, *map(trial.tensor, (pred, left, right)))
    trial.close(output, np.where(pred[:, None, None], left, right), rtol=0, atol=0, dtype="float32")


# jax.lax.ge


def ge_special_values(trial: Trial, dtype: str) -> None:
    """Nothing is at least NaN and NaN is at least nothing, both zeros are equal, infinities are at both ends."""
    left = np.array([np.nan, 1, np.nan, 0.0, -0.0, np.inf, -np.inf, np.inf, 1, -np.inf])
    right = np.array([1, np.nan, np.nan, -0.0, 0.0, np.inf, -np.inf, 1, np.inf, np.nan])
    expected = np.array([False, False, False, True, True, True, True, True, False, False])
    trial.close(trial.call(trial.tensor(left, dtype), trial.tensor(right, dtype)), expected, dtype="bool")


def ge_neighbours(trial: Trial, dtype: str) -> None:
    """Integers that differ by one are told apart at any size, those too that a float32 cannot hold."""
    bounds = np.iinfo(dtype)
    values = np.array([bounds.min, bounds.min + 1, bounds.max // 2, bounds.max - 1, bounds.max], dtype)
    left, right = (np.ascontiguousarray(side) for side in np.broadcast_arrays(values[:, None], values[None, :]))
    trial.close(trial.call(trial.tensor(left), trial.tensor(right)), np.tri(5, dtype=bool), dtype="bool")


def ge_chooses(trial: Trial) -> None:
    """As the condition of a larger one of two it makes a maximum, whose derivative it takes no part in."""
    left, right = trial.random(300), trial.random(300, seed=1)

    def body(ge: Callable[..., Any], left: Any, right: Any) -> Any:
        def largest(left: Any, right: Any) -> Any:
            return jnp.sum(jnp.where(ge(left, right), left, right))

        return ge(left, right), jax.grad(largest)(left, right)

    truths, gradient = trial.call_inside(body, trial.tensor(left), trial.tensor(right))
    trial.close(truths, left >= right, dtype="bool")
    trial.close(gradient, (left >= right).astype("float64"), dtype="float32")


# jax.lax.bitwise_and


def and_patterns(trial: Trial, dtype: str, double: bool = False) -> None:
    """Of all widths and signs every bit is the product of its two bits: random patterns, all ones, the sign alone."""
    bits = np.iinfo(dtype).bits
    state = np.random.RandomState(bits)
    left, right = (state.randint(0, 256, 96 * bits // 8).astype("uint8").view(dtype) for _ in range(2))
    left[:3], right[:3] = np.array([-1, -1, 1 << (bits - 1)]).astype(dtype), np.array([5, -1, -1]).astype(dtype)

    def body(bitwise_and: Callable[..., Any], left: Any, right: Any) -> Any:
        if not double:
            return bitwise_and(left, right)
        with x64():
            return bitwise_and(left, right)

    if double:
        with x64():
            moved = trial.tensor(left), trial.tensor(right)
    else:
        moved = trial.tensor(left), trial.tensor(right)
    wide = [[int(value) for value in side] for side in (left, right)]
    expected = np.array([a & b for a, b in zip(*wide)], dtype)
    trial.close(trial.call_inside(body, *moved), expected, dtype=dtype)


# jax.lax.integer_pow


def pow_gradient(trial: Trial, y: int) -> None:
    """The slope of x^y is y x^(y-1), at zero too, and that of the slope y (y-1) x^(y-2)."""
    host = trial.random(500, seed=abs(y), low=0.5, high=1.5) * np.where(trial.random(500, dtype="bool"), 1, -1)
    host = host.astype("float32")
    if y >= 0:
        host[:2] = 0

    def body(integer_pow: Callable[..., Any], x: Any) -> Any:
        def power(x: Any) -> Any:
            return integer_pow(x, y)

        return [jax.vmap(each)(x) for each in (power, jax.grad(power), jax.grad(jax.grad(power)))]

    value, slope, second = trial.call_inside(body, trial.tensor(host))
    x = widened(host)
    # A power is a chain of products, each rounded: a few roundings more than one operation has.
    allowed = {"rtol": 3e-6, "atol": 1e-6, "dtype": "float32"}
    trial.close(value, x**y, **allowed)
    trial.close(slope, y * x ** (y - 1) if y else 0 * x, **allowed)
    trial.close(second, y * (y - 1) * x ** (y - 2) if y not in (0, 1) else 0 * x, **allowed)


def pow_special_values(trial: Trial, power: Sequence[Any]) -> None:
    """Of 0, infinity, minus infinity and NaN the powers are those of IEEE 754's pown.

    ``power``: the exponent, then the four expected values; ``"inf"`` and ``"nan"`` are numbers.
    """
    exponent, *expected = power
    values = trial.tensor(np.array([0, np.inf, -np.inf, np.nan], "float32"))
    output = trial.call(values, exponent)
    trial.close(output, [float(value) for value in expected], rtol=0, atol=0, dtype="float32")


# jax.lax.slice_in_dim


def sliced(
    trial: Trial,
    shape: Sequence[int],
    start: int | None,
    limit: int | None,
    stride: int = 1,
    axis: int = 0,
    dtype: str = "float32",
) -> None:
    """It gives what a Python slice of that axis gives: None is the end, negative numbers count from behind."""
    moved = trial.tensor(trial.random(*shape, dtype=dtype), dtype)
    expected = trial.numpy(moved)[_slice(axis, len(shape), start, limit, stride)]
    trial.close(trial.call(moved, start, limit, stride, axis), expected, rtol=0, atol=0, dtype=dtype)


def slice_gradient(trial: Trial) -> None:
    """The cotangent of a slice lies where the slice was taken, with zeros around and between."""
    host, weights = trial.random(5, 20), trial.random(5, 6, seed=1)

    def body(slice_in_dim: Callable[..., Any], x: Any, weights: Any) -> Any:
        def weighted(x: Any) -> Any:
            part = slice_in_dim(x, 2, -1, 3, axis=-1)
            return jnp.sum(weights * part), part

        return jax.grad(weighted, has_aux=True)(x)

    gradient, part = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    expected = np.zeros_like(host)
    expected[:, 2:-1:3] = weights
    trial.close(part, host[:, 2:-1:3], rtol=0, atol=0, dtype="float32")
    trial.close(gradient, expected, dtype="float32")


def slice_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types switched on, the elements of a slice keep all their bits."""
    host = trial.random(6, 9, dtype=dtype)
    host[3, 5] = 2**52 + 1

    def body(slice_in_dim: Callable[..., Any], x: Any) -> Any:
        with x64():
            return slice_in_dim(x, 1, 8, 2, axis=1)

    with x64():
        moved = trial.tensor(host)
    trial.close(trial.call_inside(body, moved), host[:, 1:8:2], rtol=0, atol=0, dtype=dtype)


def slice_compiled(trial: Trial) -> None:
    """Mapped over the first axis and compiled, an axis counts from the rows' first one."""
    host = trial.random(6, 8, 10)

    def body(slice_in_dim: Callable[..., Any], x: Any) -> Any:
        return _mapped_and_compiled(slice_in_dim, (3, 9, 2, 1))(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.close(output, host[:, :, 3:9:2], rtol=0, atol=0, dtype="float32")


# jax.lax.stop_gradient


def stopped(trial: Trial, mode: str) -> None:
    """A stopped factor is a constant to the derivative, forward as in reverse: that of x stop(x) is x, not 2 x."""
    host = trial.random(200)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        def product(x: Any) -> Any:
            return x * stop_gradient(x)

        if mode == "forward":
            return jax.jvp(product, (x,), (jnp.ones_like(x),))
        return product(x), jax.grad(lambda x: jnp.sum(product(x)))(x)

    value, slope = trial.call_inside(body, trial.tensor(host))
    trial.close(value, widened(host) ** 2, dtype="float32")
    trial.close(slope, host, rtol=0, atol=0, dtype="float32")


def stopped_higher(trial: Trial) -> None:
    """Of stop(x)^2 x^3 the derivatives of first to third order are 3 x^4, 6 x^3 and 6 x^2, mapped and compiled."""
    host = trial.random(64, seed=5)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        return _higher_derivatives(stop_gradient)(x)

    x = widened(host)
    outputs = trial.call_inside(body, trial.tensor(host))
    for output, expected in zip(outputs, (x**5, 3 * x**4, 6 * x**3, 6 * x**2)):
        # A few products in a row, each rounded.
        trial.close(output, expected, rtol=5e-6, dtype="float32")


def stopped_tree(trial: Trial) -> None:
    """Of a nested value every floating array is stopped; integers and truths pass as they are."""
    host, count = trial.random(5), trial.random(5, dtype="int32", seed=1)
    tree = {"x": trial.tensor(host), "more": (trial.tensor(count), [trial.tensor(host > 0), None])}

    def body(stop_gradient: Callable[..., Any], tree: Any) -> Any:
        def loss(x: Any) -> Any:
            held = stop_gradient({**tree, "x": x})
            return jnp.sum(held["x"] ** 3 + 2 * x), held

        return jax.grad(loss, has_aux=True)(tree["x"])

    gradient, held = trial.call_inside(body, tree)
    trial.close(gradient, np.full(5, 2.0), dtype="float32")
    trial.equal((sorted(held), held["more"][1][1]), (["more", "x"], None))
    trial.close(held["x"], host, rtol=0, atol=0, dtype="float32")
    trial.close(held["more"][0], count, dtype="int32")
    trial.close(held["more"][1][0], host > 0, dtype="bool")


def straight_through(trial: Trial) -> None:
    """x + stop(round(x) - x) has the value of round(x) and the slope of x: a straight-through estimator."""
    host = 5 * trial.random(4, 100)

    def body(stop_gradient: Callable[..., Any], x: Any) -> Any:
        def rounded(x: Any) -> Any:
            return x + stop_gradient(jnp.round(x) - x)

        return rounded(x), jax.grad(lambda x: jnp.sum(rounded(x) ** 2))(x)

    value, gradient = trial.call_inside(body, trial.tensor(host))
    # The difference is taken and added again, so up to a rounding of x.
    trial.close(value, np.round(host), rtol=0, atol=2e-6, dtype="float32")
    trial.close(gradient, 2 * np.round(widened(host)), rtol=0, atol=4e-6, dtype="float32")


# jax.numpy.linalg.eig


def eig_known(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """The eigenvalues of a matrix that is made from known ones are these, in some order, and the vectors fit them."""
    size = shape[-1]
    values = np.arange(1, size + 1) * np.where(np.arange(size) % 3, 1.0, -1.0)
    if dtype.startswith("complex"):
        values = values * np.exp(1j * np.arange(size))
    vectors = np.eye(size) + 0.1 * trial.random(*shape, dtype=dtype, seed=size)
    matrix = ((vectors * values) @ np.linalg.inv(vectors)).astype(dtype)
    output = trial.call(trial.tensor(matrix))
    _check_eig(trial, output, matrix, "complex64")
    found = np.asarray(trial.numpy(output[0]))
    expected = np.broadcast_to(values, found.shape)
    # Well separated eigenvalues of a matrix near a diagonal one: off by a few roundings of the largest.
    trial.close(_ordered(found), _ordered(expected), rtol=0, atol=1e-5 * size)


def eig_special(trial: Trial, matrix: Sequence[Any], values: Sequence[Sequence[float]], tolerance: float) -> None:
    """A rotation has complex eigenvalues, a shear has one twice.

    ``values`` are pairs of real and imaginary part; ``tolerance`` is larger where values coincide, since there they
    move with the root of a rounding.
    """
    host = np.array(matrix, "float32")
    output = trial.call(trial.tensor(host))
    _check_eig(trial, output, host, "complex64")
    expected = np.array([complex(*pair) for pair in values])
    trial.close(_ordered(trial.numpy(output[0])), _ordered(expected), rtol=0, atol=tolerance)


def eig_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types switched on, values and vectors are complex128 and as precise."""
    matrix = trial.random(12, 12, dtype=dtype)

    def body(eig: Callable[..., Any], matrix: Any) -> Any:
        with x64():
            return eig(matrix)

    with x64():
        moved = trial.tensor(matrix)
    _check_eig(trial, trial.call_inside(body, moved), matrix, "complex128")


def eig_mapped(trial: Trial) -> None:
    """Mapped over a stack of matrices and compiled, every matrix gets values and vectors of its own."""
    matrices = trial.random(5, 6, 6)

    def body(eig: Callable[..., Any], stack: Any) -> Any:
        return _mapped_and_compiled(eig, ())(stack)

    _check_eig(trial, trial.call_inside(body, trial.tensor(matrices)), matrices, "complex64")


def eig_power(trial: Trial) -> None:
    """A matrix's fifth power is V w^5 V^-1, computed where the eigenvectors lie."""
    matrix = trial.random(6, 6, low=-1, high=1)

    def body(eig: Callable[..., Any], matrix: Any) -> Any:
        values, vectors = eig(matrix)
        return values, vectors, (vectors * values**5) @ jnp.linalg.inv(vectors)

    *output, power = trial.call_inside(body, trial.tensor(matrix))
    _check_eig(trial, output, matrix, "complex64")
    # The inverse of the vectors enlarges float32's rounding by their condition number.
    expected = np.linalg.matrix_power(widened(matrix), 5).astype("complex128")
    trial.close(power, expected, rtol=1e-4, atol=1e-3, dtype="complex64")


def _check_eig(trial: Trial, output: Any, matrix: Any, dtype: str) -> None:
    trial.equal([trial.dtype_name(part) for part in output], [dtype] * 2)
    properties.find("eig")(trial, tuple(output), [widened(matrix)])


def _ordered(values: Any) -> Any:
    """By real, then imaginary part, rounded so far that coinciding real parts do not decide."""
    values = np.asarray(values).astype("complex128")
    order = np.lexsort((values.imag, values.real.round(2)), axis=-1)
    return np.take_along_axis(values, order, axis=-1)


@lru_cache(maxsize=1)
def _mapped_and_compiled(function: Callable[..., Any], fixed: Any) -> Callable[..., Any]:
    """Compiled once for each function, so that calling again does not compile again."""
    return jax.jit(jax.vmap(lambda *rows: function(*rows, *fixed)))


@lru_cache(maxsize=1)
def _higher_derivatives(stop_gradient: Callable[..., Any]) -> Callable[..., Any]:
    derivatives = [lambda x: stop_gradient(x) ** 2 * x**3]
    for _ in range(3):
        derivatives.append(jax.grad(derivatives[-1]))
    return jax.jit(lambda x: [jax.vmap(each)(x) for each in derivatives])


def _slice(axis: int, rank: int, start: int | None, limit: int | None, stride: int) -> Any:
    places = [slice(None)] * rank
    places[axis] = slice(start, limit, stride)
    return tuple(places)


def _reference(name: str) -> Callable[..., Any]:
    library, _, rest = name.partition(".")
    return references.find(library, rest)
