"""Debian's chromium without a window, and pages in it.

Pages come from programs of the build that $TESSERA_COMMAND lies in (build/release/bin/tessera
unless set).
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:  # conftest.py then skips everything
    webdriver = ActionChains = ScrollOrigin = Keys = WebDriverWait = None

__all__ = ["BINARY", "BUILD", "ActionChains", "Keys", "Page", "ScrollOrigin", "browser", "why_not"]

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")).resolve()
BUILD = BINARY.parent.parent
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")


def why_not():
    """Return what is missing here, or None."""
    if not CHROMIUM or not DRIVER:
        return "no chromium here: apt install chromium chromium-driver"
    if webdriver is None:
        return "no selenium here: pip install -r tools/requirements-test.txt"
    return None


class Page:
    """A page in a browser, with what tests ask of it."""

    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def wait(self, script, *values, seconds=10):
        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: self.run(script, *values))

    def open(self, path):
        self.driver.get(Path(path).as_uri())
        return self

    def all_live(self):
        """Brings every plot before the reader, so that the script draws it."""
        self.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        n = self.run("return document.querySelectorAll('figure.live').length")
        for i in range(n):
            figure = self.driver.find_elements("css selector", "figure.live")[i]
            self.run("arguments[0].scrollIntoView()", figure)
            self.wait("return arguments[0].dataset.state", figure)
        self.run("scrollTo(0, 0)")
        states = self.run("return tessera.plots.map(p => p.figure.dataset.state)")
        assert states == ["live"] * n
        return n

    def problems(self):
        return [line["message"] for line in self.driver.get_log("browser")]

    def width(self, pixels, height=900):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": pixels < 600},
        )

    def media(self, media="", scheme="light"):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )


@contextmanager
def browser(with_script=True):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not with_script:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2}
        )
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()
