"""torch.cuda, which works only with CUDA devices: there every test must pass, and on other accelerators all tests
fail.

Every case calls the function under test first, so that on another accelerator this function is what fails.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial

_MIB = 1 << 20

_SLACK = _MIB
"""PyTorch's allocator does not split a cached block if the remainder would be at most this large."""


def skip_on_cpu(trial: Trial) -> None:
    if trial.device.type == "cpu":
        trial.skip("torch.cuda is about CUDA devices and the CPU is none")


def cuda_is_available(trial: Trial) -> None:
    """It reports that a device exists, and that CUDA is initialized once a tensor is there."""
    skip_on_cpu(trial)
    available = trial.call_method(trial.function, "is_available")
    trial.check(available is True, f"there is no CUDA device: expected True, got {available!r}")
    tensor = trial.tensor(trial.random(3))
    trial.equal([tensor.is_cuda, tensor.device.type], [True, "cuda"])
    initialized = trial.call_method(trial.function, "is_initialized")
    trial.check(initialized is True, f"expected True, got {initialized!r}")


def cuda_device_count(trial: Trial) -> None:
    """It counts exactly the devices that have a name."""
    skip_on_cpu(trial)
    cuda = trial.function
    count = trial.call_method(cuda, "device_count")
    trial.check(type(count) is int and count > 0, f"there is no CUDA device: counted {count!r}")
    trial.check(0 <= trial.tensor(trial.random(3)).get_device() < count, "the target is not among the devices")
    names = [cuda.get_device_name(number) for number in range(count)]
    trial.check(all(isinstance(name, str) and name for name in names), f"a device has no name: {names}")
    raised = False
    try:
        cuda.get_device_properties(count)
    except (AssertionError, RuntimeError):
        raised = True
    trial.check(raised, f"there is a device number {count}")


def cuda_current_device(trial: Trial) -> None:
    """It gives the number of the device that tensors are created on, also while another device is selected."""
    skip_on_cpu(trial)
    cuda = trial.function
    number = trial.call_method(cuda, "current_device")
    tensor = trial.tensor(trial.random(3))
    trial.check(type(number) is int, f"expected a number, got {number!r}")
    trial.equal(number, tensor.get_device())
    for other in range(cuda.device_count()):
        with cuda.device(other):
            trial.equal(trial.call_method(cuda, "current_device"), other)
    trial.equal(cuda.current_device(), number)


def cuda_device_context(trial: Trial, how: str) -> None:
    """Inside the context .cuda() moves to the selected device; after it the previous device is current again."""
    skip_on_cpu(trial)
    cuda, host = trial.function, trial.random(4, seed=1)
    if how == "device_of":
        trial.equal(trial.call_method(cuda, "current_device"), cuda.current_device())
        context = trial.call_method(cuda, "device_of", trial.tensor(host))
    else:
        context = trial.call_method(cuda, "device", trial.device)
    # Since PyTorch 2.0 a device is a context manager too.
    trial.check(context is not trial.device, "the context is the device itself")
    before = cuda.current_device()
    with context:
        tensor = torch.from_numpy(host).cuda()
    target = trial.tensor(host)
    trial.check(tensor.device == target.device, f"expected {target.device}, got {tensor.device}")
    trial.exact(tensor, host, "float32")
    trial.equal(cuda.current_device(), before)


def cuda_properties(trial: Trial) -> None:
    """Every way to ask for name, compute capability and memory of the device gives the same values."""
    skip_on_cpu(trial)
    cuda = trial.function
    properties = trial.call_method(cuda, "get_device_properties", trial.device)
    name = trial.call_method(cuda, "get_device_name", trial.device)
    capability = trial.call_method(cuda, "get_device_capability", trial.device)
    trial.check(isinstance(name, str) and len(name) > 0, f"expected a name, got {name!r}")
    trial.equal(name, properties.name)
    trial.equal(capability, (properties.major, properties.minor))
    # PyTorch 1.12 supports compute capability 3.5 and newer.
    trial.check((3, 5) <= capability < (100, 0), f"expected a compute capability, got {capability}")
    trial.check(properties.multi_processor_count > 0, "the device reports no multiprocessors")
    free, total = trial.call_method(cuda, "mem_get_info", trial.device)
    trial.check(0 < free <= total, f"{free} of {total} bytes are free")
    # The driver reserves a little of the memory that the properties report.
    trial.check(abs(properties.total_memory / total - 1) < 0.1, f"{properties.total_memory} and {total} bytes in all")


def cuda_memory_allocated(trial: Trial, mebibytes: int) -> None:
    """It grows by the bytes of a new tensor on the target's device, and shrinks when the tensor is deleted."""
    skip_on_cpu(trial)
    cuda = trial.function
    trial.equal(trial.call_method(cuda, "current_device"), cuda.current_device())
    before = _allocated(trial)
    tensor = trial.tensor(np.ones(mebibytes * _MIB // 4, "float32"))
    during = _allocated(trial)
    _check_grown(trial, during - before, mebibytes)
    trial.equal(cuda.memory_stats(trial.device)["allocated_bytes.all.current"], during)
    trial.check(cuda.memory_reserved(trial.device) >= during, "less is reserved than allocated")
    del tensor
    trial.equal(_allocated(trial), before)


def cuda_memory_peak(trial: Trial, mebibytes: int) -> None:
    """The peak since the last reset includes a tensor that has been deleted."""
    skip_on_cpu(trial)
    cuda = trial.function
    gc.collect()
    trial.check(trial.call_method(cuda, "reset_peak_memory_stats", trial.device) is None, "something was returned")
    before = cuda.memory_allocated(trial.device)
    trial.tensor(np.ones(mebibytes * _MIB // 4, "float32"))
    trial.equal(cuda.memory_allocated(trial.device), before)
    peak = trial.call_method(cuda, "max_memory_allocated", trial.device)
    _check_grown(trial, peak - before, mebibytes)
    trial.check(cuda.max_memory_reserved(trial.device) >= peak, "less was reserved than allocated")


def cuda_empty_cache(trial: Trial, mebibytes: int) -> None:
    """It returns the memory of deleted tensors to the device and keeps that of tensors in use."""
    skip_on_cpu(trial)
    cuda, host = trial.function, trial.random(1000, seed=1)
    trial.equal(trial.call_method(cuda, "current_device"), cuda.current_device())
    gc.collect()
    trial.check(trial.call_method(cuda, "empty_cache") is None, "something was returned")
    kept, gone = trial.tensor(host), trial.tensor(np.ones(mebibytes * _MIB // 4, "float32"))
    del gone
    gc.collect()
    before = cuda.memory_reserved(trial.device)
    trial.repeatable = False
    trial.check(trial.call_method(cuda, "empty_cache") is None, "something was returned")
    freed = before - cuda.memory_reserved(trial.device)
    trial.check(freed >= mebibytes * _MIB, f"expected {mebibytes} MiB to be given back, it was {freed / _MIB:.1f}")
    trial.exact(kept, host, "float32")


def cuda_stream(trial: Trial, priority: int) -> None:
    """Work queued in a new stream is done there, in order with the work that waits for it."""
    skip_on_cpu(trial)
    cuda, host = trial.function, trial.random(300, 300, seed=1)
    stream = trial.call_method(cuda, "Stream", device=trial.device, priority=priority)
    tensor = trial.tensor(host)
    trial.check(stream.device == tensor.device, f"expected {tensor.device}, got {stream.device}")
    outside = cuda.current_stream(trial.device)
    trial.check(stream != outside, "the new stream is the previous one")
    stream.wait_stream(outside)
    with trial.call_method(cuda, "stream", stream):
        trial.check(cuda.current_stream(trial.device) == stream, "another stream is current")
        output = tensor * 2 + 1
    trial.check(cuda.current_stream(trial.device) == outside, "the previous stream is not current again")
    tensor.record_stream(stream)
    outside.wait_stream(stream)
    output.record_stream(outside)
    trial.close(output - 3, 2 * host.astype("float64") - 2, dtype="float32")
    stream.synchronize()
    trial.check(stream.query() is True, "a synchronized stream has unfinished work")


def cuda_event(trial: Trial) -> None:
    """Two events measure the time of the work between them, at most the time that the host measured."""
    skip_on_cpu(trial)
    cuda = trial.function
    trial.check(trial.call_method(cuda, "synchronize", trial.device) is None, "something was returned")
    begin = trial.call_method(cuda, "Event", enable_timing=True)
    end = trial.call_method(cuda, "Event", enable_timing=True)
    tensor, step = matrix_chain(trial, 512)
    cuda.synchronize(trial.device)
    clock = time.perf_counter()
    begin.record()
    output = tensor
    for _ in range(20):
        output = output @ step
    end.record()
    end.synchronize()
    passed = 1000 * (time.perf_counter() - clock)
    trial.equal([begin.query(), end.query()], [True, True])
    measured = begin.elapsed_time(end)
    # Both clocks have a resolution of about a microsecond.
    trial.check(0 < measured <= passed + 0.1, f"the device took {measured} ms, the host waited {passed} ms")
    trial.equal(output, np.roll(trial.numpy(tensor), 20, axis=1))


def cuda_random(trial: Trial) -> None:
    """The device's generator repeats its numbers for the same seed, and continues from a saved state."""
    skip_on_cpu(trial)
    cuda = trial.function

    def drawn() -> Any:
        return trial.numpy(torch.rand(4000, device=trial.device))

    trial.check(trial.call_method(cuda, "manual_seed", 7) is None, "something was returned")
    first = drawn()
    trial.check((first >= 0).all() and (first < 1).all(), "a number is outside of [0, 1)")
    # Uniform numbers have the standard deviation 12 ** -0.5. A mean off by 5.5 standard errors occurs once in 26
    # million.
    away = abs(float(first.mean()) - 0.5)
    trial.check(away < 5.5 / (12 * first.size) ** 0.5, f"the numbers' mean is off by {away:.3g}")
    state = trial.call_method(cuda, "get_rng_state", trial.device)
    trial.equal([trial.dtype_name(state), state.dim()], ["uint8", 1])
    second = drawn()
    trial.check((first != second).any(), "two draws gave the same numbers")
    trial.check(trial.call_method(cuda, "set_rng_state", state, trial.device) is None, "something was returned")
    trial.equal(drawn(), second)
    cuda.manual_seed(7)
    trial.equal(drawn(), first)
    trial.equal(cuda.initial_seed(), 7)


def cuda_tensor_type(trial: Trial, name: str, dtype: str) -> None:
    """The legacy tensor types create tensors of their dtype on the device, from values and from sizes."""
    skip_on_cpu(trial)
    values = [[1, 0, 1], [0, 1, 1]] if dtype == "bool" else [[1, 2, 30], [4, 50, 6]]
    made = trial.call_method(trial.function, name, values)
    trial.equal([made.device.type, made.type()], ["cuda", f"torch.cuda.{name}"])
    trial.exact(made, np.array(values).astype(dtype), dtype)
    sized = trial.call_method(trial.function, name, 2, 5)
    trial.equal([trial.dtype_name(sized), list(sized.shape), sized.device.type], [dtype, [2, 5], "cuda"])
    trial.exact(sized.zero_() + made[0, 0], np.ones((2, 5), dtype), dtype)


def _allocated(trial: Trial) -> int:
    gc.collect()
    found = trial.call_method(trial.function, "memory_allocated", trial.device)
    trial.check(type(found) is int, f"expected a number of bytes, got {found!r}")
    return int(found)


def _check_grown(trial: Trial, grown: int, mebibytes: int) -> None:
    message = f"expected {mebibytes} MiB more, got {grown / _MIB:.2f}"
    trial.check(mebibytes * _MIB <= grown <= mebibytes * _MIB + _SLACK, message)


def matrix_chain(trial: Trial, size: int) -> Any:
    """Small whole numbers, and a permutation matrix that shifts them by one column: exact in every precision."""
    tensor = trial.tensor(trial.random(size, size, low=0, high=9).round())
    step = trial.tensor(np.roll(np.eye(size, dtype="float32"), 1, axis=1))
    # The first product loads a library, which is slow on the host.
    tensor @ step
    torch.cuda.synchronize(trial.device)
    return tensor, step
