"""Which column of the paper a configuration repeats, and the differences of its latencies."""

from __future__ import annotations

import pytest

from portbench.analysis.configurations import Configuration
from portbench.analysis.latency import FunctionLatency, Latencies
from portbench.analysis.published import Difference, differences, disagreeing, published_column
from portbench.analysis.terms import PAPER_METHOD, ROBUST
from portbench.published.paper import PublishedColumn, PublishedLatency


def side(framework: str, version: str, device: str, sync: str = "complete") -> Configuration:
    return Configuration(framework, version, device, "box", sync)


@pytest.mark.parametrize(
    ("measured", "model", "expected"),
    [
        (side("jax", "0.4.8", "gpu"), "Tesla T4", PublishedColumn("jax", "gpu", "T4")),
        (side("jax", "0.4.8", "gpu", "study"), "Tesla T4", PublishedColumn("jax", "gpu", "T4")),
        (side("torch", "1.12.0", "gpu"), "NVIDIA A100-SXM4-40GB", PublishedColumn("torch", "gpu", "A100")),
        (side("tensorflow", "2.11.0", "tpu"), "TPU v3-8", PublishedColumn("tensorflow", "tpu", "v3-8")),
        (side("jax", "0.4.8", "tpu"), "TPU v2", PublishedColumn("jax", "tpu", "v2-8")),
        (side("jax", "0.4.8", "tpu"), "TPU v3-32", None),
        (side("jax", "0.4.8", "tpu"), "TPU v2 or v3", None),
        (side("jax", "0.4.13", "gpu"), "Tesla T4", None),
        (side("jax", "0.4.8", "gpu"), "NVIDIA T400", None),
        (side("jax", "0.4.8", "gpu"), None, None),
        (side("jax", "0.4.8", "cpu"), "Tesla T4", None),
        (side("fake", "1.0", "gpu"), "Tesla T4", None),
    ],
)
def test_a_configuration_repeats_a_column_by_version_device_and_model(
    measured: Configuration, model: str | None, expected: PublishedColumn | None
) -> None:
    assert published_column(measured, model) == expected


def measured(method: str = PAPER_METHOD, device: str = "tpu", **ns: float) -> Latencies:
    """torch.cat, as published 0.1 ms and 64.652 ms, a ratio of 646.52."""
    times = {"first_ns": 100_499.0, "second_ns": 64_651_500.0} | ns
    found = FunctionLatency("torch.concat", "torch.cat", **times, ratio=1.0, low=None, high=None, tests=1)
    other = FunctionLatency("torch.own", "torch.own", 1.0, 2.0, 2.0, None, None, 1)
    first, second = side("torch", "1.12.0", "gpu"), side("torch", "1.12.0", device)
    return Latencies(first, second, method, (found, other), ())


def test_differences_are_by_the_last_printed_digit() -> None:
    row = PublishedLatency("torch.cat", 0.1, 64.652, 646.52)
    (found,) = differences(measured())
    assert found == Difference(row, 0.1, 64.652, 646.52)
    assert found.agrees
    (other,) = differences(measured(first_ns=100_500.0))
    assert (other.gpu_ms, other.ratio, other.agrees) == (0.101, 640.119, False)
    assert disagreeing([found, other]) == (other,)


def test_what_is_0_in_all_printed_digits_has_no_ratio() -> None:
    (found,) = differences(measured(first_ns=499.0))
    assert (found.gpu_ms, found.ratio, found.agrees) == (0.0, None, False)


@pytest.mark.parametrize("latencies", [measured(ROBUST), measured(device="cpu")])
def test_only_the_papers_method_on_gpu_and_tpu_is_comparable(latencies: Latencies) -> None:
    with pytest.raises(ValueError, match="paper's method"):
        differences(latencies)
