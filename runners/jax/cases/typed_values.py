"""Types that depend on where a value comes from, or on JAX's settings: jax.core.get_aval, jax.random.PRNGKey,
jax.scipy.stats.norm.cdf."""

from __future__ import annotations

import math
import random
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.settings import setting


def aval_of_weak_values(trial: Trial) -> None:
    """A weakly typed array has a weakly typed abstract value, in a trace too; after it has a dtype it has not. What has
    no derivative has the type float0."""
    number = trial.tensor(np.float32(2.5))
    weak = jnp.asarray(2.5)
    seen: list[Any] = []

    def body(get_aval: Callable[..., Any], *numbers: Any) -> Any:
        def traced(*numbers: Any) -> Any:
            seen[:] = map(get_aval, numbers)
            return numbers

        jax.jit(traced)(*numbers)
        return [*map(get_aval, numbers), *seen]

    avals = trial.call_inside(body, weak, number, 2.5, weak.astype("float32"))
    trial.equal([bool(aval.weak_type) for aval in avals], [True, False, True, False] * 2)
    trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], [((), "float32")] * 8)
    nothing = trial.call(np.zeros(3, jax.dtypes.float0))
    trial.equal((nothing.shape, nothing.dtype == jax.dtypes.float0), ((3,), True))


def key_with_type(trial: Trial) -> None:
    """With jax_enable_custom_prng a key has a dtype of its own and no axes, and gives the same numbers as the plain
    one. True is the seed 1."""

    def body(make: Callable[..., Any], seed: Any) -> Any:
        with jax.enable_custom_prng(True):
            return make(seed)

    for seed, number in ((7, 7), (np.int8(-1), 2**32 - 1), (True, 1)):
        plain, typed = trial.call(seed), trial.call_inside(body, seed)
        trial.exact(plain, [0, number], "uint32")
        trial.equal((typed.shape, str(typed.dtype)), ((), "key<fry>"))
        trial.equal(jax.random.bits(typed, (3,)), trial.numpy(jax.random.bits(plain, (3,))))


def cdf_of_types(trial: Trial, wide: bool) -> None:
    """jax.scipy.stats.norm.cdf: the output has the widest floating type among x, loc and scale, wherever it is;
    integers and bool have that of the others, or the default one. With ``wide`` 64-bit types are on."""
    exact = np.vectorize(math.erfc, otypes=["float64"])
    kinds = [
        (("bfloat16", "float32", "int32"), "float32"),
        (("float32", "float16", "bfloat16"), "float32"),
        (("int32", "bool", "float32"), "float32"),
        (("int8", "bfloat16", "float16"), "float32"),
        (("bfloat16", "int32", "float32"), "float32"),
    ]
    if wide:
        kinds = [
            (("float64", "float32", "int32"), "float64"),
            (("float32", "float64", "float32"), "float64"),
            (("float32", "float32", "float64"), "float64"),
            (("int32", "int64", "bool"), "float64"),
            (("float32", "int64", "int8"), "float32"),
        ]

    def body(cdf: Callable[..., Any], arguments: Any) -> Any:
        with setting("jax_enable_x64", wide):
            return cdf(*arguments)

    # All numbers are the same in each dtype; only scale is never zero, also as a bool.
    hosts = np.array([[-1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]])
    for dtypes, dtype in kinds:
        with setting("jax_enable_x64", wide):
            moved = [trial.tensor(abs(host) if kind == "bool" else host, kind) for host, kind in zip(hosts, dtypes)]
        x, loc, scale = (np.asarray(trial.numpy(each), "float64") for each in moved)
        output = trial.call_inside(body, moved)
        trial.close(output, 0.5 * exact((loc - x) / scale / math.sqrt(2)), dtype=dtype)


def aval_of_numpy(trial: Trial) -> None:
    """jax.core.get_aval: NumPy arrays and scalars of bfloat16, of all small types, of many axes and of none keep
    their type and shape, and are not weak; they can be written to as before. Equal types of different shapes or
    dtypes, one after the other, are not mixed up. In compiled and mapped functions a traced value has the type that
    it has there."""
    for shape in ((), (3,), (1, 2, 1, 1, 3, 1), (0, 2), (2, 0, 1), (1, 1)):
        for dtype in ("bfloat16", "float16", "int8", "uint16", "bool", "complex64"):
            host = np.ones(shape, trial.dtype(dtype))
            for value in [host] if shape else [host, host[()]]:
                aval = trial.call(value)
                trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), (shape, dtype, False))
            trial.equal((host.flags.writeable, host.tobytes()), (True, np.ones_like(host).tobytes()))
    seen: list[Any] = []

    def body(get_aval: Callable[..., Any], x: Any) -> Any:
        def noted(x: Any) -> Any:
            seen.append((get_aval(x) == x.aval, get_aval(x).shape, str(get_aval(x).dtype)))
            return x * 2

        seen.clear()
        return jax.jit(noted)(x), jax.vmap(noted)(x), jax.jit(jax.vmap(noted))(x)

    trial.call_inside(body, trial.tensor(trial.random(2, 3), "bfloat16"))
    trial.equal(seen, [(True, shape, "bfloat16") for shape in ((2, 3), (3,), (3,))])


def key_leaves_generators(trial: Trial) -> None:
    """jax.random.PRNGKey leaves the generators of Python and NumPy as they are, and takes nothing from them: the key is
    that of the seed whatever their state is, and a key does not change when others are made."""
    before = random.getstate(), np.random.get_state()
    try:
        kept = []
        for start in (1, 2):
            random.seed(start)
            np.random.seed(start)
            states = random.getstate(), np.random.get_state()
            for seed, low in ((0, 0), (7, 7), (np.int32(-1), 2**32 - 1), (np.uint32(2**31), 2**31)):
                kept.append((trial.call(seed), low))
            trial.check(random.getstate() == states[0], "the state of Python's generator is another one")
            after = np.random.get_state()
            trial.equal(
                [after[0], after[1].tolist(), *after[2:]], [states[1][0], states[1][1].tolist(), *states[1][2:]]
            )
        for key, low in kept:
            trial.exact(key, [0, low], "uint32")
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


def cdf_of_shapes(trial: Trial) -> None:
    """jax.scipy.stats.norm.cdf: x, loc and scale are broadcast, whichever has the most axes, also plain numbers beside
    arrays. The difference of x and loc is exact where both are near. What does not fit is an error."""
    exact = np.vectorize(math.erfc, otypes=["float64"])
    # Most outputs have one shape, whose programs they share. None: a number.
    for shapes in (
        ((3,), (4, 2, 3), ()),
        ((2, 1), (3,), (4, 1, 1)),
        ((), (3,), (4, 2, 1)),
        ((4, 2, 3), (), (2, 1)),
        ((4, 2, 1), (3,), None),
        ((4, 2, 3), None, (3,)),
        (None, (3,), (4, 2, 1)),
        ((0, 2), (1,), (2,)),
    ):
        hosts = [
            np.float32(1.5) if shape is None else trial.random(*shape, seed=seed, low=0.5, high=2)
            for seed, shape in enumerate(shapes)
        ]
        given = [1.5 if shape is None else trial.tensor(host) for host, shape in zip(hosts, shapes)]
        wide = [np.asarray(host, "float64") for host in hosts]
        expected = 0.5 * exact((wide[1] - wide[0]) / wide[2] / math.sqrt(2))
        trial.close(trial.call(*given), expected, dtype="float32")
        trial.close(trial.call(given[0], scale=given[2], loc=given[1]), expected, dtype="float32")
    near = np.resize(np.array([1000.25, 999.125, 1003.5, 996.0], "float32"), (4, 2, 3))
    twice = trial.tensor(np.full((4, 2, 3), 2, "float32"))
    for loc, scale in (
        (1000, 2),
        (1000.0, 2.0),
        (np.int32(1000), np.float32(2)),
        (1000, twice),
        (trial.tensor(np.full((4, 2, 3), 1000, "float32")), 2),
    ):
        output = trial.call(trial.tensor(near), loc, scale)
        trial.close(output, 0.5 * exact((1000 - near.astype("float64")) / 2 / math.sqrt(2)), dtype="float32")
    x = trial.tensor(near)
    trial.raises(["TypeError", "ValueError"], "shape", x, trial.tensor(np.ones(4, "float32")))
    for wrong in ("1", None, [1.0]):
        trial.raises(["TypeError"], "", x, wrong)
        trial.raises(["TypeError"], "", x, 0, wrong)


def aval_of_odd_values(trial: Trial) -> None:
    """jax.core.get_aval: any floating number has a type, also one that is not finite or too large for 32 bits, and the
    same is asked again after each change: of an array's shape, of the 64-bit setting. Axes have any size. Integers that
    do not fit and what is no number are refused."""
    trial.repeatable = False
    for value in (1e300, -1e300, 1e-300, -0.0, np.nan, np.inf, -np.inf, complex(np.nan, 1), 1e300j):
        aval = trial.call(value)
        kind = "complex64" if isinstance(value, complex) else "float32"
        trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), ((), kind, True))
    for wide in (False, True, False):
        with setting("jax_enable_x64", wide):
            for value, kind in ((1, "int"), (1.0, "float"), (1j, "complex"), (-0.0, "float"), (np.float64(1), "float")):
                aval = trial.call(value)
                bits = (64 if wide else 32) * (2 if kind == "complex" else 1)
                weak = not isinstance(value, np.generic)
                trial.equal((str(aval.dtype), bool(aval.weak_type)), (f"{kind}{bits}", weak))
    for base, kind in ((int, "int32"), (float, "float32"), (complex, "complex64")):
        aval = trial.call(type("Own", (base,), {})(3))
        trial.equal((aval.shape, str(aval.dtype)), ((), kind))
    for kind in ("float8_e4m3fn", "float8_e5m2", "bfloat16", "int4", "uint4"):
        aval = trial.call(x=np.zeros((2, 3), trial.dtype(kind)))
        trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), ((2, 3), kind, False))
    array = np.zeros((4, 6), "int16")
    for shape in ((4, 6), (24,), (2, 3, 4), (1, 24), (4, 6)):
        array.shape = shape
        trial.equal(trial.call(array).shape, shape)
        for view in (array[..., 1:], array.T, array[:1], array.view("uint16")):
            aval = trial.call(view)
            trial.equal((aval.shape, str(aval.dtype)), (view.shape, str(view.dtype)))
    for shape in ((70000,), (3, 70000, 0), (2**20, 2**12), (2**31 + 5,)):
        trial.equal(trial.call(np.broadcast_to(np.int8(1), shape)).shape, shape)
    trial.check(array.flags.writeable, "the array cannot be written to any more")
    for number in (2**31, -(2**31) - 1, 2**32, 2**63, 2**70):
        trial.raises(["OverflowError"], "large", number)
    for value in (
        np.datetime64("2020"),
        np.str_("a"),
        np.void(b"a"),
        np.longdouble(1),
        memoryview(b"a"),
        bytearray(b"a"),
    ):
        trial.raises(["TypeError"], "", value)
