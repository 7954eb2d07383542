"""`drossel run`: a private nginx, from start to stop; and `show`, `reset`, `block`, `unblock` on its table."""
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.parse

import pytest

from command import drossel, write_policy
from conftest import fetch, free_port, wait_until

POLICY = """version: 1
table: {{ path: {folder}/table, keys: 1k, names: {names} }}
client: {{ trusted: [127.0.0.1], address_from: X-Forwarded-For, token_from: [header.X-Api-Key] }}
classes: {{ login: {{ path: /login }} }}
limits:
  page: {{ by: address, allow: 5 per 1h }}
  login: {{ for: login, by: [token, address], allow: 2 per 1h, block: 1h }}
"""


class Run:
    """`drossel run` on a free port; what it makes lies in `runtime`, whose path is short, as sockets need it."""

    def __init__(self, program, folder, policy, *options, user=None):
        self.folder, self.port, self.output = folder, free_port(), folder / "output"
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="drossel-test-", dir="/tmp"))
        self.runtime.chmod(0o755)
        if user is not None:
            os.chown(self.runtime, user, -1)
        command = [str(program), "run", "--policy", str(policy), "--listen", f"127.0.0.1:{self.port}", "--workers", "1",
                   *map(str, options)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output.open("w"), user=user,
                                        stderr=subprocess.STDOUT, env={**os.environ, "XDG_RUNTIME_DIR": str(self.runtime)})

    def ready(self):
        wait_until(lambda: "Ctrl-C stops" in self.said() or self.process.poll() is not None, "drossel run is ready")
        assert self.process.poll() is None, self.said()
        return self

    def said(self):
        return self.output.read_text()

    def nginx(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(pid) for pid in pathlib.Path(path).read_text().split()]

    def runtime_folder(self):
        return pathlib.Path(os.readlink(f"/proc/{self.nginx()[0]}/fd/2")).parent

    def fetch(self, path="/", client=None, **arguments):
        headers = dict(arguments.pop("headers", {}))
        if client:
            headers["X-Forwarded-For"] = client
        return fetch(self.port, path, headers=headers, **arguments)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(20)


@pytest.fixture
def run(build, tmp_path):
    if not (build / "nginx" / "ngx_http_drossel_module.so").exists():
        pytest.skip("the module was not built: nginx-dev is missing, or a sanitizer is on")
    started = []

    def make(*options, policy=None, names="true"):
        text = policy or POLICY.format(folder=tmp_path, names=names)
        started.append(Run(build / "drossel", tmp_path, write_policy(tmp_path, text), *options))
        return started[-1]

    yield make
    for server in started:
        server.stop()
        shutil.rmtree(server.runtime)


@pytest.fixture
def application():
    """A small application that tells what it was asked."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"path": self.path, "host": self.headers["Host"], "for": self.headers["X-Forwarded-For"]}).encode()
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


def test_the_demonstration_site_is_there_and_is_limited(run):
    server = run().ready()
    assert "demonstration" in server.said() and "page:" in server.said()
    pages = {"/": "text/html", "/style.css": "text/css", "/picture.svg": "image/svg+xml", "/login": "text/html",
             "/api/time": "application/json", "/api/echo?a=b": "application/json"}
    for number, (path, kind) in enumerate(pages.items()):
        answer = server.fetch(path, client=f"198.51.100.{number}")
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind), path
    assert json.loads(server.fetch("/api/echo?a=b", client="198.51.100.9").body)["query"] == "a=b"
    assert json.loads(server.fetch('/api/echo?a="}', client="198.51.100.9").body)["query"] == ""
    assert [server.fetch("/", client="203.0.113.7").status for _ in range(7)] == [200] * 5 + [429] * 2
    assert [server.fetch("/api/time", client="203.0.113.8").status for _ in range(7)] == [200] * 5 + [429] * 2


LOGINS = [({"user": "demo", "password": "drossel"}, 303), ({"user": "demo", "password": "Drossel"}, 403),
          ({"password": "drossel", "remember": "on", "user": "demo"}, 303), ({"password": "drossel", "user": "demon"}, 403),
          ({"user": "demo", "password": "drosselx"}, 403), ({"user": "x", "password": "drossel"}, 403), ({}, 403)]


def test_the_login_knows_one_right_password(run):
    server = run().ready()
    for number, (form, status) in enumerate(LOGINS):
        answer = server.fetch("/login", client=f"198.51.100.{number}", method="POST", body=urllib.parse.urlencode(form),
                              headers={"Content-Type": "application/x-www-form-urlencoded", "X-Drossel-Login": "right"})
        assert answer.status == status, form
        assert status != 303 or answer.headers["Location"] == "/welcome"


def test_each_refusal_is_a_line_and_a_flood_of_them_is_counted(run):
    server = run().ready()
    for _ in range(40):
        server.fetch("/a?b=c", client="203.0.113.7")
    wait_until(lambda: "REFUSED" in server.said(), "a line")
    refused = [line for line in server.said().splitlines() if "REFUSED" in line]
    assert "page" in refused[0] and "203.0.113.7" in refused[0] and "GET /a?b=c" in refused[0]
    wait_until(lambda: " more" in server.said(), "the rest is counted")
    assert 25 <= len([line for line in server.said().splitlines() if "REFUSED" in line]) <= 35


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(run, how):
    server = run().ready()
    folder, nginx = server.runtime_folder(), server.nginx()[0]
    assert (folder / "nginx.conf").exists() and folder.stat().st_mode & 0o777 == (0o710 if os.geteuid() == 0 else 0o700)
    assert server.stop(how) == 0
    assert not folder.exists() and not pathlib.Path(f"/proc/{nginx}").exists()
    assert list(server.runtime.iterdir()) == []


def test_a_reload_takes_a_right_policy_and_refuses_a_wrong_one(run):
    server = run().ready()
    path = server.folder / "policy.yaml"
    text = path.read_text()
    assert [server.fetch("/", client="203.0.113.7").status for _ in range(6)][-1] == 429
    path.write_text(text.replace("allow: 5 per 1h", "alow: 7 per 1h"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "old one stays in force" in server.said(), "the mistake is told")
    assert "did you mean" in server.said() and server.fetch("/", client="203.0.113.7").status == 429
    path.write_text(text.replace("allow: 5 per 1h", "allow: 7 per 1h"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "was read anew" in server.said(), "the policy is read")
    wait_until(lambda: server.fetch("/", client="203.0.113.7").status == 200, "the new number")
    assert server.stop() == 0


def test_it_passes_on_to_an_application(run, application):
    server = run("--to", f"http://127.0.0.1:{application}").ready()
    told = json.loads(server.fetch("/x%20y?q=1", client="203.0.113.7", headers={"Host": "shop.example"}).body)
    assert told == {"path": "/x%20y?q=1", "host": "shop.example", "for": "203.0.113.7, 127.0.0.1"}
    assert [server.fetch("/", client="203.0.113.7").status for _ in range(5)] == [200] * 4 + [429]


def test_it_serves_a_folder(run):
    place = pathlib.Path(tempfile.mkdtemp(prefix="drossel-test-", dir="/tmp"))    # readable for the workers of root
    place.chmod(0o755)
    try:
        site = place / 'a "site'
        site.mkdir(0o755)
        (site / "index.html").write_text("hello")
        (place / "secret").write_text("secret")
        server = run("--root", site).ready()
        assert server.fetch("/", client="203.0.113.7").body == "hello"
        assert "secret" not in server.fetch("/%2e%2e/secret", client="203.0.113.7").body
        assert [server.fetch("/", client="203.0.113.8").status for _ in range(6)] == [200] * 5 + [429]
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("options", [(), ("--root", "/usr/share")], ids=["the demonstration", "a folder"])
def test_a_missing_file_is_no_error(run, tmp_path, options):
    server = run(*options).ready()
    assert [server.fetch("/not-there.txt").status for _ in range(6)] == [404] * 5 + [429]
    wait_until(lambda: "REFUSED" in server.said(), "the refusal is told")
    assert "ERROR" not in server.said()


def test_an_address_in_use_is_told_at_once(build, run, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = drossel(build, "run", "--policy", write_policy(tmp_path, POLICY.format(folder=tmp_path, names="true")),
                       "--listen", f"127.0.0.1:{port}", code=1)
    assert f"127.0.0.1:{port} is in use by another program" in done.stderr and "--listen" in done.stderr


def test_warnings_are_told_where_the_policy_is_put_in_force(run, tmp_path):
    server = run(policy="limits: { page: { by: address, allow: 5 per 1m, algorithm: leaky, burst: 3 } }\n"
                        f"table: {{ path: {tmp_path}/table, keys: 1k }}\n").ready()
    assert "admits 4 at once" in server.said()


def test_a_policy_with_mistakes_starts_nothing(build, run, tmp_path):
    path = write_policy(tmp_path, "limits: { page: { by: adress, allow: 5 per 1h } }")
    done = drossel(build, "run", "--policy", path, "--listen", "127.0.0.1:0", code=1)
    assert f"{path}:2:" in done.stderr and done.stdout == ""


WRONG = [(["--listen", "nowhere"], 1, "write ADDR:PORT"), (["--listen", "127.0.0.1:99999"], 1, "write ADDR:PORT"),
         (["--workers", "0"], 2, "from 1 to"), (["--to", "ftp://x"], 2, "write a URL"),
         (["--to", "http://x;}"], 2, "write a URL"), (["--root", "/no/such"], 2, "is no folder"),
         (["--root", "/", "--to", "http://x"], 2, "exclude each other"), (["--listen", "192.0.2.1:80"], 1, "is no address of this")]


@pytest.mark.parametrize("options, code, complaint", WRONG, ids=[" ".join(wrong[0]) for wrong in WRONG])
def test_wrong_options_are_told(build, run, tmp_path, options, code, complaint):
    path = write_policy(tmp_path, POLICY.format(folder=tmp_path, names="true"))
    assert complaint in drossel(build, "run", "--policy", path, *options, code=code).stderr


def test_a_missing_module_is_told_with_the_remedy(build, run, tmp_path):
    path = write_policy(tmp_path, POLICY.format(folder=tmp_path, names="true"))
    done = drossel(build, "run", "--policy", path, code=1, env={**os.environ, "DROSSEL_MODULES": str(tmp_path)})
    assert "DROSSEL_MODULES" in done.stderr and "ngx_http_drossel_module.so" in done.stderr


def test_it_says_so_when_nginx_dies(run):
    server = run().ready()
    master = server.nginx()[0]
    workers = pathlib.Path(f"/proc/{master}/task/{master}/children").read_text().split()
    os.kill(master, signal.SIGKILL)
    assert server.process.wait(20) == 1
    assert "nginx was killed by signal 9" in server.said() and list(server.runtime.iterdir()) == []
    assert workers and not any(pathlib.Path(f"/proc/{pid}").exists() for pid in workers)


def test_nginx_does_not_outlive_a_killed_drossel(run):
    server = run().ready()
    nginx = server.nginx()[0]
    server.process.kill()
    server.process.wait()
    wait_until(lambda: not pathlib.Path(f"/proc/{nginx}").exists(), "nginx is gone")


def test_an_ordinary_user_may_run_it_with_a_table_of_his_own(build, run, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("not root: all the other tests run it as an ordinary user")
    nobody = 65534
    place = pathlib.Path(tempfile.mkdtemp(prefix="drossel-test-", dir="/tmp"))
    place.chmod(0o755)
    shutil.copy(build / "drossel", place)
    (place / "nginx").mkdir()
    shutil.copy(build / "nginx" / "ngx_http_drossel_module.so", place / "nginx")
    server = Run(place / "drossel", place, write_policy(place, "limits: { page: { by: address, allow: 5 per 1h } }"), user=nobody)
    try:
        server.ready()
        assert [server.fetch("/").status for _ in range(6)] == [200] * 5 + [429]
        (table,) = [path for path in server.runtime.iterdir() if path.is_file()]
        assert table.stat().st_uid == nobody and table.stat().st_mode & 0o007 == 0 and f"The table is {table}" in server.said()
        assert server.stop() == 0 and list(server.runtime.iterdir()) == [table]
    finally:
        server.stop()
        shutil.rmtree(server.runtime)
        shutil.rmtree(place)


# ---- the live table ----

def test_show_puts_the_key_closest_to_its_limit_first(build, run, tmp_path):
    server = run().ready()
    for client, count in {"203.0.113.1": 1, "203.0.113.2": 6, "203.0.113.3": 3}.items():
        for _ in range(count):
            server.fetch("/", client=client)
    place = ["--policy", tmp_path / "policy.yaml"]
    told = json.loads(drossel(build, "show", "--json", *place).stdout)
    rows = [(entry["key"], entry["used"], entry["count"], entry["remaining"]) for entry in told["entries"]]
    assert rows == [("203.0.113.2", 5, 5, 0), ("203.0.113.3", 3, 5, 2), ("203.0.113.1", 1, 5, 4)]
    assert told["used"] == 3 and told["keys"] == 1024 and told["table"] == str(tmp_path / "table")
    assert 3500 < told["entries"][0]["wait"] <= 3600
    text = drossel(build, "show", "--table", tmp_path / "table").stdout.splitlines()
    assert "3 of 1024 keys" in text[0] and [line.split()[1] for line in text[3:]] == [row[0] for row in rows]
    assert drossel(build, "show", "login", *place).stdout.count("\n") == 3
    assert "did you mean page?" in drossel(build, "show", "pge", *place, code=1).stderr


@pytest.mark.parametrize("names", ["true", "false"])
def test_reset_forgets_a_key_and_no_other(build, run, tmp_path, names):
    server = run(names=names).ready()
    place = ["--policy", tmp_path / "policy.yaml"]
    for client in ("203.0.113.2", "203.0.113.20", "2001:db8:1:2::1"):
        assert [server.fetch("/", client=client).status for _ in range(6)][-1] == 429
    assert "page: 203.0.113.2 forgotten" in drossel(build, "reset", "203.0.113.2", *place).stdout
    assert server.fetch("/", client="203.0.113.2").status == 200
    assert server.fetch("/", client="203.0.113.20").status == 429
    drossel(build, "reset", "2001:db8:1:2:ffff::9", *place)
    assert server.fetch("/", client="2001:db8:1:2::1").status == 200
    done = drossel(build, "reset", "203.0.113.99", *place, code=1)
    assert "nothing is counted for 203.0.113.99" in done.stderr


def test_reset_finds_a_part_of_a_combined_key_by_its_name(build, run, tmp_path):
    server = run().ready()
    place = ["--policy", tmp_path / "policy.yaml"]
    facts = {"client": "203.0.113.5", "headers": {"X-Api-Key": "k1"}}
    assert [server.fetch("/login", **facts).status for _ in range(3)][-1] == 429
    assert "login" in drossel(build, "reset", "203.0.113.5", "--limit", "login", *place).stdout
    assert server.fetch("/login", **facts).status == 200


def test_block_and_unblock_work_at_once_in_all_limits(build, run, tmp_path):
    server = run().ready()
    place = ["--policy", tmp_path / "policy.yaml"]
    assert server.fetch("/", client="203.0.113.2").status == 200
    assert "blocked for 10 min" in drossel(build, "block", "203.0.113.2", "10m", *place).stdout
    assert server.fetch("/", client="203.0.113.2").status == 429
    assert server.fetch("/", client="203.0.113.3").status == 200
    (ban,) = json.loads(drossel(build, "show", "ban", "--json", *place).stdout)["entries"]
    assert ban["limit"] == "ban" and ban["key"] == "203.0.113.2" and 500 < ban["block"] <= 600 and ban["strikes"] == 0
    explained = drossel(build, "explain", tmp_path / "policy.yaml", "/", "--address", "203.0.113.2").stdout
    assert "banned     yes" in explained and "address is banned" in explained and str(tmp_path / "table") in explained
    assert "lifted" in drossel(build, "unblock", "203.0.113.2", *place).stdout
    assert server.fetch("/", client="203.0.113.2").status == 200
    assert "nothing is blocked for 203.0.113.2" in drossel(build, "unblock", "203.0.113.2", *place, code=1).stderr


def test_a_network_of_ipv6_is_blocked_as_it_is_counted(build, run, tmp_path):
    server = run().ready()
    place = ["--policy", tmp_path / "policy.yaml"]
    server.fetch("/", client="203.0.113.2")
    drossel(build, "block", "2001:db8:1:2::7", "1h", *place)
    assert server.fetch("/", client="2001:db8:1:2:9::1").status == 429
    assert server.fetch("/", client="2001:db8:1:3::1").status == 200
    drossel(build, "unblock", "2001:db8:1:2::8", *place)
    assert server.fetch("/", client="2001:db8:1:2:9::1").status == 200


def test_block_in_one_limit_leaves_the_others(build, run, tmp_path):
    server = run().ready()
    place = ["--policy", tmp_path / "policy.yaml"]
    server.fetch("/", client="203.0.113.2")
    drossel(build, "block", "--limit", "page", "203.0.113.9", "1h", *place)
    assert server.fetch("/", client="203.0.113.9").status == 429
    told = json.loads(drossel(build, "show", "page", "--json", *place).stdout)["entries"][0]
    assert told["key"] == "203.0.113.9" and 3500 < told["block"] <= 3600
    drossel(build, "unblock", "--limit", "page", "203.0.113.9", *place)
    assert server.fetch("/", client="203.0.113.9").status == 200
    assert "counts by token" in drossel(build, "block", "--limit", "login", "203.0.113.9", "1h", *place, code=1).stderr


def test_explain_charges_nothing_and_tells_what_the_live_table_would_say(build, run, tmp_path):
    server = run().ready()
    for _ in range(4):
        server.fetch("/", client="203.0.113.2")
    for _ in range(3):
        text = drossel(build, "explain", tmp_path / "policy.yaml", "/", "--address", "203.0.113.2").stdout
        assert "lets it through, 0 left after it" in text
    assert server.fetch("/", client="203.0.113.2").status == 200
    assert "used up" in drossel(build, "explain", tmp_path / "policy.yaml", "/", "--address", "203.0.113.2").stdout


@pytest.mark.parametrize("arguments", [["show"], ["reset", "192.0.2.1"], ["block", "192.0.2.1", "1m"], ["unblock", "192.0.2.1"]])
def test_without_a_table_each_says_where_it_looked(build, tmp_path, arguments):
    done = drossel(build, *arguments, "--table", tmp_path / "none", code=1)
    assert str(tmp_path / "none") in done.stderr and done.stdout == ""
    assert not (tmp_path / "none").exists()
