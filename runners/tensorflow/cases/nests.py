"""tf.nest.map_structure and map_structure_up_to: the structure of the output, and its tensors."""

from __future__ import annotations

import collections
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_Pair = collections.namedtuple("_Pair", "weights bias")


def _double(x: Any) -> Any:
    return x + x


def _wide(host: Any) -> Any:
    return host.astype("complex128" if host.dtype.kind == "c" else "float64")


# tf.nest.map_structure


def tensors(trial: Trial, dtype: str) -> None:
    """The function gets each tensor of a nested structure once, in order; dictionaries by sorted keys."""
    hosts = [trial.random(size, 2, dtype=dtype, seed=size) for size in (1, 2, 3, 4)]
    a, b, c, d = (trial.tensor(host, dtype) for host in hosts)
    rows: list[int] = []

    def double(x: Any) -> Any:
        rows.append(int(x.shape[0]))
        return x + x

    output = trial.call(double, {"z": [b, (c,)], "a": a, "k": {"only": d}})
    trial.equal(rows, [1, 4, 2, 3])
    trial.equal(list(output), ["z", "a", "k"])
    trial.check(type(output["z"]) is list and type(output["z"][1]) is tuple, f"the structure became {output}")
    found = [output["a"], output["z"][0], output["z"][1][0], output["k"]["only"]]
    for tensor, given in zip(found, (a, b, c, d)):
        trial.close(tensor, 2 * _wide(trial.numpy(given)), dtype=dtype)


def several_structures(trial: Trial, dtype: str) -> None:
    """With several structures the function gets the leaves at the same place; the output has the first one's
    structure."""
    hosts = [trial.random(3, 4, dtype=dtype, seed=seed) for seed in range(6)]
    a, b, c, d, e, f = (trial.tensor(host, dtype) for host in hosts)

    def combine(x: Any, y: Any, z: Any) -> Any:
        return x * y - z

    output = trial.call(combine, _Pair(a, [b]), _Pair(c, [d]), _Pair(e, [f]))
    trial.check(type(output) is _Pair and type(output.bias) is list, f"the structure became {type(output)}")
    # A product and a difference: two roundings.
    allowed = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {}
    for found, (x, y, z) in ((output.weights, (0, 2, 4)), (output.bias[0], (1, 3, 5))):
        trial.close(found, _wide(hosts[x]) * _wide(hosts[y]) - _wide(hosts[z]), dtype=dtype, **allowed)


def python_leaves(trial: Trial) -> None:
    """A single leaf, an empty structure, None and strings: a string is a leaf, and so is None."""
    trial.equal(trial.call(lambda x: x * 2, 21), 42)
    trial.equal(trial.call(_double, ()), ())
    trial.equal(trial.call(_double, {"a": [], "b": ({},)}), {"a": [], "b": ({},)})
    trial.equal(trial.call(lambda x: [x, 1], [None, "ab"]), [[None, 1], ["ab", 1]])
    trial.equal(trial.call(lambda x, y: f"{x}-{y}", ["a", ("b",)], ["c", ("d",)]), ["a-c", ("b-d",)])


def keeps_types(trial: Trial) -> None:
    """Ordered, default and plain dictionaries and named tuples keep their type and the order of their keys."""
    ordered = collections.OrderedDict([("z", 1), ("a", _Pair(2, 3))])
    output = trial.call(lambda x: x * 10, ordered)
    trial.check(type(output) is collections.OrderedDict, f"an ordered dictionary became {type(output)}")
    trial.equal(list(output), ["z", "a"])
    trial.check(type(output["a"]) is _Pair, f"a named tuple became {type(output['a'])}")
    trial.equal((output["z"], tuple(output["a"])), (10, (20, 30)))
    default = collections.defaultdict(list, {"m": 4, "b": 5})
    output = trial.call(lambda x: x + 1, default)
    trial.check(type(output) is collections.defaultdict, f"a default dictionary became {type(output)}")
    trial.equal(dict(output), {"m": 5, "b": 6})
    trial.equal(output["missing"], [])


def unchecked_types(trial: Trial) -> None:
    """With ``check_types=False`` lists match tuples, with the first one's types; otherwise that raises an error."""
    first, second = (((1, 2), 3), 4), [[[10, 20], 30], 40]

    def body(map_structure: Callable[..., Any]) -> Any:
        try:
            map_structure(lambda x, y: x + y, first, second)
            types_raise = False
        except TypeError:
            types_raise = True
        try:
            map_structure(lambda x, y: x + y, [1, 2], [1, [2]], check_types=False)
            nesting_raises = False
        except ValueError:
            nesting_raises = True
        return map_structure(lambda x, y: x + y, first, second, check_types=False), types_raise, nesting_raises

    output, types_raise, nesting_raises = trial.call_inside(body)
    trial.equal(output, (((11, 22), 33), 44))
    trial.check(types_raise, "lists were accepted as tuples although types are checked")
    trial.check(nesting_raises, "structures of different nesting were mapped")


def composites(trial: Trial, expand: bool) -> None:
    """A sparse and a ragged tensor are leaves, or, expanded, structures whose parts the function gets."""
    indices = trial.tensor(np.asarray([[0, 1], [2, 0]], "int64"))
    sparse = tf.SparseTensor(indices, trial.tensor(np.asarray([1.5, -2.0], "float32")), [3, 4])
    rows = tf.RaggedTensor.from_row_lengths(trial.tensor(np.asarray([5.0, 6.0, 7.0], "float32")), [1, 0, 2])
    given: list[Any] = []

    def double_numbers(x: Any) -> Any:
        given.append(x)
        if isinstance(x, (tf.SparseTensor, tf.RaggedTensor)):
            return x.with_values(x.values * 2)
        return x * 2 if x.dtype.is_floating else x

    first, second = trial.call(double_numbers, [sparse, rows], expand_composites=expand)
    trial.equal(len(given), 5 if expand else 2)
    trial.check(all(isinstance(x, tf.Tensor) for x in given) is expand, f"the function was given {given}")
    trial.check(isinstance(first, tf.SparseTensor), f"a sparse tensor became {type(first)}")
    trial.check(isinstance(second, tf.RaggedTensor), f"a ragged tensor became {type(second)}")
    trial.close(first.values, [3.0, -4.0], dtype="float32")
    trial.close(first.indices, [[0, 1], [2, 0]], dtype="int64")
    trial.close(first.dense_shape, [3, 4], dtype="int64")
    trial.close(second.values, [10.0, 12.0, 14.0], dtype="float32")
    trial.close(second.row_splits, [0, 1, 1, 3], dtype="int64")


def many_leaves(trial: Trial, size: int) -> None:
    """Thousands of leaves, some deeply nested, are at their places."""
    deep: Any = 7
    for _ in range(50):
        deep = [deep]
    output = trial.call(lambda x: 3 * x + 1, {"wide": list(range(size)), "deep": deep})
    trial.equal(output["wide"], [3 * number + 1 for number in range(size)])
    innermost = output["deep"]
    for _ in range(50):
        (innermost,) = innermost
    trial.equal(innermost, 22)


def in_function(trial: Trial) -> None:
    """In a tf.function it maps symbolic tensors of unknown shape, and gradients flow through it."""
    hosts = [trial.random(*shape, seed=shape[0]) for shape in ((2, 3), (5, 1))]
    values = {"a": trial.tensor(hosts[0]), "b": (trial.tensor(hosts[1]),)}

    def body(map_structure: Callable[..., Any]) -> Any:
        spec = tf.TensorSpec([None, None], tf.float32)

        @tf.function(input_signature=[{"a": spec, "b": (spec,)}])
        def cubes(nested: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(nested)
                outputs = map_structure(lambda x: x * x * x, nested)
                total = tf.add_n([tf.reduce_sum(output) for output in tf.nest.flatten(outputs)])
            return outputs, tape.gradient(total, nested)

        return cubes(values)

    outputs, slopes = trial.call_inside(body)
    for output, slope, host in zip((outputs["a"], outputs["b"][0]), (slopes["a"], slopes["b"][0]), hosts):
        trial.close(output, _wide(host) ** 3, dtype="float32")
        trial.close(slope, 3 * _wide(host) ** 2, dtype="float32")


def element_specs(trial: Trial) -> None:
    """It maps the element specs of data sets: the same structure with one more dimension."""
    tensors_given = {"x": trial.tensor(trial.random(2, 3, seed=1)), "y": (trial.tensor(np.asarray([1, 2], "int64")),)}
    specs = tf.nest.map_structure(tf.TensorSpec.from_tensor, tensors_given)
    output = trial.call(lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype), specs)
    wanted = {"x": tf.TensorSpec([None, 2, 3], tf.float32), "y": (tf.TensorSpec([None, 2], tf.int64),)}
    trial.equal(output, wanted)


# map_structure_up_to


def up_to_tensors(trial: Trial, dtype: str) -> None:
    """Below the shallow structure the function gets whole structures: here lists of tensors to be added."""
    hosts = [trial.random(4, dtype=dtype, seed=seed) for seed in range(5)]
    a, b, c, d, e = (trial.tensor(host, dtype) for host in hosts)
    given: list[int] = []

    def total(items: Sequence[Any]) -> Any:
        given.append(len(items))
        return tf.add_n(items)

    output = trial.call({"x": None, "y": (None,)}, total, {"x": [a, b], "y": ([c, d, e],)})
    trial.equal(given, [2, 3])
    trial.equal(sorted(output), ["x", "y"])
    trial.check(type(output["y"]) is tuple, f"a tuple became {type(output['y'])}")
    # A sum of a few numbers of about 1.
    allowed = {"rtol": 1e-6, "atol": 1e-6} if dtype == "float32" else {}
    trial.close(output["x"], sum(map(_wide, hosts[:2])), dtype=dtype, **allowed)
    trial.close(output["y"][0], sum(map(_wide, hosts[2:])), dtype=dtype, **allowed)


def up_to_several(trial: Trial) -> None:
    """Several inputs can be deeper than the shallow structure, in different ways."""
    operation = collections.namedtuple("operation", "add mul")
    values = _Pair(2, 3)
    operations = _Pair(operation(add=1, mul=2), operation(add=2, mul=3))
    output = trial.call(values, lambda value, op: (value + op.add) * op.mul, values, operations)
    trial.check(type(output) is _Pair, f"a named tuple became {type(output)}")
    trial.equal(tuple(output), (6, 15))
    data = [[2, 4, 6, 8], [[1, 3, 5, 7, 9], [3, 5, 7]]]
    names = ["evens", ["odds", "primes"]]
    output = trial.call(names, lambda name, part: f"first_{len(part)}_{name}", names, data)
    trial.equal(output, ["first_4_evens", ["first_5_odds", "first_3_primes"]])


def up_to_leaf(trial: Trial) -> None:
    """If the shallow structure is a leaf the function gets the whole input; if it is empty, it is not called."""
    whole = {"a": [1, 2], "b": 3}
    trial.equal(trial.call(None, lambda x: (x["a"][1], x["b"]), whole), (2, 3))
    trial.equal(trial.call("leaf", lambda x, y: x + y, 4, 5), 9)
    trial.equal(trial.call([], lambda x: x + 1, []), [])
    trial.equal(trial.call({"a": (), "b": 0}, lambda x: -x, {"a": (), "b": 8}), {"a": (), "b": -8})


def up_to_order(trial: Trial) -> None:
    """Dictionaries are visited by sorted keys, and the output has the keys and type of the shallow structure."""
    shallow = collections.OrderedDict([("z", 0), ("a", 0), ("m", [0])])
    seen: list[Any] = []

    def note(part: Any) -> int:
        seen.append(part)
        return len(seen)

    output = trial.call(shallow, note, collections.OrderedDict([("m", [(2, 3)]), ("a", "word"), ("z", {"q": 1})]))
    trial.equal(seen, ["word", (2, 3), {"q": 1}])
    trial.check(type(output) is collections.OrderedDict, f"an ordered dictionary became {type(output)}")
    trial.equal(list(output.items()), [("z", 3), ("a", 1), ("m", [2])])


def up_to_unchecked(trial: Trial) -> None:
    """With ``check_types=False`` a list matches a tuple; otherwise that, and another length, raises an error."""

    def body(map_structure_up_to: Callable[..., Any]) -> Any:
        errors = []
        for shallow, given in (((0, 0), [1, [2, 3]]), ([0, 0], [1, 2, 3]), ([0, 0], 1)):
            try:
                map_structure_up_to(shallow, lambda x: x, given)
            except (TypeError, ValueError) as error:
                errors.append(type(error))
        return map_structure_up_to((0, 0), lambda x: [x], [1, [2, 3]], check_types=False), errors

    output, errors = trial.call_inside(body)
    trial.equal(output, ([1], [[2, 3]]))
    trial.check(errors == [TypeError, ValueError, TypeError], f"the errors are {errors}")


def up_to_in_function(trial: Trial) -> None:
    """In a tf.function it maps symbolic tensors with any number of rows, and their shapes."""
    hosts = [trial.random(*shape, seed=shape[0]) for shape in ((2, 3), (5, 3))]
    values = [trial.tensor(host) for host in hosts]

    def body(map_structure_up_to: Callable[..., Any]) -> Any:
        @tf.function(input_signature=[[tf.TensorSpec([None, 3], tf.float32)] * 2])
        def reduced(pair: Any) -> Any:
            axes = [[0, 1], [0]]
            with tf.GradientTape() as tape:
                tape.watch(pair)
                sums = map_structure_up_to(pair, lambda x, axis: tf.reduce_sum(x * x, axis), pair, axes)
                total = sums[0] + tf.reduce_sum(sums[1])
            return sums, tape.gradient(total, pair)

        return reduced(values)

    sums, slopes = trial.call_inside(body)
    squares = [_wide(host) ** 2 for host in hosts]
    trial.close(sums[0], squares[0].sum(), dtype="float32")
    trial.close(sums[1], squares[1].sum(axis=0), dtype="float32")
    for slope, host in zip(slopes, hosts):
        trial.close(slope, 2 * _wide(host), dtype="float32")


def up_to_many(trial: Trial, size: int) -> None:
    """Thousands of pairs are at their places."""
    pairs = [(number, [number * number]) for number in range(size)]
    output = trial.call([0] * size, lambda pair: pair[0] - pair[1][0], pairs)
    trial.equal(output, [number - number * number for number in range(size)])
