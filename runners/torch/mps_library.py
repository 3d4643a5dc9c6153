"""Reads from PyTorch's library for macOS which operations it registers for MPS (Apple's GPUs).

The library cannot be loaded here, so its registrations are read from its code. Each of them is a function
``TORCH_LIBRARY_IMPL_init_aten_MPS_<number>``, which gives names of operations to ``torch::Library::impl`` as second
argument, in register x1. A compiler for arm64 loads the address of a constant by ADRP and ADD.
Formats: Apple's mach-o/loader.h and nlist.h, and Arm's Architecture Reference Manual (C6.2).
"""

from __future__ import annotations

import bisect
import mmap
import re
import struct
from typing import Iterator, NamedTuple

_REGISTRATION = re.compile(rb"TORCH_LIBRARY_IMPL_init_aten_(MPS|SparseMPS|SparseCsrMPS)_\d+E")
_FALLBACK = re.compile(rb"make_boxed_function.*12mps_fallback")
"""The function that copies the arguments to the CPU and computes there."""

_MAGIC, _ARM64 = 0xFEEDFACF, 0x0100000C
_LC_SYMTAB = 2
_STAB, _TYPE, _IN_SECTION = 0xE0, 0x0E, 0x0E
_NAME_ARGUMENT = 1
_LONGEST_NAME = 200


class Registered(NamedTuple):
    """An operation without its namespace, the dispatcher's key, and whether the CPU computes it."""

    name: str
    key: str
    on_host: bool


def registrations(library: mmap.mmap | bytes) -> Iterator[Registered]:
    """What a library of macOS for arm64 registers for MPS. Raises ValueError if it is another kind of file, or
    registers nothing."""
    symbols = dict(_symbols(library))
    starts = sorted(set(symbols.values()))
    fallback = {address for name, address in symbols.items() if _FALLBACK.search(name)}
    functions = [
        (found[1].decode(), symbols[name]) for name in symbols for found in [_REGISTRATION.search(name)] if found
    ]
    if not functions:
        raise ValueError("the library has no TORCH_LIBRARY_IMPL_init_aten_MPS function")
    for key, start in functions:
        end = starts[bisect.bisect_right(starts, start)]
        # The function that is registered is loaded before the name.
        on_host = False
        for register, address in _constants(library, start, end):
            on_host |= address in fallback
            if register == _NAME_ARGUMENT:
                name = _string(library, address)
                if name:
                    yield Registered(name, key, on_host)
                    on_host = False


def _symbols(library: mmap.mmap | bytes) -> Iterator[tuple[bytes, int]]:
    """Names and addresses of the functions and data. In the first segment, which has all code and strings, an address
    is also the place in the file."""
    magic, kind, _, _, commands = struct.unpack_from("<IIIII", library)
    if (magic, kind) != (_MAGIC, _ARM64):
        raise ValueError(f"expected a library of macOS for arm64 only, found one that begins with {magic:#x} {kind:#x}")
    place = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", library, place)
        if command == _LC_SYMTAB:
            table, count, strings, _ = struct.unpack_from("<IIII", library, place + 8)
            for name, sort, _, _, address in struct.iter_unpack("<IBBHQ", library[table : table + 16 * count]):
                if not sort & _STAB and sort & _TYPE == _IN_SECTION:
                    yield library[strings + name : library.find(b"\0", strings + name)], address
        place += size


def _constants(library: mmap.mmap | bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The addresses that the code from start to end loads, in order, with the number of the register."""
    pages: dict[int, int] = {}
    for place in range(start, end, 4):
        (word,) = struct.unpack_from("<I", library, place)
        target, source = word & 31, word >> 5 & 31
        if word & 0x9F000000 == 0x90000000:  # ADRP
            distance = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            distance -= (distance & 1 << 20) << 1
            pages[target] = (place & ~0xFFF) + (distance << 12)
        elif word & 0xFFC00000 == 0x91000000 and source in pages:  # ADD without a shift
            yield target, pages[source] + (word >> 10 & 0xFFF)


def _string(library: mmap.mmap | bytes, address: int) -> str | None:
    found = re.match(rb"([A-Za-z_]\w*(?:\.\w+)?)\0", library[address : address + _LONGEST_NAME])
    return found[1].decode() if found else None
