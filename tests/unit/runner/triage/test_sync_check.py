"""The proof that waiting works, on devices that are only pretended: their time passes when somebody waits for it."""

from __future__ import annotations

import pytest

from runners.core.triage import sync_check

MS = 1_000_000


class Output:
    def __init__(self, left_ns):
        self.left_ns = left_ns


class Device:
    """An adapter and a clock in one. ``starts_ns`` passes in each call, ``takes_ns(units)`` on the device."""

    def __init__(self, takes_ns, starts_ns=1000, compiles_ns=0, reads_ns=20_000):
        self.now = 0
        self.takes_ns = takes_ns
        self.starts_ns = starts_ns
        self.compiles_ns = compiles_ns
        self.reads_ns = reads_ns
        self.most_units = 0

    def clock(self):
        return self.now

    def calibration_kernel(self, units, device):
        self.most_units = max(self.most_units, units)
        compiles = [self.compiles_ns]

        def call():
            self.now += self.starts_ns + (compiles.pop() if compiles else 0)
            return {"sums": (Output(self.takes_ns(units)),)}

        return call

    def dtype_name(self, leaf):
        return "float32"

    def to_numpy(self, leaf):
        self.finish(leaf)
        self.now += self.reads_ns

    def finish(self, leaf):
        self.now += leaf.left_ns
        leaf.left_ns = 0

    def waits(self, output):
        self.finish(output["sums"][0])

    def half_waits(self, output):
        (leaf,) = output["sums"]
        self.now += leaf.left_ns // 2
        leaf.left_ns -= leaf.left_ns // 2

    def does_not_wait(self, output):
        """As ``xm.mark_step()``: starts the work."""


def test_a_wait_that_waits_passes():
    device = Device(lambda units: units * 2 * MS)
    found = sync_check.check_sync(device, None, device.clock, device.waits)
    assert (found["passed"], found["reason"], found["units"]) == (True, None, 1)
    assert found["base_ns"] == 2 * MS + 1000
    assert found["ratio"] == pytest.approx(4, abs=0.01)
    assert found["left_ns"] == 20_000


@pytest.mark.parametrize("takes_ns", [lambda units: units * 5 * MS, lambda units: units * 3000])
def test_a_wait_that_returns_early_fails(takes_ns):
    device = Device(takes_ns)
    found = sync_check.check_sync(device, None, device.clock, device.does_not_wait)
    assert not found["passed"]
    assert "the work was not done" in found["reason"]
    assert found["left_ns"] > found["grown_ns"]


def test_on_a_fast_device_the_work_grows_until_it_can_be_judged():
    device = Device(lambda units: units * 20_000, starts_ns=100_000)
    found = sync_check.check_sync(device, None, device.clock, device.waits)
    assert found["passed"]
    assert found["base_ns"] >= MS
    assert found["units"] > 1


def test_compiling_does_not_count():
    device = Device(lambda units: units * 2 * MS, compiles_ns=500 * MS)
    assert sync_check.check_sync(device, None, device.clock, device.waits)["base_ns"] < 3 * MS


def test_time_that_does_not_grow_with_the_work_fails():
    device = Device(lambda units: 0, starts_ns=3 * MS)
    found = sync_check.check_sync(device, None, device.clock, device.waits)
    assert not found["passed"]
    assert found["ratio"] == 1
    assert "four times the work took 1.00 times as long" in found["reason"]
    assert device.most_units <= sync_check.MOST_UNITS


def test_a_slow_device_is_not_kept_busy_for_ever():
    device = Device(lambda units: 3000 * MS)
    assert not sync_check.check_sync(device, None, device.clock, device.waits)["passed"]
    assert device.most_units == sync_check.GROWTH


def test_half_a_wait_fails():
    device = Device(lambda units: units * 20 * MS)
    found = sync_check.check_sync(device, None, device.clock, device.half_waits)
    assert not found["passed"]
    assert "the work was not done" in found["reason"]


def test_slow_reading_is_told_from_work_that_was_left():
    device = Device(lambda units: units * 2 * MS, reads_ns=4 * MS)
    found = sync_check.check_sync(device, None, device.clock, device.waits)
    assert found["passed"]
    assert found["left_ns"] == 4 * MS
