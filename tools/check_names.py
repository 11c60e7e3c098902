#!/usr/bin/env python3
"""Names of files in comments and pages are names of files that there are.

Usage: check_names.py [ROOT]      (exit 1 and one line per name)

Read are the comments of sources and scripts, and whole pages (.md). A name is a word that ends like
a source or a script; it stands for any file whose path ends in it. `*` and `{a,b}` stand for what
they do in a shell.
"""

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

SOURCES = {".c", ".h", ".cu", ".cuh", ".def", ".inc"}
# Not after <placeholders>, and not a.c, which is a member of a struct.
NAME = re.compile(
    r"(?<![\w.$/<>-])((?:[\w*-]|\.(?!\.)|\{[\w,*]+\}|/(?=[\w.*{])){2,}"
    r"\.(?:c|h|cu|cuh|def|py|sh))\b(?![\w(*{/-]|\.\w)"
)
C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
SCRIPT_COMMENT = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"", re.S)
LINE = re.compile(r".+")


# Files of a reader's own in examples, and those of the build.
ELSEWHERE = {
    "program.c", "script.py", "train.py", "job.sh", "days.sh", "study.sh", "draws.sh",
    "src/backend/cuda/xpcs/pass.cu", "pyCHX/Create_Report.py", "dynamix/cli/xpcs_ini.py",
}
NOT_READ = ("tests/golden", "tests/headers/test_check_names.py")
GENERATED = re.compile(r"(clifford/)?((cl|NAME)\w*\.def|algebras\.h)")


def files(root):
    """Every file of the tree that git knows or would add."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    ).stdout
    return [name for name in listing.splitlines() if (root / name).is_file()]


def expanded(name):
    """The names that braces stand for."""
    match = re.search(r"\{([^}]*)\}", name)
    if not match:
        return [name]
    head, tail = name[: match.start()], name[match.end() :]
    return [each for part in match[1].split(",") for each in expanded(head + part + tail)]


def exists(name, known):
    pattern = name.removeprefix("./").removeprefix("../")
    if "*" in pattern:
        return any(fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}") for path in known)
    return any(path == pattern or path.endswith(f"/{pattern}") for path in known)


def names_in(path, text):
    """(line number, name) of every name in the comments of a source, or in a page."""
    where = C_COMMENT if path.suffix in SOURCES else SCRIPT_COMMENT
    where = LINE if path.suffix == ".md" else where
    for span in where.finditer(text):
        for match in NAME.finditer(span[0]):
            yield text.count("\n", 0, span.start() + match.start()) + 1, match[1]


def check(root):
    known = files(root)
    suffixes = {}
    for path in known:
        suffixes.setdefault(Path(path).name, []).append(path)
    for name in known:
        path = Path(name)
        is_read = path.suffix in SOURCES | {".md", ".py", ".sh"} or path.name == "CMakeLists.txt"
        if not is_read or name.startswith(NOT_READ):
            continue
        for line, word in names_in(path, (root / name).read_text(encoding="utf-8")):
            if word in ELSEWHERE or GENERATED.fullmatch(word):
                continue
            for each in expanded(word):
                near = known if "*" in each else suffixes.get(Path(each).name, [])
                if not exists(each, near):
                    yield f"{name}:{line}: there is no file {each}"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    problems = list(check(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
