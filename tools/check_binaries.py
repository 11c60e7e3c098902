#!/usr/bin/env python3
"""Reads what was built and says what a hostile folder, stack or file could make of it.

Usage: check_binaries.py FILE_OR_FOLDER...      (exit 1 and one line per defect)

Every ELF program and library below the paths must

- search for libraries in absolute folders or beside itself only: an empty or relative element of
  RUNPATH is the working directory, and code in it would be run;
- have all relocations done and read-only before it runs (RELRO, BIND_NOW), and no text relocations;
- have a stack that is not executable;
- if a program, be position independent;
- unless it is tessera-hdf5, not load libhdf5: nothing a file holds may bring others down.
"""

import struct
import sys
from pathlib import Path

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_TEXTREL, DT_BIND_NOW, DT_RUNPATH = 1, 5, 15, 22, 24, 29
DT_FLAGS, DT_FLAGS_1 = 30, 0x6FFFFFFB
DF_TEXTREL, DF_BIND_NOW, DF_1_NOW = 4, 8, 1
ET_DYN, PF_X = 3, 1


class Elf:
    """Segments and dynamic entries of a 64-bit little-endian ELF file."""

    def __init__(self, content):
        self.content = content
        self.type, = struct.unpack_from("<H", content, 16)
        offset, = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        # type, flags, offset, address, size in the file
        self.segments = [struct.unpack_from("<IIQQ8xQ", content, offset + i * size)
                         for i in range(count)]
        self.dynamic = []
        for kind, _, at, _, n_byte in self.segments:
            if kind == PT_DYNAMIC:
                pairs = struct.iter_unpack("<qQ", content[at : at + n_byte])
                self.dynamic = [(tag, value) for tag, value in pairs if tag != 0]

    def segment(self, kind):
        return next((s for s in self.segments if s[0] == kind), None)

    def values(self, wanted):
        return [value for tag, value in self.dynamic if tag == wanted]

    def texts(self, wanted):
        """Texts of dynamic entries: offsets into a table that is named by its address."""
        table = self.values(DT_STRTAB)[0] if self.dynamic else 0
        at = next((offset + table - address for kind, _, offset, address, n in self.segments
                   if kind == PT_LOAD and address <= table < address + n), 0)
        starts = [at + value for value in self.values(wanted)]
        return [self.content[s : self.content.index(b"\0", s)].decode() for s in starts]


def defects(name, elf):
    """What is wrong with one file, as sentences."""
    found = []
    for path in elf.texts(DT_RUNPATH) + elf.texts(DT_RPATH):
        found += [f"RUNPATH '{path}' has the element '{element}', which is looked up in the "
                  "working directory"
                  for element in path.split(":") if not element.startswith(("/", "$ORIGIN"))]
    flags, flags_1 = sum(elf.values(DT_FLAGS)), sum(elf.values(DT_FLAGS_1))
    if not (elf.values(DT_BIND_NOW) or flags & DF_BIND_NOW or flags_1 & DF_1_NOW):
        found.append("is bound lazily (link with -z now)")
    if elf.segment(PT_GNU_RELRO) is None:
        found.append("has no RELRO (link with -z relro)")
    if elf.values(DT_TEXTREL) or flags & DF_TEXTREL:
        found.append("has text relocations (compile with -fPIC)")
    stack = elf.segment(PT_GNU_STACK)
    if stack is None or stack[1] & PF_X:
        found.append("has an executable stack (link with -z noexecstack)")
    if elf.segment(PT_INTERP) is not None and elf.type != ET_DYN:
        found.append("is not position independent (link with -pie)")
    if name != "tessera-hdf5":
        found += [f"loads {needed}, which tessera-hdf5 alone may"
                  for needed in elf.texts(DT_NEEDED) if needed.startswith("libhdf5")]
    return found


def main():
    paths = [Path(argument) for argument in sys.argv[1:]]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    n_checked = 0
    problems = [f"{path}: is not there" for path in paths if not path.exists()]
    for file in sorted(set(files)):
        content = file.read_bytes() if file.is_file() else b""
        if content[:6] == b"\x7fELF\x02\x01":
            n_checked += 1
            problems += [f"{file}: {defect}" for defect in defects(file.name, Elf(content))]
    if n_checked == 0:
        problems.append("no program or library found")
    print("\n".join(problems) if problems else f"{n_checked} programs and libraries are sound")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
