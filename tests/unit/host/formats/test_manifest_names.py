"""What ``portbench validate`` finds in a manifest without a framework: names, dtypes, values and parameters."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portbench.formats.consistency import check_consistency
from portbench.formats.manifest_names import reference_mistake
from runners.core.testing import properties, references
from tests.unit.host.clones import make_clone

TENSOR = {"tensor": {"shape": [2], "dtype": "float32"}}


def mistakes(test: dict[str, Any], framework: str = "torch") -> dict[str, str]:
    """The mistakes of one test, a call unless it says otherwise: the path below the test, and the sentence."""
    whole = {"id": "a", "case": "call", **test}
    if whole["case"] == "call":
        whole = {"args": [TENSOR], "expect": {"numpy": "cos"}, **whole}
    entry = {"function": f"{framework}.cos", "tests": [whole]}
    found = check_consistency("manifest", {"schema_version": 3, "framework": framework, "functions": [entry]})
    return {violation.path.removeprefix("$.functions[0].tests[0]."): violation.sentence for violation in found}


def test_a_correct_test_has_no_mistake() -> None:
    assert mistakes({}) == {}


@pytest.mark.parametrize(
    ("test", "place", "words"),
    [
        ({"expect": {"numpy": "cso"}}, "expect.numpy", ['"cso"', "cos"]),
        ({"expect": {"scipy": "erf"}}, "expect.scipy", ["did you mean special.erf"]),
        ({"expect": {"scipy": "special.efr"}}, "expect.scipy", ["special.erf"]),
        (
            {"expect": {"property": "argsrt"}},
            "expect.property",
            ["did you mean argsort", "known: argsort, categories, distribution, eig, lu, svd"],
        ),
        (
            {"expect": {"property": "argsort", "params": {"axes": 1}}},
            "expect.params",
            ['"axes"', "did you mean axis"],
        ),
        ({"expect": {"numpy": "cos", "dtype": "flaot32"}}, "expect.dtype", ['"flaot32"', "float32"]),
        ({"expect": {"numpy": "cos", "args": [{"arg": 1}]}}, "expect.args[0].arg", ["argument 1", "has 1"]),
        ({"args": [{"tensor": {"shape": [2], "dtype": "float23"}}]}, "args[0].tensor.dtype", ["float32"]),
        ({"args": [[{"dtype": "double"}]]}, "args[0][0].dtype", ['"double"', "expected a dtype"]),
        ({"kwargs": {"x": {"tuple": [{"dtype": "it32"}]}}}, "kwargs.x.tuple[0].dtype", ["int32"]),
        (
            {"args": [{"tensor": {"values": [[1], [1, 2]], "dtype": "int32"}}]},
            "args[0].tensor.values",
            ["different lengths"],
        ),
        (
            {"args": [{"tensor": {"values": [[1, "one"]], "dtype": "int32"}}]},
            "args[0].tensor.values",
            ['"one"', "expected numbers"],
        ),
        ({"case": "torch.rprop:rprop_step"}, "case", ["runners/torch/cases/rprop.py", "torch.rprop:rprop_steps"]),
        ({"case": "torch.rprp:rprop_steps"}, "case", ["rprp.py does not exist", "torch.rprop:rprop_steps"]),
        ({"case": "jax.arrays:double"}, "case", ["expected call or a case of torch"]),
        ({"case": "torch.rprop:rprop_steps"}, "params", ['the parameter "steps" is missing']),
        ({"case": "torch.optim:adamax_closure", "params": {"x": 1}}, "params", ['"x" is no parameter']),
    ],
)
def test_a_mistake_is_found_at_its_place_with_the_nearest_names(
    test: dict[str, Any], place: str, words: list[str]
) -> None:
    found = mistakes(test)
    assert list(found) == [place]
    assert all(word in found[place] for word in words), found


def test_at_most_three_names_are_suggested() -> None:
    sentence = mistakes({"case": "torch.rprop:rprop"})["case"]
    assert sentence.count(" or ") <= 2


def test_values_of_a_grid_are_checked_where_they_are_used_and_reported_in_the_grid() -> None:
    tensor = {"tensor": {"shape": "$shape", "dtype": "$dtype"}}
    grid = {"dtype": ["float32", "flot64"], "shape": [[2], [-1]], "name": ["cos", "coss"]}
    found = mistakes({"grid": grid, "args": [tensor], "expect": {"numpy": "$name"}})
    assert set(found) == {"grid.dtype[1]", "grid.shape[1]", "grid.name[1]"}
    assert "args[0].tensor.shape" in found["grid.shape[1]"]


def test_an_unknown_variable_has_a_suggestion() -> None:
    found = mistakes({"grid": {"dtype": ["int8"]}, "args": [{"tensor": {"shape": [1], "dtype": "$dtpe"}}]})
    assert "did you mean dtype?" in found["args[0].tensor.dtype"]
    assert "no value of the test is" in found["grid.dtype"]


def test_a_very_long_key_is_not_repeated_in_full() -> None:
    found = mistakes({"grid": {"x" * 5000: [1], "dtype": ["int8"]}, "args": ["$other"]})
    assert max(len(place) + len(sentence) for place, sentence in found.items()) < 1000


@pytest.mark.parametrize("library", ["numpy", "scipy"])
def test_every_reference_that_the_runner_knows_is_accepted(library: str) -> None:
    homes = {"numpy": ("linalg", "fft"), "scipy": references._SCIPY_MODULES}[library]
    names = [f"{home}.{name}" for home in homes for name in importlib.import_module(f"{library}.{home}").__all__]
    if library == "numpy":
        names += [*references._NUMPY, *(name for name, found in vars(np).items() if isinstance(found, np.ufunc))]
    usable = [name for name in names if name.split(".")[-1].islower() and name.split(".")[-1] != "test"]
    assert usable
    assert [name for name in usable if reference_mistake(library, name)] == []


def test_every_property_of_the_runner_is_accepted() -> None:
    required = {"distribution": {"name": "normal"}, "categories": {"shares": [0.5, 0.5]}}
    for name in properties._PROPERTIES:
        assert mistakes({"expect": {"property": name, "params": required.get(name, {})}}) == {}


def test_a_property_without_a_required_parameter_is_a_mistake() -> None:
    found = mistakes({"expect": {"property": "distribution"}})
    assert found == {"expect.params": 'property distribution: the parameter "name" is missing'}


def test_a_mistake_in_the_python_code_of_cases_is_said(tmp_path: Path) -> None:
    clone = make_clone(tmp_path)
    cases = clone.root / "runners" / "fake" / "cases"
    for folder in (cases, clone.root / "runners" / "core" / "testing"):
        folder.mkdir(parents=True)
    (cases / "mine.py").write_text("def half(trial):\n    pass\n\ndef broken(:\n")
    test = {"id": "a", "case": "fake.mine:half"}
    head = {"schema": "portbench/manifest", "schema_version": 3, "name": "m", "framework": "fake"}
    (clone.root / "m.json").write_text(json.dumps({**head, "functions": [{"function": "fake.scale", "tests": [test]}]}))
    done = clone.portbench("validate", "m.json")
    assert done.returncode == 2
    assert "mine.py: line 4: invalid syntax" in done.stdout + done.stderr
    assert "Fix the code of the cases." in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
