"""A checkout of flash-clifford as clifford's peer, found or refused; run by ./dev lint."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import _flash_clifford

OPERATION = "def fused_gelu_sgp_norm_3d(x, y, weight):\n    return 'sgp'\n"


class Checkout(unittest.TestCase):
    """A folder with one operation under the original's name."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.init = Path(folder.name) / "ops" / "__init__.py"
        self.init.parent.mkdir()
        self.init.write_text(OPERATION)
        named = {"TESSERA_FLASH_CLIFFORD": folder.name}
        patches = (
            mock.patch.dict(os.environ, named),
            mock.patch.object(sys, "path", [*sys.path]),
            mock.patch.dict(sys.modules),
        )
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        sys.modules.pop("ops", None)

    def test_operations_are_found(self):
        self.assertTrue(_flash_clifford.has("sgp", 3))
        self.assertFalse(_flash_clifford.has("layer", 3))
        self.assertEqual(_flash_clifford.operation("sgp", 3)(1, 2, 3), "sgp")

    def test_a_missing_operation_is_told(self):
        with self.assertRaisesRegex(SystemExit, "fused_gelu_fcgp_norm_2d"):
            _flash_clifford.operation("fcgp", 2)

    def test_another_folder_is_refused(self):
        self.init.unlink()
        with self.assertRaisesRegex(SystemExit, "name the folder that git cloned"):
            _flash_clifford.has("sgp", 3)

    def test_without_one_the_peer_stays(self):
        del os.environ["TESSERA_FLASH_CLIFFORD"]
        self.assertFalse(_flash_clifford.has("sgp", 3))


if __name__ == "__main__":
    unittest.main()
