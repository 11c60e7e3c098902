"""tools/check_circles.py finds the circles that there are, and only those."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_circles
from objects import Object

# Of files below python/p, by what a.py and b.py hold.
PYTHON = [
    ("from p import b", "from p import a", True),
    ("import p.b", "from p.a import x", True),
    ("from . import b", "from .a import x", True),
    ("def f():\n    from p.b import x", "class A:\n    import p.a", True),
    ("from p import b", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from p import a", False),
    ("from p import b", "import typing\nif typing.TYPE_CHECKING:\n    from p import a", False),
    ("from p import b", "from p.c import a", False),
    ("from p import b", "import sys, os.path", False),
]


def c_file(source, defined, undefined):
    return Object(Path(source), frozenset(defined.split()), frozenset(undefined.split()))


class Circles(unittest.TestCase):
    def test_graphs(self):
        graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"f"}, "f": {"f"}}
        self.assertEqual(check_circles.circles(graph), [("a", "b", "c")])
        graph["f"] = {"d"}
        self.assertEqual(check_circles.circles(graph), [("a", "b", "c"), ("d", "e", "f")])

    def test_python(self):
        for a, b, is_circle in PYTHON:
            with self.subTest(a=a, b=b), tempfile.TemporaryDirectory() as folder:
                package = Path(folder) / "python/p"
                package.mkdir(parents=True)
                for name, text in (("a", a), ("b", b), ("c", "a = 1"), ("__init__", "")):
                    (package / f"{name}.py").write_text(text)
                found = check_circles.circles(check_circles.python_graph(Path(folder)))
                self.assertEqual(found, [("python/p/a.py", "python/p/b.py")] * is_circle)

    def test_c(self):
        objects = [
            c_file("src/a.c", "f g", "h malloc"), c_file("src/b.c", "h", "g"),
            c_file("cli/c.c", "i same", "f j"), c_file("cli/d.c", "j", "same"),
            c_file("python/ext/e.c", "same", "i"), c_file("tests/t.c", "i j", "i j"),
        ]
        with mock.patch.object(check_circles, "read_objects", return_value=objects):
            found = check_circles.circles(check_circles.c_graph(Path(), Path()))
        self.assertEqual(found, [("cli/c.c", "cli/d.c"), ("src/a.c", "src/b.c")])

    def test_allowed(self):
        found, other = [("a.c", "b.c")], ("c.c", "d.c")
        problems = check_circles.problems_of
        self.assertEqual(len(list(problems(found, {}, (".c",)))), 1)
        self.assertEqual(list(problems(found, {found[0]: "why"}, (".c",))), [])
        self.assertEqual(len(list(problems(found, {found[0]: "why", other: "why"}, (".c",)))), 1)
        self.assertEqual(list(problems([], {other: "why"}, (".py",))), [])
        many = {(f"{k}.c", "z.c"): "why" for k in range(4)}
        self.assertEqual(len(list(problems(list(many), many, (".c",)))), 1)


if __name__ == "__main__":
    unittest.main()
