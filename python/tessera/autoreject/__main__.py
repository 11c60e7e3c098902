"""``python -m tessera.autoreject SCRIPT ...``: a script's ``import autoreject`` finds this package.

``-m MODULE ...`` runs a module instead.
"""

from __future__ import annotations

import runpy
import sys

from tessera.compat import install


def main() -> None:
    """Run what the arguments name."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m tessera.autoreject SCRIPT ... | -m MODULE ...")
        sys.exit(0 if arguments else 2)
    install("autoreject")
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
