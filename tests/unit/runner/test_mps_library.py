"""What is read from the code of a library for macOS: which operations it registers for Apple's GPUs."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from runners.torch.mps_library import Registered, registrations

NAME, FUNCTION = 1, 8
"""The registers of the operation's name, and of another argument."""

INIT = b"__ZN2at12_GLOBAL__N_1L%bE"
FALLBACK = b"__ZN3c10L14KernelFunction19make_boxed_functionIXadL_Z12mps_fallbackEEEvv"
RETURN = struct.pack("<I", 0xD65F03C0)


def init(key: str, number: int = 0) -> bytes:
    """The name of a function that registers."""
    return INIT % f"TORCH_LIBRARY_IMPL_init_aten_{key}_{number}".encode()


def load(register: int, address: int, place: int) -> bytes:
    """The code at ``place`` that loads an address, as a compiler for arm64 does it: ADRP, then ADD."""
    pages = (address >> 12) - (place >> 12) & 0x1FFFFF
    adrp = 0x90000000 | (pages & 3) << 29 | (pages >> 2) << 5 | register
    add = 0x91000000 | (address & 0xFFF) << 10 | register << 5 | register
    return struct.pack("<II", adrp, add)


def library(functions: Sequence[tuple[bytes, Sequence[tuple[int, str | None]]]], strings_first: bool = False) -> bytes:
    """A library of macOS for arm64. Each function loads texts into registers; None is the address of FALLBACK."""
    texts = sorted({text for _, loads in functions for _, text in loads if text is not None})
    code_at, strings_at = (0x5000, 0x1000) if strings_first else (0x1000, 0x5008)
    addresses: dict[str | None, int] = {}
    strings = b""
    for text in texts:
        addresses[text] = strings_at + len(strings)
        strings += text.encode() + b"\0"
    code, symbols = b"", []
    for name, loads in [*functions, (FALLBACK, ())]:
        symbols.append((name, code_at + len(code)))
        addresses[None] = code_at + sum(8 * len(each) + 4 for _, each in functions)
        for register, text in loads:
            code += load(register, addresses[text], code_at + len(code))
        code += RETURN
    names, table = b"\0", b""
    for name, address in symbols:
        table += struct.pack("<IBBHQ", len(names), 0x0F, 1, 0, address)
        names += name + b"\0"
    head = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 6, 2, 40, 0, 0)
    head += struct.pack("<IIQ", 0x1B, 16, 0)  # a command that says nothing of symbols
    head += struct.pack("<IIIIII", 2, 24, 0x9000, len(symbols), 0xA000, len(names))
    content = bytearray(0xA000 + len(names))
    for place, part in ((0, head), (code_at, code), (strings_at, strings), (0x9000, table), (0xA000, names)):
        content[place : place + len(part)] = part
    return bytes(content)


def test_each_name_of_a_registration_is_an_operation_for_the_layout_of_its_key() -> None:
    content = library(
        [
            (init("MPS"), [(FUNCTION, "mm"), (NAME, "add.Tensor"), (NAME, "mul.out")]),
            (init("SparseMPS"), [(NAME, "coalesce")]),
            (init("SparseCsrMPS", 12), [(NAME, "mm")]),
        ]
    )
    assert list(registrations(content)) == [
        Registered("add.Tensor", "MPS", False),
        Registered("mul.out", "MPS", False),
        Registered("coalesce", "SparseMPS", False),
        Registered("mm", "SparseCsrMPS", False),
    ]


def test_constants_before_the_code_are_found_too() -> None:
    content = library([(init("MPS"), [(NAME, "add.Tensor")])], strings_first=True)
    assert list(registrations(content)) == [Registered("add.Tensor", "MPS", False)]


def test_an_operation_with_the_fallback_is_on_the_host_and_the_next_one_is_not() -> None:
    content = library([(init("MPS"), [(FUNCTION, None), (NAME, "linalg_eig"), (NAME, "add.Tensor")])])
    assert list(registrations(content)) == [
        Registered("linalg_eig", "MPS", True),
        Registered("add.Tensor", "MPS", False),
    ]


def test_what_is_no_name_of_an_operation_and_what_other_functions_load_is_left_out() -> None:
    content = library(
        [
            (init("CPU"), [(NAME, "sub.Tensor")]),
            (init("MPS"), [(NAME, "a message, with words"), (NAME, "add.Tensor")]),
            (b"__ZN2at6nativeL7anotherEv", [(NAME, "div.Tensor")]),
        ]
    )
    assert list(registrations(content)) == [Registered("add.Tensor", "MPS", False)]


def test_other_files_are_refused() -> None:
    with pytest.raises(ValueError, match="macOS for arm64 only, found one that begins with 0x464c457f"):
        list(registrations(b"\x7fELF" + bytes(60)))
    with pytest.raises(ValueError, match="no TORCH_LIBRARY_IMPL_init_aten_MPS"):
        list(registrations(library([(init("CPU"), [(NAME, "sub.Tensor")])])))
