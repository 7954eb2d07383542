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


def test_uploads_pass_when_roots_runtime_folder_is_closed_to_the_workers(build, place, echo):
    if not (build / "nginx" / "ngx_http_drossel_module.so").exists():
        pytest.skip("the module was not built: nginx-dev is missing, or a sanitizer is on")
    (place / "runtime").mkdir(mode=0o700)
    policy = write_policy(place, f"table: {{ path: {place}/table, keys: 1k }}\nlimits: {{ page: {{ by: address, allow: 50 per 10s }} }}")
    port, output = free_port(), place / "output"
    command = [str(build / "drossel"), "run", "--policy", str(policy), "--listen", f"127.0.0.1:{port}", "--to", f"http://127.0.0.1:{echo}"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output.open("w"), stderr=subprocess.STDOUT,
                               env={**os.environ, "XDG_RUNTIME_DIR": str(place / "runtime")})
    try:
        wait_until(lambda: "Ctrl-C stops" in output.read_text() or process.poll() is not None, "drossel run is ready")
        answer = fetch(port, "/", method="POST", body=MEGABYTES)
        assert answer.status == 200 and len(answer.body) == len(MEGABYTES), output.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, output.read_text()


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
