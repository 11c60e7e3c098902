"""tessera xpcs compare: the table on the screen, as JSON, and in files."""

import json

WORDS = ["--models", "static_isotropic,static_anisotropic", "--method", "laplace"]


def test_the_table_is_told_as_json(tessera, tmp_path):
    made = tessera("xpcs", "simulate", "-o", "run.hdf", "--mode", "static_anisotropic",
                   "--n-angle", "2", "--n-frame", "15", "--dt", "0.1", "-q")
    assert made.returncode == 0, made.stderr
    result = tessera("xpcs", "compare", "run.hdf", *WORDS, "--json", "-o", "models.json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == "tessera.xpcs.compare/1"
    assert [row["model"] for row in told["models"]] == ["static_isotropic", "static_anisotropic"]
    assert told["models"] == json.loads((tmp_path / "models.json").read_text())["models"]
    lines = tessera("xpcs", "compare", "run.hdf", *WORDS)
    assert "probability" in lines.stdout
    page = tessera("xpcs", "compare", "run.hdf", *WORDS, "--report", "models.html", "-q")
    assert page.returncode == 0, page.stderr
    assert "nan ±" not in (tmp_path / "models.html").read_text(encoding="utf-8")
    few = tessera("xpcs", "compare", "run.hdf", "--models", "static_isotropic", "--n-draw", "20",
                  "--n-warmup", "20")
    assert few.returncode == 2, few.stderr
    assert "raise n_draw" in few.stderr
    twice = tessera("xpcs", "compare", "run.hdf", "--models", "static_isotropic,static_isotropic")
    assert twice.returncode == 2, twice.stderr
    assert "models: static_isotropic stands there twice" in twice.stderr
