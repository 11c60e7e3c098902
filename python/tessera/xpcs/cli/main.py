"""Entry points ``homodyne``, ``hexp`` and ``hsim``."""

from __future__ import annotations

import sys

from tessera import _core
from tessera.xpcs.cli.args_parser import create_parser
from tessera.xpcs.cli.commands import dispatch_command

__all__ = ["main", "main_hexp", "main_hsim"]


def main() -> None:
    """Run ``homodyne`` with the words of the command line; exits with its code."""
    args = create_parser().parse_args()
    try:
        result = dispatch_command(args)
    except KeyboardInterrupt:
        sys.exit(130)
    except _core.Error as error:
        sys.exit(f"homodyne: {error}")
    sys.exit(0 if result["success"] else result["returncode"])


def main_hexp() -> None:
    """Run ``homodyne --plot-experimental-data``."""
    sys.argv[1:1] = ["--plot-experimental-data"]
    main()


def main_hsim() -> None:
    """Run ``homodyne --plot-simulated-data``."""
    sys.argv[1:1] = ["--plot-simulated-data"]
    main()


if __name__ == "__main__":
    main()
