"""The gallery: every script of examples/<system>/ is run and shown with what it printed and drew.

Scripts are in jupytext's percent format. A script is run once for every change of it (or of the
package's version) in an empty folder; its notebook, with outputs, and its first picture lie in
docs/gallery, where myst-nb finds them. An example that fails stops the build.
"""

import base64
import hashlib
import os
import re
import tempfile
from pathlib import Path

import jupytext
import nbformat
from generated import Pages
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {
    "autoreject": "EEG and MEG",
    "decode": "Neural decoding",
    "xpcs": "X-ray correlations",
    "clifford": "Clifford layers",
}
LONGEST = 600  # seconds of a cell, to end what hangs: on busy machines minutes go by


def scripts():
    """Yield (system, path) of every example."""
    for system in SYSTEMS:
        for path in sorted((ROOT / "examples" / system).glob("*.py")):
            yield system, path


def run(path):
    notebook = jupytext.read(path, fmt="py:percent")
    # Figures appear where plt.show() stands; the rest of the script's environment is a terminal's.
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3",
                                       "language": "python"}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=LONGEST, resources={"metadata": {"path": folder}},
            kernel_name="python3",
        )  # fmt: skip
        environment = dict(os.environ, MPLBACKEND="module://matplotlib_inline.backend_inline",
                           TESSERA_PROGRESS="none")  # fmt: skip
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise ExtensionError(f"{path.relative_to(ROOT)} failed: {error}") from None
    return notebook


def pictures(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                yield base64.b64decode(output["data"]["image/png"])


def head(notebook, path):
    """Return title and first paragraph of the first text."""
    text = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    match = re.match(r"# (.+)\n\n(.+?)(\n\n|$)", text, re.DOTALL)
    if not match:
        raise ExtensionError(
            f"{path.relative_to(ROOT)}: the first cell must be text with a title (# ...), "
            "an empty line and a paragraph"
        )
    return match[1], " ".join(match[2].split())


def fingerprint(app, path):
    return hashlib.sha256(f"{app.config.release}\n".encode() + path.read_bytes()).hexdigest()


def bring(app, pages, system, path):
    """Make sure that notebook and picture of an example are there; return its card."""
    name = f"{system}/{path.stem}.ipynb"
    picture = f"{system}/{path.stem}.png"
    target = pages.folder / name
    wanted = fingerprint(app, path)
    notebook = None
    if target.exists():
        kept = nbformat.read(target, as_version=4)
        if kept.metadata.get("tessera_source") == wanted:
            notebook = kept
    if notebook is None:
        log.info("running %s", path.relative_to(ROOT))
        notebook = run(path)
        notebook.metadata["tessera_source"] = wanted
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
        image = next(pictures(notebook), None)
        if image is not None:
            (pages.folder / picture).write_bytes(image)
    pages.keep(name)
    if (pages.folder / picture).exists():
        pages.keep(picture)
    return card(notebook, path, system, (pages.folder / picture).exists())


def card(notebook, path, system, has_picture):
    title, paragraph = head(notebook, path)
    lines = [f":::{{grid-item-card}} {title}", f":link: {system}/{path.stem}", ":link-type: doc"]
    if has_picture:
        lines.append(f":img-top: {system}/{path.stem}.png")
    return "\n".join([*lines, "", paragraph, ":::"])


def generate(app):
    pages = Pages(Path(app.srcdir) / "gallery")
    cards = {system: [] for system in SYSTEMS}
    for system, path in scripts():
        cards[system].append(bring(app, pages, system, path))
    text = [
        "# Examples\n",
        "Scripts of the folder `examples/`, run when this manual was built: no data to download, "
        "a few seconds each. Each opens as a notebook in Jupyter (with jupytext installed) and "
        "runs as `python examples/SYSTEM/NAME.py`.\n",
    ]
    for system, heading in SYSTEMS.items():
        if cards[system]:
            text.append(f"## {heading}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n")
            text += cards[system]
            text.append("::::\n")
    text.append("```{toctree}\n:hidden:\n")
    text += [f"{system}/{path.stem}" for system, path in scripts()]
    text.append("```\n")
    pages.write("index.md", "\n".join(text))
    pages.finish()


def setup(app):
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
