"""Every link within the site leads somewhere, nothing comes from the network, and the site is small."""

import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

LARGEST = 30e6  # bytes of the whole site


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.add(attributes["href"])
        elif tag in ("img", "script", "source", "iframe") and attributes.get("src"):
            self.loaded.add(attributes["src"])


@cache
def read(path):
    return Page(path.read_text(encoding="utf-8"))


def pages(site):
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def is_external(link):
    return urlsplit(link).scheme != "" or link.startswith("//")


def test_links_lead_somewhere(site):
    broken = []
    for page in pages(site):
        for link in read(page).links | read(page).loaded:
            if is_external(link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            there = target.is_file() and (target.suffix != ".html" or not anchor or anchor in read(target).anchors)
            if not there:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_comes_from_the_network(site):
    found = [f"{page.name}: {link}" for page in pages(site) for link in read(page).loaded if is_external(link)]
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(['\"]?https?:", path.read_text(errors="ignore"))]
    assert found == []
    assert styles == []


def test_it_is_small(site):
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < LARGEST


def test_it_has_all_parts(site):
    linked = read(site / "index.html").links
    parts = ["start", "which_estimator", "gallery/index", "guide", "api/index", "theory", "benchmarks", "development"]
    for part in parts:
        assert f"{part}.html" in linked
    assert len(list((site / "gallery").glob("0*.html"))) == 7


def test_formulas_are_drawn_by_the_browser(site):
    text = (site / "theory.html").read_text(encoding="utf-8")
    assert text.count("<math") > 30
    assert "MathJax" not in text
