"""Which requests are counted, once each, and as whose."""
import http.client
import socket
import threading

import pytest

HUNDRED = "limits: { page: { by: address, allow: 100 per 1h } }\n"


def remaining(server, path="/", **arguments):
    """What is left after this request; $drossel_remaining comes with the answer as a header."""
    return int(server.fetch(path, **arguments).headers["X-Left"])


LEFT = 'add_header X-Left "$drossel_remaining" always; add_header X-Client "$drossel_client" always;'


def test_each_kind_of_request_is_counted_once(nginx):
    server = nginx(HUNDRED, http=LEFT, server="""
        error_page 404 /lost.html;
        location /tries { try_files /none /nor.html /file.txt; }
        location /inside { rewrite ^ /file.txt last; }
        location /part { ssi on; ssi_types *; }
        location /asked { auth_request /gate; alias FOLDER/root/; }
        location = /gate { internal; try_files /file.txt =200; }
        location /jump { error_page 418 = @there; return 418; }
        location @there { try_files /file.txt =404; }
        """)
    (server.folder / "root" / "lost.html").write_text("lost\n")
    (server.folder / "root" / "part").write_text('a<!--#include virtual="/file.txt" --><!--#include virtual="/index.html" -->b\n')
    left = 100
    for path, status in (("/", 200), ("/file.txt", 200), ("/missing", 404), ("/tries", 200), ("/inside", 200), ("/part", 200),
                         ("/jump", 200), ("/%66ile.txt", 200), ("/a/../file.txt", 200)):
        answer = server.fetch(path)
        left -= 1
        assert (path, answer.status, int(answer.headers["X-Left"])) == (path, status, left)
    assert "a small file" in server.fetch("/part").body
    assert server.fetch("/asked/file.txt").status in (200, 404)
    assert remaining(server) == left - 3


def test_a_return_in_the_rewrite_phase_is_never_seen(nginx):
    server = nginx(HUNDRED, http=LEFT, server="location = /ping { return 200 'pong'; }")
    assert server.fetch("/ping").body == "pong"
    assert remaining(server) == 99
    assert server.access_log(2)[0].startswith("200 -|-|-|-|-|- /ping")


def test_drossel_off_neither_counts_nor_judges(nginx):
    server = nginx("limits: { page: { by: address, allow: 1 per 1h } }\n", server="""
        location /free/ { drossel off; alias FOLDER/root/; error_page 404 /index.html; }
        location /free/but/ { drossel on; alias FOLDER/root/; }
        """)
    assert server.statuses(3, "/free/file.txt") == [200] * 3
    assert server.fetch("/free/missing").status == 404
    assert server.fetch("/free/but/file.txt").status == 200
    assert server.fetch("/file.txt").status == 429
    assert server.fetch("/free/but/file.txt").status == 429
    assert server.fetch("/free/file.txt").status == 200


def test_cached_answers_are_counted_too(nginx):
    server = nginx(HUNDRED, http=LEFT + "proxy_cache_path FOLDER/cache keys_zone=pages:1m;", server="""
        location = /page { proxy_pass http://127.0.0.1:PORT/made; proxy_cache pages; proxy_cache_valid 10m;
                           add_header X-Left "$drossel_remaining"; add_header X-Cache $upstream_cache_status; }
        location = /made { drossel off; try_files /file.txt =404; }""")
    answers = [server.fetch("/page") for _ in range(3)]
    assert [answer.headers["X-Cache"] for answer in answers] == ["MISS", "HIT", "HIT"]
    assert [answer.headers["X-Left"] for answer in answers] == ["99", "98", "97"]


def test_the_path_is_the_one_that_was_asked_for(nginx):
    server = nginx("""classes: { login: { path: /login } }
limits: { login: { for: login, by: address, allow: 4 per 1h } }
""", server="rewrite ^/(login|away)$ /file.txt; location = /front { rewrite ^ /login last; } location = /login { try_files /file.txt =404; }")
    assert server.statuses(2, "/login") == [200, 200]
    assert server.statuses(3, "/away") + server.statuses(3, "/front") == [200] * 6
    assert server.statuses(3, "/%6cogin?a=b") == [200, 200, 429]
    assert server.fetch("//x/..//login").status == 429
    assert server.fetch("/login" + "?" + "q" * 3000).status == 429
    assert server.fetch("/file.txt").status == 200


def test_a_long_encoded_path_is_judged_whole(nginx):
    long = "/" + "%61" * 1500
    server = nginx(f"classes: {{ long: {{ path: /{'a' * 1500} }} }}\nlimits: {{ long: {{ for: long, by: address, allow: 1 per 1h }} }}\n")
    assert server.statuses(2, long) == [404, 429]


def test_the_peer_is_the_address_that_realip_set(nginx):
    server = nginx("limits: { page: { by: address, allow: 1 per 1h } }\n", http=LEFT, server="""
        set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;
        location /late/ { alias FOLDER/root/; set_real_ip_from 127.0.0.1; real_ip_header X-Late; }""")
    for address in ("203.0.113.1", "203.0.113.2", "2001:db8::1"):
        first, second = (server.fetch(headers={"X-Real-IP": address}) for _ in range(2))
        assert (first.status, second.status) == (200, 429)
        assert first.headers["X-Client"] == second.headers["X-Client"] == address
    assert server.fetch("/late/file.txt", headers={"X-Late": "203.0.113.9"}).headers["X-Client"] == "203.0.113.9"
    assert server.fetch(headers={"X-Real-IP": "2001:db8::ffff"}).status == 429
    assert server.fetch(headers={"X-Real-IP": "::ffff:203.0.113.1"}).status == 429


def test_the_policy_recovers_the_client_behind_a_trusted_proxy(nginx):
    server = nginx("client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }\n"
                   "limits: { page: { by: address, allow: 1 per 1h } }\n", http=LEFT)
    for address in ("203.0.113.1", "203.0.113.2"):
        answers = [server.fetch(headers={"X-Forwarded-For": f"198.51.100.77, {address}"}) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 429]
        assert answers[0].headers["X-Client"] == address


def test_a_header_from_an_untrusted_peer_is_not_believed(nginx):
    server = nginx("client: { trusted: [192.0.2.1], address_from: X-Forwarded-For }\n"
                   "limits: { page: { by: address, allow: 1 per 1h } }\n", http=LEFT)
    answers = [server.fetch(headers={"X-Forwarded-For": f"203.0.113.{i}"}) for i in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    assert answers[0].headers["X-Client"] == "127.0.0.1"


def through_proxy_protocol(port, address):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        kind = "TCP6" if ":" in address else "TCP4"
        target = "::1" if ":" in address else "127.0.0.1"
        client.sendall(f"PROXY {kind} {address} {target} 5000 80\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        response = http.client.HTTPResponse(client)
        response.begin()
        return response.status, response.headers["X-Client"]


@pytest.mark.parametrize("trusted, seen", [("127.0.0.1", None), ("192.0.2.1", "127.0.0.1")])
def test_the_proxy_protocol_names_the_client_if_its_sender_is_trusted(nginx, trusted, seen):
    server = nginx(f"client: {{ trusted: [{trusted}], address_from: proxy_protocol }}\n"
                   "limits: { page: { by: address, allow: 100 per 1h } }\n", http=LEFT, listen="proxy_protocol")
    for address in ("203.0.113.1", "2001:db8::7"):
        assert through_proxy_protocol(server.port, address) == (200, seen or address)


def test_whoever_came_not_through_the_trusted_proxy_is_refused_with_403(nginx):
    def policy(trusted, source):
        return f"client: {{ trusted: [{trusted}], address_from: {source}, require_trusted: true }}\n" + HUNDRED

    assert nginx(policy("192.0.2.1", "X-Forwarded-For")).fetch().status == 403
    assert nginx(policy("127.0.0.1", "X-Forwarded-For")).fetch(headers={"X-Forwarded-For": "203.0.113.1"}).status == 200
    server = nginx(policy("127.0.0.1", "proxy_protocol"), listen="proxy_protocol", http=LEFT)
    assert through_proxy_protocol(server.port, "203.0.113.1") == (200, "203.0.113.1")


def test_a_unix_socket_is_a_peer(nginx):
    server = nginx(HUNDRED, http=LEFT + "server { listen unix:FOLDER/socket; root FOLDER/root; }")
    for left in range(99, 89, -1):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(server.folder / "socket"))
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            response = http.client.HTTPResponse(client)
            response.begin()
            assert (response.status, response.headers["X-Client"], response.headers["X-Left"]) == (200, "unix", str(left))
        assert server.fetch("/file.txt").headers["X-Client"] == "127.0.0.1"


def test_a_path_a_method_and_an_address_may_be_exempt(nginx):
    server = nginx("exempt: { paths: [/free/], methods: [OPTIONS] }\nlimits: { page: { by: address, allow: 0 per 1h } }\n",
                   server="location /free/ { alias FOLDER/root/; }")
    assert server.fetch("/free/file.txt").status == 200
    assert server.fetch(method="OPTIONS").status == 405
    assert server.fetch().status == 429
    assert server.access_log(3)[0].startswith("200 -|-|-|-|-|127.0.0.1 ")


def test_variables_say_what_was_decided(nginx):
    server = nginx("limits: { page: { by: address, allow: 2 per 1h } }\n", server='if ($drossel_verdict = "x") { return 500; }')
    assert server.statuses(3) == [200, 200, 429]
    lines = server.access_log(3)
    assert lines[0] == "200 PASSED|page|1|0.000|0.000|127.0.0.1 /index.html"
    assert lines[1] == "200 PASSED|page|0|0.000|0.000|127.0.0.1 /index.html"
    words = lines[2].split("|")
    assert words[:3] == ["429 REFUSED", "page", "0"] and 3590 < float(words[3]) <= 3600 and words[4] == "0.000"


def test_variables_work_in_maps_and_for_nginxs_own_limits(nginx):
    server = nginx("limits: { page: { by: address, allow: 2 per 1h } }\n", http="""
        map $drossel_verdict $kept { default "<$drossel_verdict>"; }
        map $drossel_verdict $asked_anew { volatile; default "<$drossel_verdict>"; }
        map $drossel_verdict $loud { default 1; PASSED 0; "" 0; }
        limit_req_zone $drossel_client zone=client:1m rate=1r/m;
        log_format maps '$status $kept $asked_anew $uri';
        access_log FOLDER/loud.log maps if=$loud;
        access_log FOLDER/maps.log maps;
        access_log FOLDER/access.log verdicts;""", server="""
        location /if { if ($kept = "x") { return 500; } if ($asked_anew = "x") { return 500; } try_files /file.txt =404; }
        location /own { limit_req zone=client; limit_req_status 418; try_files /file.txt =404; }""")
    assert [server.fetch(path).status for path in ["/own", "/own", "/if", "/file.txt"]] == [200, 418, 429, 429]
    server.access_log(4)
    maps, loud = ((server.folder / name).read_text().splitlines() for name in ["maps.log", "loud.log"])
    assert maps == ["200 <PASSED> <PASSED> /file.txt", "418 <PASSED> <PASSED> /own",
                    "429 <> <REFUSED> /if", "429 <REFUSED> <REFUSED> /file.txt"]
    assert loud == maps[2:]


def test_eight_clients_over_two_workers_get_exactly_the_limit(nginx):
    server = nginx("limits: { page: { by: address, allow: 200 per 1h } }\n", workers=2)
    statuses = []

    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        for _ in range(60):
            statuses.append(server.fetch(connection=connection).status)
        connection.close()

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert (statuses.count(200), statuses.count(429)) == (200, 280)


@pytest.mark.parametrize("policy", ["classes: { partner: { header.X-Key: right } }\nlimits: { page: { for: partner, by: address, allow: 2 per 1h } }\n",
                                    "limits: { page: { by: header.X-Key, allow: 2 per 1h } }\n",
                                    "client: { token_from: [header.X-Key] }\nlimits: { page: { by: [token, address], allow: 2 per 1h } }\n"])
def test_a_header_is_found_behind_hundreds_of_empty_lines_of_it(nginx, policy):
    server = nginx(policy)

    def get(empty, value):
        lines = b"".join(b"X-Other: %d\r\nX-Key: \r\n" % i for i in range(empty)) + b"X-Key: " + value + b"\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.0\r\n" + lines + b"\r\n")
            return int(client.recv(65536).split()[1])

    assert [get(empty, b"right") for empty in (0, 300, 1)] == [200, 200, 429]
    assert [get(empty, b"wrong") for empty in (300, 0)] == [200, 200]
    assert get(300, b"right") == 429


def test_a_token_beside_an_invented_one_buys_no_new_key(nginx):
    server = nginx("client: { token_from: [header.X-Key] }\nlimits: { page: { by: token, allow: 2 per 1h, overrides: { partner: unlimited } } }\n")

    def get(*tokens):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.0\r\n" + b"".join(b"X-Key: " + token + b"\r\n" for token in tokens) + b"\r\n")
            return int(client.recv(65536).split()[1])

    assert [get(b"%d" % i, b"own") for i in range(3)] == [200, 200, 429]
    assert [get(b"own", b"%d" % i) for i in range(2)] + [get(b"partner", b"own")] == [429] * 3
    assert [get(b"own"), get(b"", b"own"), get(b"own", b"own"), get(b"other")] == [200, 200, 429, 200]
    assert [get(b"partner") for _ in range(4)] == [200] * 4
