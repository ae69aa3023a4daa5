"""The HTML report as text: self-contained, small, and nothing from a record breaks out of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from report import fakes
from report.conftest import Made
from sickbay.report import html, notebook, view

LIMIT = 1_000_000


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", list(fakes.CASES))
def test_one_small_file_that_asks_for_nothing(name: str, made: Made) -> None:
    text = html.render(made(name))
    assert len(text.encode("utf-8")) <= LIMIT
    asking = [(t, a) for t, a in Page(text).tags if a.keys() & {"src", "srcset", "action", "data"} or (t in ("link", "iframe", "object", "base"))]
    assert not asking
    outside = [a["href"] for t, a in Page(text).tags if t == "a" and not str(a.get("href")).startswith("#")]
    assert not outside
    assert "default-src 'none'" in text


def test_thousands_of_layers_still_fit() -> None:
    assert len(html.render(view.build(*fakes.large(3000, 20_000))).encode()) <= LIMIT


def test_hostile_names_stay_text(made: Made) -> None:
    text = html.render(made("hostile"))
    tags = Page(text).tags
    assert not [t for t, _ in tags if t == "img"]
    assert not [a for _, a in tags if any(k.startswith("on") for k in a)]
    assert len([t for t, _ in tags if t == "script"]) == 1 + 1 + len(html.SCRIPTS)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data
    assert "<" not in data[1]
    assert "</script><script>" in json.loads(data[1])["names"][0][0]


def test_data_is_strict_json(made: Made) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for name in fakes.CASES:
        data = re.search(r'id="data">(.*?)</script>', html.render(made(name)), re.DOTALL)
        assert data
        json.loads(data[1], parse_constant=refuse)


def test_without_the_chart_library_plain_lines_and_a_sentence_remain(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(html, "ASSETS", tmp_path)
    text = html.render(made("softmax"))
    assert "this installation lacks the chart library" in text
    assert '<path class="train" d="M0' in text
    assert "uPlot=function" not in text


def test_an_asset_that_could_end_its_element_is_left_out(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "uPlot.iife.min.js").write_text("var a = '</script>'")
    (tmp_path / "uPlot.min.css").write_text("")
    monkeypatch.setattr(html, "ASSETS", tmp_path)
    assert "var a = '</script>'" not in html.render(made("softmax"))


def test_the_order_of_things(made: Made) -> None:
    text = html.render(made("softmax"))
    order = [
        "<h1>",
        "Probabilities are fed",
        "F.softmax",
        'class="fix"',
        'id="curves"',
        'id="layers"',
        'id="updates"',
        'id="not-checked"',
        'id="setup"',
    ]
    at = [text.index(piece, text.index("<body")) for piece in order]
    assert at == sorted(at)


@pytest.mark.parametrize("name", list(fakes.CASES))
def test_a_notebook_gets_a_small_piece_without_scripts(name: str, made: Made) -> None:
    text = notebook.html_fragment(made(name))
    tags = [t for t, _ in Page(text).tags]
    assert not {"script", "style", "img", "link"} & set(tags)
    assert tags.count("div") == text.count("</div>")
    assert len(text) < 20_000
