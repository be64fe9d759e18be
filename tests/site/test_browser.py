"""The site in a browser, wide and narrow, light and dark: no picture is broken, and no page scrolls sideways."""

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# One page shows all others, one after the other, in frames of both widths and both themes, and tells what it sees.
PROBE = """<!doctype html><meta charset="utf-8"><body></body><script>
const pages = PAGES, found = [];
function look(page, width, theme) {
  return new Promise(done => {
    localStorage.setItem("mode", theme); localStorage.setItem("theme", theme);
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 800px; border: 0`;
    frame.onload = () => setTimeout(() => {
      const seen = frame.contentDocument, root = seen.documentElement;
      const images = [...seen.images];
      images.forEach(image => { image.loading = "eager"; });
      Promise.all(images.map(image => image.decode().catch(() => {}))).then(() => {
        found.push({page, width, theme, mode: root.dataset.theme,
          overflow: Math.max(root.scrollWidth, seen.body.scrollWidth) - root.clientWidth,
          broken: images.filter(image => image.naturalWidth === 0).map(image => image.src),
          nameless: images.filter(image => !image.hasAttribute("alt")).map(image => image.src),
          paper: getComputedStyle(seen.body).backgroundColor,
          formulas: [...seen.querySelectorAll("math")].filter(m => m.getBoundingClientRect().height < 5).length});
        frame.remove(); done();
      });
    }, 60);
    frame.src = page; document.body.append(frame);
  });
}
(async () => {
  for (const page of pages)
    for (const width of [390, 1280]) for (const theme of ["light", "dark"]) await look(page, width, theme);
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""


class Site(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and takes what the probe has found."""

    def do_POST(self):
        self.server.found = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.answered.set()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(site):
    """Serve the site on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=site))
    server.answered = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browse(server, home):
    """Open the probe in Chromium, wait for what it has to say, and close it."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
    command += [f"--user-data-dir={home}", f"http://127.0.0.1:{server.server_port}/_probe.html"]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    ) as child:
        answered = server.answered.wait(300)
        os.killpg(child.pid, signal.SIGKILL)
    assert answered, "the browser did not answer within five minutes"
    return json.loads(server.found)


@pytest.fixture(scope="module")
def seen(site, tmp_path_factory):
    """What the browser says about the pages of the site, in each width and theme."""
    names = [str(path.relative_to(site)) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    alike = [name for name in names if name.startswith("api/generated") and not re.search("GASG21|plotting", name)]
    shown = [name for name in names if name not in alike]
    probe = site / "_probe.html"
    probe.write_text(PROBE.replace("PAGES", json.dumps(shown)))
    try:
        with served(site) as server:
            looks = browse(server, tmp_path_factory.mktemp("home"))
    finally:
        probe.unlink()
    assert len(looks) == 4 * len(shown)
    return looks


def test_no_page_scrolls_sideways(seen):
    assert [f"{s['page']} at {s['width']}: {s['overflow']}" for s in seen if s["overflow"] > 0] == []


def test_no_picture_is_broken(seen):
    assert [(s["page"], s["broken"]) for s in seen if s["broken"]] == []
    assert sum("gallery/0" in s["page"] for s in seen) == 4 * 7


def test_every_picture_has_a_text(seen):
    assert {image for s in seen for image in s["nameless"]} == set()


def test_both_themes_are_shown(seen):
    assert {s["mode"] for s in seen if s["theme"] == "dark"} == {"dark"}
    assert {s["mode"] for s in seen if s["theme"] == "light"} == {"light"}
    assert len({s["paper"] for s in seen}) == 2


def test_formulas_have_a_size(seen):
    assert [s["page"] for s in seen if s["formulas"]] == []
