#!/usr/bin/env python3
"""Lists the public names of an original with their signatures, by reading its sources.

Usage: compat_names.py ORIGINAL FOLDER [--later LIST] > docs/migrate/names/ORIGINAL.tsv

FOLDER holds the packages (site-packages, an unpacked wheel, a clone). Nothing is imported, so that
no JAX, Triton or MNE is needed. A line has module, name, kind and signature; methods are
"Class.method". LIST is a list of the names of a later version, tuples of file, kind, name, a remark
and parameters, one a line; they are marked "later".
"""

import argparse
import ast
import sys
from pathlib import Path

PACKAGES = {
    "non_local_detector": ("non_local_detector",),
    "homodyne": ("homodyne",),
    "autoreject": ("autoreject",),
    "flash-clifford": ("ops", "modules", "tests"),
}
JAX_MAKES = {"jax.grad", "jax.hessian", "jax.jit", "jax.vmap"}
LEFT_OUT = {"tests", "conftest", "__main__", "post_install", "uninstall_scripts", "shell"}


def signature(arguments, skip_first=False):
    """Return "(a, b=1, *, c)": names and defaults, without annotations."""
    arguments = ast.parse(f"def f({ast.unparse(arguments)}): pass").body[0].args  # a copy
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    if skip_first:
        rest = arguments.posonlyargs + arguments.args
        n_only = max(0, len(arguments.posonlyargs) - 1)
        arguments.posonlyargs, arguments.args = rest[1 : 1 + n_only], rest[1 + n_only :]
    return f"({ast.unparse(arguments)})"


def decorators(node):
    return {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in node.decorator_list}


def fields(node, classes):
    """Return the fields of a dataclass and of its bases in the same file: name and default."""
    found = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found |= fields(classes[base.id], classes)
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if "ClassVar" not in ast.unparse(item.annotation):
                found[item.target.id] = default_of(item.value)
    return found


def default_of(value):
    """Return the default of a field as text; None for none, "..." for what a factory makes."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("field"):
        words = {word.arg: word.value for word in value.keywords}
        return ast.unparse(words["default"]) if "default" in words else (
            "..." if "default_factory" in words else None
        )
    return None if value is None else ast.unparse(value)


def constructor(node, classes):
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    if "__init__" in methods:
        return signature(methods["__init__"].args, skip_first=True)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_") and base.id in classes:
            return constructor(classes[base.id], classes)
    if "dataclass" in decorators(node):
        texts = (n if d is None else f"{n}={d}" for n, d in fields(node, classes).items())
        return f"({', '.join(texts)})"
    return ""


def inherited(node, classes):
    """Yield what comes from private bases in the same file: they have no lines of their own."""
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_") and base.id in classes:
            yield from classes[base.id].body
            yield from inherited(classes[base.id], classes)


def class_lines(module, node, classes):
    yield module, node.name, "class", constructor(node, classes)
    for item in [*node.body, *inherited(node, classes)]:
        if not isinstance(item, ast.FunctionDef) or item.name.startswith("_"):
            continue
        words = decorators(item)
        if words & {"setter", "deleter"}:
            continue
        kind = "property" if words & {"property", "cached_property"} else "method"
        text = "" if kind == "property" else signature(item.args, "staticmethod" not in words)
        yield module, f"{node.name}.{item.name}", kind, text


def top_level(body):
    """Yield the statements of a module, those below if and try as well.

    What an except clause defines stands in for a package that is absent, and is nobody's name.
    """
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            for part in ("body", "orelse", "finalbody"):
                yield from top_level(getattr(node, part, []))


def exported(tree, is_package):
    """Yield what a package hands on from its modules."""
    for node in top_level(tree.body):
        if is_package and isinstance(node, ast.ImportFrom) and node.level > 0:
            for alias in node.names:
                yield alias.asname or alias.name


def package_exports(tree, package):
    """Yield what it hands on by its full name, or on demand."""
    for node in top_level(tree.body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
            for alias in node.names:
                yield alias.asname or alias.name
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            for item in ast.walk(node.value):
                if isinstance(item, ast.Constant):
                    yield str(item.value)


def constants(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name) and target.id.isupper() and node.value is not None:
            yield target.id, ast.unparse(node.value)


def derivatives(node, functions):
    """Yield functions that JAX makes of others in the file: they take what those take."""
    value = node.value
    if not isinstance(value, ast.Call) or ast.unparse(value.func) not in JAX_MAKES:
        return
    inner = ast.unparse(value.args[0])
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if inner in functions and isinstance(target, ast.Name):
            yield target.id, signature(functions[inner].args)


def module_lines(module, path, package):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(top_level(tree.body))
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            if "tl." not in ast.unparse(node.args):  # a kernel of Triton
                yield module, node.name, "function", signature(node.args)
        elif isinstance(node, ast.ClassDef):
            yield from class_lines(module, node, classes)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name, text in derivatives(node, functions):
                yield module, name, "function", text
            for name, value in constants(node):
                is_flag = name.startswith("HAS_") or name.endswith("_AVAILABLE")
                if not is_flag and "TypeVar" not in value:
                    yield module, name, "constant", value if len(value) <= 60 else "..."
    if path.name == "__init__.py":
        for name in (*exported(tree, True), *package_exports(tree, package)):
            if not name.startswith("HAS_"):
                yield module, name, "export", ""


def is_public(module, name):
    if name == "inner":  # of a function, in the list of a later version
        return False
    parts = [*module.split("."), *name.split(".")]
    return not any(part.startswith("_") or part == "*" for part in parts)


def lines(original, folder):
    for package in PACKAGES[original]:
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if LEFT_OUT & set(parts[1:]):
                continue
            yield from module_lines(".".join(parts), path, package)


def later_lines(path, package):
    """Yield the names of a list of tuples; of a line that is cut off, the part that is there."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("('"):
            continue
        try:
            words = ast.literal_eval(line)
        except SyntaxError:
            words = (*line.strip("('").split("', '")[:3], "", None)
        if words[1] not in ("def", "class"):  # arguments of functions that were there before
            yield from later_keywords(words, package)
            continue
        file, kind, name, _, parameters = words
        text = "" if kind == "class" or parameters is None else f"({parameters})"
        yield dotted(package, file), name, "class" if kind == "class" else "function", text


def later_keywords(words, package):
    name, keywords = words[1], words[2]
    if isinstance(keywords, list):
        yield dotted(package, words[0]), name, "keywords", f"({', '.join(keywords)})"


def dotted(package, file):
    return f"{package}.{file.removesuffix('.py').replace('/', '.')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("original", choices=PACKAGES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--later", type=Path)
    arguments = parser.parse_args()
    found = {}
    for module, name, kind, text in lines(arguments.original, arguments.folder):
        if is_public(module, name):
            found.setdefault((module, name), (kind, text, ""))
    if arguments.later:
        for module, name, kind, text in later_lines(arguments.later, arguments.original):
            name = name.removesuffix(".__init__")
            if kind == "keywords" and is_public(module, name):
                found[module, f"{name} "] = (kind, text, "later")  # beside the name itself
            elif is_public(module, name):
                found.setdefault((module, name), (kind, text, "later"))
    print("module\tname\tkind\tsignature\tversion")
    for key in sorted(found):
        print("\t".join((key[0], key[1].rstrip(), *found[key])))


if __name__ == "__main__":
    sys.exit(main())
