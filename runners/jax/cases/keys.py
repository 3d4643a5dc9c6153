"""jax.random.PRNGKey: the keys of JAX's random numbers."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def key_folds(trial: Trial, seed: int) -> None:
    """Folding numbers into the key matches Threefry-2x32 with 20 rounds (Salmon et al., SC 2011)."""
    key = trial.call(seed)
    trial.close(key, np.array([0, seed]), dtype="uint32")
    for number in (0, 5, 2**31):
        trial.equal(jax.random.fold_in(key, number), _threefry((0, seed), (0, number)))


def key_draws(trial: Trial) -> None:
    """Numbers drawn from a key are independent and have their distribution. They are the same for the same seed, and
    differ for another seed."""
    count = 40_000
    keys = [trial.call(seed) for seed in (1, 1, 2)]
    trial.equal(keys, [[0, 1], [0, 1], [0, 2]])
    first, again, other = (trial.numpy(jax.random.normal(key, (count,))) for key in keys)
    trial.equal(first, again)
    for numbers in (first, other):
        check_draws(numbers, "normal", {})
    check_draws(jax.random.uniform(keys[0], (count,)), "uniform", {})
    correlation = float(np.corrcoef(first, other)[0, 1])
    trial.check(abs(correlation) < 4 / count**0.5, f"two seeds correlate: {correlation:.4f}")


def keys_mapped(trial: Trial) -> None:
    """Mapped over a vector of seeds it gives a key for each seed."""
    seeds = trial.random(100, dtype="int32", low=0, high=2**31 - 1)
    keys = trial.call_inside(lambda make, seeds: jax.vmap(make)(seeds), trial.tensor(seeds))
    trial.close(keys, np.stack([np.zeros_like(seeds), seeds], axis=-1), dtype="uint32")


def key_compiled(trial: Trial) -> None:
    """The seed can be a traced value of a compiled function."""
    seed = trial.tensor(np.int32(1234567))
    key = trial.call_inside(lambda make, seed: _compiled(make)(seed), seed)
    trial.close(key, np.array([0, 1234567]), dtype="uint32")


def key_double(trial: Trial) -> None:
    """With 64-bit types enabled, the key holds both halves of a 64-bit seed: a Python number, a NumPy number or an
    array, also a negative one."""
    for seed, halves in (
        (3 * 2**32 + 7, [3, 7]),
        (-3, [2**32 - 1, 2**32 - 3]),
        (np.int64(2**63 - 1), [2**31 - 1, 2**32 - 1]),
    ):
        trial.close(call_with_x64(trial, args=(seed,)), np.array(halves), dtype="uint32")
    trial.close(call_with_x64(trial, np.int64(-(2**40) - 1)), np.array([2**32 - 257, 2**32 - 1]), dtype="uint32")


def keys_in_turn(trial: Trial) -> None:
    """Keys of several seeds are independent of the calls before: each gives its own numbers whenever it is used, which
    splitting and folding do not change, and a traced seed gives the same ones."""
    seeds = (3, 5, 3, 4, 5)
    keys = [trial.call(seed) for seed in seeds]
    first = {seed: trial.numpy(jax.random.bits(key, (4,))) for seed, key in zip(seeds, keys)}
    trial.equal(len({tuple(bits.tolist()) for bits in first.values()}), 3)
    inside = trial.call_inside(lambda make: jax.vmap(make)(np.array(seeds, "int32")))
    for seed, key, mapped in zip(seeds, keys, inside):
        jax.random.split(key)
        jax.random.fold_in(key, 7)
        trial.equal(key, [0, seed])
        trial.equal(jax.random.bits(key, (4,)), first[seed])
        trial.equal(jax.random.bits(mapped, (4,)), first[seed])


def keys_of_generators(trial: Trial) -> None:
    """A key is one of the generator that is the default when it is made: of Threefry the two halves of the seed, of the
    generator RBG these twice. Afterwards the former default is in force again."""

    def body(make: Callable[..., Any], seed: int) -> list[Any]:
        keys = [make(seed)]
        for generator in ("rbg", "threefry2x32", "unsafe_rbg"):
            with jax.default_prng_impl(generator):
                keys.append(make(seed))
        return [*keys, make(seed)]

    for seed in (42, 7):
        for key, times in zip(trial.call_inside(body, seed), (1, 2, 1, 2, 1)):
            trial.exact(key, np.array([0, seed] * times), "uint32")


def draws_of_axes(trial: Trial) -> None:
    """Draws of four and five axes differ along each axis, and a million of them are in their range."""
    key = trial.call(9)
    trial.equal(key, [0, 9])
    bits = trial.numpy(jax.random.bits(key, (2, 3, 4, 5, 6)))
    # Of 720 draws of 32 bits two are equal once in 16,000 seeds.
    trial.equal(len(np.unique(bits)), bits.size)
    many = trial.numpy(jax.random.uniform(key, (20, 50, 10, 100)))
    trial.check(np.isfinite(many).all() and many.min() >= 0 and many.max() < 1, "a draw is out of its range")
    alike = [np.mean(np.diff(many, axis=axis) == 0) for axis in range(4)]
    # Two draws of 23 bits are equal once in eight million times.
    trial.check(max(alike) < 1e-4, f"shares of neighbors that are equal, by axis: {alike}")


def seeds_of_dtypes(trial: Trial) -> None:
    """A seed of any integer dtype, of NumPy or a view, is the number that it holds."""
    for seed, low in (
        (np.uint8(200), 200),
        (np.uint32(2**32 - 1), 2**32 - 1),
        (np.int16(-1), 2**32 - 1),
        (np.arange(6, dtype="int32")[::-2][1], 3),
        (np.broadcast_to(np.uint16(65535), (2,))[1:].reshape(()), 65535),
    ):
        trial.exact(trial.call(seed), [0, low], "uint32")


def key_refuses(trial: Trial) -> None:
    """What is no integer of 64 bits is no seed: a larger one, None, a floating number of NumPy, a number as text."""
    for seed in (2**64, 2**63, -(2**63) - 1):
        trial.raises(["OverflowError"], "large", seed)
    for seed in (None, np.float32(2), np.float64(3), "3", b"3", {}):
        trial.raises(["TypeError", "ValueError"], "", seed)
    trial.exact(trial.call(2**63 - 1), [0, 2**32 - 1], "uint32")


def kinds_of_seeds(trial: Trial) -> None:
    """PRNGKey: an integer of a subclass is the number that it is, and a whole number of another kind is no seed."""
    for seed in (enum.IntEnum("Seed", "One")(1), type("Own", (int,), {})(2**31 - 5)):
        trial.exact(trial.call(seed), np.array([0, int(seed) % 2**32], "uint32"), "uint32")
    for seed in (3.0, 3 + 0j, (3,), {3}):
        trial.raises(["TypeError", "ValueError"], "", seed)


@lru_cache(maxsize=1)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""
    return jax.jit(function)


def _threefry(key: Any, counter: Any) -> Any:
    words = np.array(key, "uint32")
    schedule = (*words, words[0] ^ words[1] ^ np.uint32(0x1BD11BDA))
    x = np.array(counter, "uint32") + words
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            x[0] += x[1]
            x[1] = (x[1] << np.uint32(bits) | x[1] >> np.uint32(32 - bits)) ^ x[0]
        x += np.array([schedule[(group + 1) % 3], schedule[(group + 2) % 3]], "uint32")
        x[1] += np.uint32(group + 1)
    return x


def key_seeds_in_turn(trial: Trial) -> None:
    """Seeds that Python takes for equal hashes, or that differ in one bit only, have keys of their own, in any order.
    So do traced seeds of unsigned types."""
    seeds = [-1, -2, 0, -1, 2**31, -(2**31), 2**32 - 1, 2**31 - 1, 65536, 1, 65537, True, np.int8(-2), np.uint8(254)]
    for seed in seeds:
        trial.exact(trial.call(seed), np.array([0, int(seed) % 2**32], "uint32"), "uint32")
    unsigned = [np.uint32(3_000_000_001), np.uint32(65537), np.uint16(65535), np.uint8(255)]
    tensors = [trial.tensor(seed) for seed in unsigned]
    keys = trial.call_inside(
        lambda make, *seeds: jax.jit(lambda *seeds: [make(seed) for seed in seeds])(*seeds), *tensors
    )
    for seed, key in zip(unsigned, keys):
        trial.exact(key, np.array([0, int(seed)], "uint32"), "uint32")
