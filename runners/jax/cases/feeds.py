"""jax.lax.infeed: values that the host sends to the device while its program runs. All are sent before any is
awaited."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.containers import Pair
from runners.jax.double import x64


def fed_array(trial: Trial, shape: Sequence[int], dtype: str = "float32") -> None:
    """The output is the array that was sent, with its shape and dtype."""
    host = np.asarray(trial.random(*shape, dtype=dtype)).astype(trial.dtype(dtype))
    _feed(trial, host)
    output, token = trial.call(lax.create_token(), shape=_aval(host))
    trial.exact(output, host.astype("float32") if dtype == "bfloat16" else host, dtype)
    trial.check(_is_token(token), f"expected a token, got {type(token).__name__}")


def fed_tree(trial: Trial) -> None:
    """Several arrays that are sent together come out in the requested nesting."""
    one, two, three = trial.random(3, 4), trial.random(5, dtype="int32"), trial.random(2, seed=1)
    _feed(trial, one, two, three)
    shapes = {"a": _aval(one), "b": [_aval(two), (_aval(three),)]}
    output, token = trial.call(lax.create_token(), shape=shapes)
    trial.equal((sorted(output), len(output["b"]), len(output["b"][1])), (["a", "b"], 2, 1))
    trial.exact(output["a"], one, "float32")
    trial.close(output["b"][0], two, dtype="int32")
    trial.exact(output["b"][1][0], three, "float32")
    trial.check(_is_token(token), f"expected a token, got {type(token).__name__}")


def fed_in_order(trial: Trial) -> None:
    """Arrays come out in the order in which they are sent; the token keeps the order."""
    hosts = [trial.random(4, seed=seed) for seed in range(3)]
    for host in hosts:
        _feed(trial, host)
    token = lax.create_token()
    for host in hosts:
        output, token = trial.call(token, shape=_aval(host))
        trial.exact(output, host, "float32")


def fed_exactly(trial: Trial) -> None:
    """Several arrays of one type that are sent together keep their places, and each its own bits: numbers that are not
    finite, zeros of both signs, the ends of integers, and the last elements of odd sizes."""
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3.4e38, 1.2e-38], "float32")
    whole = np.array([2**31 - 1, -(2**31), 2**24 + 1, -1], "int32")
    long = [trial.random(1027, seed=seed) for seed in range(2)]
    small = np.array([0, 127, 128, 255], "uint8")
    hosts = [special, special[::-1].copy(), whole, whole[::-1].copy(), *long, small]
    _feed(trial, *hosts)
    output, _ = trial.call(lax.create_token(), shape=tuple(map(_aval, hosts)), partitions=None)
    trial.equal(len(output), len(hosts))
    for found, host in zip(output, hosts):
        trial.exact(found, host, host.dtype.name)
        trial.equal(np.signbit(np.asarray(found)[host == 0]), np.signbit(host[host == 0]))


def fed_alike(trial: Trial, dtype: str, shape: Sequence[int]) -> None:
    """Two, and then three, arrays of one shape and type that are sent together, and nothing else, keep their order,
    their axes and every bit."""
    trial.repeatable = False
    for count in (2, 3):
        size = 8 * int(np.prod(shape))
        bits = np.random.RandomState(count).randint(0, 256, (count, size)).astype("uint8")
        hosts = [_of_bits(each, trial.dtype(dtype), shape) for each in bits]
        _feed(trial, *hosts)
        output, _ = trial.call(lax.create_token(), shape=tuple(map(_aval, hosts)))
        trial.equal(len(output), count)
        for found, host in zip(output, hosts):
            back = np.asarray(found)
            trial.equal((back.dtype, back.shape), (host.dtype, host.shape))
            trial.equal(back.tobytes(), host.tobytes())


def _of_bits(bits: Any, dtype: Any, shape: Sequence[int]) -> Any:
    """Return an array of these bits: of floating types subnormal numbers and any others, but no NaN."""
    if dtype == np.dtype(bool):
        return (bits[: int(np.prod(shape))] % 2).astype(bool).reshape(shape)
    values = bits[: int(np.prod(shape)) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
    if not np.issubdtype(dtype, np.integer):
        values = np.where(np.isfinite(values), values, np.ones((), dtype))
        values.reshape(-1)[:1] = np.finfo("float32").tiny / 4 if np.dtype(dtype) == np.float32 else 0.5
    return values


def fed_to_program(trial: Trial) -> None:
    """A compiled program computes with its argument and the values that it is sent."""
    argument, first, second = (trial.random(6, 5, seed=seed) for seed in range(3))
    _feed(trial, first)
    _feed(trial, second)

    def body(infeed: Callable[..., Any], x: Any) -> Any:
        @jax.jit
        def program(x: Any) -> Any:
            one, token = infeed(lax.create_token(x), shape=_aval(first))
            two, token = infeed(token, shape=_aval(second))
            return jnp.sin(x) * one - two

        return program(x)

    trial.repeatable = False
    output = trial.call_inside(body, trial.tensor(argument))
    trial.close(output, np.sin(widened(argument)) * first - second, dtype="float32")


def fed_to_loop(trial: Trial, turns: int) -> None:
    """A loop on the device takes one value in each iteration."""
    hosts = [trial.random(3, seed=seed) for seed in range(turns)]
    for host in hosts:
        _feed(trial, host)

    def body(infeed: Callable[..., Any], start: Any) -> Any:
        def step(_: Any, carry: Any) -> Any:
            total, token = carry
            value, token = infeed(token, shape=_aval(hosts[0]))
            return 2 * total + value, token

        @jax.jit
        def program(start: Any) -> Any:
            return lax.fori_loop(0, turns, step, (start, lax.create_token(start)))[0]

        return program(start)

    trial.repeatable = False
    output = trial.call_inside(body, trial.tensor(np.zeros(3, "float32")))
    expected = np.zeros(3)
    for host in hosts:
        expected = 2 * expected + host
    trial.close(output, expected, rtol=5e-6, dtype="float32")


def fed_fields(trial: Trial) -> None:
    """The output is a tuple of values and a token. Values are in the containers of the shape, a named tuple too, and
    keep 64 bits. In a program a feed takes the token of the one before it, so that their order is kept."""
    hosts = np.array([0.1, 1 + 2.0**-52]), np.array([2**53 + 1, -(2**62) - 1])
    _feed(trial, *hosts)

    def body(infeed: Callable[..., Any]) -> Any:
        with x64():
            return infeed(lax.create_token(), shape=_Fields(*map(_aval, hosts)))

    output = trial.call_inside(body)
    trial.equal((type(output), len(output), type(output[0]), _is_token(output[1])), (tuple, 2, _Fields, True))
    for found, host in zip(output[0], hosts):
        trial.equal((np.asarray(found).dtype, np.asarray(found).tolist()), (host.dtype, host.tolist()))

    def fed_twice(infeed: Callable[..., Any]) -> Any:
        def program(x: Any) -> Any:
            one, token = infeed(lax.create_token(x), shape=_aval(hosts[0].astype("float32")))
            return one, infeed(token, shape=_aval(hosts[0].astype("float32")))

        return jax.make_jaxpr(program)(np.float32(1))

    feeds = [each for each in trial.call_inside(fed_twice).eqns if each.primitive.name == "infeed"]
    trial.equal((len(feeds), feeds[-1].invars[0] is feeds[0].outvars[-1]), (2, True))


class _Fields(NamedTuple):
    fractions: Any
    integers: Any


def refuses_shapes(trial: Trial) -> None:
    """Every leaf of the shape must be a ShapedArray, the partitions a tuple, and the first argument a token. The calls
    are traced, so none waits for a value."""
    host = trial.random(3)

    def body(infeed: Callable[..., Any], shape: Any, partitions: Any = None, has_token: bool = True) -> Any:
        def fed(x: Any) -> Any:
            return infeed(lax.create_token(x) if has_token else x, shape=shape, partitions=partitions)[0]

        return jax.make_jaxpr(fed)(host)

    taken, given = _aval(host), jax.ShapeDtypeStruct(host.shape, host.dtype)
    for shape in (given, host, trial.tensor(host), (3,), 1.5, "float32[3]", {"a": taken, "b": [given]}, [host, taken]):
        trial.raises_inside(["TypeError"], "ShapedArray", body, shape)
    for partitions in ([None], "a"):
        trial.raises_inside(["ValueError"], "partitions", body, taken, partitions)
    trial.raises_inside(["TypeError"], "token", body, taken, None, False)


def fed_containers(trial: Trial) -> None:
    """A shape in a list, a tuple, a dictionary, or alone gives its values in the same container, and no shape gives
    none; the token is the last output of the feed. Partitions are in the program, with none for the token. The calls
    are traced, so none waits for a value."""
    one, two = _aval(trial.random(3, 2)), _aval(trial.random(5, dtype="int32"))
    seen: list[Any] = []

    def body(infeed: Callable[..., Any], shape: Any, options: Any) -> Any:
        def fed(x: Any) -> Any:
            seen[:] = [infeed(lax.create_token(x), shape, **options)]
            return seen[0]

        return jax.make_jaxpr(fed)(np.float32(1))

    others = [[None, one, ()], OrderedDict(b=one, a=two), Pair(two, None), ([], {"a": [{}]}), [[one] * 20]]
    for shape in (None, (), [], {}, one, (one,), [one], [two, one], (two, [one]), {"b": one, "a": (two,)}, *others):
        jaxpr = trial.call_inside(body, shape, {})
        ((values, token),) = seen
        (feed,) = [each for each in jaxpr.eqns if each.primitive.name == "infeed"]
        trial.equal(jax.tree_util.tree_structure(values), jax.tree_util.tree_structure(shape))
        leaves, wanted = (jax.tree_util.tree_leaves(tree) for tree in (values, shape))
        trial.equal([(each.shape, str(each.dtype)) for each in leaves], [(a.shape, str(a.dtype)) for a in wanted])
        trial.equal((len(feed.outvars), jaxpr.jaxpr.outvars[-1] is feed.outvars[-1]), (len(leaves) + 1, True))
        trial.equal((feed.params["partitions"], token is None), (None, False))
    for partitions in (((2, 1),), (None,)):
        jaxpr = trial.call_inside(body, [one], {"partitions": partitions})
        (feed,) = [each for each in jaxpr.eqns if each.primitive.name == "infeed"]
        trial.equal(feed.params["partitions"], (*partitions, None))


def _feed(trial: Trial, *hosts: Any) -> None:
    """Send arrays to the device's queue. Skips the test if the device has no such queue."""
    trial.repeatable = False
    transfer = getattr(trial.device, "transfer_to_infeed", None)
    if transfer is None:
        trial.skip("the device has no infeed queue")
    transfer(tuple(hosts))


def _aval(host: Any) -> Any:
    return jax.core.ShapedArray(host.shape, host.dtype)


def _is_token(value: Any) -> bool:
    return type(value) is type(lax.create_token())
