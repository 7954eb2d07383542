"""The page of `drossel suggest --html`, as a browser without a network sees it."""
import html.parser
import http.server
import re
import shutil
import subprocess
import threading

import pytest

from command import drossel
from suggest_log import BOT, line, machine, people, write

CHROMIUM = shutil.which("chromium")
HOSTILE = ["<script>document.title='owned'</script>", "</title><img src=x onerror=document.title='owned'>",
           "\\\"><svg onload=document.title='owned'>", "javascript:alert(1)//' onmouseover='document.title=1",
           "</pre></style><style>body{display:none}</style>", "&lt;b&gt; \xe2\x80\xae reversed \x1b[2J"]
EMPTY = {"meta", "br", "img", "link", "hr", "input"}


class Page(html.parser.HTMLParser):
    """Elements, their attributes and texts; fails on elements that do not close."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def make(build, folder, *parts):
    page = folder / "page.html"
    drossel(build, "suggest", "--html", page, write(folder / "log", *parts))
    return page


def hostile_parts():
    for i, text in enumerate(HOSTILE):
        yield machine(f"198.51.100.{i + 1}", 9, 60, "bot " + text)
        yield [line(t, f"10.0.1.{i + 1}", f"POST /login{text.replace(' ', '')} HTTP/1.1", 401) for t in range(40)]
        yield [line(t, f"10.0.1.{i + 1}", f"GET /{text.replace(' ', '')} HTTP/1.1") for t in range(40)]
        yield machine(text.replace(" ", "_"), 9, 60, BOT)


def browse(folder, page, *options):
    assert CHROMIUM
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
                           f"--user-data-dir={folder}/profile", "--virtual-time-budget=3000", *options, str(page)],
                          capture_output=True, timeout=120)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def test_the_page_is_well_formed_and_names_nothing_outside_itself(build, tmp_path):
    text = make(build, tmp_path, people(60), machine("198.51.100.1", 6, 60, BOT)).read_text()
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert {"svg", "table", "pre", "style"} <= tags and not tags & {"script", "link", "img", "iframe", "object", "form", "a"}
    for tag, attributes in page.elements:
        assert not {"src", "href", "srcset", "action", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    style = text[text.index("<style>"):text.index("</style>")]
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme:dark" in style and "@media print" in style
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"}) in page.elements


def test_the_page_says_what_a_peak_is_and_shows_plots_reasons_clients_and_the_policy(build, tmp_path):
    page = make(build, tmp_path, people(60), machine("198.51.100.1", 6, 60, BOT))
    policy = drossel(build, "suggest", "--policy", "-", tmp_path / "log").stdout
    text = Page(page.read_text()).text
    assert "A peak is the most requests that one client made in any 10 seconds" in text
    assert policy in text
    assert "One client exceeded it: 198.51.100.1 (a bot by its own name)." in text
    assert page.read_text().count("<svg class=\"plot\"") == page.read_text().count("<svg class=\"strip\"") == 3
    assert "198.51.100.1" in text and BOT in text


def test_what_clients_wrote_is_text_on_the_page_and_nothing_else(build, tmp_path):
    page = make(build, tmp_path, people(30), *hostile_parts())
    raw = page.read_bytes()
    raw.decode("ascii" if b"\xe2\x8b\xae" not in raw else "utf-8")
    found = Page(raw.decode())
    assert {tag for tag, _ in found.elements} <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "b", "i", "div", "span",
                                                  "table", "tr", "th", "td", "pre", "code", "svg", "rect", "line", "text", "footer"}
    assert "<script>document.title=" in found.text and "onerror=document.title=" in found.text
    assert "\x1b" not in found.text and "\u202e" not in found.text


def test_what_clients_wrote_does_not_get_into_the_policy(build, tmp_path):
    policy = tmp_path / "policy.yaml"
    log = write(tmp_path / "log", people(30), *hostile_parts())
    said = drossel(build, "suggest", "--policy", policy, log).stdout
    assert "\x1b" not in said and "\u202e" not in said
    assert drossel(build, "check", "--quiet", policy).stderr == ""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_it_without_errors_scripts_or_requests(build, tmp_path):
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = page.read_bytes() if self.path == here else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    page = make(build, tmp_path, people(30), *hostile_parts())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = f"http://127.0.0.1:{server.server_port}/page.html"  # as a proxy is asked
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        proxy = f"--proxy-server=127.0.0.1:{server.server_port}"  # whatever it asked for elsewhere would come here
        shown, errors = browse(tmp_path, here, "--dump-dom", proxy, "--proxy-bypass-list=<-loopback>",
                               "--disable-background-networking", "--disable-component-update", "--no-first-run",
                               "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter")
    finally:
        server.shutdown()
        server.server_close()
    assert "<title>Limits for log</title>" in shown and shown.count("<svg ") >= 6
    assert "<script" not in shown and "<img" not in shown
    assert "CONSOLE" not in errors, errors
    assert set(asked) - {here.replace("page.html", "favicon.ico")} == {here}


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(build, tmp_path, width):
    """Measured by a page around it, as the page itself has no script."""
    page = make(build, tmp_path, people(30), *hostile_parts())
    frame = tmp_path / "frame.html"
    frame.write_text(f"<iframe id=f src=page.html style='width:{width}px;height:900px;border:0'></iframe><p id=r></p><script>"
                     "f.onload=()=>r.textContent='width '+f.contentDocument.documentElement.scrollWidth</script>")
    shown, _ = browse(tmp_path, f"file://{frame}", "--dump-dom", "--allow-file-access-from-files", f"--window-size={width + 60},1000")
    measured = re.search(r"width (\d+)<", shown)
    assert measured and width - 20 <= int(measured[1]) <= width, shown[-200:]
