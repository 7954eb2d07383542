"""Logins as they are attacked and used in the field: the guesser is slowed, the owner never locked out."""
import http.client
import subprocess

import pytest


from login_application import application, at_once

CLIENT = "client: { account_from: [form.email, json.email], trusted: [127.0.0.1], address_from: X-Forwarded-For }\n"
LOGIN = "classes: { login: { method: POST, path: /login } }\n"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def site(nginx, application):
    def make(policy, **options):
        return nginx(policy, server=f"location / {{ proxy_pass http://127.0.0.1:{application.port}; }}", **options)
    return make


def log_in(server, email, password, address="203.0.113.1", connection=None):
    return server.fetch("/login", method="POST", body=f"email={email}&password={password}", connection=connection,
                        headers={**FORM, "X-Forwarded-For": address}).status


def test_an_office_behind_one_address_logs_in_undisturbed(site):
    server = site(CLIENT + LOGIN + "limits: { login: { for: login, by: address, allow: 5 failures per 20s } }\n", workers=2)
    assert at_once(10, lambda i: log_in(server, f"u{i}", "right")) == [302] * 10


@pytest.mark.parametrize("kind", ["together", "one after another"])
def test_forty_people_with_the_right_passwords_behind_one_address_are_never_refused(site, application, kind):
    application.pause = 0.1
    server = site(CLIENT + LOGIN + "limits: { login: { for: login, by: address, allow: 5 failures per 1h, hold: 10s } }\n", workers=4)
    if kind == "together":
        assert at_once(10, lambda i: log_in(server, f"u{i}", "right")) == [302] * 10
    assert [log_in(server, f"u{i}", "right") for i in range(10, 40)] == [302] * 30
    assert [log_in(server, "u", "wrong") for _ in range(6)] == [401] * 5 + [429]


def test_the_victim_is_not_locked_out_by_an_attacker_elsewhere(site):
    server = site(CLIENT + LOGIN + "limits: { login: { for: login, by: [account, address], allow: 5 failures per 1h, block: 1h } }\n")
    assert [log_in(server, "u", "wrong", "198.51.100.1") for _ in range(6)] == [401] * 5 + [429]
    assert log_in(server, "u", "right", "203.0.113.1") == 302


def test_a_thousand_addresses_with_one_guess_each_are_challenged_and_the_owner_gets_in(site, application):
    server = site(CLIENT + LOGIN +
                  "limits:\n"
                  "  near: { for: login, by: [account, address], allow: 5 failures per 15m, block: 15m, reset_on: success }\n"
                  "  slow: { for: login, by: account, allow: 100 failures per 24h, action: challenge }\n")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    statuses = [log_in(server, "owner", "wrong", f"198.18.{i // 250}.{i % 250 + 1}", connection) for i in range(1000)]
    connection.close()
    assert statuses == [401] * 1000
    challenged = [arrived.headers.get("Drossel-Challenge") for arrived in application.arrived]
    assert challenged == [None] * 100 + ["slow"] * 900
    assert log_in(server, "owner", "right", "203.0.113.1") == 302
    assert application.arrived[-1].headers.get("Drossel-Challenge") == "slow"
    assert log_in(server, "somebody", "right", "203.0.113.1") == 302
    assert "Drossel-Challenge" not in application.arrived[-1].headers


def test_guesses_spread_over_accounts_raise_the_alarm_of_the_site(site, application):
    server = site(CLIENT + LOGIN + "limits: { spray: { for: login, by: site, allow: 20 failures per 10m, action: challenge } }\n")
    for i in range(25):
        assert log_in(server, f"u{i}", "wrong", f"198.51.100.{i}") == 401
    assert sum("Drossel-Challenge" in arrived.headers for arrived in application.arrived) == 5


def test_an_attacker_with_an_account_of_his_own_does_not_wash_his_address(site):
    server = site(CLIENT + LOGIN +
                  "limits:\n"
                  "  near: { for: login, by: [account, address], allow: 3 failures per 1h, reset_on: success }\n"
                  "  address: { for: login, by: address, allow: 10 failures per 1h }\n")
    statuses = []
    for i in range(12):
        statuses.append(log_in(server, f"victim{i}", "wrong"))
        if statuses[-1] == 401:
            assert log_in(server, "mine", "right") in (302, 429)
    assert statuses == [401] * 10 + [429] * 2


def test_guesses_at_a_human_pace_that_are_answered_with_200_are_caught_by_path_and_method(site):
    server = site("classes: { xmlrpc: { method: POST, path: /xmlrpc.php } }\n"
                  "limits: { xmlrpc: { for: xmlrpc, by: address, allow: 30 per 1h } }\n")
    statuses = [server.fetch("/xmlrpc.php", method="POST", headers={"X-Status": "200"}).status for _ in range(40)]
    assert statuses == [200] * 30 + [429] * 10
    assert server.fetch("/xmlrpc.php", headers={"X-Status": "200"}).status == 200


@pytest.mark.parametrize("allow", ["70 per 100s", "70 failures per 100s, hold: 20s"])
def test_of_a_thousand_requests_at_once_exactly_as_many_arrive_as_the_limit_allows(site, application, tmp_path, allow):
    server = site(CLIENT + LOGIN + f"limits: {{ login: {{ for: login, by: account, allow: {allow} }} }}\n", workers=4,
                  main="worker_rlimit_nofile 2048;")
    body = tmp_path / "body"
    body.write_text("email=u&password=wrong")
    out = subprocess.run(["h2load", "--h1", "-n1000", "-c100", "-t1", "-d", body, "-H", f"content-type: {FORM['Content-Type']}",
                          f"http://127.0.0.1:{server.port}/login"], capture_output=True, text=True, timeout=60).stdout
    assert "1000 4xx" in out, out
    assert len(application.arrived) == 70


@pytest.mark.parametrize("protocol", ["--h1 -c100", "-c1 -m100"])
def test_of_a_hundred_guesses_for_one_account_at_once_five_arrive(site, application, tmp_path, protocol):
    application.pause = 0.1
    server = site(CLIENT + LOGIN + "limits: { login: { for: login, by: [account, address], allow: 5 failures per 15m, hold: 20s } }\n",
                  workers=4, listen="" if "--h1" in protocol else "http2")
    body = tmp_path / "body"
    body.write_text("email=u&password=wrong")
    out = subprocess.run(["h2load", *protocol.split(), "-n100", "-d", body, "-H", f"content-type: {FORM['Content-Type']}",
                          f"http://127.0.0.1:{server.port}/login"], capture_output=True, text=True, timeout=60).stdout
    assert "100 4xx" in out, out
    assert len(application.arrived) == 5


def test_who_does_not_come_through_the_proxy_is_refused_with_403(site, nginx):
    locked = CLIENT.replace("trusted: [127.0.0.1]", "require_trusted: true, trusted: [192.0.2.1]")
    assert log_in(site(locked + LOGIN + "limits: { a: { by: address, allow: 5 per 1s } }\n"), "u", "right") == 403
    assert log_in(site(locked.replace("192.0.2.1", "127.0.0.1") + LOGIN + "limits: { a: { by: address, allow: 5 per 1s } }\n"),
                  "u", "right") == 302
