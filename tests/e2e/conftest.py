"""What end-to-end tests share: the build folder, free ports, and an nginx that is stopped by its pid."""
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest


@pytest.fixture(scope="session")
def build():
    return pathlib.Path(os.environ["DROSSEL_BUILD"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, what, seconds=10.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body.decode()


def fetch(port, path="/", method="GET", headers=None, body=None, connection=None):
    """One request; `connection` keeps one open over several."""
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        own.request(method, path, body=body, headers=headers or {})
        response = own.getresponse()
        return Answer(response, response.read())
    finally:
        if connection is None:
            own.close()


CONFIG = """\
{user}
daemon off;
master_process on;
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
{load}
{main}
events {{ worker_connections 512; }}
http {{
    log_format verdicts '$status $drossel_verdict|$drossel_limit|$drossel_remaining|$drossel_wait|$drossel_delay|$drossel_client $uri';
    access_log {folder}/access.log verdicts;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; text/plain txt; }}
    {directive}
    {http}
    server {{
        listen 127.0.0.1:{port} {listen};
        root {folder}/root;
        {server}
    }}
}}
"""


class Nginx:
    """A private nginx with our module, in a folder of its own; PORT and FOLDER stand for its own in all options."""

    def __init__(self, folder, build, policy="", **options):
        self.folder, self.build, self.options = folder, build, options
        self.process = None
        self.port = free_port()
        self.config, self.policy = folder / "nginx.conf", folder / "policy.yaml"
        (folder / "root").mkdir(parents=True, exist_ok=True)
        (folder / "root" / "index.html").write_text("<p>hello</p>\n")
        (folder / "root" / "file.txt").write_text("a small file\n")
        self.write_policy(policy)
        self.write_config()

    def write_policy(self, text):
        """A policy whose table lies in the folder, unless it says where."""
        if "table:" not in text:
            text = f"table: {{ path: {self.folder}/table, keys: 1k }}\n" + text
        self.policy.write_text("version: 1\n" + text)

    def write_config(self, **options):
        self.options.update(options)
        user = self.options.get("user", "root")
        values = {
            "user": f"user {user};" if os.geteuid() == 0 and user else "",
            "load": f"load_module {self.build}/nginx/ngx_http_drossel_module.so;",
            "directive": f"drossel_policy {self.policy};",
            "workers": 1, "main": "", "http": "", "server": "", "listen": "",
        }
        for key, value in self.options.items():
            if key != "user":
                values[key] = str(value).replace("PORT", str(self.port)).replace("FOLDER", str(self.folder))
        self.config.write_text(CONFIG.format(folder=self.folder, port=self.port, **values))

    def command(self, *arguments):
        # for modules built with a sanitizer (-Dnginx=enabled): its libraries come before those of nginx
        preload = os.environ.get("DROSSEL_NGINX_PRELOAD")
        prefix = ["env", f"LD_PRELOAD={preload}"] if preload else []
        return [*prefix, "nginx", "-p", str(self.folder), "-c", str(self.config), *arguments]

    def test(self):
        return subprocess.run(self.command("-t"), capture_output=True, text=True, timeout=30)

    def start(self, prefix=()):
        self.process = subprocess.Popen([*prefix, *self.command()], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=(self.folder / "stderr").open("w"))
        wait_until(lambda: self.process.poll() is not None or listens(self.port), "nginx listens")
        assert self.process.poll() is None, (self.folder / "stderr").read_text() + self.error_log()
        wait_until(lambda: len(self.workers()) >= int(self.options.get("workers", 1)), "all workers")
        return self

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def workers(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return set(map(int, pathlib.Path(path).read_text().split()))

    def reload(self):
        """Reloads and waits until the old workers are gone."""
        before = self.workers()
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.workers() and not self.workers() & before, "new workers")

    def fetch(self, path="/", **arguments):
        return fetch(self.port, path, **arguments)

    def statuses(self, count, path="/", **arguments):
        return [self.fetch(path, **arguments).status for _ in range(count)]

    def error_log(self):
        path = self.folder / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def lines(self, what):
        return [line for line in self.error_log().splitlines() if what in line]

    def access_log(self, count):
        """The access log once it has `count` lines: a line is written after the answer."""
        path = self.folder / "access.log"
        wait_until(lambda: len(path.read_text().splitlines()) >= count, "lines in the access log")
        return path.read_text().splitlines()


@pytest.fixture
def nginx(tmp_path, build):
    """Starts as many as a test wants: `nginx(policy, server=..., http=...)`; `run=False` only writes the files."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    if not (build / "nginx" / "ngx_http_drossel_module.so").exists():
        pytest.skip("the module was not built: nginx-dev is missing, or a sanitizer is on")
    started = []

    def make(policy="", run=True, prefix=(), **options):
        server = Nginx(tmp_path / f"nginx{len(started)}", build, policy, **options)
        started.append(server)
        return server.start(prefix) if run else server

    yield make
    for server in started:
        server.stop()
