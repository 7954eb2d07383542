"""Accounts in bodies: found wherever nginx keeps the body, which goes on to the application unchanged."""
import gzip
import http.client
import socket
import subprocess

import pytest

from login_application import application, at_once

FORM = "application/x-www-form-urlencoded"
POLICY = ("client: {{ account_from: [form.email, json.email, basic], trusted: [127.0.0.1], address_from: X-Forwarded-For{cap} }}\n"
          "classes: {{ login: {{ method: POST, path: /login }} }}\n"
          "limits: {{ login: {{ for: login, by: account, allow: {allow} failures per 1h{more} }} }}\n")
CAP = 64 * 1024


def policy(allow=2, more="", cap=""):
    return POLICY.format(allow=allow, more=more, cap=cap)


@pytest.fixture
def site(nginx, application):
    """An nginx in front of the application: site(policy, ...)."""
    def make(text, server="", **options):
        location = f"location / {{ proxy_pass http://127.0.0.1:{application.port}; }}"
        return nginx(text, server=location + server, **options)
    return make


def post(server, body, kind=FORM, **headers):
    send = {"X-Status": "401", **({"Content-Type": kind} if kind else {}), **headers}
    return server.fetch("/login", method="POST", body=body, headers=send).status


def multipart(name="email", value="u@a.example", padding=b""):
    return (b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" + padding +
            b"\r\n--x\r\nContent-Disposition: form-data; name=\"" + name.encode() + b"\"\r\n\r\n" + value.encode() + b"\r\n--x--\r\n")


BODIES = [
    ("form", FORM, b"a=1&email=u%40a.example&password=x"),
    ("form, another spelling", FORM + "; charset=utf-8", b"email=U%40A.EXAMPLE"),
    ("json", "application/json", b'{"email": "u@a.example", "password": "x"}'),
    ("json with escapes", "application/json", b'{"email": "\\u0075@a.example"}'),
    ("multipart", "multipart/form-data; boundary=x", multipart()),
    ("multipart behind a file", "multipart/form-data; boundary=x", multipart(padding=b"\0\r\n" * 8000)),
    ("form behind padding", FORM, b"p=" + b"x" * 30000 + b"&email=u%40a.example"),
    ("json behind padding", "application/json", b'{"p": "' + b"x" * 60000 + b'", "email": "u@a.example"}'),
]


def test_all_ways_to_name_an_account_are_one_key(site, application):
    server = site(policy(allow=len(BODIES)))
    for name, kind, body in BODIES:
        assert post(server, body, kind) == 401, name
    for name, kind, body in BODIES:
        assert post(server, body, kind) == 429, name
    assert [arrived.body for arrived in application.arrived] == [body for _, _, body in BODIES]
    assert post(server, b"email=other") == 401


@pytest.mark.parametrize("kind,body", [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
@pytest.mark.parametrize("buffer", ["client_body_buffer_size 512;", "client_body_in_file_only clean;",
                                    "client_body_in_single_buffer on;", "proxy_request_buffering off;"])
def test_it_does_not_matter_where_nginx_keeps_the_body(site, application, kind, body, buffer):
    server = site(policy(allow=1), http=buffer)
    assert [post(server, body, kind), post(server, body, kind)] == [401, 429]
    assert application.arrived[0].body == body


def chunks(body, size):
    for at in range(0, len(body), size):
        yield body[at:at + size]


@pytest.mark.parametrize("buffer", ["", "client_body_buffer_size 512;"])
@pytest.mark.parametrize("size", [1, 7, 4000])
def test_chunked_bodies_are_read(site, application, size, buffer):
    server = site(policy(allow=1), http=buffer)
    body = b"p=" + b"x" * (200 * size) + b"&email=u"
    for status in (401, 429):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", "/login", body=chunks(body, size), encode_chunked=True,
                           headers={"X-Status": "401", "Content-Type": FORM, "Transfer-Encoding": "chunked"})
        assert connection.getresponse().status == status
        connection.close()
    assert application.arrived[0].body == body


def test_a_body_that_comes_in_pieces_is_waited_for_without_blocking_the_worker(site, application):
    server = site(policy(allow=1))
    client = socket.create_connection(("127.0.0.1", server.port))
    client.settimeout(10)
    client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nX-Status: 401\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n")
    for piece in (b'{"em', b'ail": ', b'"u"'):
        client.sendall(piece)
        assert server.fetch("/else").status == 200
    client.sendall(b" }")
    assert client.recv(100).startswith(b"HTTP/1.1 401")
    client.close()
    assert post(server, b"email=u") == 429


@pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])
@pytest.mark.parametrize("padding", [0, 50000])
def test_bodies_of_http2_and_behind_100_continue_are_read(site, application, tmp_path, protocol, padding):
    server = site(policy(allow=1), listen="http2" if "2-" in protocol else "", http="client_body_buffer_size 8k;")
    body = tmp_path / "body"
    body.write_bytes(b"p=" + b"x" * padding + b"&email=u")
    for status in ("401", "429"):
        out = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", protocol, "-H", "Expect: 100-continue",
                              "-H", "X-Status: 401", "--data-binary", f"@{body}", f"http://127.0.0.1:{server.port}/login"],
                             capture_output=True, text=True, timeout=20).stdout
        assert out == status
    assert application.arrived[0].body == body.read_bytes()


def test_http2_without_a_length_is_read(site, application):
    server = site(policy(allow=1), listen="http2")
    for status in ("401", "429"):
        out = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--http2-prior-knowledge", "-X", "POST", "-H",
                              "X-Status: 401", "-H", f"Content-Type: {FORM}", "-T", "-", f"http://127.0.0.1:{server.port}/login"],
                             input="email=u", capture_output=True, text=True, timeout=20).stdout
        assert out == status
    assert application.arrived[0].body == b"email=u"


# ---- no way around ----

UNREADABLE = [
    ("beyond the cap", FORM, b"p=" + b"x" * CAP + b"&email=%d", {}),
    ("beyond the cap, json", "application/json", b'{"p": "' + b"x" * CAP + b'", "email": "%d"}', {}),
    ("compressed", FORM, None, {"Content-Encoding": "gzip"}),
    ("broken json", "application/json", b'{"p": [}, "x": "%d"', {}),
    ("fields without end", FORM, b"&".join(b"email=" + str(i).encode() + b"%d" for i in range(10000)), {}),
    ("no boundary", "multipart/form-data", b"--x\r\n%d", {}),
]


@pytest.mark.parametrize("kind,body,headers", [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE])
def test_unreadable_bodies_of_an_address_are_one_account(site, kind, body, headers):
    server = site(policy(allow=2))

    def guess(i, address="203.0.113.1"):
        text = gzip.compress(b"email=%d" % i) if body is None else body.replace(b"%d", str(i).encode())
        return post(server, text, kind, **headers, **{"X-Forwarded-For": address})

    assert [guess(i) for i in range(4)] == [401, 401, 429, 429]
    assert guess(4, "203.0.113.2") == 401, "another address has an account of its own"
    assert post(server, b"email=u", **{"X-Forwarded-For": "203.0.113.1"}) == 401, "those who can be read are not concerned"


def test_a_field_that_is_there_twice_is_charged_for_each_name(site):
    server = site(policy(allow=2))
    assert [post(server, b"email=a&email=b") for _ in range(3)] == [401, 401, 429]
    assert [post(server, b"email=a"), post(server, b"email=b"), post(server, b"email=c")] == [429, 429, 401]
    assert post(server, b'{"email": "d", "email": "a"}', "application/json") == 429


def test_a_success_that_names_several_accounts_clears_none(site):
    server = site(policy(allow=2, more=", reset_on: success"))
    assert post(server, b"email=victim") == 401
    assert post(server, b"email=mine&email=victim", **{"X-Status": "302"}) == 302
    assert post(server, b"email=victim") == 401
    assert post(server, b"email=victim") == 429


def test_a_success_clears_the_account_that_it_names(site):
    server = site(policy(allow=2, more=", reset_on: success"))
    assert [post(server, b"email=u"), post(server, b"email=U", **{"X-Status": "302"})] == [401, 302]
    assert [post(server, b"email=u") for _ in range(3)] == [401, 401, 429]


# ---- nothing breaks ----

KINDS = [None, "", FORM, "application/json", "multipart/form-data; boundary=x", "text/plain", "\"", ";;;=",
         "multipart/form-data; boundary=" + "y" * 300]
NASTY = [b"", b"\0", b"{", b"[" * 50000, b'{"email":' * 3000, b"%", b"email=%zz%", b"=&=&", b"--x", b"--x--", b"--x\r\n\r\n",
         b"\xff" * 3000, b'{"email": "\\ud800"}', b'"email"', b"email", b"\r\n" * 5000]


def test_no_body_breaks_a_request(site, application):
    server = site(policy(allow=5))
    for kind in KINDS:
        for body in NASTY:
            assert post(server, body, kind, **{"X-Status": "200"}) == 200, (kind, body[:40])
            assert application.arrived[-1].body == body
    assert not server.lines("alert")


def test_a_body_that_is_too_large_is_refused_by_nginx_and_its_error_page_is_shown(site):
    server = site(policy(), http="client_max_body_size 1k; client_body_buffer_size 512; error_page 413 /413.html;",
                  server="location = /413.html { internal; alias FOLDER/root/index.html; }")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("POST", "/login")
    connection.putheader("Content-Type", FORM)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    connection.send(b"200\r\n" + b"x" * 512 + b"\r\n")
    server.fetch("/else")
    connection.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (413, b"<p>hello</p>\n")
    connection.close()


def test_a_client_that_leaves_amid_its_body_leaves_nothing_behind(site, application):
    server = site(policy())
    for _ in range(5):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nemail=u")
        client.close()
    server.access_log(5)
    assert not application.arrived
    assert [post(server, b"email=u") for _ in range(3)] == [401, 401, 429]
    assert not server.lines("alert")


def test_a_connection_is_kept_after_a_refused_body(site):
    server = site(policy(allow=1))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    statuses = []
    for _ in range(3):
        connection.request("POST", "/login", body=b"email=u", headers={"Content-Type": FORM, "X-Status": "401"})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    assert statuses == [401, 429, 429]
    connection.close()


@pytest.mark.parametrize("buffer", ["", "client_body_buffer_size 512;"])
def test_a_held_request_takes_its_body_along(site, application, buffer):
    application.pause = 0.2
    server = site(policy(allow=2, more=", hold: 20s"), http=buffer, workers=2)
    body = b"p=" + b"x" * 20000 + b"&email=u"
    assert at_once(8, lambda _: post(server, body, **{"X-Status": "302"})) == [302] * 8
    assert [arrived.body for arrived in application.arrived] == [body] * 8


def test_only_bodies_that_a_limit_needs_are_read(site, application):
    """Elsewhere an unbuffered upload reaches the application before it is complete."""
    server = site(policy(), http="proxy_request_buffering off;")
    listener = socket.create_server(("127.0.0.1", 0))
    server.write_config(server=f"location / {{ proxy_pass http://127.0.0.1:{listener.getsockname()[1]}; }}",
                        http="proxy_request_buffering off;")
    server.reload()
    listener.settimeout(10)
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nfirst")
    upstream, _ = listener.accept()
    upstream.settimeout(10)
    seen = b""
    while b"first" not in seen:
        seen += upstream.recv(4096)
    for end in (client, upstream, listener):
        end.close()


# ---- nothing is told ----

@pytest.mark.parametrize("secret", [False, True], ids=["without a secret", "with a secret"])
def test_neither_log_nor_table_has_an_account_in_the_clear(nginx, application, secret):
    text = ("secret_file: secret\n" if secret else "") + policy(allow=1, more=", block: 1h")
    server = nginx(text, run=False, server=f"location / {{ proxy_pass http://127.0.0.1:{application.port}; }}")
    (server.folder / "secret").write_bytes(b"0123456789abcdef")
    (server.folder / "secret").chmod(0o600)
    server.start()
    assert [post(server, b"email=Quite.Unusual@a.example") for _ in range(3)] == [401, 429, 429]
    assert server.lines("REFUSED limit=login key=#")
    told = server.error_log().encode() + (server.folder / "table").read_bytes() + (server.folder / "access.log").read_bytes()
    assert b"unusual" not in told.lower()


def test_accounts_are_named_in_the_clear_if_the_policy_says_so(nginx, application, tmp_path):
    text = policy(allow=1, more=", block: 1h").replace("limits:", f"table: {{ path: {tmp_path}/table, keys: 1k, reveal: true }}\nlimits:")
    server = nginx(text, server=f"location / {{ proxy_pass http://127.0.0.1:{application.port}; }}")
    assert [post(server, b"email=+Quite.Unusual@a.example%0a") for _ in range(2)] == [401, 429]
    assert server.lines("REFUSED limit=login key=quite.unusual@a.example ")
    assert b"quite.unusual@a.example" in (tmp_path / "table").read_bytes()


def test_a_form_is_read_in_the_query_too(site, application):
    server = site(policy(allow=3))

    def ask(path, body=b"password=x", status="401"):
        return server.fetch(path, method="POST", body=body, headers={"X-Status": status, "Content-Type": FORM}).status

    assert [ask("/login?email=v%40a.example"), ask("/login?x=100%&email=V@a.example&y"),
            ask("/login?EMAIL=v%40a.example", body=b"")] == [401] * 3
    assert ask("/login?email=v@a.example") == ask("/login", body=b"email=v@a.example") == 429
    assert ask("/login?email=other@a.example", body=b"email=v@a.example") == 429, "each name is charged"
    assert [ask("/login?%%%=%&[&a=b") for _ in range(5)] == [401] * 5, "a query that is no form is no fault"
    assert [ask("/login?email=w@a.example", body=b"email=w@a.example", status=status) for status in ("401", "401", "200", "401")] == [401, 401, 200, 401]


def test_a_query_is_read_as_the_application_gets_it(site, application):
    """Behind a `#` for some and not for others, and what `rewrite` put there."""
    server = site(policy(allow=2, more=", reset_on: success").replace("path: /login", "path_begins: /login"),
                  server="rewrite ^/login-as/(.*)$ /login?email=$1 last;")

    def ask(path):
        return server.fetch(path, method="POST", body=b"password=x", headers={"X-Status": "401", "Content-Type": FORM}).status

    assert [ask(f"/login?email=v%40a.example#{i}") for i in range(4)] == [401, 401, 429, 429]
    assert [ask(f"/login?x={i}#&email=w%40a.example") for i in range(4)] == [401, 401, 429, 429]
    assert [ask("/login-as/z") for _ in range(4)] == [401, 401, 429, 429]
    assert ask("/login-as/y?email=z") == ask("/login?email=z") == 429
    assert ask("/login-as/x") == 401
