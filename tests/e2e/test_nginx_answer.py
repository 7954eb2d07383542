"""What a refused, delayed, dropped or challenged client meets."""
import email.utils
import http.client
import json
import socket
import subprocess
import threading
import time

import pytest

TWO = "limits: { page: { by: address, allow: 2 per 1h } }\n"
OPEN = "answer: { reveal: everyone }\n"


def test_the_request_after_the_last_one_is_refused_with_the_contract(nginx):
    server = nginx(OPEN + TWO)
    assert server.statuses(2) == [200, 200]
    refused = server.fetch()
    assert refused.status == 429
    assert 3590 <= int(refused.headers["Retry-After"]) <= 3600 * 1.1 + 1
    assert refused.headers["Cache-Control"] == "no-store"
    assert '"page";r=0' in refused.headers["RateLimit"]
    assert '"page";q=2' in refused.headers["RateLimit-Policy"]
    assert int(refused.headers["Content-Length"]) == len(refused.body) > 0


def test_quota_numbers_stay_hidden_from_strangers(nginx):
    server = nginx(TWO)
    server.statuses(2)
    refused = server.fetch()
    assert refused.status == 429 and refused.headers["Retry-After"]
    assert "RateLimit" not in refused.headers and "RateLimit-Policy" not in refused.headers


@pytest.mark.parametrize("accept, kind", [
    ("application/problem+json", "application/problem+json"),
    ("application/json", "json"),
    ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
    ("text/plain", "text/plain"),
    (None, "application/problem+json"),
])
def test_the_body_follows_the_accept_field(nginx, accept, kind):
    server = nginx(TWO)
    server.statuses(2)
    refused = server.fetch(headers={"Accept": accept} if accept else {})
    assert refused.status == 429
    assert kind in refused.headers["Content-Type"]
    if "json" in kind:
        assert json.loads(refused.body)["status"] == 429
    if "html" in kind:
        assert "<html" in refused.body and "http://" not in refused.body.replace("http://www.w3.org", "")


@pytest.mark.parametrize("lines, kind", [
    (["image/png", "text/html"], "text/html"),
    (["text/plain;q=0.5", "text/html;q=0.4", "application/json;q=0.9"], "application/problem+json"),
    (["text/html;q=0", "", "*/*;q=0.1, text/plain"], "text/plain"),
    (["", "text/html"], "text/html"),
    (["text/html", "text/html;q=0.2"], "text/html"),
])
def test_several_lines_of_accept_are_one_list(nginx, lines, kind):
    server = nginx(TWO)
    server.statuses(2)
    headers = http.client.HTTPMessage()
    for line in lines:
        headers["Accept"] = line
    refused = server.fetch(headers=headers)
    assert refused.status == 429
    assert kind in refused.headers["Content-Type"]


def test_head_is_refused_without_a_body_and_the_connection_lives_on(nginx):
    server = nginx(TWO)
    server.statuses(2)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        refused = server.fetch(method="HEAD", connection=connection)
        assert refused.status == 429 and refused.headers["Retry-After"] and refused.body == ""
    assert server.fetch(connection=connection).body != ""
    connection.close()


@pytest.mark.parametrize("size", [10, 300_000])
def test_the_connection_stays_usable_after_a_refused_upload(nginx, size):
    server = nginx(TWO)
    server.statuses(2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        stream = client.makefile("rb")
        for _ in range(3):
            client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + b"GET /x " * (size // 7) +
                           b"z" * (size % 7))
            assert stream.readline().startswith(b"HTTP/1.1 429")
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            stream.read(length)


def test_a_body_of_none_is_no_body(nginx):
    server = nginx("answer: { body: none }\n" + TWO)
    server.statuses(2)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(2):
        refused = server.fetch(connection=connection)
        assert (refused.status, refused.body, refused.headers["Content-Length"]) == (429, "", "0")
    connection.close()


def test_the_policy_chooses_status_and_json(nginx):
    server = nginx("answer: { status: 503, reveal: everyone, body: json, json: '{\"error\":\"slow down\",\"limit\":\"${limit}\"}' }\n" + TWO)
    server.statuses(2)
    refused = server.fetch()
    assert refused.status == 503
    assert json.loads(refused.body) == {"error": "slow down", "limit": "page"}


def test_error_page_still_works_and_keeps_our_fields(nginx):
    server = nginx(OPEN + TWO, server="error_page 429 /busy.html;")
    (server.folder / "root" / "busy.html").write_text("<p>busy</p>\n")
    server.statuses(2)
    refused = server.fetch()
    assert (refused.status, refused.body) == (429, "<p>busy</p>\n")
    assert refused.headers["Retry-After"] and refused.headers["Cache-Control"] == "no-store"
    assert refused.headers.get_all("Retry-After") == [refused.headers["Retry-After"]]
    assert server.fetch("/missing").status == 429


def test_error_page_may_be_a_named_location_with_another_status(nginx):
    server = nginx(TWO, server="error_page 429 =420 @busy; location @busy { return 420 'calm'; }")
    server.statuses(2)
    refused = server.fetch()
    assert (refused.status, refused.body) == (420, "calm")


def test_an_error_page_for_another_status_does_not_hide_our_body(nginx):
    server = nginx(TWO, server="error_page 404 /none.html;")
    server.statuses(2)
    assert server.fetch(headers={"Accept": "text/plain"}).body.strip() != ""
    assert server.fetch("/missing").status == 429


def test_a_refused_cross_origin_request_stays_readable(nginx):
    server = nginx(TWO, server="""add_header Access-Control-Allow-Origin https://shop.example always;
        add_header Access-Control-Expose-Headers 'Retry-After, RateLimit, RateLimit-Policy' always;""")
    server.statuses(2)
    refused = server.fetch(headers={"Origin": "https://shop.example"})
    assert refused.status == 429
    assert refused.headers["Access-Control-Allow-Origin"] == "https://shop.example"
    assert "Retry-After" in refused.headers["Access-Control-Expose-Headers"]


def test_cors_fields_may_be_added_to_refusals_only(nginx):
    server = nginx(TWO, http="map $drossel_verdict $cors_origin { REFUSED https://shop.example; }",
                   server="add_header Access-Control-Allow-Origin $cors_origin always;")
    answers = [server.fetch() for _ in range(3)]
    assert [answer.headers.get("Access-Control-Allow-Origin") for answer in answers] == [None, None, "https://shop.example"]


def test_http2_is_judged_and_refused_stream_by_stream(nginx):
    server = nginx("limits: { page: { by: address, allow: 3 per 1h } }\n", listen="http2")
    out = subprocess.run(["nghttp", "-v", "-n", "-m", "5", f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True,
                         timeout=20).stdout
    # the first stream is opened alone, so that later ones are refused on the same connection
    assert out.count(":status: 200") == 3 and out.count(":status: 429") == 2, out
    assert "retry-after:" in out and "cache-control: no-store" in out


def test_http2_head_and_upload_are_refused_cleanly(nginx):
    server = nginx("limits: { page: { by: address, allow: 0 per 1h } }\n", listen="http2")
    body = server.folder / "upload"
    body.write_text("x" * 1000)
    for extra in (["-H", ":method: HEAD"], ["-d", str(body)]):
        out = subprocess.run(["nghttp", "-v", "-n", *extra, f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True,
                             timeout=20).stdout
        assert ":status: 429" in out and "PROTOCOL_ERROR" not in out, out
    out = subprocess.run(["curl", "-sI", "--http2-prior-knowledge", "-w", "%{http_version} %{http_code}", "-o", "/dev/null",
                          f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, timeout=20)
    assert (out.returncode, out.stdout) == (0, "2 429")


@pytest.mark.parametrize("size", [1, 500, 8000])
def test_the_answer_to_a_form_of_http2_arrives(nginx, size):
    """curl loses an answer that comes before the end of what it sends."""
    server = nginx("limits: { page: { by: address, allow: 0 per 1h } }\n", listen="http2", server="""
        location /own { error_page 429 =430 /sorry; } location = /sorry { try_files /file.txt =404; }""")
    for path, status in (("/", "429"), ("/own", "430")):
        for _ in range(10):
            out = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-w", " %{http_code}", "-d", "x" * size, "-m", "10",
                                  f"http://127.0.0.1:{server.port}{path}"], capture_output=True, text=True, timeout=20)
            assert (out.returncode, out.stdout.split()[-1]) == (0, status)
            assert ("quota-exceeded" if status == "429" else "a small file") in out.stdout
    assert [line.split()[1].split("|")[0] for line in server.access_log(20)] == ["REFUSED"] * 20


def test_a_form_of_http2_that_is_sent_elsewhere_learns_of_it(nginx):
    server = nginx("limits: { page: { by: address, allow: 0 per 1h, action: challenge, challenge_to: /verify } }\n", listen="http2")
    for _ in range(10):
        out = subprocess.run(["curl", "-s", "-o", "/dev/null", "--http2-prior-knowledge", "-w", "%{http_code} %{redirect_url}", "-d", "a=b", "-m", "10",
                              f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, timeout=20)
        assert (out.returncode, out.stdout) == (0, f"303 http://127.0.0.1:{server.port}/verify")


def test_drop_closes_without_an_answer(nginx):
    server = nginx("limits: { page: { by: address, allow: 2 per 1h, action: drop } }\n")
    server.statuses(2)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        server.fetch()
    assert server.access_log(3)[2].startswith("444 DROPPED|page")


def test_drop_resets_a_stream_of_http2(nginx):
    server = nginx("limits: { page: { by: address, allow: 0 per 1h, action: drop } }\n", listen="http2")
    out = subprocess.run(["nghttp", "-v", "-n", f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, timeout=20)
    assert ":status:" not in out.stdout and "recv RST_STREAM" in out.stdout, out.stdout


def test_a_delayed_request_waits_and_its_worker_does_not(nginx):
    server = nginx("""classes: { slow: { path: /file.txt } }
limits: { page: { for: slow, by: address, allow: 10 per 5s, algorithm: leaky, burst: 3, delay: 0, action: delay } }
""")
    took, beginning = {}, time.monotonic()

    def ask(number):
        assert server.fetch("/file.txt").status == 200
        took[number] = time.monotonic() - beginning

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for client in clients:
        client.start()
    time.sleep(0.1)
    for _ in range(20):
        assert server.fetch("/").status == 200
    free = time.monotonic() - beginning
    for client in clients:
        client.join()
    waits = sorted(took.values())
    assert waits[0] < 0.4 and 0.45 < waits[1] < 0.95 and 0.95 < waits[2] < 1.45 and 1.45 < waits[3] < 2.5
    assert free < 0.5
    lines = [line for line in server.access_log(24) if "DELAYED" in line]
    assert len(lines) == 3 and all(0.1 < float(line.split("|")[4]) <= 1.5 for line in lines)


def test_a_client_that_leaves_during_its_delay_harms_nobody(nginx):
    server = nginx("limits: { page: { by: address, allow: 10 per 5s, algorithm: leaky, burst: 5, delay: 0, action: delay } }\n")
    assert server.fetch().status == 200
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.05)
    assert server.fetch().status == 200
    assert not server.lines("[alert]") and not server.lines("[crit]")


def test_a_challenge_goes_on_with_a_header_that_names_the_limit(nginx):
    server = nginx("limits: { page: { by: address, allow: 2 per 1h, action: challenge } }\n", server="""
        location = /app { proxy_pass http://127.0.0.1:PORT/echo; }
        location = /echo { return 200 '[$http_drossel_challenge]'; }""")
    assert [server.fetch("/app").body for _ in range(3)] == ["[]", "[]", "[page]"]
    assert server.fetch("/app").status == 200


@pytest.mark.parametrize("headers", [
    {"Drossel-Challenge": "forged"},
    {"A": "1", "drossel-challenge": "forged", "Z": "2"},
    {"A": "1", "Drossel_Challenge": "forged"},
    {**{f"A{i}": str(i) for i in range(40)}, "DROSSEL-CHALLENGE": "forged", "Cookie": "a=b", "X-Forwarded-For": "192.0.2.1"},
    {**{f"A{i}": str(i) for i in range(17)}, "Drossel-Challenge": "forged"},
    {**{f"A{i}": str(i) for i in range(18)}, "Drossel-Challenge": "forged", "Drossel_Challenge": "again", "Z": "2"},
])
def test_a_forged_challenge_never_reaches_the_application(nginx, headers):
    names = [name for name in headers if "challenge" not in name.lower()]
    seen = "".join(f"$http_{name.lower().replace('-', '_')};" for name in names)
    server = nginx("limits: { page: { by: address, allow: 100 per 1h } }\n", http="underscores_in_headers on;", server=f"""
        location = /app {{ proxy_pass http://127.0.0.1:PORT/echo; }}
        location = /off {{ drossel off; proxy_pass http://127.0.0.1:PORT/echo; }}
        location = /echo {{ return 200 '[$http_drossel_challenge]{seen}'; }}
        location = /own {{ add_header X-Seen "[$http_drossel_challenge]$host;{seen}"; }}""")
    (server.folder / "root" / "own").write_text("")
    values = "".join(f"{headers[name]};" for name in names)
    assert server.fetch("/app", headers=headers).body == "[]" + values
    assert server.fetch("/off", headers=headers).body == "[]" + values
    assert server.fetch("/own", headers=headers).headers["X-Seen"] == "[]127.0.0.1;" + values


def test_mark_and_dry_run_let_everything_through(nginx):
    for word, decides, keys in (("MARKED", "page", "action: mark"), ("REFUSED_DRY_RUN", "-", "dry_run: true")):
        server = nginx(f"limits: {{ page: {{ by: address, allow: 2 per 1h, {keys} }} }}\n")
        assert server.statuses(4) == [200] * 4
        words = [line.split()[1].split("|")[:2] for line in server.access_log(4)]
        assert words == [["PASSED", decides], ["PASSED", decides], [word, "page"], [word, "page"]]


@pytest.mark.parametrize("action", ["challenge", "mark", "refuse", "drop"])
@pytest.mark.parametrize("request_bytes", [b"GET\r\n\r\n", b"\x16\x03\x01\x00\xff\r\n\r\n", b"GET / HTTP/9.1\r\n\r\n", b"GET /%00 HTTP/1.1\r\n\r\n",
                                           b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 3000 + b"\r\n\r\n",
                                           b"GET / HTTP/1.1\r\n\r\n"],
                         ids=["no path", "TLS", "version", "NUL", "long line", "long field", "no host"])
def test_the_error_page_of_a_malformed_request_ends_no_worker(nginx, action, request_bytes):
    server = nginx(f"client: {{ trusted: [127.0.0.1], address_from: X-Forwarded-For }}\nlimits: {{ page: {{ by: address, allow: 0 per 1s, action: {action} }} }}\n",
                   server="""large_client_header_buffers 2 1k; error_page 400 414 494 505 /sorry;
                             location = /sorry { drossel on; proxy_pass http://127.0.0.1:PORT/inside; proxy_set_header Host x; }
                             location = /inside { drossel off; try_files /file.txt =404; }""")
    before = server.workers()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(request_bytes)
        try:
            while client.recv(65536):
                pass
        except ConnectionResetError:
            pass
    server.access_log(1)
    assert server.workers() == before


def test_a_date_is_never_before_the_wait_is_over(nginx):
    """Each a little later within the second; a date from nginx's own seconds would be too early for half of them."""
    server = nginx("answer: { date: true, jitter: 0% }\nlimits: { page: { by: address, allow: 1 per 60s, algorithm: fixed, from: first } }\n")
    assert server.fetch("/").status == 200
    for count in range(2, 14):
        answer = server.fetch("/", headers={"Accept": "text/plain"})
        now = time.time()
        wait = float(server.access_log(count)[-1].split("|")[3])
        told = email.utils.parsedate_to_datetime(answer.headers["Retry-After"]).timestamp()
        assert -0.05 < told - (now + wait) < 1  # `now` is a little after the decision
        time.sleep(0.09)
