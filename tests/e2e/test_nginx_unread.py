"""Bodies that nobody has to wait for: what happens to the request is known without them."""
import socket
import threading

import pytest

POLICY = """client: { account_from: [form.email], require_trusted: %s, trusted: [192.0.2.1], address_from: X-Forwarded-For }
exempt: { paths: [/hook] }
limits:
  near: { by: account, allow: 3 failures per 1h, block: 2h }
  page: { by: address, allow: 2 per 1h, block: 1h }
"""


@pytest.fixture
def upstream():
    """An application that answers as soon as it has seen a header."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while b"\r\n\r\n" not in connection.recv(65536):
                    pass
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nearly")

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def first_bytes(server, path, fields, seconds=5.0):
    """What comes back to a POST whose body never does; nothing if the server waits for it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
        try:
            return client.recv(65536).decode()
        except TimeoutError:
            return ""


def test_an_exempt_request_goes_on_before_its_body_has_come(nginx, upstream):
    server = nginx(POLICY % "false", server=f"""location / {{
        proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; proxy_request_buffering off; }}""")
    for fields in ("Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"):
        assert first_bytes(server, "/hook", fields).startswith("HTTP/1.1 200 OK")


def test_who_came_past_the_proxy_is_refused_before_his_body_has_come(nginx):
    server = nginx(POLICY % "true")
    assert first_bytes(server, "/login", "Content-Length: 100\r\n").startswith("HTTP/1.1 403 ")
    assert first_bytes(server, "/login", "Content-Length: 100\r\nExpect: 100-continue\r\n").startswith("HTTP/1.1 403 ")


@pytest.mark.parametrize("how", ["block: 1h", "ban: 1h"])
@pytest.mark.parametrize("fields", ["Content-Length: 900000\r\n", "Transfer-Encoding: chunked\r\n",
                                    "Content-Length: 900000\r\nExpect: 100-continue\r\n"])
def test_a_blocked_client_is_refused_before_a_large_body_has_come(nginx, fields, how):
    server = nginx((POLICY % "false").replace("block: 1h", how))
    assert server.statuses(3) == [200, 200, 429]
    assert first_bytes(server, "/login", fields).startswith("HTTP/1.1 429 ")


def test_a_small_body_of_a_blocked_client_is_read_so_that_the_longest_wait_is_told(nginx):
    server = nginx((POLICY % "false").replace("allow: 2 per", "allow: 5 per"), server="error_page 405 =401 /index.html;")
    form = {"method": "POST", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "email=a@b&x=y"}
    assert server.statuses(4, "/file.txt", **form) == [401] * 3 + [429]
    assert server.statuses(3, "/file.txt") == [200, 200, 429]
    assert 3600 < int(server.fetch("/file.txt", **form).headers["Retry-After"])
    assert int(server.fetch("/file.txt").headers["Retry-After"]) <= 3960
    large = {**form, "body": "email=a@b&x=" + "y" * 100000}
    assert server.fetch("/file.txt", **large).status == 429


def test_a_refused_client_is_not_told_to_send_its_body(nginx):
    server = nginx("limits: { page: { by: address, allow: 1 per 1h } }\n", server="""
        location /own { error_page 429 /index.html; alias FOLDER/root/; }""")
    assert server.fetch("/").status == 200
    for path in ("/", "/own"):
        for fields in ("Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"):
            answer = first_bytes(server, path, fields + "Expect: 100-continue\r\n")
            assert answer.startswith("HTTP/1.1 429 ")
            assert "\r\nConnection: close\r\n" in answer, "whether its body follows cannot be known"
    assert "\r\nConnection: keep-alive\r\n" in first_bytes(server, "/", "Content-Length: 0\r\nExpect: 100-continue\r\n")


def test_a_client_that_waits_for_100_gets_it_where_it_is_not_refused(nginx):
    server = nginx("client: { account_from: [form.email] }\nlimits: { login: { by: account, allow: 9 failures per 1h } }\n")
    assert first_bytes(server, "/", "Content-Length: 5\r\nExpect: 100-continue\r\n").startswith("HTTP/1.1 100 Continue")


def test_a_proxy_that_names_no_client_is_told_of_once(nginx):
    server = nginx("client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }\nlimits: { page: { by: address, allow: 9 per 1h } }\n")
    assert server.fetch("/", headers={"X-Forwarded-For": "203.0.113.7"}).status == 200
    assert server.lines("named no client") == []
    assert server.statuses(2) == [200, 200]
    assert len(server.lines("the trusted proxy 127.0.0.1 named no client")) == 1
