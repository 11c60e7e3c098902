#!/usr/bin/env python3
"""Circles: files that need each other can only be read, tested and changed together.

Usage: check_circles.py [--build DIR [--report]] [ROOT]      (exit 1 and one line per circle)

Python files need what they import, at the top or inside a function, except for types alone
(TYPE_CHECKING). With a build its C files are checked instead: they need those that define what
they call or refer to, by the symbols of the object files.
"""

import argparse
import ast
import sys
from pathlib import Path

from objects import calls, read_objects

# Circles that stay, by their files in alphabetical order, each with its reason.
ALLOWED = {
    # Commands that tell of, complete or run all commands, in the table of which they are.
    ("cli/cmd_batch.c", "cli/cmd_completion.c", "cli/cmd_demo.c", "cli/cmd_help.c",
     "cli/cmd_rerun.c", "cli/command_table.c", "cli/commands.c", "cli/commands_general.c",
     "cli/completion_bash.c", "cli/completion_fish.c", "cli/demo_run.c", "cli/main.c",
     "cli/manual.c", "cli/rerun_line.c"),
}
MOST_ALLOWED = 3

C_FOLDERS = ("src", "cli", "python")


def is_for_types(node):
    """Whether an if statement is `if TYPE_CHECKING:`."""
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    names |= {inner.attr for inner in ast.walk(node.test) if isinstance(inner, ast.Attribute)}
    return "TYPE_CHECKING" in names


def imports(tree):
    """Import statements wherever they stand, but for those for types alone."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and is_for_types(node):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def modules(root):
    """Files of the package by module name; a package is its __init__.py."""
    found = {}
    for file in sorted((root / "python").rglob("*.py*")):
        parts = list(file.relative_to(root / "python").with_suffix("").parts)
        if file.suffix not in (".py", ".pyi"):
            continue
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts)] = file
    return found


def targets(node, module, is_package, known):
    """Modules of ours that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in known]
    base = node.module or ""
    if node.level:
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + is_package]
        base = ".".join([*kept, *([base] if base else [])])
    names = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in known else base for name in names if name in known or base in known]


def python_graph(root):
    """Which file of the package imports which."""
    known = modules(root)
    graph = {}
    for module, file in known.items():
        is_package = file.name == "__init__.py"
        needs = graph.setdefault(str(file.relative_to(root)), set())
        for node in imports(ast.parse(file.read_text(encoding="utf-8"))):
            for name in targets(node, module, is_package, known):
                needs.add(str(known[name].relative_to(root)))
    return graph


def c_graph(root, build):
    """Which C file calls which, by symbols."""
    objects = [each for each in read_objects(root, build) if each.source.parts[0] in C_FOLDERS]
    graph = {str(each.source): set() for each in objects}
    for caller, _, home in calls(objects):
        graph[str(caller)].add(str(home))
    return graph


def circles(graph):
    """Strongly connected parts of more than one file (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, children = work[-1]
            child = next(children, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack -= set(part)
                    if len(part) > 1:
                        found.append(tuple(sorted(part)))
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                on_stack.add(child)
                work.append((child, iter(sorted(graph.get(child, ())))))
            elif child in on_stack:
                low[node] = min(low[node], index[child])
    return sorted(found)


def problems_of(found, allowed, suffixes):
    """What is wrong with the circles of files with these suffixes, as lines."""
    for circle in found:
        if circle not in allowed:
            yield f"circle of {len(circle)} files: {' '.join(circle)}"
    for circle in allowed:
        if circle not in found and Path(circle[0]).suffix in suffixes:
            yield f"no circle any more, take it out of ALLOWED: {' '.join(circle)}"
    if len(allowed) > MOST_ALLOWED:
        yield f"{len(allowed)} circles are allowed, at most {MOST_ALLOWED} may be"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--build", type=Path, help="check the C files of this build")
    parser.add_argument("--report", action="store_true", help="list circles, but succeed")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.build:
        problems = list(problems_of(circles(c_graph(root, options.build)), ALLOWED, (".c",)))
    else:
        problems = list(problems_of(circles(python_graph(root)), ALLOWED, (".py",)))
    for problem in problems:
        print(problem)
    return 1 if problems and not options.report else 0


if __name__ == "__main__":
    sys.exit(main())
