"""The error log: one line for each verdict worth knowing, masked, escaped, and never too many."""
import http.client
import re
import time

import pytest

ONE = "limits: { page: { by: address, allow: 1 per 1h } }\n"
LINE = re.compile(r"\[(\w+)\] .* drossel: (\w+) limit=(\S+) key=(\S+) peak=(\d+)/(\d+) (wait|delay)=(\S+) request=\"(.*)\"(.*)$")


def verdicts(server, count):
    end = time.monotonic() + 5
    while len(found := [LINE.search(line).groups() for line in server.lines("drossel: ") if LINE.search(line)]) < count:
        assert time.monotonic() < end, server.error_log()
        time.sleep(0.01)
    return found


def test_a_refusal_is_one_line_with_all_that_is_needed(nginx):
    server = nginx(ONE)
    server.statuses(2, "/file.txt?secret=1")
    (level, word, limit, key, used, count, kind, wait, request, rest), = verdicts(server, 1)
    assert (level, word, limit, key, used, count, kind) == ("error", "REFUSED", "page", "127.0.0.1", "1", "1", "wait")
    assert 3590 < float(wait) <= 3600
    assert (request, rest) == ("GET /file.txt", "")


def test_keys_are_masked_and_paths_are_cut_and_escaped(nginx):
    server = nginx('client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }\n' + ONE)
    address = "2001:db8:1:2:3:4:5:6"
    server.fetch(headers={"X-Forwarded-For": address})
    server.fetch("/%22%0a%1b[31m%ff" + "a" * 300, headers={"X-Forwarded-For": address})
    line, = verdicts(server, 1)
    assert line[3] == "2001:db8:1:2::/64"
    assert line[8].startswith('GET /\\x22\\x0a\\x1b[31m\\xff' + "a" * 100) and line[8].count("a") < 200


@pytest.mark.parametrize("keys, level, word", [
    ("action: drop", "error", "DROPPED"),
    ("action: challenge", "error", "CHALLENGED"),
    ("action: mark", "warn", "MARKED"),
    ("dry_run: true", "warn", "REFUSED_DRY_RUN"),
    ("action: drop, dry_run: true", "warn", "DROPPED_DRY_RUN"),
])
def test_each_verdict_has_its_word_and_level(nginx, keys, level, word):
    server = nginx(f"limits: {{ page: {{ by: address, allow: 1 per 1h, {keys} }} }}\n")
    server.fetch()
    try:
        server.fetch()
    except OSError:
        assert "drop" in keys
    line, = verdicts(server, 1)
    assert (line[0], line[1], line[2], line[3]) == (level, word, "page", "127.0.0.1")


@pytest.mark.parametrize("keys, requests, peak", [
    ("allow: [9 per 1h, 2 per 2h]", 3, "2/2"),
    ("allow: [9 per 1h, 2 per 2h], action: mark", 3, "2/2"),
    ("allow: [9 per 1h, 2 per 2h], dry_run: true", 3, "2/2"),
    ("allow: [1 per 1s, 3 per 1h], action: challenge, overrides: { 127.0.0.1: [5 per 1h, 4 per 2h] }", 5, "4/4"),
    ("allow: 7 per 1h, dry_run: true, overrides: { 127.0.0.1: 2 per 1h }", 3, "2/2"),
    ("allow: 60 per 1h, algorithm: leaky, burst: 2", 4, "3/3"),
    ("allow: 60 per 1h, algorithm: bucket, burst: 2, action: drop", 3, "2/2"),
    ("allow: 2 per 1h, cost: 2", 2, "2/2"),
])
def test_the_peak_is_told_of_the_rate_that_decided(nginx, keys, requests, peak):
    server = nginx(f"limits: {{ page: {{ by: address, {keys} }} }}\n", http="drossel_log_level warn;")
    for _ in range(requests):
        try:
            server.fetch("/file.txt")
        except http.client.RemoteDisconnected:
            pass
    lines = server.lines(" limit=page ")
    assert len(lines) == 1 and f" peak={peak} " in lines[0]


def test_a_delay_is_told_with_its_length(nginx):
    server = nginx("limits: { page: { by: address, allow: 10 per 1s, algorithm: leaky, burst: 3, delay: 0, action: delay } }\n")
    server.statuses(2)
    line, = verdicts(server, 1)
    assert (line[0], line[1], line[6]) == ("warn", "DELAYED", "delay") and 0 < float(line[7]) <= 0.1


def test_blocks_and_bans_are_told_when_they_start_and_while_they_last(nginx):
    server = nginx("limits: { page: { by: address, allow: 1 per 1h, block: 10m } }\n")
    server.statuses(3)
    assert [line[9] for line in verdicts(server, 2)] == [" block started", " blocked"]
    server = nginx("limits: { page: { by: address, allow: 1 per 1h, ban: 10m } }\n")
    server.statuses(3)
    assert [line[9] for line in verdicts(server, 2)] == [" block started", " banned"]


def test_a_stranger_beside_the_proxy_is_told(nginx):
    server = nginx("client: { trusted: [192.0.2.1], address_from: X-Forwarded-For, require_trusted: true }\n" + ONE)
    assert server.fetch().status == 403
    line, = verdicts(server, 1)
    assert line[1:4] == ("REFUSED", "-", "127.0.0.1") and line[7] == "never" and line[9] == " not through a trusted proxy"


def test_the_level_can_be_chosen(nginx):
    server = nginx(ONE, http="drossel_log_level info;")
    server.statuses(2)
    assert verdicts(server, 1)[0][0] == "info"
    server = nginx(ONE, http="drossel_log_level info; error_log FOLDER/error.log notice;")
    server.statuses(2)
    server.access_log(2)
    assert not server.lines("drossel:")


def test_a_flood_writes_few_lines_and_counts_the_rest(nginx):
    server = nginx("""classes: { file: { path: /file.txt } }
limits: { page: { for: not file, by: address, allow: 1 per 1h }, file: { for: file, by: address, allow: 1 per 1h } }
""")
    begin = time.monotonic()
    server.statuses(101)
    seconds = int(time.monotonic() - begin) + 2
    lines = verdicts(server, 5)
    assert 5 <= len(lines) <= 5 * seconds
    server.statuses(2, "/file.txt")
    assert verdicts(server, len(lines) + 1)[-1][2] == "file", "each limit has its own budget"
    lines = verdicts(server, 1)
    time.sleep(1.1)
    server.fetch()
    told = verdicts(server, len(lines) + 1)
    held = sum(int(n) for line in told for n in re.findall(r"\(and (\d+) more in the last \d+ s\)", line[9]))
    assert held + sum(line[2] == "page" for line in told) == 101


def test_what_was_held_back_is_told_when_the_worker_ends(nginx):
    server = nginx(ONE, http="drossel_log_rate 0;")
    server.statuses(8)
    server.stop()
    assert re.search(r"drossel: limit=page \(and 7 more in the last \d+ s\) before this worker ended", server.error_log())


WATCHED = "limits: { page: { by: address, allow: 1000 per 1h } }\n"


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "Forwarded"])
def test_visitors_who_share_their_proxys_key_are_told_once_and_loudly(nginx, header):
    server = nginx(WATCHED, workers=2)
    for number in range(200):
        server.fetch(headers={header: f"203.0.113.{number}"})
    end = time.monotonic() + 5
    while not (lines := server.lines("ALL VISITORS SHARE ONE KEY")):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(lines) == 1 and "[error]" in lines[0]
    assert f"client: {{trusted: [127.0.0.1], address_from: {header}}}" in lines[0] and str(server.policy) in lines[0]


def test_of_several_headers_the_one_that_proxies_append_to_is_named(nginx):
    server = nginx(WATCHED)
    for number in range(60):
        server.fetch(headers={"CF-Connecting-IP": f"192.0.2.{number}", "X-Forwarded-For": f"203.0.113.{number}",
                              "X-Real-IP": f"198.51.100.{number}"})
    assert "address_from: X-Forwarded-For}" in server.lines("ALL VISITORS SHARE ONE KEY")[0]


def test_no_such_warning_when_the_setting_is_there_or_the_header_is_steady(nginx):
    server = nginx("client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }\n" + WATCHED)
    for number in range(120):
        server.fetch(headers={"X-Forwarded-For": f"203.0.113.{number}"})
    other = nginx(WATCHED)
    for number in range(120):
        other.fetch(headers={"X-Forwarded-For": "203.0.113.7"})
    assert not server.lines("ALL VISITORS") and not other.lines("ALL VISITORS")


def test_after_many_visitors_with_addresses_of_their_own_a_proxy_that_hides_them_is_still_told(nginx):
    server = nginx(WATCHED, http="set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;")
    for number in range(400):
        server.fetch(headers={"X-Real-IP": f"198.51.{number % 2}.{number % 250}", "X-Forwarded-For": f"203.0.113.{number % 250}"})
    assert not server.lines("ALL VISITORS")
    for number in range(1000):
        server.fetch(headers={"X-Forwarded-For": f"203.0.113.{number % 250}"})      # of no address of their own
        if server.lines("ALL VISITORS SHARE ONE KEY"):
            break
    assert len(server.lines("ALL VISITORS SHARE ONE KEY")) == 1
