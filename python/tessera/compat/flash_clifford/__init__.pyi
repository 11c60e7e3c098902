# For type checkers: at run time an alias (compat/_alias.py). Modules below are Any to them.
from typing import Any

from tessera.clifford import *  # noqa: F403

def __getattr__(name: str) -> Any: ...
