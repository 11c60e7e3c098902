"""tools/check_floors.py notices each kind of violation, and only those."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_floors
from objects import Object

HEADERS = [
    "include/tessera/base.h", "include/tessera/sys/backend.h", "src/base/status.h",
    "src/base/memory.h", "src/stage/decode.h", "src/kernels/kernels.h", "src/runtime/pool.h",
    "src/numerics/lstsq.h", "src/io/npy.h", "src/document/tree.h", "src/backend/cpu/cpu_backend.h",
    "src/backend/cuda/launch.cuh", "src/systems/decode/decode.h", "src/systems/xpcs/xpcs.h",
    "cli/opt.h", "python/ext/core.h",
]

GOOD = [
    ("src/base/a.c", '"base/status.h"'), ("src/base/a.c", "<stdlib.h>"),
    ("src/kernels/a.c", '"kernels/kernels.h"'), ("src/kernels/a.c", "<math.h>"),
    ("src/kernels/a.c", "TESS_VEC_HEADER"), ("src/runtime/a.c", '"stage/decode.h"'),
    ("src/runtime/a.c", '"tess_features.h"'), ("src/io/a.c", '"runtime/pool.h"'),
    ("src/numerics/a.c", '"stage/decode.h"'), ("src/backend/cpu/a.c", '"kernels/kernels.h"'),
    ("src/backend/cpu/a.c", '"cpu_backend.h"'), ("src/backend/cuda/a.cu", '"stage/decode.h"'),
    ("src/backend/cuda/a.cu", '"tessera/sys/backend.h"'),
    ("src/systems/decode/a.c", '"systems/decode/decode.h"'),
    ("src/systems/decode/a.c", '"numerics/lstsq.h"'), ("src/tessera.c", '"io/npy.h"'),
    ("src/systems/decode/a.c", '"document/tree.h"'),
    ("src/tessera.c", '"backend/cpu/cpu_backend.h"'), ("cli/a.c", '"opt.h"'),
    ("cli/a.c", '"tessera/base.h"'), ("python/ext/a.c", '"core.h"'),
]

BAD = [
    ("src/base/a.c", '"runtime/pool.h"'), ("src/base/a.c", '"stage/decode.h"'),
    ("src/base/a.h", '"kernels/kernels.h"'), ("src/kernels/a.c", "<stdlib.h>"),
    ("src/kernels/a.c", '"base/memory.h"'), ("src/kernels/a.c", '"runtime/pool.h"'),
    ("src/runtime/a.c", '"kernels/kernels.h"'), ("src/runtime/a.c", '"io/npy.h"'),
    ("src/runtime/a.c", '"systems/decode/decode.h"'), ("src/io/a.c", '"stage/decode.h"'),
    ("src/io/a.c", '"numerics/lstsq.h"'), ("src/document/a.c", '"io/npy.h"'),
    ("src/numerics/a.c", '"kernels/kernels.h"'),
    ("src/backend/cpu/a.c", '"io/npy.h"'), ("src/backend/cuda/a.cu", '"base/status.h"'),
    ("src/backend/cuda/a.cu", '"runtime/pool.h"'),
    ("src/systems/decode/a.c", '"systems/xpcs/xpcs.h"'),
    ("src/systems/decode/a.c", '"io/npy.h"'), ("src/systems/decode/a.c", '"kernels/kernels.h"'),
    ("src/systems/decode/a.c", '"backend/cpu/cpu_backend.h"'),
    ("src/tessera.c", '"kernels/kernels.h"'), ("cli/a.c", '"base/status.h"'),
    ("cli/a.c", '"../src/runtime/pool.h"'), ("python/ext/a.c", '"runtime/pool.h"'),
    ("src/runtime/a.c", '"no/such/file.h"'), ("src/runtime/a.c", "SOME_MACRO"),
    ("src/elsewhere/a.c", "<stdio.h>"),
]


# Who calls whom, and whether what is called is exported.
GOOD_CALLS = [
    ("src/runtime/a.c", "src/base/b.c", False), ("src/systems/xpcs/a.c", "src/page/b.c", False),
    ("src/systems/xpcs/a.c", "src/systems/xpcs/fit/b.c", False), ("cli/a.c", "cli/b.c", False),
    ("cli/a.c", "src/systems/xpcs/b.c", True), ("src/tessera.c", "src/systems/xpcs/b.c", True),
    ("tests/unit/a.c", "src/io/b.c", False),
]

BAD_CALLS = [
    ("src/runtime/a.c", "src/backend/cpu/b.c", True), ("src/io/a.c", "src/tessera.c", True),
    ("src/systems/xpcs/a.c", "src/io/b.c", True), ("cli/a.c", "src/base/b.c", False),
    ("src/systems/xpcs/a.c", "src/systems/decode/b.c", True),
]


class Floors(unittest.TestCase):
    def problems_of(self, path, include):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for header in HEADERS:
                (root / header).parent.mkdir(parents=True, exist_ok=True)
                (root / header).touch()
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"// one include\n  #  include {include}\n")
            return check_floors.check(root)

    def test_allowed_includes_pass(self):
        for path, include in GOOD:
            with self.subTest(path=path, include=include):
                self.assertEqual(self.problems_of(path, include), [])

    def test_each_violation_is_named(self):
        for path, include in BAD:
            with self.subTest(path=path, include=include):
                problems = self.problems_of(path, include)
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith(path), problems)

    def calls_of(self, caller, home, is_exported):
        objects = [
            Object(Path(caller), frozenset(), frozenset({"tess_f", "malloc"})),
            Object(Path(home), frozenset({"tess_f"}), frozenset()),
        ]
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tests/abi").mkdir(parents=True)
            (root / "tests/abi/symbols.txt").write_text("tess_f\n" if is_exported else "")
            with mock.patch.object(check_floors, "read_objects", return_value=objects):
                return check_floors.check_calls(root, root)

    def test_allowed_calls_pass(self):
        for call in GOOD_CALLS:
            with self.subTest(call=call):
                self.assertEqual(self.calls_of(*call), [])

    def test_each_bad_call_is_named(self):
        for call in BAD_CALLS:
            with self.subTest(call=call):
                problems = self.calls_of(*call)
                self.assertEqual(len(problems), 1, problems)
                self.assertIn("tess_f", problems[0])


if __name__ == "__main__":
    unittest.main()
