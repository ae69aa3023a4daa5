"""The HTML report in a real browser: it draws, asks the network for nothing, and fits a phone, in light and in dark."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from report import fakes
from report.conftest import Made
from sickbay.report import html

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.fail(
            "these tests look at the report in Chromium, which is not here: `apt-get install chromium chromium-driver`, or `make test`, which does it"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


Open = Callable[..., webdriver.Chrome]


@pytest.fixture
def opened(browser: webdriver.Chrome, made: Made, tmp_path: Path) -> Open:
    """Opens the report of a hand-made run from disk, in a window of that width and in that colour scheme."""

    def go(name: str, width: int = 1280, scheme: str = "light", assets: Path | None = None) -> webdriver.Chrome:
        file = tmp_path / "report.html"
        file.write_text(html.render(made(name)), encoding="utf-8")
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(file.as_uri())
        return browser

    return go


def requests(browser: webdriver.Chrome) -> list[str]:
    messages: list[dict[str, Any]] = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def painted(browser: webdriver.Chrome, canvas: str) -> bool:
    """Whether a canvas has anything on it."""
    script = (
        "const c = document.querySelector(arguments[0]);"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 === 3 && v > 0)"
    )
    return bool(browser.execute_script(script, canvas))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", list(fakes.CASES))
def test_opens_clean(name: str, width: int, scheme: str, opened: Open, made: Made) -> None:
    browser = opened(name, width, scheme)
    assert browser.get_log("browser") == []
    assert [url for url in requests(browser) if not url.startswith("file:")] == []
    wide = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide == [width, width], "the page must not scroll sideways"
    assert browser.execute_script("return window.pwned") is None
    figures = browser.find_elements(By.CSS_SELECTOR, "figure.chart")
    assert len(browser.find_elements(By.CSS_SELECTOR, "figure.chart .uplot canvas")) == len(figures)
    assert len(figures) >= len(made(name).charts)
    if made(name).charts:
        assert painted(browser, "figure.chart canvas")
    if made(name).heat_maps:
        assert painted(browser, "figure.heat canvas")
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (max(int(v) for v in paper[4:-1].split(",")) < 60) == (scheme == "dark")


def test_verdict_and_first_cause_are_seen_without_scrolling(opened: Open) -> None:
    for width in (1280, 390):
        browser = opened("softmax", width)
        for selector in (".verdict", "#cause-1 h2", "#cause-1 .certainty"):
            assert browser.find_element(By.CSS_SELECTOR, selector).rect["y"] < 500
        if width == 1280:
            assert browser.find_element(By.CSS_SELECTOR, "#cause-1 .guilty").rect["y"] < 800


def test_contrast_is_readable(opened: Open) -> None:
    """Ratio of luminances as in WCAG 2: at least 4.5 for text."""
    script = """
      const style = getComputedStyle(document.documentElement);
      const rgb = (name) => style.getPropertyValue(name).trim().replace('#', '').match(name && /../g).map((x) => parseInt(x, 16) / 255);
      const light = (name) => rgb(name).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
      return arguments[0].map(([a, b]) => ratio(a, b));
    """
    pairs = [[ink, paper] for ink in ("--ink", "--soft") for paper in ("--paper", "--raised")]
    pairs += [["--sick", "--paper"], ["--sick", "--sick-wash"], ["--well", "--well-wash"], ["--doubt", "--doubt-wash"], ["--doubt", "--paper"]]
    pairs += [["--ink", "--sick-wash"], ["--ink", "--well-wash"], ["--soft", "--sick-wash"]]
    for scheme in ("light", "dark"):
        ratios = opened("softmax", 1280, scheme).execute_script(script, pairs)
        assert min(ratios) >= 4.5, list(zip(pairs, ratios, strict=True))


def test_log_scale_toggle(opened: Open) -> None:
    browser = opened("healthy")
    button = browser.find_element(By.CSS_SELECTOR, "figure[data-chart=loss] .scale")
    before = browser.find_element(By.CSS_SELECTOR, "figure[data-chart=loss] canvas")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert browser.find_element(By.CSS_SELECTOR, "figure[data-chart=loss] canvas") != before
    assert browser.get_log("browser") == []


def test_the_heat_map_tells_layer_step_and_value(opened: Open) -> None:
    browser = opened("large")
    canvas = browser.find_element(By.CSS_SELECTOR, "figure.heat .surface canvas")
    ActionChains(browser).scroll_to_element(canvas).move_to_element(canvas).perform()
    told = browser.find_element(By.CSS_SELECTOR, ".tip").text
    assert told.startswith("encoder.layers.")
    assert "\nstep " in told
    canvas.send_keys(Keys.ARROW_DOWN)
    assert browser.find_element(By.CSS_SELECTOR, ".tip").text != told
    browser.find_element(By.ID, "heat-filter").send_keys("layers.49.mlp.down")
    assert "of 1 layers" in str(canvas.get_attribute("aria-label"))
    browser.find_element(By.CSS_SELECTOR, "button[data-heatmap='1']").click()
    assert "Update ratio" in str(canvas.get_attribute("aria-label"))


def test_broken_steps_are_told_in_the_heat_map(opened: Open) -> None:
    browser = opened("exploding")
    canvas = browser.find_element(By.CSS_SELECTOR, "figure.heat .surface canvas")
    ActionChains(browser).scroll_to_element(canvas).move_to_element_with_offset(canvas, canvas.size["width"] // 2 - 20, 0).perform()
    assert "not finite" in browser.find_element(By.CSS_SELECTOR, ".tip").text


def test_tables_are_filtered_and_sorted(opened: Open) -> None:
    browser = opened("large")
    rows = "return [...document.querySelectorAll('#parameters tbody tr')].filter((r) => !r.hidden).map((r) => r.cells[0].textContent)"
    assert len(browser.execute_script(rows)) == 300
    browser.find_element(By.CSS_SELECTOR, "input[data-filter=parameters]").send_keys("layers.7.")
    assert len(browser.execute_script(rows)) == 6
    head = browser.find_elements(By.CSS_SELECTOR, "#parameters thead th")[3]
    head.send_keys(Keys.ENTER)
    assert head.get_attribute("aria-sort") == "descending"
    assert browser.execute_script(rows)[0].startswith("encoder.layers.7.mlp.down")


def test_the_copy_button_says_that_it_copied(opened: Open) -> None:
    browser = opened("softmax")
    button = browser.find_element(By.CSS_SELECTOR, "button.copy")
    assert button.get_attribute("data-copy") == "return self.fc2(x)"
    button.click()
    deadline = time.monotonic() + 5
    while button.text != "Copied" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert button.text == "Copied"


def test_the_scheme_may_change_while_the_page_is_open(opened: Open) -> None:
    browser = opened("softmax", 1280, "light")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    time.sleep(0.3)
    assert browser.get_log("browser") == []
    assert painted(browser, "figure.chart canvas")


def test_without_the_chart_library_it_still_opens(opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(html, "ASSETS", tmp_path)
    browser = opened("softmax")
    assert browser.get_log("browser") == []
    assert browser.find_elements(By.CSS_SELECTOR, "svg.sketch path")
    assert painted(browser, "figure.heat canvas")
