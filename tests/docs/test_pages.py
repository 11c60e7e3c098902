"""The manual does what it says: its blocks run, and its lists are those of the command."""

import re
import sys

import manual
import pytest

sys.path.insert(0, str(manual.DOCS / "ext"))

import reference_c

ALL = manual.pages()
RUN = [page for page in ALL if any(block.mark == "run" for block in manual.blocks(page))]


def name(page):
    return str(page.relative_to(manual.DOCS))


@pytest.mark.parametrize("page", RUN, ids=name)
def test_blocks_run(page, tmp_path):
    needs = {module for block in manual.blocks(page) for module in block.needs}
    manual.run_as_user([sys.executable, manual.__file__, page], tmp_path)
    if manual.missing(needs):
        pytest.skip(f"in part: not installed: {', '.join(manual.missing(needs))}")


@pytest.mark.parametrize("page", ALL, ids=name)
def test_every_block_says_whether_it_runs(page):
    silent = [block.line for block in manual.blocks(page) if not block.mark]
    assert not silent, f"{page.name}: lines {silent}: write <!-- run --> or <!-- not run: why -->"
    bare = [b.line for b in manual.blocks(page) if b.mark == "not run" and not b.how]
    assert not bare, f"{page.name}: lines {bare}: say why not"


def test_every_exit_code_has_a_remedy(tmp_path):
    printed = manual.run_as_user([manual.COMMAND, "help", "exit-codes"], tmp_path)
    page = (manual.DOCS / "exit-codes.md").read_text(encoding="utf-8")
    codes = re.findall(r"^ +(\d+) ", printed, re.MULTILINE)
    assert len(codes) > 10
    missing = [code for code in codes if f"\n| {code} |" not in page]
    assert not missing, f"docs/exit-codes.md lacks {missing}"


def test_every_variable_is_described(tmp_path):
    printed = manual.run_as_user([manual.COMMAND, "help", "environment"], tmp_path)
    page = (manual.DOCS / "environment.md").read_text(encoding="utf-8")
    variables = re.findall(r"^ +([A-Z][A-Z0-9_]+) ", printed, re.MULTILINE)
    assert len(variables) > 10
    missing = [variable for variable in variables if f"`{variable}`" not in page]
    assert not missing, f"docs/environment.md lacks {missing}"


def test_every_header_is_in_one_group():
    grouped = [header for _, group in reference_c.in_groups() for header in group]
    assert sorted(grouped) == reference_c.headers()
    assert "Others" not in [name for name, _ in reference_c.in_groups()]


def test_headers_have_titles():
    for header in reference_c.headers():
        assert reference_c.title(header).endswith("."), header
