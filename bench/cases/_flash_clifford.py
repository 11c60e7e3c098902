"""The original's Triton kernels as clifford's peer, from a checkout that the user has.

`./dev bench clifford --flash-clifford DIR` names it in TESSERA_FLASH_CLIFFORD. Its products take
the place of the plain formulas; layers, which it composes of them, keep theirs.
"""

import importlib
import os
import sys
from pathlib import Path

NAMES = {(op, dims): f"fused_gelu_{op}_norm_{dims}d" for op in ("sgp", "fcgp") for dims in (2, 3)}


def checkout():
    """Return the folder of the checkout, or None where none was named."""
    folder = os.environ.get("TESSERA_FLASH_CLIFFORD")
    if not folder:
        return None
    if not (Path(folder) / "ops" / "__init__.py").is_file():
        raise SystemExit(
            f"--flash-clifford {folder}: no checkout of flash-clifford, whose folder 'ops' has "
            "__init__.py: name the folder that git cloned"
        )
    return Path(folder).resolve()


def has(op, dims):
    return (op, dims) in NAMES and checkout() is not None


def operation(op, dims):
    """Return its function for a product."""
    folder = str(checkout())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module("ops"), NAMES[op, dims])
    except (ImportError, AttributeError) as error:
        raise SystemExit(
            f"--flash-clifford {folder}: {error}: its operations want triton, and a GPU"
        ) from error
