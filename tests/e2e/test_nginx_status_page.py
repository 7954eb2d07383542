"""The page of drossel_status in a browser without a screen."""
import copy
import html.parser
import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest

POLICY = """\
limits:
  page:     { by: address, allow: 4 per 10s, block: 1h }
  careful:  { by: address, allow: 3 per 10m, dry_run: true }
"""
SERVER = "location = /status { drossel_status; }\n"


class Page(html.parser.HTMLParser):
    """The elements with an id or a class: their text as it stands, and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("meta", "link", "input", "br"):
            return
        self.open.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        if self.open and self.open[-1][0] == tag:
            done = self.open.pop()
            self.found.append((done[0], done[1], "".join(done[2])))
            if self.open:
                self.open[-1][2].append("".join(done[2]))

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)

    def text(self, name):
        return next(text for _, attributes, text in self.found if attributes.get("id") == name)

    def of_class(self, name):
        return [text for _, attributes, text in self.found if name in attributes.get("class", "").split()]


@pytest.fixture
def look(tmp_path):
    """Opens a page and returns it as it is after so many seconds of the browser's time, and what its console said."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")

    def run(address, seconds=6, size="1280,1000"):
        done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/chromium",
                               f"--window-size={size}", f"--virtual-time-budget={1000 * seconds}", "--enable-logging=stderr",
                               "--dump-dom", address],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, HOME=str(tmp_path)))
        assert done.returncode == 0, done.stderr
        return Page(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return run


def test_the_page_draws_the_numbers_and_complains_of_nothing(nginx, look):
    server = nginx(POLICY, server=SERVER)
    server.statuses(7)
    page, console = look(f"http://127.0.0.1:{server.port}/status")
    assert console == []
    assert page.text("state") == "live"
    assert page.text("policy") == str(server.policy) and page.text("table-path") == f"{server.folder}/table"
    assert page.text("judged-total") == "7 in all"
    assert page.text("away-share").endswith("3 in all")
    limits = page.of_class("limit")
    assert len(limits) == 2
    assert "page" in limits[0] and "4 requests in 10 s, by address; then blocked for 1 h" in limits[0]
    assert "let through4" in limits[0] and "refused3" in limits[0]
    assert "dry run" in limits[1] and "let through3" in limits[1] and "would be refused2" in limits[1]
    assert "<" in page.text("median") and page.text("tail").startswith("half of them; 99% under ")


def test_without_any_traffic_it_says_so(nginx, look):
    page, console = look(f"http://127.0.0.1:{nginx(POLICY, server=SERVER).port}/status")
    assert console == []
    assert (page.text("state"), page.text("judged"), page.text("away"), page.text("fill")) == ("live", "0", "0", "0")
    assert page.text("tail") == "nothing judged yet"
    assert page.of_class("alert") == []


def test_warnings_become_an_alert(nginx, look):
    server = nginx("answer: { headers: [ratelimit, ratelimit-draft7] }\n" + POLICY, server=SERVER)
    page, console = look(f"http://127.0.0.1:{server.port}/status")
    assert console == []
    assert len(page.of_class("alert")) == 1 and "about the policy." in page.of_class("alert")[0]


def test_a_policy_without_limits_is_shown(nginx, look):
    page, console = look(f"http://127.0.0.1:{nginx('limits: {}', server=SERVER).port}/status")
    assert console == []
    assert page.text("none") == "The policy has no limits."


def test_the_page_asks_where_it_came_from(nginx, look):
    server = nginx(POLICY, server="location /deep/er { drossel_status; }")
    page, console = look(f"http://127.0.0.1:{server.port}/deep/er?format=html")
    assert console == [] and page.text("state") == "live"


def test_when_its_questions_are_not_answered_the_page_says_so(nginx, look):
    server = nginx(POLICY, server="location = /status { drossel_status; if ($arg_format = json) { return 503; } }"
                                  "location = /gone { drossel_status; if ($arg_format = json) { return 444; } }")
    assert look(f"http://127.0.0.1:{server.port}/status")[0].text("state") == "answered 503"
    assert look(f"http://127.0.0.1:{server.port}/gone")[0].text("state") == "no answer"


@pytest.fixture
def play(nginx, look):
    """Shows the page what `change` makes of the first answer, second for second: it gets the answer and the second's number."""
    real = nginx(POLICY, server=SERVER)
    page, first = real.fetch("/status?format=html"), json.loads(real.fetch("/status?format=json").body)
    servers = []

    def run(change):
        seconds = iter(range(10 ** 6))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answer = copy.deepcopy(first)
                if "json" in self.path:
                    second = next(seconds)
                    answer["time"] += second
                    change(answer, second)
                body = (json.dumps(answer) if "json" in self.path else page.body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json" if "json" in self.path else "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", page.headers["Content-Security-Policy"])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shown, console = look(f"http://127.0.0.1:{server.server_address[1]}/", seconds=12)
        assert console == [] and next(seconds) > 6
        return shown

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


def test_rates_are_what_counters_grow_by(play):
    def change(answer, second):
        answer["requests"]["allow"] = 1000 + 30 * second
        answer["requests"]["refuse"] = 500 + 10 * second
        answer["limits"][0]["verdicts"]["refuse"] = 7 + 10 * second

    page = play(change)
    assert (page.text("judged"), page.text("away")) == ("40", "10")
    assert page.text("away-share").startswith("25% of these; ")
    assert "10/srefused" in page.of_class("limit")[0]


def test_counters_that_begin_anew_make_no_wave(play):
    def change(answer, second):
        answer["requests"]["allow"] = 10 ** 9 if second == 0 else 10 * second

    assert play(change).text("judged") == "10"


def test_a_dry_run_that_ends_makes_no_wave(play):
    def change(answer, second):
        answer["limits"][0]["verdicts"]["refuse"] = 10 ** 6
        answer["limits"][0]["dry_run"] = second % 100 < 3

    page = play(change)
    assert "0/srefused1,000,000" in page.of_class("limit")[0]


def test_lost_blocks_and_errors_become_alerts(play):
    def change(answer, second):
        answer["table"]["evicted"]["blocked"] = second
        answer["store_errors"] = 2 * second
        answer["table"]["used"] = answer["table"]["slots"]

    alerts = play(change).of_class("alert")
    assert [alert.split(".")[0] for alert in alerts] == ["Blocks are being lost", "The store fails", "The table is nearly full"]
