"""Every example runs from its first line to its last, and has the form that notebooks need."""

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.py"))
NEEDS = {"clifford": "torch", "autoreject": "mne"}  # beside matplotlib, of most of a folder

os.environ.setdefault("MPLBACKEND", "Agg")


def test_every_system_has_five():
    counts = {folder.name: len(list(folder.glob("*.py"))) for folder in EXAMPLES.iterdir()
              if folder.is_dir()}
    assert counts.keys() == {"autoreject", "clifford", "decode", "xpcs"}
    assert all(count >= 5 for count in counts.values()), counts


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_opens_as_a_notebook(path):
    """Cells of the percent format, the first of them a title."""
    text = path.read_text()
    assert text.startswith("# %% [markdown]\n# # ")
    cells = text.split("\n# %%")
    assert len(cells) > 3
    for cell in cells:
        if cell.startswith(" [markdown]"):
            assert all(line.startswith("#") or not line for line in cell.splitlines()[1:]), cell


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_runs(path, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip(NEEDS.get(path.parent.name, "numpy"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert pyplot.get_fignums() or "plt" not in path.read_text()
    finally:
        pyplot.close("all")
    assert capsys.readouterr().out
