"""Pages for every public name of the package, from the package itself.

A module has a page with its functions; a class has a page of its own. Many names can be imported
from several modules, as in the originals: one is documented where its path is shortest, the other
modules link there. After the build every public name must have its place, or the build fails.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path

from generated import Pages
from sphinx.errors import ExtensionError

ROOT = "tessera"
SKIPPED = {"tessera.plugins"}  # programs, not Python
LONGEST_VALUE = 60  # characters of a constant that are shown


def public_modules():
    """Yield the names of all modules whose path has no part that begins with an underscore."""
    yield ROOT
    package = importlib.import_module(ROOT)
    for found in pkgutil.walk_packages(package.__path__, f"{ROOT}."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            if found.name not in SKIPPED:
                yield found.name


def public_names(module):
    """Return what a module offers: its __all__, or else what it defines without underscore."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(module).items()
                  if getattr(value, "__module__", None) == module.__name__]
    return sorted(
        name for name in listed
        if not name.startswith("_") and not inspect.ismodule(getattr(module, name))
    )  # fmt: skip


class Survey:
    """Where every public name can be found, and where it is documented."""

    def __init__(self):
        self.modules = {name: importlib.import_module(name) for name in public_modules()}
        self.names = {name: public_names(module) for name, module in self.modules.items()}
        self.homes = {}
        for module in sorted(self.names, key=lambda name: (name.count("."), name)):
            for name in self.names[module]:
                self.homes.setdefault(self.key(module, name), module)

    def value(self, module, name):
        return getattr(self.modules[module], name)

    def key(self, module, name):
        value = self.value(module, name)
        # Equal numbers are not the same constant: those go by their name as well.
        return id(value) if callable(value) else (name, repr(value))

    def home(self, module, name):
        return self.homes[self.key(module, name)]

    def documented_name(self, module, name):
        """Return the path under which something is documented; its own name may differ."""
        home = self.home(module, name)
        key = self.key(module, name)
        return home, next(n for n in self.names[home] if self.key(home, n) == key)


def one_line(value):
    text = inspect.getdoc(value) or ""
    if not callable(value):
        return f"`{value!r}`" if len(repr(value)) < LONGEST_VALUE else ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.replace("|", "\\|").replace("``", "`")


def kind(value):
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "data"


def rst(*lines):
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def class_page(path, value):
    outside = [base.__name__ for base in value.__mro__[1:]
               if not base.__module__.startswith(ROOT)]  # fmt: skip
    inherited = f"   :inherited-members: {','.join(outside)}"
    described = rst(f".. autoclass:: {path}", "   :members:", inherited, "   :show-inheritance:")
    return f"# {path}\n\n{methods(path, value)}{described}"


def methods(path, value):
    """Return a table of what can be called, our own classes' methods alone."""
    bases = [base for base in value.__mro__ if base.__module__.startswith(ROOT)]
    own = {name for base in bases for name in vars(base)}
    lines = [
        f"| {{py:meth}}`{name}() <{path}.{name}>` | {one_line(getattr(value, name))} |"
        for name in sorted(own)
        if not name.startswith("_") and inspect.isroutine(getattr(value, name, None))
    ]
    return "\n".join(["| method | what |", "|---|---|", *lines]) + "\n\n" if lines else ""


def table(survey, module):
    lines = ["| name | what |", "|---|---|"]
    for name in survey.names[module]:
        home, known_as = survey.documented_name(module, name)
        role = {"class": "class", "function": "func", "data": "data"}
        value = survey.value(module, name)
        link = f"{{py:{role[kind(value)]}}}`{name} <{home}.{known_as}>`"
        lines.append(f"| {link} | {one_line(value)} |")
    return "\n".join(lines) + "\n"


def module_page(survey, module):
    text = [f"# {module}\n", rst(f".. automodule:: {module}", "   :no-members:")]
    if survey.names[module]:
        text.append(table(survey, module))
    here = [n for n in survey.names[module] if survey.documented_name(module, n) == (module, n)]
    classes = [n for n in here if kind(survey.value(module, n)) == "class"]
    if classes:
        text.append("```{toctree}\n:hidden:\n")
        text += [f"{module}.{name}" for name in classes]
        text.append("```\n")
    functions = [n for n in here if kind(survey.value(module, n)) == "function"]
    data = [n for n in here if kind(survey.value(module, n)) == "data"]
    if functions:
        text.append("## Functions\n")
        text += [function(survey, f"{module}.{name}") for name in functions]
    if data:
        text.append("## Constants\n")
        text += [constant(module, name, survey.value(module, name)) for name in data]
    return "\n".join(text)


def function(survey, path):
    # A module and a function of one name, as tessera.xpcs.cli.main: the module keeps the index.
    return rst(f".. autofunction:: {path}", *(["   :no-index:"] if path in survey.modules else []))


def constant(module, name, value):
    """Return a constant with its value where that is short; autodoc would show its type's help."""
    shown = repr(value)
    value_line = [f"   :value: {shown}"] if len(shown) < LONGEST_VALUE else []
    # By its module: what is written on a module's page is taken to be in it.
    return rst(f".. py:data:: {name}", f"   :module: {module}", *value_line)


def index(survey):
    text = ["# Modules\n"]
    text.append("```{toctree}\n:hidden:\n")
    text += sorted(survey.modules)
    text.append("```\n")
    text.append("| module | what |\n|---|---|")
    for name in sorted(survey.modules):
        text.append(f"| [{name}]({name}.md) | {one_line_of_module(survey.modules[name])} |")
    return "\n".join(text) + "\n"


def one_line_of_module(module):
    return (inspect.getdoc(module) or "").split("\n")[0].replace("``", "`")


def generate(app):
    survey = Survey()
    pages = Pages(Path(app.srcdir) / "reference/python")
    for module, names in survey.names.items():
        pages.write(f"{module}.md", module_page(survey, module))
        for name in names:
            value = survey.value(module, name)
            if inspect.isclass(value) and survey.documented_name(module, name) == (module, name):
                pages.write(f"{module}.{name}.md", class_page(f"{module}.{name}", value))
    pages.write("index.md", index(survey))
    pages.finish()
    app.tessera_survey = survey


def check(app, exception):
    """Fail where a public name has no place in the reference."""
    if exception is not None or app.builder.name != "html":
        return
    known = app.env.get_domain("py").objects
    survey = app.tessera_survey
    missing = sorted(
        f"{module}.{name}"
        for module, names in survey.names.items()
        for name in names
        if ".".join(survey.documented_name(module, name)) not in known
    )
    if missing:
        raise ExtensionError("not in the Python reference: " + ", ".join(missing))


def setup(app):
    app.connect("builder-inited", generate)
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
