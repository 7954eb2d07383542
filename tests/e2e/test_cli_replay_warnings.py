"""What `drossel replay` finds by itself, each with a log that has it and one that has not."""
import json
import re

import pytest

from access_log import A, BROWSER, common, line, replay_log
from command import drossel, summary, write_policy

PAGE = "limits: { page: { by: address, allow: 50 per 10s } }"
TIGHT = "limits: { page: { by: address, allow: 5 per 10s } }"
LOGIN = "classes: { login: { method: POST, path: /login } }\n"
GUESSED = LOGIN + "limits: { login: { for: login, by: address, allow: 5 failures per 15m } }"
BY_SITE = LOGIN + "limits: { login: { for: login, by: site, allow: 500 failures per 15m } }"
BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BROWSERS = [BROWSER, BROWSER.replace("133", "134"), BROWSER.replace("X11; Linux x86_64", "Windows NT 10.0; Win64; x64")]
VISITORS = [line(n, f"198.51.100.{n % 200}") for n in range(200)]


def proxied(client):
    return [line(n, client, forwarded=f"198.51.100.{n}") for n in range(60)]


def guesses(count, user="-", status=401):
    """Many clients that fail once each."""
    return [line(n, f"198.18.{n >> 8}.{n & 255}", "POST /login HTTP/1.1", status, user) for n in range(count)]


def office(agents, client=A):
    return [line(n // 20, client, agent=agents[n % len(agents)]) for n in range(60)]


WORDPRESS = "WordPress/6.4; https://shop.example"
def written(name):
    """Lines of JSON with the client under this name."""
    return [json.dumps({"time": f"2026-01-05T08:00:{n:02}Z", name: f"198.51.100.{n}", "request": "GET / HTTP/1.1", "status": 200})
            for n in range(60)]


CASES = {
    "a log of nobody": (PAGE, written("who"), "60 requests are of nobody that the log names, and share one key, `-`", written("client_ip")),
    "a proxy": (PAGE, proxied("10.0.0.1"), "address_from: X-Forwarded-For", proxied("192.0.2.1")),
    "a proxy, mixed with others": (PAGE, proxied("127.0.0.1") + VISITORS[:40], "trusted: [127.0.0.1]", proxied("127.0.0.1") + VISITORS),
    "a proxy on this machine": (PAGE, proxied("::1"), "client: { trusted: ['::1'], address_from: X-Forwarded-For }", proxied("2001:db8::1")),
    "a proxy on a local socket": (PAGE, proxied("unix:"), "trusted: [unix],", proxied("a.example")),
    "a proxy of a network of its own": (PAGE, proxied("fd00::1"), "trusted: [fd00::1],", proxied("2001:db8::1")),
    "two proxies": (PAGE, proxied("10.0.0.1")[::2] + proxied("10.0.0.2")[1::2], "trusted: [10.0.0.1, 10.0.0.2]",
                    proxied("10.0.0.1")[::2] + proxied("192.0.2.1")[1::2] + VISITORS),
    "a proxy without its header": (PAGE, office(BROWSERS, "10.0.0.1"), "real_ip_header", office(BROWSERS[:1], "10.0.0.1")),
    "a proxy in a log without agents": (PAGE, [common(n, "10.0.0.1") for n in range(60)], "real_ip_header", [common(n, "10.0.0.1") for n in range(10)]),
    "the site itself, by loopback": (PAGE, [line(n, "127.0.0.1", agent="curl/8") for n in range(9)] + VISITORS, "the site calls itself", VISITORS),
    "the site itself, by IPv6": (PAGE, [line(n, "::1", agent="curl/8") for n in range(9)] + VISITORS, "exempt: { addresses: ['::1'] }", VISITORS),
    "the site itself, by its name": (PAGE, [line(n, "shop.example", agent=WORDPRESS) for n in range(9)] + VISITORS,
                                     "come from shop.example (cron jobs, health checks or the server's own processes), and 0 of them are refused; if that is its own "
                                     "address let them pass with its address under `exempt: addresses`", VISITORS),
    "the site itself, by its agent": (PAGE, [line(n, request="POST /wp-cron.php HTTP/1.1", agent=WORDPRESS) for n in range(9)] + VISITORS,
                                      "the site calls itself", [line(n, request="GET /feed/ HTTP/1.1", agent=WORDPRESS) for n in range(9)] + VISITORS),
    "the site itself, by its agent on any path": (PAGE, [line(n, agent=WORDPRESS) for n in range(9)] + VISITORS, "the site calls itself",
                                                  [line(n, agent=WORDPRESS + str(n % 2)) for n in range(9)] + VISITORS),
    "the site itself, Apache's processes": (PAGE, [line(n, agent="Apache/2.4 (internal dummy connection)") for n in range(9)] + VISITORS,
                                            "the site calls itself", [line(n, agent="Apache-HttpClient/4.5") for n in range(9)] + VISITORS),
    "a limit that never matched": (GUESSED, VISITORS, "limit login never matched: no request is in the classes", guesses(30)),
    "a limit whose key is not there": ("limits: { it: { by: token, allow: 5 per 10s } }\nclient: { token_from: [header.X-Api-Key] }", VISITORS,
                                       "limit it never matched: the log does not have what it counts by",
                                       None),
    "a limit by account without accounts": ("limits: { it: { by: account, allow: 5 per 10s } }", VISITORS, "$remote_user",
                                            [line(n, user="ann") for n in range(9)]),
    "a limit of another door": ("limits: { it: { by: address, allow: 5 per 10s, only: [php] } }", VISITORS, "other doors", None),
    "a limit that has too little to fire": (PAGE, VISITORS[:20], "limit page could not fire", VISITORS),
    "a limit of failures that nobody has": (GUESSED, guesses(30, status=200), "limit login could not fire", guesses(30)),
    "an office": (TIGHT, office(BROWSERS) + VISITORS, "many people behind one address", office(BROWSERS[:2]) + VISITORS),
    "an office that is not refused": (TIGHT, office(BROWSERS) + VISITORS, "many people behind one address",
                                      [line(3 * n, agent=BROWSERS[n % 3]) for n in range(60)]),
    "logins that no limit by address reaches": (GUESSED, guesses(200) + VISITORS, "100% of the 200 failed logins", VISITORS + [
        line(n, "198.18.0.1", "POST /login HTTP/1.1", 401) for n in range(200)]),
    "such logins, which a limit by site would see": (GUESSED, guesses(200), "a limit by site would", guesses(10)),
    "such logins, which a limit by account would see": (GUESSED, guesses(200, "ann"), "by: account", guesses(200)),
    "such logins, where a limit by site is": (GUESSED, guesses(200), "failed logins", None),
    "search engines": (TIGHT, [line(0, agent=BOT)] * 9, "Googlebot (4)", [line(10 * n, agent=BOT) for n in range(9)]),
    "times coarser than a window": ("limits: { page: { by: address, allow: 9 per 500ms } }", VISITORS, "no finer than 1s", None),
    "times as coarse as a window": ("limits: { page: { by: address, allow: 9 per 1s } }", VISITORS, "no finer than 1s", None),
}


@pytest.mark.parametrize("name", CASES)
def test_it_warns_with_a_reason_and_a_remedy_and_only_then(build, tmp_path, name):
    policy, lines, text, others = CASES[name]
    found = [warning for warning in replay_log(build, tmp_path, policy, lines)["warnings"] if text in warning]
    assert len(found) == 1 and found[0].startswith("warning: ")
    if others is not None:
        assert not [warning for warning in replay_log(build, tmp_path, policy, others)["warnings"] if text in warning]


REMEDY = re.compile(r"`((?:client|exempt): \{.*?\})`")


@pytest.mark.parametrize("client", ["10.0.0.1", "::1", "fd00::1", "fe80::1", "unix:"])
def test_the_remedy_is_one_that_a_policy_takes(build, tmp_path, client):
    for lines in (proxied(client), [line(n, client, agent=WORDPRESS) for n in range(9)] + VISITORS):
        found = [m for w in replay_log(build, tmp_path, PAGE, lines)["warnings"] for m in REMEDY.findall(w)]
        assert found or (client == "unix:" and lines[-1] == VISITORS[-1])
        for remedy in found:
            drossel(build, "check", write_policy(tmp_path, remedy + "\n" + PAGE, "mended.yaml"))


QUIET = {
    "times": ("limits: { page: { by: address, allow: 9 per 2s } }", VISITORS, "no finer"),
    "logins by site": (BY_SITE, guesses(200), "of the 200 failed logins"),
}


@pytest.mark.parametrize("name", QUIET)
def test_it_does_not_warn_where_the_policy_has_the_remedy(build, tmp_path, name):
    policy, lines, text = QUIET[name]
    assert not [warning for warning in replay_log(build, tmp_path, policy, lines)["warnings"] if text in warning]


def test_a_trusted_proxy_is_none_to_warn_of(build, tmp_path):
    policy = "client: { trusted: [10.0.0.1], address_from: X-Forwarded-For }\n" + PAGE
    assert not [w for w in replay_log(build, tmp_path, policy, proxied("10.0.0.1"))["warnings"] if "10.0.0.1" in w]


def test_events_with_exact_times_are_never_too_coarse(build, tmp_path):
    events = [{"t": n, "address": A, "path": "/"} for n in range(30)]
    assert not summary(build, tmp_path, "limits: { page: { by: address, allow: 9 per 100ms } }", events)["warnings"]


def test_the_warnings_stand_before_the_limits_and_are_wrapped(build, tmp_path):
    replay_log(build, tmp_path, PAGE, proxied("10.0.0.1"))
    text = drossel(build, "replay", "--policy", tmp_path / "policy.yaml", tmp_path / "access.log").stdout
    assert text.index("warning: 100% of all requests") < text.index("busiest keys") and max(map(len, text.splitlines())) < 80
