"""One call of the compiler, and where its result is kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

__all__ = ["compile_to", "compiler", "has_failed", "target"]

_HERE = Path(__file__).resolve().parent
_SOURCES = ("calls.h", "recorded.hpp", "attention.hpp", "maps.hpp", "rows.hpp", "node.cpp")
_FLAGS = ("-O2", "-std=c++20", "-fPIC", "-shared", "-fvisibility=hidden", "-w")


def _folder() -> Path:
    given = os.environ.get("TESSERA_NATIVE_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tessera"


def compiler() -> str | None:
    """Return the compiler of C++, None without one."""
    given = os.environ.get("CXX")
    names = (given,) if given else ("g++", "c++", "clang++")
    return next((found for found in map(shutil.which, names) if found), None)


def _command(output: str) -> list[str]:
    import torch

    program = compiler()
    if program is None:
        raise RuntimeError("no compiler of C++ was found; install g++, or set CXX")
    root = Path(torch.__file__).resolve().parent
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [
        program,
        *_FLAGS,
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        f"-isystem{root / 'include'}",
        f"-isystem{root / 'include' / 'torch' / 'csrc' / 'api' / 'include'}",
        f"-isystem{sysconfig.get_paths()['include']}",
        str(_HERE / _SOURCES[-1]),
        "-o",
        output,
        f"-L{root / 'lib'}",
        "-ltorch_python",
        "-ltorch_cpu",
        "-lc10",
    ]


def target() -> Path:
    """Return where the node is, or will be: another file for whatever it depends on."""
    import torch

    key = hashlib.sha256()
    for part in (
        *_FLAGS,
        torch.__version__,
        str(Path(torch.__file__).resolve()),
        platform.machine(),
        sysconfig.get_config_var("EXT_SUFFIX") or "",
        *((_HERE / name).read_text() for name in _SOURCES),
    ):
        key.update(part.encode() + b"\0")
    return _folder() / f"clifford-node-{key.hexdigest()[:16]}.so"


def has_failed(path: Path) -> bool:
    """Say whether this was tried before in vain, which need not be found out at every start."""
    return path.with_suffix(".failed").exists()


def compile_to(path: Path) -> None:
    """Compile; processes that want it at the same time wait for the first."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return
        handle, made = tempfile.mkstemp(dir=path.parent, suffix=".part")
        os.close(handle)
        try:
            done = subprocess.run(_command(made), capture_output=True, check=False)
            if done.returncode:
                # Compilers quote and name files in bytes that may be none of this locale.
                text = done.stderr.decode("utf-8", "replace")
                said = next((t for t in text.splitlines() if "error" in t), text)
                path.with_suffix(".failed").write_text(said, encoding="utf-8")
                raise RuntimeError(f"the compiler failed: {said.strip()[:400]}")
            os.chmod(made, 0o700)
            os.replace(made, path)
        finally:
            if os.path.exists(made):
                os.remove(made)
