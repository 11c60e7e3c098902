"""tessera try: which Python is started, with which words. What Python does: tests/python."""

import json
import sys

import pytest


@pytest.fixture
def python(tmp_path):
    """A Python that tells what it was asked for."""
    path = tmp_path / "bin/python-of-mine"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\nshift 2\nprintf "%s|" "$@"\nexit 7\n')
    path.chmod(0o755)
    return {"TESSERA_PYTHON": str(path)}


def test_words_are_handed_on(tessera, python):
    result = tessera("try", "script.py", environment=python)
    assert (result.returncode, result.stdout, result.stderr) == (7, "script.py|", "")
    words = ["--seed", "3", "--only=ours", "--twice", "--tolerance", "1e-3", "--time-limit=60",
             "--original-python", "py 3", "--html", "-v", "-q", "--json"]  # fmt: skip
    result = tessera("try", *words, "script.py", environment=python)
    assert result.stdout == (
        "--only|ours|--original-python|py 3|--twice|--html|--json|--verbose|--quiet|"
        "--tolerance|1e-3|--time-limit|60|--seed|3|script.py|"
    )


def test_what_follows_the_script_is_the_script_s(tessera, python):
    for words in (["--json", "--nonsense", "-x", "a b"], ["--", "--help"], ["--seed"]):
        result = tessera("try", "script.py", *words, environment=python)
        assert result.stdout == "|".join(["script.py", *words, ""]), result.stderr
    result = tessera("try", "--", "-odd.py", "--x", environment=python)
    assert result.stdout == "./-odd.py|--x|"


def test_options_are_checked_before_any_python(tessera, python):
    for words, said in (
        (["--tolerance", "-1", "x.py"], "--tolerance"),
        (["--seed", "1.5", "x.py"], "--seed"),
        (["--only", "theirs", "x.py"], "ours|original"),
        (["--twise", "x.py"], "did you mean '--twice'"),
        ([], "'try' needs SCRIPT"),
    ):
        result = tessera("try", *words, environment=python)
        assert (result.returncode, result.stdout) == (2, ""), words
        assert said in result.stderr


def test_pythons_that_are_none(tessera, tmp_path):
    result = tessera("try", "x.py", environment={"TESSERA_PYTHON": "/no/python"})
    assert result.returncode == 69
    assert result.stderr == "tessera: TESSERA_PYTHON /no/python: No such file or directory\n"
    result = tessera("try", "x.py", environment={"PATH": str(tmp_path)})
    assert result.returncode == 69
    assert "there is no python3" in result.stderr
    assert "TESSERA_PYTHON=/path/to/python" in result.stderr


def test_a_python_without_tessera_says_so(tessera, tmp_path):
    # -I -S: nothing that is installed, and nothing of the environment.
    path = tmp_path / "bare-python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    path.chmod(0o755)
    # A folder of that name where one works is not Tessera.
    (tmp_path / "tessera").mkdir()
    result = tessera("try", "x.py", environment={"TESSERA_PYTHON": str(path)})
    assert (result.returncode, result.stdout) == (69, "")
    assert "has no Tessera" in result.stderr
    assert "TESSERA_PYTHON=/path/to/python" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_it_runs_a_script(tessera, tmp_path):
    pytest.importorskip("tessera.compat")
    (tmp_path / "x.py").write_text("import autoreject, sys\nwords = sys.argv[1:]\n")
    environment = {"TESSERA_PYTHON": sys.executable, "PYTHONPATH": ":".join(sys.path)}
    words = ["try", "--only", "ours", "--json", "x.py", "--more"]
    result = tessera(*words, environment=environment)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "tessera.try/1"
    assert found["originals"] == ["autoreject"]
