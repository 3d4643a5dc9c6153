"""``portbench count --engine ray`` on a cluster of two nodes, both of this machine. Needs the extra ``ray``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.cli import cli

ray = pytest.importorskip("ray", reason="Ray is an optional extra: pip install 'portbench[ray]'")


def test_two_nodes_give_the_counts_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.cluster_utils import Cluster

    monkeypatch.setattr("portbench.corpus.counting.corpus._FILES_BYTES", 1)  # a part for each file
    sources = tmp_path / "sources"
    sources.mkdir()
    for place in range(6):
        (sources / f"module{place}.py").write_text("import torch\n" + "torch.cat(x)\n" * place)
    (tmp_path / "names.json").write_text('["torch.cat"]')
    common = ["count", str(sources), "--functions", str(tmp_path / "names.json"), "-o"]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        on_ray = CliRunner().invoke(cli, [*common, str(tmp_path / "ray.json"), "--engine", "ray"])
        assert on_ray.exit_code == 0, on_ray.exception
    finally:
        ray.shutdown()
        cluster.shutdown()
    local = CliRunner().invoke(cli, [*common, str(tmp_path / "local.json"), "--workers", "1"])
    assert local.exit_code == 0, local.exception
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "local.json").read_bytes()
