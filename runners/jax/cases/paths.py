"""jax.numpy.einsum_path: the order in which a sum of products is computed, and its cost."""

from __future__ import annotations

import math
import string
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def path_of_chain(trial: Trial, sizes: Sequence[int], expected: Sequence[Sequence[int]], optimize: Any = None) -> None:
    """The path is the cheapest order to multiply a chain of matrices, with its cost; in this order the product is
    right."""
    letters = string.ascii_letters[: len(sizes)]
    terms = ",".join(letters[i : i + 2] for i in range(len(sizes) - 1))
    subscripts = f"{terms}->{letters[0]}{letters[-1]}"
    hosts = [trial.random(*sizes[i : i + 2], seed=i) for i in range(len(sizes) - 1)]
    if isinstance(optimize, list):
        optimize = [tuple(step) for step in optimize]
    named = {} if optimize is None else {"optimize": optimize}
    path, facts = trial.call(subscripts, *map(trial.tensor, hosts), **named)
    trial.equal([list(step) for step in path], [list(step) for step in expected])
    trial.check(all(isinstance(step, tuple) for step in path), f"expected tuples, got {path}")
    trial.check(subscripts in str(facts), f"the report does not name {subscripts}: {facts}")
    operands = [(host.astype("float64"), letters[i : i + 2]) for i, host in enumerate(hosts)]
    cost = 0
    for step in path:
        taken = [operands.pop(place) for place in sorted(step, reverse=True)][::-1]
        # A product and a sum for each combination of the letters.
        summed = {letter for _, pair in taken for letter in pair}
        cost += 2 * math.prod(sizes[letters.index(letter)] for letter in summed)
        operands.append(_contracted(taken, letters))
    trial.equal((int(facts.opt_cost), int(facts.naive_cost)), (cost, len(hosts) * math.prod(sizes)))
    trial.close(operands[0][0], np.linalg.multi_dot([host.astype("float64") for host in hosts]))


def paths_in_turn(trial: Trial) -> None:
    """Chains of the same letters and other sizes, or the same sizes and another strategy, have their own paths."""
    first, last = [[0, 1], [0, 1]], [[1, 2], [0, 1]]
    for sizes, expected, optimize in (
        ([2, 50, 3, 60], first, None),
        ([60, 3, 50, 2], last, None),
        ([60, 3, 50, 2], first, first),
        ([60, 3, 50, 2], last, "optimal"),
        ([2, 50, 3, 60], last, last),
        ([2, 50, 3, 60], first, None),
    ):
        path_of_chain(trial, sizes, expected, optimize)


def path_forms(trial: Trial, form: str) -> None:
    """In every notation of the sum, the path uses each operand once."""
    a, b = (trial.tensor(trial.random(3, 3, seed=seed)) for seed in range(2))
    chain = [trial.tensor(trial.random(*shape)) for shape in ((5, 60, 3), (3, 50), (50, 2))]
    forms = {
        "one": (("ij->ji", a), [(0,)]),
        "implicit": (("ij,jk", a, b), [(0, 1)]),
        "ellipsis": (("...j,j...", a, b), [(0, 1)]),
        "interleaved": ((a, [0, 1], b, [1, 2], [0, 2]), [(0, 1)]),
        "trace": (("ij,ji->", a, b), [(0, 1)]),
        "three": (("...ab,bc,cd->...ad", *chain), [(1, 2), (0, 1)]),
    }
    args, expected = forms[form]
    trial.equal(trial.call(*args)[0], expected)


def path_unoptimised(trial: Trial) -> None:
    """Without optimization nothing is reordered: all operands at once, or from left to right."""
    hosts = [trial.random(60, 3), trial.random(3, 50), trial.random(50, 2)]
    path, _ = trial.call("ab,bc,cd->ad", *map(trial.tensor, hosts), optimize=False)
    trial.check(path in ([(0, 1, 2)], [(0, 1), (0, 1)]), f"expected no reordering, got {path}")


def path_used(trial: Trial) -> None:
    """In a compiled function the path of traced arrays is known, and jax.numpy.einsum can follow it."""
    hosts = [trial.random(40, 2), trial.random(2, 30, seed=1), trial.random(30, 3, seed=2)]
    seen: list[Any] = []

    def body(einsum_path: Callable[..., Any], *operands: Any) -> Any:
        def product(*operands: Any) -> Any:
            path, _ = einsum_path("ab,bc,cd->ad", *operands, optimize="optimal")
            seen[:] = path
            return jnp.einsum("ab,bc,cd->ad", *operands, optimize=path)

        return jax.jit(product)(*operands)

    output = trial.call_inside(body, *map(trial.tensor, hosts))
    trial.equal(seen, [(1, 2), (0, 1)])
    # Sums of thirty and then two products of about one, in float32.
    trial.close(output, np.linalg.multi_dot([host.astype("float64") for host in hosts]), rtol=1e-5, atol=2e-5)


def _contracted(taken: Sequence[Any], letters: str) -> Any:
    """Return the product of two neighbors in the chain, in either order, or of all at once."""
    arrays = sorted(taken, key=lambda pair: letters.index(pair[1][0]))
    product = arrays[0][0]
    for array, _ in arrays[1:]:
        product = product @ array
    return product, arrays[0][1][0] + arrays[-1][1][1]


def path_by_default(trial: Trial, optimize: Sequence[Any]) -> None:
    """Each of these strategies takes a chain's cheap end first, in capitals and with spaces too; an array without axes
    is an operand. The report names the sum, both costs and the largest intermediate."""
    hosts = [trial.random(*shape) for shape in ((60, 3), (3, 50), (50, 2))]
    for strategy in optimize:
        path, facts = trial.call("Ab, bC, Cd -> Ad", *map(trial.tensor, hosts), optimize=strategy)
        trial.equal([list(step) for step in path], [[1, 2], [0, 1]])
    path, facts = trial.call("Ab,bC,Cd->Ad", *map(trial.tensor, hosts))
    trial.equal([list(step) for step in path], [[1, 2], [0, 1]])
    report = str(facts)
    for part in ("Ab,bC,Cd->Ad", "Naive scaling", "5.400e+4", "1.320e+3", "1.200e+2", "GEMM"):
        trial.check(part in report, f"the report does not have {part}: {report}")
    trial.equal(trial.call(",ab->ab", trial.tensor(trial.random()), trial.tensor(hosts[0]))[0], [(0, 1)])
