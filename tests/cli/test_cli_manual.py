"""Manual pages: every command has one, formatters take them without a word."""

import json
import shutil
import subprocess

import pytest


@pytest.fixture
def pages(tessera):
    """Text of every page by its command; None is the page of all together."""
    table = json.loads(tessera("help", "--json").stdout)["commands"]
    found = {None: tessera("help", "--man").stdout}
    for command in table:
        result = tessera("help", "--man", *command["name"].split())
        assert result.returncode == (0 if command["is_present"] else 2)
        if command["is_present"]:
            found[command["name"]] = result.stdout
    return found, {command["name"]: command for command in table}


def test_pages_say_what_help_says(pages):
    texts, table = pages
    for name, text in texts.items():
        plain = text.replace("\\-", "-").replace("\\(aq", "'").replace("\\fB", "")
        assert all(ord(letter) < 128 for letter in text), name
        for part in (".SH NAME", ".SH SYNOPSIS", "EXIT STATUS", "TESSERA_NUM_THREADS"):
            assert part in text, (name, part)
        for option in table[name]["options"] if name else ():
            assert "--" + option["name"] in plain, (name, option["name"])
        if not name:
            assert all(other in plain for other in texts if other)


@pytest.mark.parametrize(
    "words", [["groff", "-man", "-ww", "-z", "-Tutf8"], ["mandoc", "-T", "lint", "-W", "error"]]
)
def test_formatters_have_nothing_to_complain_of(pages, words, tmp_path):
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    for index, text in enumerate(pages[0].values()):
        (tmp_path / f"page{index}.1").write_text(text)
    files = sorted(str(path) for path in tmp_path.glob("*.1"))
    # One page at a time would cost a process each; groff takes a page break for a page.
    result = subprocess.run([*words, *files], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")
