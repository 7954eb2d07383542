"""The example with PHP-FPM: its policy stops guessing, and nothing in the application counts anything."""
import http.cookies
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse

import pytest

from conftest import Nginx, free_port, listens, wait_until
from login_application import at_once

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "php-login"
RIGHT, WRONG = "correct horse", "wrong"


def php_fpm():
    found = [shutil.which("php-fpm")] + sorted(map(str, pathlib.Path("/usr/sbin").glob("php-fpm*")))
    return next(filter(None, found), None)


class Site(Nginx):
    """The example's own files, in a folder of its own and on free ports; `change` edits its policy."""

    def __init__(self, folder, build, change):
        self.folder, self.options, self.process, self.php = folder, {"workers": 4}, None, None
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("run"))
        (folder / "run").mkdir()
        self.port, self.php_port = free_port(), free_port()
        self.config, self.policy = folder / "nginx.conf", folder / "policy.yaml"
        text = self.config.read_text().replace("../../build", str(build)).replace(":8080", f":{self.port}")
        self.config.write_text(("user root;\n" if os.geteuid() == 0 else "") + text.replace(":9000", f":{self.php_port}"))
        self.policy.write_text(change(self.policy.read_text()) + f"table: {{ path: {folder}/run/table, keys: 1k }}\n")
        fpm = folder / "php-fpm.conf"
        fpm.write_text(fpm.read_text().replace(":9000", f":{self.php_port}") + ("user = root\ngroup = root\n" if os.geteuid() == 0 else ""))

    def start(self):
        root = ["-R"] if os.geteuid() == 0 else []
        self.php = subprocess.Popen([php_fpm(), *root, "-n", "-p", str(self.folder), "-y", "php-fpm.conf"], cwd=self.folder,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=(self.folder / "run" / "php.err").open("w"))
        wait_until(lambda: self.php.poll() is not None or listens(self.php_port), "PHP listens")
        assert self.php.poll() is None, (self.folder / "run" / "php.err").read_text()
        return super().start()

    def stop(self):
        super().stop()
        if self.php is not None and self.php.poll() is None:
            self.php.terminate()
            self.php.wait(10)

    def error_log(self):
        path = self.folder / "run" / "error.log"
        return path.read_text() if path.exists() else ""

    def form(self, **fields):
        return self.fetch("/auth/login", method="POST", body=urllib.parse.urlencode(fields),
                          headers={"Content-Type": "application/x-www-form-urlencoded"})

    def log_in(self, email="alice@example.org", password=WRONG, **fields):
        return self.form(email=email, password=password, **fields)

    def api(self, email="alice@example.org", password=WRONG):
        return self.fetch("/api/v1/auth/login", method="POST", body=json.dumps({"email": email, "password": password}),
                          headers={"Content-Type": "application/json"})


@pytest.fixture
def site(tmp_path, build):
    if php_fpm() is None or not shutil.which("nginx"):
        pytest.skip("php-fpm or nginx is not installed")
    if not (build / "nginx" / "ngx_http_drossel_module.so").exists():
        pytest.skip("the module was not built: nginx-dev is missing, or a sanitizer is on")
    started = []

    def make(change=lambda text: text):
        started.append(Site(tmp_path / f"site{len(started)}", build, change))
        return started[-1].start()

    yield make
    for server in started:
        server.stop()


def refused(answer, longest):
    """The answer of the example's policy, with a wait of at most `longest` seconds and a tenth of jitter."""
    assert (answer.status, answer.body) == (429, '{"error":"rate_limit_exceeded"}')
    assert 1 <= int(answer.headers["Retry-After"]) <= longest * 1.1 + 1
    return True


def test_the_login_works_in_both_steps_and_remembers(site):
    server = site()
    step = server.form(email="alice@example.org")
    assert step.status == 202 and 'name="password"' in step.body
    answer = server.log_in(password=RIGHT, remember="1")
    assert (answer.status, answer.headers["Location"]) == (302, "/account")
    cookies = http.cookies.SimpleCookie("; ".join(answer.headers.get_all("Set-Cookie")))

    def visit(cookie):
        return server.fetch("/account", headers={"Cookie": cookie} if cookie else {})

    assert "alice@example.org" in visit(f"remember={cookies['remember'].value}").body
    assert "alice@example.org" in visit(f"session={cookies['session'].value}").body
    assert visit(f"remember={cookies['remember'].value}x").status == 401
    assert visit(f"remember={cookies['session'].value}").status == 401
    assert visit(None).status == 302


def test_the_api_hands_out_tokens(site):
    server = site()
    token = json.loads(server.api(password=RIGHT).body)["token"]
    me = server.fetch("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert (me.status, json.loads(me.body)) == (200, {"email": "alice@example.org"})
    assert server.fetch("/api/v1/me").status == 401


def test_more_than_120_requests_a_minute_to_the_api_without_a_token_are_refused(site):
    server = site()
    assert server.statuses(120, "/api/v1/status") == [200] * 120
    assert refused(server.fetch("/api/v1/status"), 120)
    assert server.fetch("/auth/login").status == 200


def test_more_than_5_wrong_passwords_for_one_account_from_one_address_are_refused(site):
    server = site()
    assert [server.log_in().status for _ in range(5)] == [401] * 5
    assert refused(server.log_in(), 900)
    assert refused(server.log_in(password=RIGHT), 900), "the block holds for the right password, too"
    assert refused(server.log_in(email=" Alice@EXAMPLE.org"), 900), "another spelling is the same account"
    assert server.log_in(email="bob@example.org").status == 401, "another account is not concerned"


def test_a_right_password_in_between_resets_and_the_first_step_does_not(site):
    server = site()
    assert [server.log_in().status for _ in range(4)] == [401] * 4
    assert server.log_in(password=RIGHT).status == 302
    assert [server.log_in().status for _ in range(4)] == [401] * 4
    assert server.form(email="alice@example.org").status == 202
    assert server.log_in().status == 401
    assert refused(server.log_in(), 900)


def test_the_login_of_the_api_is_limited_the_same(site):
    server = site()
    assert [server.api().status for _ in range(4)] == [401] * 4
    assert server.api(password=RIGHT).status == 200
    assert [server.api().status for _ in range(5)] == [401] * 5
    assert refused(server.api(), 900)
    assert server.api(email="bob@example.org").status == 401


def test_an_address_that_tries_many_accounts_of_the_api_is_refused(site):
    server = site()
    assert [server.api(email=f"u{i}@example.org").status for i in range(10)] == [401] * 10
    assert refused(server.api(email="u10@example.org"), 600)


def test_the_first_step_is_limited_to_25_for_an_address(site):
    server = site()
    assert [server.form(email=f"u{i}@example.org").status for i in range(25)] == [202] * 25
    assert refused(server.form(email="u25@example.org"), 300)


def test_a_block_lasts_as_long_as_it_was_announced(site):
    server = site(lambda text: re.sub("900s", "2s", text).replace("answer: {", "answer: { jitter: 0%,"))
    start = time.monotonic()
    statuses = []
    while 429 not in statuses:
        statuses.append((answer := server.log_in()).status)
    assert statuses == [401] * 5 + [429] and int(answer.headers["Retry-After"]) == 2
    blocked_at = time.monotonic()
    assert server.log_in(password=RIGHT).status == 429 or time.monotonic() - blocked_at >= 2
    time.sleep(2.05)
    assert server.log_in(password=RIGHT).status == 302
    assert time.monotonic() - start < 30


def test_of_a_hundred_guesses_at_once_five_reach_the_application(site):
    server = site()
    statuses = at_once(100, lambda _: server.api().status)
    assert sorted(statuses) == [401] * 5 + [429] * 95


def part(boundary, name, value):
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'


FORMS = [
    ("multipart/form-data; boundary=a", part("a", "email", "EMAIL") + part("a", "password", WRONG) + "--a--\r\n"),
    ("multipart/form-data; my-boundary=a; boundary=b",
     part("a", "email", "EMAIL") + part("a", "password", WRONG) + "--a--\r\n" + part("b", "email", "SOMEBODY") + "--b--\r\n"),
    ("multipart/form-data; Boundary=b; x-boundary=a",
     part("b", "email", "SOMEBODY") + "--b--\r\n" + part("a", "email", "EMAIL") + part("a", "password", WRONG) + "--a--\r\n"),
    ("application/x-www-form-urlencoded", "+" * 300 + f"email=EMAIL&password={WRONG}&a=SOMEBODY"),
    ("multipart/form-data; boundary=a", part("a", " " * 300 + "email", "EMAIL") + part("a", "password", WRONG) + "--a--\r\n"),
]


@pytest.mark.parametrize("kind,body", FORMS, ids=["as browsers send it", "first of two boundaries", "boundary in small letters", "spaces before the name",
                                             "spaces in a part's name"])
def test_the_account_of_a_form_is_the_one_that_php_takes(site, kind, body):
    server = site(lambda text: text.replace("25 per 600s", "100 per 600s"))
    statuses = [server.fetch("/auth/login", method="POST", headers={"Content-Type": kind},
                             body=body.replace("EMAIL", "alice@example.org").replace("SOMEBODY", f"u{i}@example.org")).status
                for i in range(8)]
    assert statuses == [401] * 5 + [429] * 3


TARGETS = ["/auth/login", "//x/auth/login", "///auth/login", "//auth/login", "/auth//login", "/auth/login/", "/%61uth/login", "/auth%2Flogin",
           "/x/../auth/login", "/auth/./login", "http://x/auth/login", "http://x//y/auth/login", "/http://x/auth/login", "/auth/login#x",
           "/auth/login:80", "/auth/login;x=1", "/auth/login%00", "/auth/login?/../x", "/?/auth/login", "/index.php/auth/login",
           "/AUTH/LOGIN", "/api/v1/auth/login", "//x/api/v1/auth/login"]


@pytest.mark.parametrize("target", TARGETS)
def test_no_spelling_of_the_path_leads_to_a_login_that_is_not_counted(site, target):
    server = site()
    statuses = [server.fetch(target, method="POST", body=body, headers={"Content-Type": kind}).status for _ in range(6) for body, kind in (
        (urllib.parse.urlencode({"email": "alice@example.org", "password": WRONG}), "application/x-www-form-urlencoded"),
        (json.dumps({"email": "alice@example.org", "password": WRONG}), "application/json"))]
    assert statuses.count(401) <= 5


def test_known_and_unknown_accounts_get_the_same_answers(site):
    server = site()

    def face(answer):
        same = {name: value for name, value in answer.headers.items() if name not in ("Date", "Retry-After")}
        return answer.status, same, answer.body

    for _ in range(6):
        known, unknown = face(server.api()), face(server.api(email="nobodys@example.org"))
        assert known == unknown
    assert face(server.form(email="alice@example.org"))[2].replace("alice", "nobody") == \
        face(server.form(email="nobody@example.org"))[2]
