"""Code blocks of the manual's pages, and how they are run.

A block of sh or python has a comment on the line above its fence:

    <!-- run -->                    run it; all of a page share a folder, in order
    <!-- run: needs pynwb -->       run it where these Python modules are installed
    <!-- run: exit 73 -->           run it; the command is to end with this code
    <!-- not run: REASON -->        shown only

and a page may prepare what a reader would bring, unseen:

    <!-- before: python
    ...
    -->

Python blocks of a page share one namespace. `python tests/docs/manual.py PAGE` runs the blocks of
one page in the working directory.
"""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LANGUAGES = ("sh", "python")
COMMAND = Path(os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")).resolve()
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>run|not run)(?:: (?P<how>.*?))? -->\n)?"
    r"^```(?P<language>sh|python)\n(?P<text>.*?)^```$"
    r"|^<!-- before: (?P<before>sh|python)\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    line: int
    language: str
    text: str
    mark: str  # "run", "not run" or ""
    how: str

    @property
    def needs(self):
        runs = self.mark == "run" and self.how.startswith("needs ")
        return self.how.removeprefix("needs ").split() if runs else []

    @property
    def exit_code(self):
        return int(self.how.removeprefix("exit ")) if self.how.startswith("exit ") else 0


def pages():
    """Return the pages written by hand."""
    generated = ("_build", "reference", "gallery", "benchmarks.md")
    return sorted(
        path
        for path in DOCS.rglob("*.md")
        if path.relative_to(DOCS).parts[0] not in generated
    )


def blocks(path):
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        if match["before"]:
            yield Block(line, match["before"], match["hidden"], "run", "")
        else:
            yield Block(
                line, match["language"], match["text"], match["mark"] or "", match["how"] or ""
            )


def missing(needs):
    return [name for name in needs if importlib.util.find_spec(name) is None]


def run_shell(block):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], check=False)
    if done.returncode != block.exit_code:
        raise SystemExit(f"exit code {done.returncode}, not {block.exit_code}")


def run_page(path):
    names = {"__name__": "__main__"}
    for block in blocks(path):
        if block.mark != "run" or missing(block.needs):
            continue
        print(f"---- {path.name}:{block.line}", flush=True)
        if block.language == "sh":
            run_shell(block)
        else:
            # Lines of a traceback are those of the page.
            text = "\n" * (block.line + 1) + block.text
            exec(compile(text, str(path), "exec"), names)
        sys.stdout.flush()


def run_as_user(words, folder):
    """Run a program as somebody would who has just installed Tessera; return what it printed."""
    path = [str(COMMAND.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join(path),
        "HOME": str(folder),
        "MPLBACKEND": "Agg",
        "TESSERA_PROGRESS": "none",
        "TESSERA_NUM_THREADS": "2",
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


if __name__ == "__main__":
    run_page(Path(sys.argv[1]).resolve())
