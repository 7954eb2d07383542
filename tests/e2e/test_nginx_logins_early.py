"""A login whose body comes with its header: its key is found before its location is, and nothing may depend on that."""
import socket
import threading

import pytest

from conftest import wait_until
from login_application import application

POLICY = ("client: { account_from: [form.email, json.email] }\n"
          "limits: { login: { by: [account, address], allow: 2 failures per 1h } }\n")


@pytest.fixture
def site(nginx, application):
    """site(server="", http="", location=""): an nginx in front of the application."""
    def make(server="", location="", **options):
        proxy = f"proxy_pass http://127.0.0.1:{application.port};"
        server = server.replace("PROXY", proxy)
        return nginx(POLICY, server=f"location / {{ {proxy} {location} }} {server}", **options)
    return make


def post(server, path="/login", email="bob", body=None, **fields):
    """The answer's head to a login with the wrong password, of which header and body come in one piece."""
    body = body if body is not None else f"a=1&email={email}&password=wrong".encode()
    fields = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": len(body), **fields}
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(head.encode() + b"\r\n" + body)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    return answer.decode(errors="replace")


def status(*arguments, **fields):
    return int(post(*arguments, **fields).split()[1])


def statuses(count, *arguments, **fields):
    return [status(*arguments, **fields) for _ in range(count)]


def test_failures_of_one_account_are_counted_and_a_success_gives_the_charge_back(site):
    server = site()
    assert [status(server, body=b"email=bob&password=right") for _ in range(5)] == [302] * 5
    assert statuses(4, server) == [401, 401, 429, 429]
    assert status(server, email="eve") == 401


@pytest.mark.parametrize("body", [b'{"email":"bob","password":"wrong"}', b"email=b%6Fb&password=wrong", b"p=1&EMAIL=BOB"])
def test_spellings_are_one_account(site, body):
    server = site()
    kind = "application/json" if body.startswith(b"{") else "application/x-www-form-urlencoded"
    assert [status(server, body=body, **{"Content-Type": kind}), status(server)] == [401, 401]
    assert [status(server), status(server, body=body, **{"Content-Type": kind})] == [429, 429]


def succeed(server):
    """A key has a slot from its first login on, and only then goes the short way."""
    assert status(server, body=b"email=bob&password=right") == 302


def test_where_it_is_off_nothing_is_counted(site):
    server = site(server="location /off { drossel off; PROXY }")
    succeed(server)
    assert statuses(5, server, "/off") == [401] * 5
    assert statuses(3, server) == [401, 401, 429]
    assert status(server, "/off") == 401


@pytest.mark.parametrize("directive", ["return 204;", "rewrite ^ /gone; return 204;"])
def test_what_the_server_answers_by_itself_before_anything_is_asked_is_not_counted(site, directive):
    for where in ("server", "location"):
        location = f"if ($http_x_end) {{ {directive} }}"
        server = site(server=location) if where == "server" else site(location=location)
        succeed(server)
        assert statuses(4, server, **{"X-End": "1"}) == [204] * 4, where
        assert statuses(3, server) == [401, 401, 429], where


REAL = "set_real_ip_from 127.0.0.1; real_ip_header Real-Client;"


@pytest.mark.parametrize("where", ["http", "location"])
def test_the_real_client_is_counted_wherever_it_is_recovered(site, where):
    server = site(http=REAL) if where == "http" else site(location=REAL)
    succeed(server)
    for last in (1, 2):
        assert statuses(3, server, **{"Real-Client": f"203.0.113.{last}"}) == [401, 401, 429]
        assert statuses(3, server, **{"Real-Client": f"2001:db8:0:{last}::1"}) == [401, 401, 429]
    assert status(server) == 401


@pytest.mark.parametrize("where", ["server", "location"])
def test_an_account_in_a_query_that_rewriting_makes_is_counted_too(site, where):
    rewrite = "if ($http_x_to) { rewrite ^/login$ /in?email=eve break; }"
    server = site(server=rewrite) if where == "server" else site(location=rewrite)
    succeed(server)
    assert statuses(2, server, **{"X-To": "1"}) == [401, 401]
    assert [status(server, email="bob"), status(server, email="eve"), status(server, email="ann")] == [429, 429, 401]


@pytest.mark.parametrize("where", ["server", "location"])
def test_nothing_is_told_of_it_before_it_is_judged(site, where):
    early = "set $early \"$drossel_client,$drossel_verdict,$drossel_limit\";"
    server = site(location=early if where == "location" else "", server=(early if where == "server" else "") +
                  "add_header X-Early \"[$early]\" always; add_header X-Late \"$drossel_client,$drossel_verdict\" always;")
    head = post(server)
    assert "X-Early: [,,]" in head and "X-Late: 127.0.0.1,PASSED" in head


def test_errors_before_a_location_is_ready_are_no_failures(site):
    server = site(server="error_page 413 /large; location = /large { return 413; } location /small { client_max_body_size 5; PROXY }")
    succeed(server)
    assert statuses(5, server, "/small") == [413] * 5
    assert statuses(3, server) == [401, 401, 429]


def test_a_client_that_goes_is_charged(site, application):
    server = site()
    succeed(server)
    application.arrived.clear()
    application.gate = threading.Event()
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", server.port), 10) as client:
            body = b"email=bob&password=right"
            client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body) + body)
            wait_until(lambda: application.arrived, "the request at the application")
            application.arrived.clear()
    application.gate.set()
    assert status(server) == 429


def test_a_reload_takes_the_way_that_the_new_policy_has(site):
    server = site()
    assert statuses(2, server) == [401, 401]
    path = server.folder / "policy.yaml"
    path.write_text(path.read_text() + "  # the same\n")
    server.reload()
    assert status(server) == 429
    path.write_text(path.read_text().replace("by: [account, address]", "by: account"))
    server.reload()
    assert statuses(3, server) == [401, 401, 429]
