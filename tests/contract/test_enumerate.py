"""Public functions of real frameworks: the study's are among them, and its own rule gives its figures, nearly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.contract.contracts import ROOT, VERSIONS

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]

NOT_PUBLIC = {
    "torch": {"torch.cuda"},
    "tensorflow": {"tf.python.framework.smart_cond.smart_cond", "tf.python.util.nest.map_structure_up_to"},
    "jax": {
        "jax._src.core.get_aval",
        "jax._src.interpreters.partial_eval.PartialVal",
        "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
    },
}
"""Functions of the study that lead through private modules, and a module."""

INHERITED: dict[str, set[str]] = {
    "torch": set(),
    "tensorflow": {
        "tf.compat.v1.TextLineReader.restore_state",
        "tf.compat.v1.distributions.Laplace.log_survival_function",
        "tf.compat.v1.distributions.Normal.param_shapes",
        "tf.compat.v1.distributions.Normal.survival_function",
    },
    "jax": set(),
}
"""Methods that stand under the public class which they are inherited from."""

STUDY_COUNTED = {"torch": 2898, "tensorflow": 2718, "jax": 1091}


def enumerated(framework: str, *options: str) -> dict[str, Any]:
    target = f"{framework}-{VERSIONS[framework][0]}-cpu"
    command = [sys.executable, "-m", "portbench", "enumerate", target, "--backend", "venv", "--json", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("framework", VERSIONS)
def test_the_studys_functions_are_listed(framework: str) -> None:
    document = enumerated(framework, "--methods")
    known = {name for entry in document["functions"] for name in (entry["name"], *entry["aliases"])}
    manifest = json.loads((ROOT / "manifests" / "study" / f"{framework}.json").read_text("utf-8"))
    missing = {entry["function"] for entry in manifest["functions"]} - known
    assert missing == NOT_PUBLIC[framework] | INHERITED[framework]
    assert not [name for name in known if "._" in name]
    assert not re.search("0x[0-9a-f]{6}", json.dumps(document["functions"]))


@pytest.mark.parametrize("framework", VERSIONS)
def test_the_studys_rule_gives_nearly_its_figure(framework: str) -> None:
    document = enumerated(framework, "--as-published")
    assert document["counts"]["functions"] == pytest.approx(STUDY_COUNTED[framework], rel=0.04)
    ends = [entry["name"].rsplit(".", 1)[-1] for entry in document["functions"]]
    assert len(set(ends)) == len(ends)
