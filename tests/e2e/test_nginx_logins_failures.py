"""Failures are counted by the application's answers: charged on arrival, held while open, settled once."""
import base64
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import wait_until
from login_application import application, at_once

ADDRESS = "limits: { login: { by: address, allow: %s failures per 1h%s } }\n"


@pytest.fixture
def site(nginx, application):
    """An nginx in front of the application: site(policy, ...)."""
    def make(policy, location="", server="", **options):
        pass_on = f"location / {{ proxy_pass http://127.0.0.1:{application.port}; {location} }}"
        return nginx(policy, server=pass_on + server.replace("APPLICATION", str(application.port)), **options)
    return make


def post(server, status=401, **headers):
    return server.fetch("/login", method="POST", headers={"X-Status": str(status), **headers})


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_answers_that_mean_failure_are_counted(site, status):
    server = site(ADDRESS % (3, ""))
    assert [post(server, status).status for _ in range(5)] == [status] * 3 + [429] * 2


@pytest.mark.parametrize("status", [200, 201, 204, 302, 303, 404, 409, 500, 502, 503])
def test_successes_and_other_answers_of_the_application_are_given_back(site, application, status):
    server = site(ADDRESS % (3, ""))
    assert [post(server, status).status for _ in range(10)] == [status] * 10
    assert [post(server).status for _ in range(4)] == [401, 401, 401, 429]
    assert len(application.arrived) == 13


def test_a_success_clears_the_key_only_where_the_limit_says_so(site):
    keeps = site(ADDRESS % (3, ""))
    assert [post(keeps, status).status for status in (401, 401, 200, 401, 401)] == [401, 401, 200, 401, 429]
    resets = site(ADDRESS % (3, ", reset_on: success"))
    assert [post(resets, status).status for status in (401, 401, 200, 401, 401, 401, 401)] == [401, 401, 200] + [401] * 3 + [429]


def test_the_policy_says_which_statuses_are_failures(site):
    server = site("outcomes: { failure: { status: [418] }, success: { status: [200] } }\n" + ADDRESS % (2, ""))
    assert [post(server, status).status for status in (401, 401, 401, 418, 418, 418)] == [401] * 3 + [418] * 2 + [429]


BY_HEADER = "outcomes: { failure: { header.X-Answer-Outcome: failure }, success: { header.X-Answer-Outcome: success } }\n"


def test_an_outcome_in_a_header_is_taken_and_not_shown_to_the_client(site):
    server = site(BY_HEADER + ADDRESS % (2, ", reset_on: success"))
    failed = [post(server, 200, **{"X-Answer-Outcome": "Failure"}) for _ in range(3)]
    assert [answer.status for answer in failed] == [200, 200, 429]
    assert all("X-Answer-Outcome" not in answer.headers for answer in failed)
    assert [post(server, 401).status for _ in range(1)] == [429]


def test_with_outcomes_in_a_header_statuses_count_for_nothing(site):
    server = site(BY_HEADER + ADDRESS % (2, ""))
    assert [post(server, 401).status for _ in range(5)] == [401] * 5
    assert "X-Answer-Outcome" not in post(server, 200, **{"X-Answer-Outcome": "success"}).headers


# ---- answers that nginx replaces ----

@pytest.mark.parametrize("name,location,server,answered", [
    ("a page", "proxy_intercept_errors on; error_page 401 =200 /page.html;",
     "location = /page.html { internal; alias FOLDER/root/index.html; }", 200),
    ("another upstream", "proxy_intercept_errors on; error_page 401 = @other;",
     "location @other { proxy_pass http://127.0.0.1:APPLICATION; proxy_method GET; proxy_set_header X-Status 200; }", 200),
    ("a redirect", "proxy_intercept_errors on; error_page 401 =302 http://elsewhere.example/;", "", 302),
])
def test_a_replaced_failure_stays_one(site, name, location, server, answered):
    server = site(ADDRESS % (2, ", reset_on: success"), location=location, server=server)
    assert [post(server).status for _ in range(4)] == [answered] * 2 + [429] * 2, name


def test_an_answer_with_x_accel_redirect_counts_as_the_application_gave_it(site):
    server = site(ADDRESS % (2, ""), server="location /hidden/ { internal; alias FOLDER/root/; }")
    send = {"X-Accel-Redirect": "/hidden/none.html"}
    assert [post(server, 401, **send).status for _ in range(3)] == [404, 404, 429]
    other = site(ADDRESS % (2, ""), server="location /hidden/ { internal; alias FOLDER/root/; }")
    assert [post(other, 200, **send).status for _ in range(4)] == [404] * 4


def test_passwords_that_nginx_itself_asks_for_are_counted(nginx):
    guarded = "location / { auth_basic here; auth_basic_user_file FOLDER/users; }"
    server = nginx(ADDRESS % (2, ", reset_on: success"), run=False, server=guarded)
    (server.folder / "users").write_text("u:{PLAIN}right\n")
    server.start()

    def guess(user):
        return server.fetch("/", headers={"Authorization": f"Basic {user}"}).status

    right, wrong = "dTpyaWdodA==", "dTp3cm9uZw=="
    assert [guess(user) for user in (wrong, right, wrong, wrong, wrong)] == [401, 200, 401, 401, 429]


def test_an_error_page_of_nginx_with_a_status_of_success_is_none(nginx):
    guarded = "location / { auth_basic here; auth_basic_user_file FOLDER/users; error_page 401 =200 /page; } " \
              "location = /page { internal; alias FOLDER/root/index.html; }"
    server = nginx(ADDRESS % (2, ", reset_on: success"), run=False, server=guarded)
    (server.folder / "users").write_text("")
    server.start()
    assert server.statuses(4) == [200, 200, 429, 429]


def test_a_login_page_in_place_of_a_refused_auth_request_is_no_success(site, application):
    server = site(ADDRESS % (2, ", reset_on: success"), location="auth_request /auth; error_page 401 = @sign_in;",
                  server="location = /auth { internal; proxy_pass http://127.0.0.1:APPLICATION; } "
                         "location @sign_in { return 302 /sign-in; }")
    assert [post(server).status for _ in range(4)] == [302, 302, 429, 429]


# what nginx shows in place of its own refusal, and what the client sees then; the application would answer 200
SHOWN = [("error_page 401 @form;", 401), ("error_page 401 = @form;", 200), ("error_page 401 =403 @form;", 403),
         ("error_page 401 = /form;", 200), ("error_page 401 =302 /page;", 302), ("recursive_error_pages on; error_page 401 = @form;", 200)]
GUARDS = ["auth_basic here; auth_basic_user_file FOLDER/users;", "auth_request /auth;", "satisfy any; deny all; auth_request /auth;"]


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("shown,status", SHOWN, ids=[row[0] for row in SHOWN])
def test_what_is_shown_in_place_of_a_refusal_of_nginx_is_no_success(nginx, application, shown, status, guard):
    to = f"proxy_pass http://127.0.0.1:{application.port}"
    server = nginx("client: { account_from: [basic] }\nlimits: { login: { by: account, allow: 2 failures per 1h, reset_on: success } }\n", run=False,
                   server=f"location / {{ {guard} {shown} root FOLDER/root; }} location @form {{ {to}; }} location /form {{ drossel off; {to}; }} "
                          f"location = /page {{ internal; alias FOLDER/root/index.html; }} "
                          f"location = /auth {{ internal; {to}; proxy_set_header X-Status $http_x_auth; }}")
    (server.folder / "users").write_text("me:{PLAIN}right\n")
    server.start()

    def guess(password, path="/"):
        credentials = base64.b64encode(f"me:{password}".encode()).decode()
        return server.fetch(path, headers={"Authorization": "Basic " + credentials, "X-Status": "200",
                                           "X-Auth": "204" if password == "right" else "401"}).status

    assert [guess("wrong"), guess("right"), guess("wrong"), guess("wrong")] == [status, 200, status, status]
    assert [guess("wrong"), guess("right")] == [429, 429]


def test_an_application_behind_an_error_page_is_asked_for_the_outcome(site, application):
    server = site(ADDRESS % (2, ""), server="location /old/ { error_page 404 = @old; root FOLDER/root; } location @old { proxy_pass http://127.0.0.1:APPLICATION; }")
    assert [server.fetch("/old/login", headers={"X-Status": status}).status for status in ("200", "401", "302", "401", "401")] == \
        [200, 401, 302, 401, 429]


def test_of_several_upstreams_the_last_one_asked_counts(nginx, application):
    server = nginx(ADDRESS % (2, ""), http="upstream two { server 127.0.0.1:1; server 127.0.0.1:%d backup; }" % application.port,
                   server="location / { proxy_pass http://two; proxy_next_upstream error non_idempotent; }")
    assert [post(server, 200).status for _ in range(5)] == [200] * 5
    assert [post(server).status for _ in range(3)] == [401, 401, 429]


# ---- no answer of the application ----

def test_the_charge_stays_when_the_application_dies_or_cannot_be_reached(site, nginx):
    server = site(ADDRESS % (2, ""))
    assert [post(server, **{"X-Die": "1"}).status for _ in range(4)] == [502, 502, 429, 429]
    nobody = nginx(ADDRESS % (2, ""), server="location / { proxy_pass http://127.0.0.1:1; }")
    assert nobody.statuses(4) == [502, 502, 429, 429]


def test_the_charge_stays_when_the_application_is_too_slow(site, application):
    application.pause = 1.5
    server = site(ADDRESS % (1, ""), location="proxy_read_timeout 200ms;")
    assert post(server, 200).status == 504
    assert post(server, 200).status == 429


def test_the_charge_stays_when_the_client_does_not_wait_for_the_answer(site, application):
    application.pause = 0.3
    server = site(ADDRESS % (1, ", hold: 0"))
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n")
    wait_until(lambda: application.arrived, "the request at the application")
    client.close()
    assert "499" in server.access_log(1)[0]
    assert post(server, 200).status == 429


def test_an_answer_from_a_second_upstream_after_the_first_died_counts(site):
    server = site(ADDRESS % (2, ""), location="error_page 502 = @other;",
                  server="location @other { proxy_pass http://127.0.0.1:APPLICATION; proxy_set_header X-Die ''; }")
    assert [post(server, 200, **{"X-Die": "1"}).status for _ in range(5)] == [200] * 5
    assert [post(server, 401, **{"X-Die": "1"}).status for _ in range(3)] == [401, 401, 429]


def test_a_killed_worker_leaves_its_charges_and_nothing_hangs(site, application):
    application.pause = 30
    server = site(ADDRESS % (1, ", hold: 300ms"))
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n")
    wait_until(lambda: application.arrived, "the request at the application")
    before = server.workers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.workers() and not server.workers() & before, "a new worker")
    application.pause = 0
    start = time.monotonic()
    assert post(server, 200).status == 429
    assert time.monotonic() - start < 5
    client.close()


# ---- held ----

def test_of_a_hundred_wrong_guesses_at_once_on_a_hundred_connections_five_arrive(site, application):
    application.pause = 0.2
    server = site(ADDRESS % (5, ", hold: 20s"), workers=4)
    statuses = at_once(100, lambda _: post(server).status)
    assert sorted(statuses) == [401] * 5 + [429] * 95
    assert len(application.arrived) == 5


def test_of_a_hundred_wrong_guesses_at_once_on_one_connection_of_http2_five_arrive(site, application):
    application.pause = 0.2
    server = site(ADDRESS % (5, ", hold: 20s"), workers=4, listen="http2")
    out = subprocess.run(["h2load", "-n100", "-c1", "-m100", "-H", ":method: POST", "-H", "x-status: 401",
                          f"http://127.0.0.1:{server.port}/login"], capture_output=True, text=True, timeout=60).stdout
    assert "100 4xx" in out and "100 done" in out
    assert len(application.arrived) == 5


def test_people_with_the_right_password_behind_one_address_are_never_refused(site, application):
    application.pause = 0.2
    server = site(ADDRESS % (5, ", hold: 10s"), workers=4)
    times = [0.0] * 10

    def log_in(i):
        start = time.monotonic()
        status = post(server, 302).status
        times[i] = time.monotonic() - start
        return status

    assert at_once(10, log_in) == [302] * 10
    application.pause = 0
    assert [post(server, 302).status for _ in range(30)] == [302] * 30
    assert sorted(times)[4] < sorted(times)[5], "half of them were held"


def test_a_held_request_goes_on_as_soon_as_others_are_settled(site, application):
    server = site(ADDRESS % (1, ", hold: 30s"), workers=2)
    application.pause = 0.3
    start = time.monotonic()
    assert at_once(2, lambda _: post(server, 200).status) == [200, 200]
    assert 0.6 <= time.monotonic() - start < 10
    delays = sorted(float(line.split("|")[4] or 0) for line in server.access_log(2))
    assert delays[0] == 0 and delays[1] >= 0.2


def test_held_requests_go_on_in_the_order_in_which_they_came(site, application):
    """Each outcome wakes those who wait: to ask by themselves, each at his own time, would mix them."""
    application.gate = threading.Event()
    server = site(ADDRESS % (1, ", hold: 30s"))
    request = b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nX-Number: %d\r\nContent-Length: 0\r\n\r\n"
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(12)]
    clients[0].sendall(request % 0)
    wait_until(lambda: application.arrived, "the request at the application")
    for number, client in enumerate(clients[1:], 1):
        client.sendall(request % number)
        time.sleep(0.005)
    application.pause = 0.005
    application.gate.set()
    for client in clients:
        client.settimeout(20)
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.close()
    assert [int(arrived.headers["X-Number"]) for arrived in application.arrived] == list(range(12))
    assert not server.lines("alert")


def test_held_requests_are_decided_when_the_hold_is_over(site, application):
    application.gate = threading.Event()
    server = site(ADDRESS % (1, ", hold: 400ms"), workers=2)
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n")
    wait_until(lambda: application.arrived, "the request at the application")
    start = time.monotonic()
    assert at_once(20, lambda _: post(server, 200).status) == [429] * 20
    assert 0.4 <= time.monotonic() - start < 8
    application.gate.set()
    assert client.recv(100).startswith(b"HTTP/1.1 200")
    client.close()
    wait_until(lambda: post(server, 200).status == 200, "the charge given back")


def test_nothing_hangs_when_the_application_dies_while_requests_are_held(site, application):
    application.pause, application.dies = 0.3, True
    server = site(ADDRESS % (3, ", hold: 20s"), workers=2)
    assert sorted(at_once(30, lambda _: post(server).status)) == [429] * 27 + [502] * 3
    assert len(application.arrived) == 3


def test_a_client_that_leaves_while_it_is_held_takes_nothing_with_it(site, application):
    application.gate = threading.Event()
    server = site(ADDRESS % (1, ", hold: 20s"))
    request = b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n"
    first = socket.create_connection(("127.0.0.1", server.port))
    first.sendall(request)
    wait_until(lambda: application.arrived, "the request at the application")
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for client in held:
        client.sendall(request)
        client.close()
    server.access_log(5)
    assert all(line.startswith("499") for line in server.access_log(5))
    application.gate.set()
    assert first.recv(100).startswith(b"HTTP/1.1 200")
    first.close()
    assert [post(server, 200).status for _ in range(3)] == [200] * 3
    assert len(application.arrived) == 4
    assert not server.lines("alert")


def test_the_worker_serves_others_while_requests_are_held(site, application):
    application.gate = threading.Event()
    server = site("exempt: { paths: [/file.txt] }\n" + ADDRESS % (1, ", hold: 20s"),
                  server="location = /file.txt { }")
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for client in clients:
        client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n")
    wait_until(lambda: application.arrived, "the request at the application")
    assert server.statuses(20, "/file.txt") == [200] * 20
    application.gate.set()
    for client in clients:
        client.settimeout(20)
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.close()


def test_a_stream_of_http2_that_is_reset_while_it_is_held_takes_nothing_with_it(site, application):
    application.gate = threading.Event()
    server = site(ADDRESS % (1, ", hold: 20s"), listen="http2")
    curl = ["curl", "-s", "--http2-prior-knowledge", "-d", "a=b", "-H", "X-Status: 200", "-o", "/dev/null", "-w", "%{http_code}"]
    first = subprocess.Popen([*curl, f"http://127.0.0.1:{server.port}/login"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: application.arrived, "the request at the application")
    for _ in range(3):
        assert subprocess.run([*curl, "-m", "0.2", f"http://127.0.0.1:{server.port}/login"], capture_output=True, text=True,
                              timeout=20).returncode == 28
    server.access_log(3)
    application.gate.set()
    assert first.communicate(timeout=20)[0] == "200"
    assert len(application.arrived) == 1
    assert not server.lines("alert")


def test_held_requests_outlive_a_reload(site, application):
    application.gate = threading.Event()
    server = site(ADDRESS % (1, ", hold: 20s"))
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
    for client in clients:
        client.settimeout(20)
        client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 200\r\nContent-Length: 0\r\n\r\n")
    wait_until(lambda: application.arrived, "the request at the application")
    before = server.workers()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.workers() - before, "a new worker")
    assert len(application.arrived) == 1
    application.gate.set()
    for client in clients:
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.close()
    assert [post(server).status for _ in range(2)] == [401, 429]


def test_answers_are_looked_at_by_workers_that_are_started_after_a_reload_has_failed(site, application):
    server = site(ADDRESS % (2, ""))
    server.write_policy("limits: { page: { by: address, allow: 1000 per 1s } }\n")
    server.write_config(server=f"location / {{ proxy_pass http://127.0.0.1:{application.port}; }} listen 192.0.2.1:1;")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.lines("192.0.2.1:1 failed"), "the reload fails", 15)
    before = server.workers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.workers() and not server.workers() & before, "a new worker")
    assert [post(server, 200).status for _ in range(5)] == [200] * 5
    assert [post(server).status for _ in range(3)] == [401, 401, 429]


# ---- challenges ----

def test_a_challenge_goes_through_marked_or_is_sent_elsewhere(site, application):
    policy = "limits: { slow: { by: site, allow: 2 failures per 1h, action: challenge%s } }\n"
    marked = site(policy % "")
    assert [post(marked).status for _ in range(4)] == [401] * 4
    assert [arrived.headers.get("Drossel-Challenge") for arrived in application.arrived] == [None, None, "slow", "slow"]
    sent = site(policy % ", challenge_to: /verify")
    answers = [post(sent) for _ in range(4)]
    assert [answer.status for answer in answers] == [401, 401, 303, 303]
    assert answers[2].headers["Location"].endswith("/verify")
    get = sent.fetch("/login", headers={"X-Status": "200"})
    assert get.status == 302 and get.headers["Location"].endswith("/verify")


def test_a_redirect_to_a_challenge_is_no_success_of_anybody(site):
    server = site("limits:\n"
                  "  slow: { by: site, allow: 1 failures per 1h, action: challenge, challenge_to: /verify }\n"
                  "  login: { by: address, allow: 2 failures per 1h, reset_on: success }\n")
    assert [post(server).status for _ in range(3)] == [401, 303, 303]
    assert server.fetch("/", headers={"X-Status": "200"}).status == 302
