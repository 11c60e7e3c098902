#!/usr/bin/env python3
"""Make C++ for g++ of the CUDA module's sources, for tests without a GPU.

Usage: translate.py FROM TO FILE...      (FILE: paths below both folders)

Four things of CUDA C++ are no C++ that a header could explain: launches, shared memory, bounds of
launches, and inline PTX. Everything else stays as it is, line by line. What is not known here is an
error, never left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Inline PTX, its spaces joined, and the function of ptx.h that does it.
PTX = {
    "": "ptx_same",
    "cp.async.ca.shared.global [%0], [%1], %2, %3": "ptx_cp_async_part",
    "cp.async.cg.shared.global [%0], [%1], 16": "ptx_cp_async_16",
    "cp.async.cg.shared.global [%0], [%1], 16, %2": "ptx_cp_async_16_part",
    "cp.async.commit_group": "ptx_cp_async_commit",
    "cp.async.wait_group %0": "ptx_cp_async_wait",
    "ex2.approx.ftz.f32 %0, %1": "ptx_ex2_ftz",
    "lg2.approx.ftz.f32 %0, %1": "ptx_lg2_ftz",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1}": (
        "ptx_mma_m8n8k4_f64"
    ),
}

# Parts of instructions that only GPUs with warpgroups have: the sources have others beside them.
HOPPER = re.compile(
    r"wgmma|WGMMA|setmaxnreg|mbarrier|cp\.async\.bulk|cp\.reduce\.async|fence\.proxy|griddepcontrol"
    r"|mapa\.|tensormap|elect\.sync|m16n8k8\.row\.col\.f64|@is_made st\.shared"
)


class Unknown(Exception):
    """Something of CUDA that has no translation."""


def blank(text: str) -> str:
    """Return the text with spaces for comments and strings, so that offsets stay the same."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def closing(code: str, at: int) -> int:
    """Return the offset behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i + 1
    raise Unknown("a bracket that nothing closes")


def split(text: str, code: str, mark: str) -> list[str]:
    """Cut the text at a mark outside brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(code):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == mark and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


def padded(made: str, source: str) -> str:
    """Add the line ends of the source that are missing, as continued lines where it is a macro."""
    ends = re.findall(r"\\?\n", source)
    return made + "".join(ends[made.count("\n") :])


def assembly(text: str, code: str) -> str:
    """Translate what stands between the brackets of an asm."""
    parts = [part.strip() for part in split(text, code, ":")]
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', parts[0])
    ptx = " ".join("".join(literals).replace("\\n", " ").split()).rstrip("; ")
    if HOPPER.search(ptx) or HOPPER.search(parts[0]):
        return "emulated::hopper()"
    if ptx not in PTX or code[: len(text) - len(text.lstrip())].strip():
        raise Unknown(f"inline PTX without a function: '{ptx}'")
    operands: list[str] = []
    for part in parts[1:3]:
        inside = part.strip()
        while inside:
            head = re.match(r',?\s*"[^"]*"\s*\(', inside)
            if head is None:
                raise Unknown(f"operands of inline PTX: '{inside}'")
            end = closing(inside, head.end() - 1)
            operands.append(inside[head.end() - 1 : end])
            inside = inside[end:].strip()
    return f"emulated::{PTX[ptx]}({', '.join(operands)})"


def name_before(code: str, at: int) -> int:
    """Return where the name with its template arguments begins that ends before `at`."""
    i = len(code[:at].rstrip())
    if code[i - 1] == ">":
        depth = 0
        while True:
            i -= 1
            depth += (code[i] == ">") - (code[i] == "<")
            if depth == 0:
                break
    while re.match(r"[\w:.]", code[i - 1]):
        i -= 1
    return i


class Source:
    """A file on its way: the text, and the same with blanks for comments and strings."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.code = blank(text)

    def replace(self, begin: int, end: int, made: str) -> None:
        made = padded(made, self.text[begin:end])
        self.text = self.text[:begin] + made + self.text[end:]
        self.code = self.code[:begin] + blank(made) + self.code[end:]

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def each(self, pattern: str) -> list[re.Match[str]]:
        """All places from the last to the first: what is replaced moves none of the rest."""
        return list(re.finditer(pattern, self.code))[::-1]

    def launches(self) -> None:
        for found in self.each(r"<<<"):
            begin = name_before(self.code, found.start())
            end = self.code.index(">>>", found.end())
            bracket = self.code.index("(", end)
            kernel = self.text[begin : found.start()].strip()
            shape = self.text[found.end() : end]
            after = self.text[bracket + 1 : closing(self.code, bracket)]
            comma = "" if after.strip() == ")" else ", "
            name = f"{' '.join(kernel.split())}, {self.name}:{self.line(begin)}"
            made = (
                f'emulated::launch("{name}", '
                f"emulated::launch_config({shape}), {kernel}{comma}{after}"
            )
            self.replace(begin, closing(self.code, bracket), made)

    def shared(self) -> None:
        for found in self.each(r"(extern\s+)?\b__shared__\s+([^;]*);"):
            declaration = " ".join(self.text[found.start(2) : found.end(2)].split())
            parts = re.fullmatch(r"(.*?)\b(\w+)\s*((?:\[[^\]]*\]\s*)*)", declaration)
            if parts is None or "," in parts[3]:
                raise Unknown(f"line {self.line(found.start())}: shared memory '{declaration}'")
            if found[1]:
                kind = re.sub(r"(__align__|alignas)\s*\(\w+\)", "", parts[1]).strip()
                made = f"{kind} *{parts[2]} = emulated::dynamic_shared<{kind}>();"
            else:
                own = f"shared_{self.line(found.start())}"
                made = (
                    f"struct {own} {{ {declaration}; }}; "
                    f"auto &{parts[2]} = emulated::block_shared<{own}>().{parts[2]};"
                )
            self.replace(found.start(), found.end(), made)

    def bounds(self) -> None:
        for found in self.each(r"\b__launch_bounds__\s*\("):
            end = closing(self.code, found.end() - 1)
            head = re.compile(r"\s*\w+\s*(?=\()").match(self.code, end)
            if head is None:
                continue
            body = re.compile(r"\s*\{").match(self.code, closing(self.code, head.end()))
            if body is not None:
                promised = " ".join(self.text[found.end() : end].split())
                self.replace(
                    body.end(), body.end(), f" emulated::launch_bounds({promised};"
                )

    def inline_ptx(self) -> None:
        for found in self.each(r"\basm\s*(volatile\s*)?\("):
            end = closing(self.code, found.end() - 1)
            inside = slice(found.end(), end - 1)
            try:
                made = assembly(self.text[inside], self.code[inside])
            except Unknown as unknown:
                raise Unknown(f"line {self.line(found.start())}: {unknown}") from None
            self.replace(found.start(), end, made)


def translate(text: str, name: str) -> str:
    """Return the C++ of a source; its lines are those of the source."""
    source = Source(text, name)
    source.launches()
    source.shared()
    source.bounds()
    source.inline_ptx()
    return f'#line 1 "{name}"\n{source.text}'


def main() -> int:
    folder, to = Path(sys.argv[1]), Path(sys.argv[2])
    n_failed = 0
    for name in sys.argv[3:]:
        try:
            made = translate((folder / name).read_text(encoding="utf-8"), name)
        except Unknown as unknown:
            print(f"{folder / name}: {unknown}", file=sys.stderr)
            n_failed += 1
            continue
        place = to / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text(encoding="utf-8") != made:
            place.write_text(made, encoding="utf-8")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
