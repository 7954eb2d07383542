"""What `drossel explain` says of a request is what nginx then does, over random policies and requests."""
import random
import re
import socket

import pytest

from conftest import free_port, wait_until
from command import drossel

CLASSES = """classes:
  login: { method: POST, path: /login }
  api: { path_begins: /api/ }
  static: { path_ends: [.css, .JS] }
  search: { path_matches: "^/(search|suche)$" }
  keyed: { header.X-Api-Key: present }
  shop: { host: shop.example }
  two: { header.X-V: ["2", "two"], method: [GET, HEAD] }
"""
HEAD = """client: { trusted: [127.0.0.1], address_from: X-Forwarded-For, token_from: [header.X-Api-Key, cookie.session, bearer],
  account_from: [header.X-User, basic, cookie.u] }
exempt: { paths: [/webhooks/], methods: [PATCH], addresses: [198.51.100.0/28] }
"""
LOG = """log_format judged '$http_x_n|$status|$drossel_verdict|$drossel_limit|$drossel_remaining|$drossel_wait|$drossel_client';
access_log FOLDER/judged.log judged;
server { listen 127.0.0.1:UPSTREAM; access_log off; location / { if ($http_x_fail) { return 401; } return 200; } }
"""
WORDS = {"allow": "PASSED", "mark": "MARKED", "challenge": "CHALLENGED", "refuse": "REFUSED", "drop": "DROPPED"}
CLASS_NAMES = ["login", "api", "static", "search", "keyed", "shop", "two"]
HEADERS = {
    "Host": ["shop.example", "SHOP.example:80", "other.example"],
    "X-Forwarded-For": ["203.0.113.1", "203.0.113.2", "203.0.113.6", "198.51.100.3", "2001:db8:1::1", "2001:db8:1::2", "nobody",
                        "192.0.2.1, 203.0.113.1", "203.0.113.1, 127.0.0.1"],
    "X-Api-Key": ["k1", "k2", ""], "X-User": ["bob", "Bob ", "a@b.example", ""], "X-Tenant": ["t1", "t2"], "X-V": ["2", "Two"],
    "Cookie": ["session=s1; u=carl", "u=bob", "u=amy; u=bob", "u=bob; session=s2; u=Carl; u=bob"], "Authorization": ["Basic Ym9iOng=", "Bearer t1", "Basic !"], "X-Fail": ["1"],
}
PATHS = ["/", "/login", "/api/x", "/api/../login", "/%6Cogin", "/x.css?a=b", "/x.JS", "/search", "/webhooks/a", "/api//x", "/LOGIN"]


def random_limit(draw):
    keys = [f"by: {draw.choice(['address', 'token', 'account', 'path', 'site', 'header.X-Tenant', '[account, address]', '[address, path]'])}"]
    algorithm = draw.choice(["sliding", "sliding", "fixed, from: first", "bucket", f"leaky, burst: {draw.randint(0, 3)}"])
    unit = " failures" if algorithm[0] != "l" and draw.random() < 0.2 else ""
    count = draw.randint(0, 4)
    rates = f"[{count}{unit} per 1h, {count + 3}{unit} per 2d]" if count and draw.random() < 0.2 else f"{count}{unit} per 1h"
    keys += [f"allow: {rates}", f"algorithm: {algorithm}", f"action: {draw.choice(['refuse'] * 4 + ['drop', 'challenge', 'mark'])}"]
    for text, share in [("hold: 0", 1 if unit else 0), (f"for: {draw.choice(['', 'not '])}{draw.choice(CLASS_NAMES)}", 0.6), ("dry_run: true", 0.25),
                        (draw.choice(["block: 2h", "ban: 2h"]), 0.3), ("count_refused: true", 0.15), ("cost: { api: 2, static: 0 }", 0.2),
                        (f"overrides: {{ 203.0.113.1: unlimited, 203.0.113.2: 6{unit} per 1h, bob: 1{unit} per 1h }}", 0.2),
                        ("answer: { status: 503 }", 0.2), ("only: [php]", 0.1)]:
        if draw.random() < share:
            keys.append(text)
    return "{ " + ", ".join(keys) + " }"


def random_spray(draw):
    """A limit that counts different accounts of one address, or the reverse."""
    by, what = draw.choice([("address", "accounts"), ("header.X-Tenant", "accounts"), ("account", "addresses")])
    return f"{{ by: {by}, allow: {draw.randint(1, 3)} {what} per 1h, action: {draw.choice(['refuse', 'mark', 'challenge'])} }}"


def random_request(draw):
    method = draw.choice(["GET", "GET", "POST", "HEAD", "PATCH", "DELETE"])
    return method, draw.choice(PATHS), [(name, draw.choice(values)) for name, values in HEADERS.items()
                                        if name == "Host" or draw.random() < 0.5]


def explained(build, server, method, path, headers):
    """Verdict, status, limit, fewest left and client as `explain` has them, in the words of nginx's variables."""
    options = [part for name, value in headers for part in ("--header", f"{name}: {value}")]
    text = drossel(build, "explain", server.policy, f"{method} {path}", "--table", server.folder / "table", *options).stdout
    result = re.search(r"^result +(.*)$", text, re.M)[1]
    suppressed = re.search(r"dry run would have said: (\w+)", text)
    word = WORDS[re.match(r"\w+", result)[0]]
    if result == "allow: exempt":
        word = ""
    elif word == "PASSED" and suppressed:
        word = WORDS[suppressed[1]] + "_DRY_RUN"
    status, limit = re.search(r"refuse with (\d+)", result), re.search(r"by limit ([^; ]+)", result)
    left, dry = [], False
    for line in text.splitlines():
        dry = line.endswith("dry run") if re.match(r"  \S+ +applies", line) else dry
        left += [int(number) for number in re.findall(r"(\d+) left after it", line) if not dry]
    return {"verdict": word, "client": re.search(r"^client +(\S+):", text, re.M)[1], "status": status and status[1],
            "limit": limit and limit[1], "left": str(min(left)) if left and word == "PASSED" else None,
            "wait": seconds(waits[1]) if (waits := re.search(r"; wait (.*)$", result)) else None}


def seconds(text):
    """`never`, or `1 h`, `59 min 59 s` in seconds."""
    if text == "never":
        return text
    units = {"day": 86400, "days": 86400, "h": 3600, "min": 60, "s": 1, "ms": 0.001}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (\w+)", text))


def judged(server, number, method, path, headers):
    lines = [f"{method} {path} HTTP/1.1", f"X-N: {number}", "Connection: close", "Content-Length: 0"]
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall("\r\n".join(lines + [f"{name}: {value}" for name, value in headers] + ["", ""]).encode())
        while connection.recv(65536):
            pass

    def told():
        return [line for line in (server.folder / "judged.log").read_text().splitlines() if line.startswith(f"{number}|")]

    wait_until(told, "the request in the log")
    _, status, verdict, limit, left, wait, client = told()[0].split("|")
    return {"verdict": verdict if verdict != "-" else "", "client": client, "status": status, "limit": limit, "left": left,
            "wait": wait if wait in ("-", "never") else pytest.approx(float(wait), rel=0.02, abs=1)}


@pytest.mark.parametrize("seed", range(4))
def test_nginx_does_what_explain_says(build, nginx, seed):
    draw = random.Random(seed)
    upstream = free_port()
    limits = "".join(f"  l{number}: {random_limit(draw)}\n" for number in range(4)) + f"  spray: {random_spray(draw)}\n"
    server = nginx(HEAD + CLASSES + "limits:\n" + limits, http=LOG.replace("UPSTREAM", str(upstream)),
                   server=f"location / {{ proxy_pass http://127.0.0.1:{upstream}; }}")
    for number in range(60):
        request = random_request(draw)
        said = explained(build, server, *request)
        done = judged(server, number, *request)
        assert {key: value for key, value in said.items() if value is not None} \
            == {key: done[key] for key, value in said.items() if value is not None}, (limits, request)


@pytest.mark.parametrize("block, told", [("block: 2h", "blocks the key"), ("ban: 2h", "bans the address")])
def test_a_block_that_the_request_would_start_is_told(build, nginx, block, told):
    server = nginx(f"limits: {{ a: {{ by: address, allow: 1 per 1h, {block} }}, b: {{ by: site, allow: 1 per 90m }} }}\n")
    assert server.fetch().status == 200
    text = drossel(build, "explain", server.policy, "GET /", "--table", server.folder / "table").stdout
    assert f"1 per 1h: refuses it, used up, and {told}; it would pass in 2 h" in text
    assert "refuse with 429 by limit a; wait 2 h" in text
    assert server.fetch().status == 429
    text = drossel(build, "explain", server.policy, "GET /", "--table", server.folder / "table").stdout
    assert ("refuses it, blocked; it would pass in " if block.startswith("block") else "the address is banned") in text
