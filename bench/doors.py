"""nginx with our module, without it, and with its own limit_req: requests a second.

One nginx for each variant, alike but for the lines that are measured, with one worker on processor 0; the load comes from
one thread on processor 1.  All are up all the time and asked in turn.  Nothing is written to the access log.  limit_req's
own log line for each refusal, which costs it a write, is turned off.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

ROUND_SECONDS = 1
CONNECTIONS = 32
FILE_BYTES = 1024

NGINX = """{load}
{user}
worker_processes 1;
worker_cpu_affinity {affinity};
pid {folder}/nginx.pid;
error_log {folder}/error.log error;
events {{ worker_connections 256; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {http}
    server {{
        listen 127.0.0.1:{port};
        root {root};
        location / {{ {location} }}
    }}
}}
"""

POLICY = """version: 1
table: {{ path: {folder}/table, keys: 64k }}
limits:
  page: {{ by: address, allow: {page} }}
  path: {{ by: path, allow: 100000000 per 1h }}
  both: {{ by: [address, path], allow: 100000000 per 10m }}
  all:  {{ by: site, allow: 100000000 per 1d }}
"""

LIMIT_REQ = "limit_req_zone $binary_remote_addr zone=a:8m rate={}; limit_req_status 429; limit_req_log_level info;"

# name: (in http, in the location, the policy's first limit)
VARIANTS = {
    "bare 429": ("", "return 429;", None),
    "refuse": ("drossel_policy {folder}/policy.yaml;", "", "1 per 30d"),
    "refuse by a block": ("drossel_policy {folder}/policy.yaml;", "", "1 per 30d, block: 30d"),
    "limit_req refuses": (LIMIT_REQ.format("1r/m"), "limit_req zone=a;", None),
    "file": ("", "", None),
    "pass": ("drossel_policy {folder}/policy.yaml;", "", "100000000 per 1h"),
    "limit_req passes": (LIMIT_REQ.format("1000000r/s"), "limit_req zone=a burst=1000000 nodelay;", None),
}


class Server:
    """One nginx."""

    def __init__(self, build, folder, name):
        http, location, page = VARIANTS[name]
        self.name = name
        self.refuses = name in ("bare 429", "refuse", "refuse by a block", "limit_req refuses")
        self.folder = pathlib.Path(folder) / name.replace(" ", "-")
        (self.folder / "root").mkdir(parents=True)
        (self.folder / "root" / "file.txt").write_text("x" * (FILE_BYTES - 1) + "\n")
        self.port = free_port()
        if page:
            (self.folder / "policy.yaml").write_text(POLICY.format(folder=self.folder, page=page))
        module = pathlib.Path(build).resolve() / "nginx" / "ngx_http_drossel_module.so"
        (self.folder / "nginx.conf").write_text(NGINX.format(
            load=f"load_module {module};" if page else "", user="user root;" if os.geteuid() == 0 else "",
            affinity="1" if (os.cpu_count() or 1) < 2 else "01", folder=self.folder, root=self.folder / "root",
            http=http.format(folder=self.folder), location=location, port=self.port))
        self.process = subprocess.Popen(
            ["nginx", "-e", self.folder / "error.log", "-p", self.folder, "-c", self.folder / "nginx.conf", "-g", "daemon off;"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.worker = self.wait()
        except BaseException:
            self.stop()
            raise

    def wait(self):
        """The worker's process id, once it is there: the socket listens before."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return int(children.read_text().split()[0])
            except (OSError, IndexError):
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        log = self.folder / "error.log"
        raise RuntimeError(f"nginx ({self.name}) does not start: {log.read_text() if log.exists() else 'no log'}")

    def spent_ns(self):
        return int(pathlib.Path(f"/proc/{self.worker}/schedstat").read_text().split()[0])

    def ask(self, seconds):
        """Requests a second, and processor time of nginx for a request in us."""
        spent = self.spent_ns()
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"http://127.0.0.1:{self.port}/file.txt"]
        if shutil.which("taskset") and (os.cpu_count() or 1) > 1:
            command = ["taskset", "-c", "1"] + command
        text = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout
        spent = self.spent_ns() - spent
        done = int(re.search(r"(\d+) requests in", text)[1])
        refused = int((re.search(r"Non-2xx or 3xx responses: (\d+)", text) or [0, 0])[1])
        # The one request of the limit's own allowance may pass.
        if refused != done if self.refuses and done - refused > 1 else (not self.refuses and refused):
            raise RuntimeError(f"nginx ({self.name}) refused {refused} of {done}: not what is to be measured")
        return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), spent / done / 1000

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def missing(build):
    """Why nothing can be measured here, or None."""
    if not shutil.which("nginx"):
        return "nginx is not installed"
    if not shutil.which("wrk"):
        return "wrk is not installed"
    if not (pathlib.Path(build) / "nginx" / "ngx_http_drossel_module.so").exists():
        return "the nginx module is not built (nginx-dev is not installed)"
    return None


def measure(build, folder, rounds):
    """Yields (row, ours, other), both (requests a second, us)."""
    servers = {}
    try:
        for name in VARIANTS:
            servers[name] = Server(build, folder, name)
            servers[name].ask(1)
        for _ in range(rounds):
            got = {name: server.ask(ROUND_SECONDS) for name, server in servers.items()}
            yield "refuse", got["refuse"], got["bare 429"]
            yield "refuse-block", got["refuse by a block"], got["bare 429"]
            yield "refuse-limit_req", got["refuse"], got["limit_req refuses"]
            yield "pass", got["pass"], got["file"]
            yield "pass-limit_req", got["pass"], got["limit_req passes"]
    finally:
        for server in servers.values():
            server.stop()
