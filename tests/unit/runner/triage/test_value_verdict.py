"""Four verdicts on values that a reference refused. Needs NumPy, as every framework."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from runners.core.triage import value_verdict

WIDE = [np.linspace(-1, 1, 100)]
HOST = [WIDE[0].astype("float32")]


def judged(device, host=HOST, other=HOST, wide=WIDE, dtype="float32"):
    return value_verdict.classify(device, host, other, wide, dtype)["value_verdict"]


def off_by(share, arrays=HOST):
    return [arrays[0] + arrays[0].dtype.type(share) * np.eye(1, 100, 7, dtype=arrays[0].dtype)[0]]


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0, "equal"), (1e-6, "equal"), (1e-4, "imprecise"), (1e-2, "imprecise"), (0.1, "wrong"), (np.nan, "wrong")],
)
def test_the_distance_from_float64_decides(share, verdict):
    assert judged(off_by(share)) == verdict


def test_what_the_host_cannot_compute_either_is_equal():
    # Cancellation: the host itself is a thousand epsilons off.
    host = [WIDE[0].astype("float32") + np.float32(1e-4)]
    device = [WIDE[0].astype("float32") - np.float32(3e-4)]
    assert judged(device, host, host) == "equal"
    assert judged([WIDE[0].astype("float32") + np.float32(6e-3)], host, host) == "imprecise"


def test_another_seed_tells_the_random():
    state = np.random.RandomState(0)
    first, second, third = ([state.rand(100).astype("float32")] for _ in range(3))
    assert judged(first, second, third, None) == "random"
    assert judged([first[0][:50]], second, [third[0][:20]], None) == "random", "their number may be random too"


def test_whole_numbers_and_truths_are_equal_or_wrong():
    whole = [np.arange(100)]
    assert judged(whole, whole, whole, whole, value_verdict.EXACT) == "equal"
    assert judged([whole[0] + (whole[0] == 3)], whole, whole, whole, value_verdict.EXACT) == "wrong"
    assert judged([whole[0] > 3], [whole[0] > 2], [whole[0] > 2], None, value_verdict.EXACT) == "wrong"


def test_another_shape_or_number_of_outputs_is_wrong():
    assert judged([HOST[0][:50]]) == "wrong"
    assert judged([*HOST, *HOST]) == "wrong"


def test_a_test_that_ended_at_a_failed_check_has_fewer_outputs_on_the_device():
    three = [HOST[0], HOST[0][:50], HOST[0][:5]]
    device = [HOST[0], off_by(1e-3)[0][:50]]
    wide = [*WIDE, WIDE[0][:50], WIDE[0][:5]]
    assert judged(device, three, three, wide) == "imprecise"
    assert judged([HOST[0], HOST[0][:6]], three, three, wide) == "wrong"


def test_infinities_and_nans_must_stand_where_they_do_on_the_host():
    host = [np.array([1, np.inf, np.nan, -np.inf], "float32")]
    assert judged(host, host, host, None) == "equal"
    assert judged([-host[0]], host, host, None) == "wrong"


def test_float64_that_was_another_computation_is_no_witness():
    # The dtype was part of what was computed: its largest value, say.
    host, wide = [np.array([3.4e38], "float32")], [np.array([1.8e308])]
    assert judged(host, host, host, wide) == "equal"
    assert judged([np.array([1.0], "float32")], host, host, wide) == "wrong"


def test_without_the_host_nothing_is_said():
    found = value_verdict.classify(HOST, None, None, None, "float32")
    assert found == {
        "value_verdict": None,
        "deviation": {"dtype": "float32", "device": None, "host": None, "other_seed": None},
    }


def test_complex_values_keep_their_imaginary_part():
    host = [np.array([1 + 2j, 3 - 1j], "complex64")]
    assert judged([host[0].real.astype("complex64")], host, host, None, "complex64") == "wrong"
