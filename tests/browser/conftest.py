"""Pages for the tests; they are skipped, with a reason, where there is no chromium."""

import subprocess
from pathlib import Path

import pytest
from chromium import BUILD, Page, browser, why_not


def pytest_collection_modifyitems(items):
    reason = why_not()
    for item in items:
        if reason and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def driver():
    with browser() as one:
        yield one


@pytest.fixture
def page(driver):
    """Return a page at 1280 pixels, in light colours, whose console is empty at the end."""
    one = Page(driver)
    one.width(1280)
    one.media()
    one.problems()
    yield one
    assert one.problems() == []


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "sample.html"
    subprocess.run([BUILD / "tests/browser/page_sample", path], check=True)
    return path
