"""tools/check_names.py notices names of files that do not exist, and only those."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_names

# Beside src/base/text.c, src/base/text_more.c, tools/make.py and python/a/__init__.py.
GOOD = [
    ("src/a.c", '#include "gone.h"\n// text.c does it'), ("src/a.c", "/* base/text.c\n text.c. */"),
    ("src/a.c", "int x; // see `src/base/{text,text_more}.c`, text*.c"),
    ("src/a.c", "// p.c is a member, x..c a range, <system>/plan.c a pattern"),
    ("README.md", "`python3 tools/make.py --all`, then text.c"), ("a.py", 'run("gone.py")'),
    ("README.md", "cc program.c; www.example.com/a.html"),
    ("a.py", "# ./tools/make.py"), ("README.md", "# Title\n\nclifford/cl30_left.def"),
]

BAD = [
    ("src/a.c", "// folds.c: masks"), ("src/a.h", "/** x\n * base/folds.c */"),
    ("src/a.c", "int x; // base/{text,gone}.c"), ("src/a.c", "// gone*.c"),
    ("README.md", "a page about `src/io/text.c`"), ("a.py", '"""As gone.py does."""'),
    ("CMakeLists.txt", "# see tools/gone.sh"),
]


class Names(unittest.TestCase):
    def problems_of(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            known = ("src/base/text.c", "src/base/text_more.c", "tools/make.py")
            for each in (*known, "python/a/__init__.py"):
                (root / each).parent.mkdir(parents=True, exist_ok=True)
                (root / each).touch()
            (root / path).write_text(text)
            subprocess.run(["git", "init", "-q", str(root)], check=True)
            return list(check_names.check(root))

    def test_names_of_files_pass(self):
        for path, text in GOOD:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.problems_of(path, text), [])

    def test_others_are_named(self):
        for path, text in BAD:
            with self.subTest(path=path, text=text):
                problems = self.problems_of(path, text)
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith(path), problems)


if __name__ == "__main__":
    unittest.main()
