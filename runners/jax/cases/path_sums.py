"""jax.numpy.einsum_path for sums of many kinds: the path can be followed, and an optimal one costs least."""

from __future__ import annotations

import itertools
import math
from typing import Any, Iterator, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.surroundings import watched

_SIZES = {"a": 2, "b": 7, "c": 3, "d": 11, "e": 5, "f": 4}
_SUMS = ("ab,bc->ac", "ab,bc,cd->ad", "ab,ab,ab->", "a,b,c->abc", "abc,cd,de,ef->abf", "ba,dbc,ce,ad->e", "abcd->db")
_STRATEGIES = ("greedy", "optimal", "dp", "auto", "branch-all", True)


def paths_of_sums(trial: Trial) -> None:
    """Whatever the strategy, each step takes operands that are still there and one is left at the end. Done in this
    order with NumPy, the sum is right. The costs are those of the steps, and no order costs less than the optimal one.
    Operands are arrays of any type, of the device or of NumPy, of which only the shapes count."""
    for subscripts in _SUMS:
        terms, result = _parsed(subscripts)
        hosts = [trial.random(*[_SIZES[letter] for letter in term], seed=n) for n, term in enumerate(terms)]
        exact = np.einsum(subscripts, *[host.astype("float64") for host in hosts])
        least = min(_cost(terms, result, path) for path in _pairwise(len(terms)))
        for strategy in _STRATEGIES:
            path, facts = trial.call(subscripts, *map(trial.tensor, hosts), optimize=strategy)
            trial.equal(type(path), list)
            trial.close(_followed(hosts, terms, result, path), exact, rtol=1e-9)
            cost = _cost(terms, result, path)
            trial.equal(int(facts.opt_cost), cost)
            trial.equal(facts.eq, subscripts)
            if strategy == "optimal" and len(terms) > 1:
                trial.equal(cost, least)
        with watched(trial):
            of_hosts = trial.call(subscripts, *hosts, optimize="optimal")[0]
        trial.equal(of_hosts, trial.call(subscripts, *map(trial.tensor, hosts), optimize="optimal")[0])
        trial.check(all(host.flags.writeable for host in hosts), "an operand cannot be written to any more")
        others = [trial.tensor(np.zeros(host.shape), "int8") for host in hosts]
        trial.equal(trial.call(subscripts, *others, optimize="optimal")[0], of_hosts)
        given = [tuple(step) for step in of_hosts]
        trial.equal(trial.call(subscripts, *map(trial.tensor, hosts), optimize=given)[0], given)


def path_report(trial: Trial) -> None:
    """Beside the path, in a tuple, is a report: how many letters each step has, the size of what it makes, the largest
    of them, its operands' places, both costs and how many times less the path costs. To ask for it draws nothing."""
    for subscripts in _SUMS:
        terms, result = _parsed(subscripts)
        hosts = [trial.random(*[_SIZES[letter] for letter in term], seed=n) for n, term in enumerate(terms)]
        for strategy in ("optimal", "greedy", False):
            with watched(trial):
                output = trial.call(subscripts, *hosts, optimize=strategy)
            trial.equal((type(output), len(output)), (tuple, 2))
            path, facts = output
            steps = list(_steps(terms, result, path))
            sizes = [math.prod(_SIZES[letter] for letter in step["made"]) for step in steps]
            trial.equal(list(facts.scale_list), [len(step["letters"]) for step in steps])
            trial.equal(list(map(int, facts.size_list)), sizes)
            trial.equal(int(facts.largest_intermediate), max(sizes))
            trial.equal([sorted(each[0]) for each in facts.contraction_list], [sorted(step) for step in path])
            trial.equal((facts.input_subscripts, facts.output_subscript), (",".join(terms), result))
            together = "".join(terms)
            each = max(1, len(terms) - 1) + (len(set(together)) < len(together))
            naive = each * math.prod(_SIZES[letter] for letter in set(together))
            trial.equal((int(facts.naive_cost), int(facts.opt_cost)), (naive, _cost(terms, result, path)))
            trial.equal(float(facts.speedup), float(facts.naive_cost / facts.opt_cost))


def path_of_lists(trial: Trial) -> None:
    """Operands with lists of axes: the last list is the output's, in its order, and may be empty; without it the output
    has the axes that occur once."""
    one, two, three = trial.random(2, 3), trial.random(3, 4), trial.random(4, 5)
    operands = (one, [0, 1], two, [1, 2], three, [2, 3])
    for more, wanted in (([0, 3],), [0, 3]), (([3, 0],), [3, 0]), (([3, 1, 0],), [3, 1, 0]), (([],), []), ((), [0, 3]):
        for strategy in ("greedy", "optimal"):
            path, facts = trial.call(*operands, *more, optimize=strategy)
            terms = facts.input_subscripts.split(",")
            letters = [terms[0][0], terms[0][1], terms[1][1], terms[2][1]]
            trial.equal(terms, ["".join(letters[n] for n in axes) for axes in operands[1::2]])
            trial.equal(facts.output_subscript, "".join(letters[n] for n in wanted))
            trial.equal(facts.eq, facts.input_subscripts + "->" + facts.output_subscript)
            trial.equal(sum(map(len, path)) - len(path) + 1, 3)


def kinds_of_operands(trial: Trial) -> None:
    """einsum_path: operands can be lists, numbers and shapes without values, also far larger than any memory. The
    report is exact there, too. Letters are any, also repeated ones and with spaces between; sizes can be zero."""
    shape = jax.ShapeDtypeStruct
    for given in (([[1, 2]], ((1,), (2,))), ([[True, False]], np.ones((2, 1)))):
        path, facts = trial.call("ij,jk", *given)
        trial.equal((path, facts.naive_cost, facts.output_subscript), ([(0, 1)], 4, "ik"))
    trial.equal(trial.call(",", 2, 3.0)[0], [(0, 1)])
    square = shape((3, 3), np.float32)
    for subscripts, operands, output in (
        *(
            ("αβ,βγ,γδ->δα", [square] * 3, "δα"),
            ("aa,ab,bA->A", [square] * 3, "A"),
            (" ab , bc ->  ac ", [square] * 2, "ac"),
        ),
        *(("ab,bc,cd", [shape((0, 2), np.int8), shape((2, 0), np.int8), shape((0, 3), np.int8)], "ad"),),
    ):
        for options in ({}, {"optimize": None}, {"optimize": "optimal"}, {"optimize": "greedy"}):
            path, facts = trial.call(subscripts, *operands, **options)
            trial.equal((facts.output_subscript, facts.eq.count("->")), (output, 1))
            trial.equal((sum(map(len, path)) - len(path), type(path), len(path[-1])), (len(operands) - 1, list, 2))
    n = 2**12
    given = [shape((n, n), np.float32), shape((n, 2 * n), np.float32), shape((2 * n, n), np.float32)]
    # The products of the pairs have 2 n n, n n, and n n 2 n n elements.
    path, facts = trial.call("ij,jk,lm->iklm", *given, optimize="optimal")
    trial.equal((path[-1], len(path), facts.largest_intermediate), ((0, 1), 2, 4 * n**4))
    trial.equal(facts.opt_cost, 2 * n * n * 2 * n + 2 * n * n * 2 * n * n)
    trial.equal((facts.naive_cost, facts.size_dict), (3 * 4 * n**5, {"i": n, "j": n, "k": 2 * n, "l": 2 * n, "m": n}))
    trial.equal([facts.size_list[-1], facts.scale_list], [4 * n**4, [3, 4]])


def _parsed(subscripts: str) -> tuple[list[str], str]:
    terms, result = subscripts.split("->")
    return terms.split(","), result


def _pairwise(count: int) -> Iterator[Sequence[Any]]:
    """Yield every order to take two of the operands at a time."""
    if count <= 1:
        yield [(0,)] if count else []
        return
    if count == 2:
        yield [(0, 1)]
        return
    for pair in itertools.combinations(range(count), 2):
        for rest in _pairwise(count - 1):
            yield [pair, *rest]


def _steps(terms: Sequence[str], result: str, path: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield for each step its operands' places and letters, and those of its output, which later ones need."""
    left = list(terms)
    for number, step in enumerate(path):
        taken = [left.pop(place) for place in sorted(step, reverse=True)]
        needed = set(result).union(*left)
        letters = set().union(*taken)
        made = result if number == len(path) - 1 else "".join(sorted(letters & needed))
        left.append(made)
        yield {"places": sorted(step, reverse=True), "taken": taken, "made": made, "letters": letters}


def _cost(terms: Sequence[str], result: str, path: Sequence[Any]) -> int:
    """Return the operations of all steps: for each combination of letters the products and, if any letter is summed, a
    sum."""
    total = 0
    for step in _steps(terms, result, path):
        each = max(1, len(step["taken"]) - 1) + bool(step["letters"] - set(step["made"]))
        total += each * math.prod(_SIZES[letter] for letter in step["letters"])
    return total


def _followed(hosts: Sequence[Any], terms: Sequence[str], result: str, path: Sequence[Any]) -> Any:
    """Return the sum, computed in the order of the path."""
    arrays = [host.astype("float64") for host in hosts]
    for step in _steps(terms, result, path):
        operands = [arrays.pop(place) for place in step["places"]]
        arrays.append(np.einsum(",".join(step["taken"]) + "->" + step["made"], *operands))
    (found,) = arrays
    return found
