"""The report of the benchmarks: its content, and how a browser shows it."""

import html
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.image
import pytest

from benchmarks.__main__ import RESULTS, main
from benchmarks.framework.data import MissingData
from fake_experiment import fake

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# Runs inside the page and reports how it is laid out.
PROBE = """
<script>
addEventListener("load", () => {
  const images = [...document.images];
  const found = {
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    images: images.map(image => [image.complete && image.naturalWidth, image.alt]),
    broken: [...document.querySelectorAll('a[href^="#"]')].map(a => a.hash.slice(1))
      .filter(name => !document.getElementById(name)),
    loaded: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
    boxes: [...document.querySelectorAll("table")].filter(t => !t.parentElement.matches(".box")).length,
    ink: getComputedStyle(document.body).color,
    paper: getComputedStyle(document.body).backgroundColor,
  };
  parent.postMessage(JSON.stringify(found), "*");
});
</script>
"""

# A browser window can't be as narrow as a phone, but a frame can.
FRAME = """<!DOCTYPE html>
<pre id="probe"></pre>
<script>addEventListener("message", event => { document.getElementById("probe").textContent = event.data; });</script>
<iframe src="probed.html" style="border: 0; width: WIDTHpx; height: 900px"></iframe>
"""


def no_data(context):
    message = "hopkins155 was not found: <http://example.org/> has it"
    raise MissingData(message)


@pytest.fixture(scope="module")
def known():
    return [
        fake("first_one"),
        fake("second", "tbl:hopkins_free", figures=lambda results: {}),
        fake("absent", "tbl:hopkins_outlier", DATA=("hopkins155",), run=no_data),
        fake("never_run", "fig:cond-mu"),
    ]


@pytest.fixture(scope="module")
def report(known, tmp_path_factory):
    """The page of two experiments, one without its data and one that was never run."""
    directory = tmp_path_factory.mktemp("report")
    assert main(["all", "--results", str(directory)], known[:3]) == 0
    assert main(["report", "--results", str(directory)], known) == 0
    return directory / "report.html"


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(report):
    return Page(report)


def test_the_page_is_self_contained(page, report):
    for _, attributes in page.tags:
        for key in ("src", "href"):
            assert attributes.get(key, "#").startswith(("#", "data:"))
        assert "style" not in attributes
    assert page.all("script") == []
    assert not re.search(r"url\(|@import", report.read_text(encoding="utf-8"))


def test_anchors_are_unique_and_exist(page):
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert {attributes["href"][1:] for attributes in page.all("a")} <= set(names)
    assert {"first-one", "second", "absent", "never-run", "first-one-1", "second-3"} <= set(names)


def test_the_summary(page):
    assert "2 ✓ holds 2 ✗ does not hold 2 ? can't be checked" in page.text
    links = [attributes["href"] for attributes in page.all("a")]
    assert links.count("#first-one") == links.count("#second") == 2  # in the contents and above its claims
    assert "Fig. 4 first-one 1 1 1 Table V second 1 1 1 Table VI absent not run:" in page.text
    assert "absent not run: hopkins155 was not found: <http://example.org/> has it" in page.text
    assert "never-run not run: no result is stored" in page.text
    assert page.text.count("The angle falls & falls") == 4  # in the summary and in its experiment
    assert page.text.count("the other is fast, too") == 2


def test_the_section_of_an_experiment(page):
    for words in (
        *("The title of first_one", "Fig. 4 of the paper ( fig:convergence )", "It shows <nothing> & takes no time."),
        *("It is <100 times faster", "the other is fast, too", "The image shows it", "the image is not available"),
        *("settings n: 20", "seeds 5", "cores, one thread used", "versions python 3."),
        *("python -m benchmarks first-one", "python -m benchmarks absent --data DIRECTORY", "A note."),
    ):
        assert words in page.text


def test_numbers_of_the_paper_are_beside_ours(page):
    assert "Q LBF, paper LBF, ours LRR, paper LRR, ours K-GASG21, paper K-GASG21, ours" in page.text
    assert "3 0.123 - 12345 1e-09 none 3" in page.text


def test_figures_are_also_files(report, page):
    files = {path.stem: path for path in (report.parent / "figures").iterdir()}
    assert set(files) == {"fake-wide", "fake-plain"}
    assert matplotlib.image.imread(files["fake-wide"]).shape[:2] == (600, 1500)
    wide, plain = (image["alt"] for image in page.all("img"))
    assert wide == "Fig. 4 of the paper, repeated: The title of first_one. Panels: (a) easy, angle against vectors."
    assert plain == 'A caption with "quotes". Panels: (a) easy, angle against vectors.'


def test_the_digest(report):
    text = (report.parent / "README.md").read_text(encoding="utf-8")
    assert "6 claims: 2 hold, 2 do not hold, 2 can't be checked." in text
    assert "| Fig. 4 | `first-one` | 1 | 1 | 1 | 0.0 s |" in text
    assert "| Fig. 6 | `never-run` |  |  |  | not run: no result is stored |" in text
    assert "- `second` 2: It is \\<100 times faster. Paper: 100. Ours: 7. the other is fast, too" in text
    assert "- `second` 3: The image shows it. Paper: unknown. Ours: unknown. the image is not available" in text
    for path in re.findall(r"\]\((.*?)\)", text):
        assert (report.parent / path).exists()


def test_a_quick_run_is_marked(tmp_path):
    main(["fake", "--quick", "--results", str(tmp_path)], [fake()])
    output = tmp_path / "elsewhere" / "page.html"
    assert main(["report", "--results", str(tmp_path), "--output", str(output)], [fake()]) == 0
    page = Page(output)
    assert "From a quick run" in page.text
    assert "python -m benchmarks fake --quick" in page.text


def test_failures_are_shown(tmp_path, capsys):
    main(["all", "--results", str(tmp_path)], [fake(), fake("other", run=lambda context: 1 / 0)])
    drawn = [fake(), fake("other"), fake("third", figures=lambda results: results["nothing"])]
    main(["third", "--results", str(tmp_path)], drawn)
    assert main(["report", "--results", str(tmp_path)], drawn) == 1
    page = Page(tmp_path / "report.html")
    assert "other failed: ZeroDivisionError: division by zero" in page.text
    assert "third failed: its result can't be shown: KeyError: 'nothing'" in page.text
    assert "KeyError" in capsys.readouterr().err


def test_without_results_the_message_says_how_to_make_them(tmp_path, capsys):
    assert main(["report", "--results", str(tmp_path)], [fake()]) == 1
    assert "python -m benchmarks all makes them" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def browse(path, *options):
    """Open the page in Chromium and return the output."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={path.parent / 'profile'}", "--window-size=1300,1000", *options, path.as_uri()]
    environment = {**os.environ, "HOME": str(path.parent)}
    child = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert child.returncode == 0, child.stderr
    return child.stdout


def probe(report, width, directory, on_paper=False):
    """Return the layout of the page at this width, on a screen or on paper."""
    page = report.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>")
    if on_paper:
        page = page.replace("@media screen", "@media speech").replace("@media print", "@media all")
    (directory / "probed.html").write_text(page, encoding="utf-8")
    frame = directory / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)))
    printed = browse(frame, "--virtual-time-budget=5000", "--dump-dom")
    found = json.loads(html.unescape(re.search(r'<pre id="probe">(.*?)</pre>', printed, re.DOTALL)[1]))
    assert found["width"] == width
    return found


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The page of the committed results."""
    if not list(RESULTS.glob("*.json")):
        pytest.skip("no results are committed")
    directory = shutil.copytree(RESULTS, tmp_path_factory.mktemp("committed") / "results")
    assert main(["report", "--results", str(directory)]) == 0
    return directory / "report.html"


@in_chromium
@pytest.mark.parametrize("pages", ["report", "committed"])
@pytest.mark.parametrize("width", [360, 1200])
def test_on_a_screen(pages, width, tmp_path, request):
    report = request.getfixturevalue(pages)
    found = probe(report, width, tmp_path)
    assert found["overflow"] <= 0
    drawn = sorted(matplotlib.image.imread(path).shape[1] for path in (report.parent / "figures").glob("*.png"))
    assert sorted(pixels for pixels, _ in found["images"]) == drawn
    assert all(alternative for _, alternative in found["images"])
    assert found["broken"] == []
    assert found["loaded"] == []
    assert found["boxes"] == 0
    assert (found["ink"], found["paper"]) == ("rgb(27, 31, 36)", "rgb(255, 255, 255)")


@in_chromium
@pytest.mark.parametrize("pages", ["report", "committed"])
def test_nothing_is_wider_than_a_sheet(pages, tmp_path, request):
    a4 = 680  # width in pixels within margins of 15 mm; anything wider would shrink the whole page
    assert probe(request.getfixturevalue(pages), a4, tmp_path, on_paper=True)["overflow"] <= 0


@in_chromium
def test_it_can_be_printed(report, tmp_path):
    copy = Path(shutil.copy(report, tmp_path))
    browse(copy, f"--print-to-pdf={tmp_path / 'report.pdf'}")
    assert (tmp_path / "report.pdf").read_bytes()[:5] == b"%PDF-"
