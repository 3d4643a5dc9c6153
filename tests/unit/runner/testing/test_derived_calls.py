"""The calls that are derived from a recorded one: what changes in its tensors, and what stays."""

from __future__ import annotations

import pytest

from runners.core.errors import BadInput
from runners.core.testing.derived_calls import MUTATIONS, NONE, Call, mutated, of_arguments

FLOATS = {"dtype": "float32", "shape": [4, 3], "seed": 1, "low": -1.5, "high": 2.0}
WEIGHT = {"dtype": "float32", "shape": [3, 5], "seed": 2, "order": [1, 0]}
INDEX = {"dtype": "int64", "values": [0, 2, 1, 1]}


def call(*tensors, **kwargs):
    return Call([{"tensor": data} for data in tensors], kwargs)


def tensors(mutation, *given):
    return [each["tensor"] for each in mutated(call(*given), mutation).args]


def test_the_call_itself_stays():
    given = call(FLOATS, dim=-1)
    assert mutated(given, NONE) is given
    arguments = {"args": [1], "autocast": "bfloat16"}
    assert of_arguments(arguments, NONE) is arguments


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_a_dtype_takes_the_place_of_that_of_the_first_tensor_wherever_it_is(dtype):
    found = tensors(dtype, FLOATS, INDEX, WEIGHT)
    assert found == [dict(FLOATS, dtype=dtype), INDEX, dict(WEIGHT, dtype=dtype)]


def test_what_is_known_of_floats_has_no_meaning_for_other_dtypes():
    known = {**FLOATS, "special": ["nan"], "zeros": 0.5, "requires_grad": True}
    assert tensors("int32", known) == [{"dtype": "int32", "shape": [4, 3], "seed": 1}]
    assert tensors("bool", {"dtype": "float32", "values": [1.0, 0.0]}) == [{"dtype": "bool", "values": [1.0, 0.0]}]


def test_whole_numbers_stay_whole_as_floats():
    found = tensors("float32", {"dtype": "int64", "shape": [4], "low": 0, "high": 3, "seed": 1})
    assert found == [{"dtype": "float32", "shape": [4], "low": 0, "high": 3, "seed": 1, "integers": True}]


def test_gradients_are_wanted_of_all_floats():
    found = mutated(call(FLOATS, INDEX), "gradient")
    assert found.gradient
    assert [each["tensor"].get("requires_grad") for each in found.args] == [True, None]
    assert not mutated(found, "int32").gradient


def test_a_size_changes_in_all_axes_that_have_it():
    assert [data["shape"] for data in tensors("empty", FLOATS, INDEX)] == [[0, 3], [0]]
    assert [data["shape"] for data in tensors("odd", FLOATS, WEIGHT)] == [[9, 7], [7, 11]]
    assert [data["shape"] for data in tensors("large", FLOATS, WEIGHT)] == [[4, 1027], [1027, 5]]
    assert [data["shape"] for data in tensors("empty", {"dtype": "float32", "shape": [1, 3]})] == [[1, 0]]
    assert tensors("odd", FLOATS, WEIGHT)[1]["order"] == [1, 0]


def test_given_values_become_random_ones_of_their_range_where_sizes_change():
    (found,) = tensors("odd", INDEX)
    assert found == {"dtype": "int64", "shape": [9], "seed": 1, "low": 0, "high": 3}
    (found,) = tensors("odd", {"dtype": "float32", "values": [[0.5, "nan"], [2.0, -1.0]]})
    assert found == {"dtype": "float32", "shape": [5, 5], "seed": 1, "low": -1.0, "high": 2.0}


def test_a_scalar_takes_the_place_of_all_tensors_of_the_first_shape():
    same = {"dtype": "float64", "shape": [4, 3], "order": [1, 0], "like": "sorted"}
    assert tensors("scalar", FLOATS, same, WEIGHT) == [
        dict(FLOATS, shape=[]),
        {"dtype": "float64", "shape": []},
        WEIGHT,
    ]


def test_layouts_need_axes():
    assert tensors("strided", INDEX, WEIGHT) == [
        dict(INDEX, layout="strided"),
        {"dtype": "float32", "shape": [3, 5], "seed": 2, "layout": "strided"},
    ]
    assert "layout" not in tensors("transposed", FLOATS, INDEX)[1]


def test_nested_tensors_change_and_keys_of_random_numbers_do_not():
    key = {"dtype": "key<fry>", "shape": []}
    given = Call([{"tensor": key}, {"tuple": [{"tensor": FLOATS}]}], {"out": [{"tensor": FLOATS}]})
    found = mutated(given, "float16")
    changed = {"tensor": dict(FLOATS, dtype="float16")}
    assert found == Call([{"tensor": key}, {"tuple": [changed]}], {"out": [changed]})


def test_other_arguments_of_a_recording_stay():
    found = of_arguments({"args": [{"tensor": FLOATS}], "autocast": "bfloat16"}, "float64")
    assert (found["autocast"], found["gradient"], found["args"][0]["tensor"]["dtype"]) == ("bfloat16", False, "float64")


@pytest.mark.parametrize(
    ("mutation", "given", "said"),
    [
        ("float8", [FLOATS], "there is no mutation 'float8'"),
        ("float16", [], "needs a tensor, and the call has none"),
        ("float32", [FLOATS], "does not change the call"),
        ("gradient", [INDEX], "does not change the call"),
        ("transposed", [INDEX], "does not change the call"),
        ("scalar", [{"dtype": "float32", "shape": []}], "does not change the call"),
        ("large", [{"dtype": "float32", "shape": [1024, 2]}], "makes a tensor of more than"),
    ],
)
def test_what_does_not_apply_is_a_mistake(mutation, given, said):
    with pytest.raises(BadInput, match=said):
        mutated(call(*given), mutation)


def test_every_mutation_applies_to_something():
    for mutation in MUTATIONS:
        given = INDEX if mutation == "float32" else FLOATS
        assert mutated(call(given, WEIGHT), mutation) != call(given, WEIGHT)
