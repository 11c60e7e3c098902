"""Which names of the originals a script uses, read from its text, and which of them we lack.

A script stops at the first name that is missing. Reading it tells all of them at once, and
arguments that our functions do not take.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

from tessera.compat._originals import ORIGINALS

_ROOTS = {root: original.name for original in ORIGINALS.values() for root in original.roots}


def originals_of(source: str, *, everyday: bool = False) -> list[str]:
    """Return the originals whose names stand in import lines.

    Names such as ``ops`` may be anybody's, and count only if ``everyday``.
    """
    found: dict[str, None] = {}
    marked = {root for original in ORIGINALS.values() for root in original.marks}
    for node in ast.walk(ast.parse(source)):
        for module in _imported_modules(node):
            root = module.partition(".")[0]
            if root in _ROOTS and (everyday or root not in marked):
                found.setdefault(_ROOTS[root])
    return list(found)


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        return [node.module]
    return []


def _is_original(name: str) -> bool:
    return name.partition(".")[0] in _ROOTS


def _resolve(name: str) -> Any:
    """Return what a dotted name of an original stands for here; raises where it is missing."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 1):
        try:
            value = getattr(value, part)
        except AttributeError:
            if inspect.isclass(value):
                raise
            value = importlib.import_module(".".join(parts[: i + 1]))
    return value


class _Reader(ast.NodeVisitor):
    """Follows imported names through a script."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # name in the script: dotted name of the original
        self.made: dict[str, str] = {}  # name in the script: class of the original
        self.lacking: dict[str, None] = {}

    def _look(self, name: str) -> Any:
        try:
            return _resolve(name)
        except (ImportError, AttributeError):
            self.lacking.setdefault(name)
            return None

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if _is_original(alias.name):
                self._look(alias.name)
                root = alias.name.partition(".")[0]
                self.bound[alias.asname or root] = alias.name if alias.asname else root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module and _is_original(node.module):
            for alias in node.names:
                if alias.name != "*":
                    self._look(f"{node.module}.{alias.name}")
                    self.bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        name = self._dotted(node.value.func) if isinstance(node.value, ast.Call) else None
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bound.pop(target.id, None)
                self.made.pop(target.id, None)
                if name and inspect.isclass(self._quiet(name)):
                    self.made[target.id] = name

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._dotted(node)
        if name is None:
            self.generic_visit(node)
        elif not inspect.isclass(self._quiet(name.rpartition(".")[0])):
            self._look(name)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = self._dotted(node.func) or self._method(node.func)
        called = self._look(name) if name else None
        if name is None or called is None:
            return
        try:
            parameters = inspect.signature(called).parameters
        except (TypeError, ValueError):
            return
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            for keyword in node.keywords:
                if keyword.arg is not None and keyword.arg not in parameters:
                    self.lacking.setdefault(f"{name}({keyword.arg}=)")

    def _quiet(self, name: str) -> Any:
        try:
            return _resolve(name)
        except (ImportError, AttributeError):
            return None

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the original's name of an expression such as ``nld.core.filter``."""
        if isinstance(node, ast.Name):
            return self.bound.get(node.id)
        if isinstance(node, ast.Attribute):
            parent = self._dotted(node.value)
            if parent is not None and self._is_open(parent):
                return f"{parent}.{node.attr}"
        return None

    def _is_open(self, name: str) -> bool:
        value = self._quiet(name)
        return inspect.ismodule(value) or inspect.isclass(value)

    def _method(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            cls = self.made.get(node.value.id)
            if cls is not None and not hasattr(self._quiet(cls), "__getattr__"):
                return f"{cls}.{node.attr}"
        return None


def lacking(source: str, asked: list[str]) -> list[str]:
    """Return the names that a script uses and we lack; asked are those that it asked for so far.

    To be called while the originals' names are redirected.
    """
    reader = _Reader()
    reader.visit(ast.parse(source))
    longer = list(reader.lacking)
    # "homodyne.core" adds nothing to "homodyne.core.theory".
    rest = [a for a in asked if not any(name.startswith((a + ".", a + "(")) for name in longer)]
    return sorted({*longer, *rest})
