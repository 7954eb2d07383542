"""nginx with our module, without it, and with its own limit_req: requests a second.

Two nginx, alike but for the lines that are measured, with one worker each, both on processor 0, are asked at the same time by
two programs on processor 1.  What is compared is how many requests each answers in a second of its own processor time, which is
what it answers in a second when it has the processor for itself.  So both sides meet the same neighbours: asked one after the
other, the same nginx differs by a fifth from one second to the next on a machine that is shared; side by side, two of the same
differ by two hundredths.

Each round starts both anew, because where its memory happens to lie makes one faster than another for as long as it runs.
Nothing is written to the access log.  Refusals are logged as either module does by default: ours some lines a second, limit_req
one for each; once more with that turned off.
"""
import collections
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time

ROUND_SECONDS = 1
WARM_SECONDS = 3
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

# As much as limit_req does.
ONE_LIMIT = """version: 1
table: {{ path: {folder}/table, keys: 64k }}
limits:
  page: {{ by: address, allow: {page} }}
"""

# Classes and exemptions are looked at: what many sites have, of which two limits count a page.
BY_CLASS = """version: 1
table: {{ path: {folder}/table, keys: 64k }}
exempt: {{ addresses: [192.0.2.0/24], paths: [/health] }}
classes: {{ static: {{ path_ends: [.jpg, .png, .css, .js] }} }}
limits:
  page: {{ for: not static, by: address, allow: 100000000 per 1h }}
  long: {{ for: not static, by: address, allow: 100000000 per 1d, ban: 5m }}
  static: {{ for: static, by: address, allow: 100000000 per 1h }}
"""

LIMIT_REQ = "limit_req_zone $binary_remote_addr zone=a:8m rate={}; limit_req_status 429;"

# Many clients, as most servers have: behind a proxy, which a server of the bench plays for them.
REAL_IP = "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP; "
CLIENTS = 20000
CLIENTS_SCRIPT = """
local requests = {}
function init()
    math.randomseed(7)
    for i = 0, %d - 1 do
        local address = string.format("198.%%d.%%d.%%d", 18 + math.floor(i / 65536), math.floor(i / 256) %% 256, i %% 256)
        local other = math.random(0, i)
        requests[i], requests[other] = requests[other], wrk.format("GET", "/file.txt", { ["X-Real-IP"] = address })
    end
end
local n = 0
function request()
    n = (n + 1) %% %d
    return requests[n]
end
""" % (CLIENTS, CLIENTS)

# What is written into the http block and the location, the policy, whether requests are refused, wrk's script.
# Warm: it is asked for a while before, so that every client is known.
Variant = collections.namedtuple("Variant", "http location policy refuses script warm", defaults=("", "", None, False, None, False))
OURS = "drossel_policy {folder}/policy.yaml;"
VARIANTS = {
    "bare 429": Variant(location="return 429;", refuses=True),
    "refuse": Variant(OURS, policy=POLICY.replace("{page}", "1 per 30d"), refuses=True),
    "refuse by a block": Variant(OURS, policy=POLICY.replace("{page}", "1 per 30d, block: 30d"), refuses=True),
    "limit_req refuses": Variant(LIMIT_REQ.format("1r/m"), "limit_req zone=a;", refuses=True),
    "limit_req refuses silently": Variant(LIMIT_REQ.format("1r/m"), "limit_req zone=a; limit_req_log_level info;", refuses=True),
    "file": Variant(),
    "pass": Variant(OURS, policy=POLICY.replace("{page}", "100000000 per 1h")),
    "pass one": Variant(OURS, policy=ONE_LIMIT.replace("{page}", "100000000 per 1h")),
    "pass by class": Variant(OURS, policy=BY_CLASS),
    "file to many": Variant(REAL_IP, script=CLIENTS_SCRIPT, warm=True),
    "pass many": Variant(REAL_IP + OURS, policy=ONE_LIMIT.replace("{page}", "100000000 per 1h").replace("64k", "256k"),
                         script=CLIENTS_SCRIPT, warm=True),
    "limit_req passes many": Variant(REAL_IP + LIMIT_REQ.format("1000000r/s").replace("8m", "16m"),
                                     "limit_req zone=a burst=1000000 nodelay;", script=CLIENTS_SCRIPT, warm=True),
    "limit_req passes": Variant(LIMIT_REQ.format("1000000r/s"), "limit_req zone=a burst=1000000 nodelay;"),
}

# A login: an application answers it, and a limit counts its failures by account and address.
PROXY = "proxy_pass http://application; proxy_http_version 1.1; proxy_set_header Connection '';"
UPSTREAM = "upstream application {{ server 127.0.0.1:{application}; keepalive 64; }}"
LOGIN_POLICY = """version: 1
table: {{ path: {folder}/table, keys: 64k }}
client: {{ account_from: [form.email, json.email] }}
limits:
  login: {{ by: [account, address], allow: 5 failures per 15m, block: 15m, reset_on: success }}
"""
LOGIN_BYTES = 200
LOGIN_SCRIPT = """
local requests = {{}}
function init()
    for i = 1, 1000 do
        local body = string.format({body!r}, i)
        body = body:gsub("#", string.rep("x", {size} - #body + 1))
        assert(#body == {size})
        requests[i] = wrk.format("POST", "/login", {{ ["Content-Type"] = "{type}" }}, body)
    end
end
local n = 0
function request()
    n = n % #requests + 1
    return requests[n]
end
"""
LOGIN_BODIES = {
    "form": ("application/x-www-form-urlencoded", "csrf=5f2b1c7790aa41d2&email=user%04d%%40shop.example&password=correct+horse&next=%%2F#"),
    "JSON": ("application/json", '{"csrf":"5f2b1c7790aa41d2","email":"user%04d@shop.example","password":"correct horse","next":"/#"}'),
}
LOGINS = {}
for kind, (media_type, body) in LOGIN_BODIES.items():
    script = LOGIN_SCRIPT.format(body=body, size=LOGIN_BYTES, type=media_type)
    LOGINS[f"login by {kind}"] = Variant(UPSTREAM + OURS, PROXY, LOGIN_POLICY, script=script)
    LOGINS[f"bare login by {kind}"] = Variant(UPSTREAM, PROXY, script=script)


class Server:
    """One nginx."""

    def __init__(self, build, folder, name, variant, application=None, processor=0):
        self.name, self.variant = name, variant
        self.folder = pathlib.Path(folder) / name.replace(" ", "-")
        (self.folder / "root").mkdir(parents=True)
        (self.folder / "root" / "file.txt").write_text("x" * (FILE_BYTES - 1) + "\n")
        self.port = free_port()
        if variant.policy:
            (self.folder / "policy.yaml").write_text(variant.policy.format(folder=self.folder))
        self.script = self.folder / "wrk.lua"
        self.script.write_text(variant.script or "")
        module = pathlib.Path(build).resolve() / "nginx" / "ngx_http_drossel_module.so"
        (self.folder / "nginx.conf").write_text(NGINX.format(
            load=f"load_module {module};" if variant.policy else "", user="user root;" if os.geteuid() == 0 else "",
            affinity="1" if (os.cpu_count() or 1) < 2 else ("01", "10")[processor], folder=self.folder, root=self.folder / "root",
            http=variant.http.format(folder=self.folder, application=application), location=variant.location, port=self.port))
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

    def begin(self, seconds):
        """Starts to ask for so long."""
        self.spent = self.spent_ns()
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"http://127.0.0.1:{self.port}/file.txt"]
        if self.variant.script:
            command += ["-s", self.script]
        if shutil.which("taskset") and (os.cpu_count() or 1) > 1:
            command = ["taskset", "-c", "1"] + command
        self.load = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Requests answered in a second of nginx's processor time."""
        text, complaint = self.load.communicate(timeout=60)
        spent = self.spent_ns() - self.spent
        if self.load.returncode != 0:
            raise RuntimeError(f"wrk: {complaint.strip()}")
        done = int(re.search(r"(\d+) requests in", text)[1])
        refused = int((re.search(r"Non-2xx or 3xx responses: (\d+)", text) or [0, 0])[1])
        # The one request of the limit's own allowance may pass.
        if refused != done if self.variant.refuses and done - refused > 1 else (not self.variant.refuses and refused):
            raise RuntimeError(f"nginx ({self.name}) refused {refused} of {done}: not what is to be measured")
        return done * 1e9 / spent

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


def ask_both(build, folder, variants, names, application=None):
    """Starts both variants in either order, asks them at the same time, and stops them."""
    servers = {}
    try:
        for place in random.sample((0, 1), 2):
            servers[place] = Server(build, f"{folder}/{place}", names[place], variants[names[place]], application)
        if variants[names[0]].warm:
            for server in servers.values():
                server.begin(WARM_SECONDS)
            for server in servers.values():
                server.end()
        for server in servers.values():
            server.begin(ROUND_SECONDS)
        return tuple(servers[place].end() for place in (0, 1))
    finally:
        for server in servers.values():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


ROWS = {
    "refuse": ("refuse", "bare 429"),
    "refuse-block": ("refuse by a block", "bare 429"),
    "refuse-limit_req": ("refuse", "limit_req refuses"),
    "refuse-silent": ("refuse", "limit_req refuses silently"),
    "pass": ("pass", "file"),
    "pass-one": ("pass one", "file"),
    "pass-class": ("pass by class", "file"),
    "pass-limit_req": ("pass", "limit_req passes"),
    "pass-many": ("pass many", "file to many"),
    "pass-many-limit_req": ("pass many", "limit_req passes many"),
    "pass-one-limit_req": ("pass one", "limit_req passes"),
}


# What lies within a hundredth of its mark needs more pairs than the others: of seven the median is known to a hundredth only, of thirty to half of
# one, and three digits are shown.
TIMES = {"pass-one-limit_req": 5, "login-form": 4, "login-JSON": 4}


def measure(build, folder, rounds):
    """Yields (row, ours, other), in requests a second."""
    for _ in range(rounds):
        for row, names in ROWS.items():
            for _ in range(TIMES.get(row, 1)):
                yield row, *ask_both(build, f"{folder}/nginx", VARIANTS, names)


def measure_logins(build, folder, rounds):
    """The same for logins, whose application is one more nginx, beside the load on processor 1."""
    application = Server(build, folder, "application", Variant(location="return 200 welcome;"), processor=1)
    try:
        for _ in range(rounds):
            for kind in LOGIN_BODIES:
                names = f"login by {kind}", f"bare login by {kind}"
                for _ in range(TIMES[f"login-{kind}"]):
                    yield f"login-{kind}", *ask_both(build, f"{folder}/logins", LOGINS, names, application.port)
    finally:
        application.stop()
