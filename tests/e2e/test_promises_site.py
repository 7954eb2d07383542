"""The whole site as a sceptical user tries it: `drossel run` in other people's environments."""
import http.server
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest

from command import write_policy
from conftest import fetch, free_port, wait_until

NOBODY = 65534
MEGABYTES = b"x" * 3_000_000


@pytest.fixture
def place():
    """A folder that everybody can get through, unlike pytest's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drossel-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def echo():
    """An application that sends an upload back."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


class Site:
    """`drossel run` until the test ends, and what it said so far."""

    def __init__(self, build, place, policy, *options, env=None):
        self.port, self.output = free_port(), place / "output"
        path = write_policy(place, f"table: {{ path: {place}/table, keys: 1k }}\n" + policy)
        command = [str(build / "drossel"), "run", "--policy", str(path), "--listen", f"127.0.0.1:{self.port}", *map(str, options)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output.open("w"), stderr=subprocess.STDOUT,
                                        env={**os.environ, **(env or {})})

    def said(self):
        return self.output.read_text()

    def fetch(self, **arguments):
        return fetch(self.port, "/", **arguments)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.said()


@pytest.fixture
def site(build, place):
    if not (build / "nginx" / "ngx_http_drossel_module.so").exists():
        pytest.skip("the module was not built: nginx-dev is missing, or a sanitizer is on")
    started = []

    def make(policy, *options, **more):
        one = Site(build, place, policy, *options, **more)
        started.append(one)
        wait_until(lambda: "Ctrl-C stops" in one.said() or one.process.poll() is not None, "drossel run is ready")
        return one

    yield make
    for one in started:
        one.stop()


PAGE = "limits: { page: { by: address, allow: 5 per 1h } }"


def test_uploads_pass_when_roots_runtime_folder_is_closed_to_the_workers(site, place, echo):
    (place / "runtime").mkdir(mode=0o700)
    server = site(PAGE, "--to", f"http://127.0.0.1:{echo}", env={"XDG_RUNTIME_DIR": str(place / "runtime")})
    answer = server.fetch(method="POST", body=MEGABYTES)
    assert answer.status == 200 and len(answer.body) == len(MEGABYTES), server.said()


@pytest.mark.parametrize("workers", [1, 4])
def test_visitors_behind_an_unknown_proxy_are_told_of_in_spite_of_a_flood(site, workers):
    server = site(PAGE, "--workers", workers)
    for number in range(200):
        server.fetch(headers={"X-Forwarded-For": f"203.0.113.{number}"})
    wait_until(lambda: "ERROR" in server.said(), "the line")
    (line,) = [line for line in server.said().splitlines() if "ERROR" in line]
    assert "ALL VISITORS SHARE ONE KEY" in line and "client: {trusted: [127.0.0.1], address_from: X-Forwarded-For}" in line


def test_the_demonstration_page_shows_a_command_for_where_it_listens(site):
    server = site(PAGE)
    assert f"http://127.0.0.1:{server.port}/" in server.fetch().body and ":8080" not in server.fetch().body


def test_an_application_that_is_down_is_told_and_steers_no_terminal(site):
    server = site(PAGE, "--to", f"http://127.0.0.1:{free_port()}")
    assert server.fetch(headers={"Referer": "\x1b[31mred"}).status == 502
    wait_until(lambda: "ERROR" in server.said(), "the line")
    assert "connect() failed" in server.said() and "\x1b" not in server.said()


@pytest.mark.parametrize("runtime", ["of another", "nowhere", "a file", "relative"])
def test_a_runtime_folder_that_is_not_ones_own_is_not_used(build, place, runtime):
    """As after `su`, which keeps the variable of the first user."""
    if os.geteuid() != 0:
        pytest.skip("not root: no other user to become")
    shutil.copy(build / "drossel", place)
    (place / "of another").mkdir(mode=0o777)
    (place / "a file").write_text("")
    os.chown(place / "a file", NOBODY, -1)
    folder = runtime if runtime == "relative" else str(place / runtime)
    done = subprocess.run([place / "drossel", "show"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=20,
                          env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": folder})
    assert folder not in done.stdout + done.stderr
    assert f"/run/user/{NOBODY}/drossel" in done.stdout + done.stderr or f"/dev/shm/drossel-{NOBODY}" in done.stdout + done.stderr


@pytest.mark.parametrize("listen, options", [("", ["--h1"]), ("http2", ["-m", "10"])])
def test_a_thousand_at_once_over_many_connections_and_workers_are_exactly_seventy(nginx, listen, options):
    if not shutil.which("h2load"):
        pytest.skip("h2load is not installed")
    server = nginx("limits: { page: { by: address, allow: 70 per 100s } }\n", workers=3, listen=listen)
    done = subprocess.run(["h2load", *options, "-n", "1000", "-c", "50", f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True,
                          timeout=60)
    assert "status codes: 70 2xx, 0 3xx, 930 4xx, 0 5xx" in done.stdout, done.stdout
