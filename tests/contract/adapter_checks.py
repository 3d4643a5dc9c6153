"""What every adapter must do, present and future: run inside an environment as
``python -m tests.contract.adapter_checks FRAMEWORK``; a broken promise is an AssertionError that names it."""

from __future__ import annotations

import importlib
import os
import sys

import numpy as np

from runners.core import resolve
from runners.core.errors import DeviceUnavailable

DTYPES = ("float16", "bfloat16", "float32", "int8", "int32", "uint8", "bool", "complex64")
LAYOUTS = ("contiguous", "transposed", "strided")


def main(framework: str, expected_version: str) -> None:
    facts = resolve.framework(framework)
    assert facts.MODULE not in sys.modules, "the facts are read before the framework is imported"
    os.environ.update(facts.variables("cpu"))
    adapter = importlib.import_module(f"runners.{framework}.adapter")

    home = sys.modules[facts.MODULE].__file__ or ""
    assert "site-packages" in home, f"the framework comes from {home}, not from its installation"
    assert adapter.version() == expected_version

    for absent in sorted({"gpu", "tpu", "xla"} - set(facts.DEVICES)) or ["gpu"]:
        try:
            adapter.open_device(absent)
        except DeviceUnavailable as error:
            assert str(error)
        else:
            raise AssertionError(f"opened a {absent} that is not there")

    device = adapter.open_device("cpu")
    for value in adapter.device_facts(device).values():
        assert value is None or isinstance(value, (str, int, float, bool)), value
    adapter.seed(1)
    with adapter.scope(device):
        for dtype in DTYPES:
            for layout in LAYOUTS:
                check_round_trip(adapter, device, dtype, layout)
        check_nesting(adapter, device)
        check_what_is_no_tensor(adapter)
    try:
        adapter.dtype("float7")
    except KeyError:
        pass
    else:
        raise AssertionError("float7 is a dtype")
    counters = adapter.counters()
    assert all(isinstance(count, int) and count >= 0 for count in counters.values()), counters


def check_round_trip(adapter, device, dtype, layout):
    values = np.array([[0, 1, 2], [1, 0, 3]]).astype("float32" if dtype == "bfloat16" else dtype)
    tensor = adapter.tensor(values, dtype, device, layout)
    adapter.wait(tensor)
    assert adapter.dtype_name(tensor) == dtype, (dtype, adapter.dtype_name(tensor))
    assert adapter.on_device(adapter.location(tensor), device), adapter.location(tensor)
    back = adapter.to_numpy(tensor)
    assert isinstance(back, np.ndarray) and back.dtype == values.dtype and (back == values).all(), (dtype, layout, back)
    scalar = adapter.tensor(values[0, 1], dtype, device, layout)
    assert adapter.to_numpy(scalar).shape == ()
    empty = adapter.tensor(values[:0], dtype, device, layout)
    assert adapter.to_numpy(empty).shape == (0, 3)


def check_nesting(adapter, device):
    tensor = adapter.tensor(np.ones(2, "float32"), "float32", device, "contiguous")
    for output in (tensor, [tensor, (tensor, {"a": tensor})], (), None, 3, "text", [None, tensor]):
        adapter.wait(output)


def check_what_is_no_tensor(adapter):
    for leaf in (None, 3, 2.5, "text", object(), np.ones(2)):
        assert adapter.dtype_name(leaf) is None, leaf
        assert adapter.location(leaf) is None, leaf


if __name__ == "__main__":
    main(*sys.argv[1:])
