"""What comes with the package for programs in C."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tessera

CONSUMER = Path(__file__).parents[1] / "consumer" / "project" / "consumer.c"
IN_SOURCE_TREE = (Path(tessera.__file__).parents[2] / "CMakeLists.txt").is_file()


@pytest.mark.skipif(not IN_SOURCE_TREE, reason="the package is installed")
def test_a_source_tree_says_that_nothing_is_installed() -> None:
    for function in (tessera.get_include, tessera.get_pkgconfig_dir):
        with pytest.raises(tessera.NotFoundError, match="used from its source tree"):
            function()


@pytest.mark.skipif(IN_SOURCE_TREE, reason="the package is not installed")
@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("pkg-config"), reason="no compiler")
def test_programs_in_c_are_built_and_find_the_library(tmp_path: Path) -> None:
    assert (Path(tessera.get_include()) / "tessera" / "tessera.h").is_file()
    environment = {**os.environ, "PKG_CONFIG_PATH": tessera.get_pkgconfig_dir()}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "tessera"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    program = tmp_path / "consumer"
    subprocess.run(["cc", str(CONSUMER), "-o", str(program), *flags], check=True)
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert said == f"tessera {tessera.__version__}: right\n"
