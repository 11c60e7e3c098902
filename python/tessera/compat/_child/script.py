"""The script as it is run: a file or a notebook, with what its main function computed kept.

Results of many scripts are the local names of a function that is called at the end. Such a function
hands them over when it ends; line numbers stay what they are.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from .notebook import read_notebook

KEEP = "__tessera_keep__"
_CLOCKS = {
    "clock",
    "default_timer",
    "monotonic",
    "monotonic_ns",
    "now",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "time",
    "time_ns",
    "today",
    "utcnow",
}


def read_source(path: Path) -> str:
    """Return the text of a script, or of the code cells of a notebook."""
    if path.suffix != ".ipynb":
        with tokenize.open(path) as file:  # in the encoding that its first lines tell
            return file.read()
    return read_notebook(path)


def _module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what runs with the module: everything that is not inside a function or class."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        yield node
        todo.extend(ast.iter_child_nodes(node))


def _is_main_test(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)


def _called_at_the_end(tree: ast.Module) -> set[str]:
    """Return the functions that a block ``if __name__ == "__main__"`` calls, and ``main``."""
    called = {
        node.func.id
        for top in tree.body
        if _is_main_test(top)
        for node in ast.walk(top)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return called | {"main"}


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _keep_locals(function: ast.FunctionDef) -> None:
    keep = ast.parse(f"{KEEP}({function.name!r}, locals())").body
    guarded = ast.Try(body=function.body, handlers=[], orelse=[], finalbody=keep)
    for statement in keep:
        for node in ast.walk(statement):
            ast.copy_location(node, function.body[-1])
    function.body = [ast.copy_location(guarded, function.body[0])]


class _WithoutWindows(ast.NodeTransformer):
    """Leaves out ``matplotlib.use("TkAgg")`` and the like: figures are drawn, not shown."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name in ("matplotlib", "matplotlib.pyplot")
        }

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("use", "switch_backend")
            and ast.unparse(call.func.value) in self._modules
        ):
            return ast.copy_location(ast.Pass(), node)
        return node


def has_relative_import(source: str) -> bool:
    """Tell a module of a package, which finds its neighbours by ``from .x import y``."""
    return any(
        isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(ast.parse(source))
    )


def package_of(script: Path) -> tuple[str, Path]:
    """Return the package that a file belongs to, and the folder that it is imported from."""
    names: list[str] = []
    folder = script.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), folder


def prepared(source: str, name: str) -> CodeType:
    """Return the code of a script whose main function keeps its local names."""
    tree = ast.parse(source, name)
    tree = _WithoutWindows(tree).visit(tree)
    wanted = _called_at_the_end(tree)
    for node in tree.body:
        # A decorated function may be compiled by somebody else, who would not know `finally`.
        if (
            isinstance(node, ast.FunctionDef)
            and node.name in wanted
            and not node.decorator_list
            and not _yields(node)
        ):
            _keep_locals(node)
    return compile(ast.fix_missing_locations(tree), name, "exec")


def clock_names(source: str) -> set[str]:
    """Return the names whose values come from a clock: two runs never agree on them."""
    names: set[str] = set()
    assigned = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign | ast.AugAssign)
    ]
    for _ in range(3):  # names of names of names
        for node in assigned:
            if _reads_clock(node.value, names):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _reads_clock(value: ast.expr, names: set[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in names
    if isinstance(value, ast.BinOp):
        return _reads_clock(value.left, names) or _reads_clock(value.right, names)
    if isinstance(value, ast.Call):
        called = value.func
        word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if word in ("round", "float", "int", "str"):
            return any(_reads_clock(argument, names) for argument in value.args)
        return word in _CLOCKS and not value.args
    return False


def keeper(kept: dict[str, dict[str, Any]]) -> Callable[[str, dict[str, Any]], None]:
    """Return what a main function calls with its local names."""

    def keep(function: str, names: dict[str, Any]) -> None:
        kept[function] = dict(names)

    return keep
