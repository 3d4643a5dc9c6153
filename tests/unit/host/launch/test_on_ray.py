"""`launch ray` on a cluster of two nodes, both of this machine: a killed run is repeated. Needs the extra ``ray``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.cli import cli
from tests.unit.host.launch.sharded import OPTIONS, facts, killed_runner, write_manifest

ray = pytest.importorskip("ray", reason="Ray is an optional extra: pip install 'portbench[ray]'")


def test_a_killed_run_is_repeated_and_the_study_is_that_of_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray.cluster_utils import Cluster

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTBENCH_PYTHON", sys.executable)
    monkeypatch.setenv("FAKE_ONCE", str(tmp_path / "once"))
    write_manifest(tmp_path)
    # The nodes take the variables of this process.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        words = ["launch", "ray", "fake-cpu", *OPTIONS, "--shards", "2", "--results", "results", "-o", "jobs"]
        launched = CliRunner().invoke(cli, [*words, "--address", cluster.address])
        assert launched.exit_code == 0, launched.exception
        command = [sys.executable, "jobs/fake_cpu_on_ray.py"]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        killed_runner(tmp_path / "results")
        said, _ = driver.communicate()
        assert driver.returncode == 0, said
    finally:
        cluster.shutdown()
    assert "exit statuses of the shards: 0 0" in said
    assert len(list((tmp_path / "results").glob("fake-cpu/*/fake-*.json"))) == 2
    monkeypatch.setenv("PORTBENCH_MACHINE", "ray")
    whole = [sys.executable, "-m", "portbench", "run", "fake-cpu", *OPTIONS, "--out", "whole"]
    assert subprocess.run(whole, capture_output=True).returncode == 0
    assert facts(tmp_path / "results", tmp_path) == facts(tmp_path / "whole", tmp_path)
