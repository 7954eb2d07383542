"""`drossel replay`: events in, decisions and a summary out."""
import json
import random
import subprocess

import pytest

from command import drossel, replay, summary, verdicts, write_policy

A = "203.0.113.7"
PAGE = "limits: { page: { by: address, allow: 50 per 10s } }"
TIMES = [
    (12.5, "12.5"), (0, "0"), (1700000000.1, "1700000000.1"), (0.000000001, "1e-09"),
    ("2026-01-31T12:00:00Z", '"2026-01-31T12:00:00Z"'), ("2026-01-31t12:00:00.5+01:00", '"2026-01-31t12:00:00.5+01:00"'),
    ("2016-12-31T23:59:60Z", '"2016-12-31T23:59:60Z"'), ("1970-01-01 00:00:00.123456789z", '"1970-01-01 00:00:00.123456789z"'),
    (100, "100"), (123456, "123456"),
]


@pytest.mark.parametrize("t, printed", TIMES, ids=[str(time[0]) for time in TIMES])
def test_a_decision_is_one_line_with_its_time_as_given(build, tmp_path, t, printed):
    path = write_policy(tmp_path, PAGE)
    done = drossel(build, "replay", "--format", "events", "--decisions", "-", "--policy", path, "-",
                   text=json.dumps({"t": t, "address": A}))
    assert done.stdout == (f'{{"t":{printed},"verdict":"allow","limit":"page","remaining":49,"retry_after":0,"delay":0,'
                           f'"dry_run":[],"status":200}}\n')


BAD = [
    ('{"address": "203.0.113.7"}', '"t" is missing'),
    ('{"t": -1, "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": 1e300, "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": "yesterday", "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": "2026-02-29T00:00:00Z", "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": "2026-02-28T00:00:00", "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": "1969-12-31T23:59:59Z", "address": "203.0.113.7"}', '"t" is no time'),
    ('{"t": 1}', 'neither "address" nor "peer"'),
    ('{"t": 1, "address": "203.0.113"}', 'is no address'),
    ('{"t": 1, "address": 7}', 'is no address'),
    ('{"t": 1, "peer": "x"}', 'is no address'),
    ('{"t": 1, "address": "203.0.113.7", "path": 3}', '"path" is no string'),
    ('{"t": 1, "address": "203.0.113.7", "headers": []}', '"headers" is no object'),
    ('{"t": 1, "address": "203.0.113.7", "headers": {"A": 1}}', 'header "A"'),
    ('{"t": 1, "address": "203.0.113.7", "answer_headers": ["A"]}', '"answer_headers" is no object'),
    ('{"t": 1, "address": "203.0.113.7", "headers": {"A": ["x", 1]}}', 'header "A"'),
    ('{"t": 1, "address": "203.0.113.7", "cost": -1}', '"cost" is out of range'),
    ('{"t": 1, "address": "203.0.113.7", "cost": 1.5}', '"cost" is out of range'),
    ('{"t": 1, "address": "203.0.113.7", "cost": 1e300}', '"cost" is out of range'),
    ('{"t": 1, "address": "203.0.113.7", "status": 20}', '"status" is out of range'),
    ('{"t": 2, "address": "203.0.113.7", "settle_at": 1}', '"settle_at"'),
    ('[1]', 'one object a line'),
    ('{"t": 1, "address": "203.0.113.7"} x', 'no JSON'),
    ('nonsense', 'no JSON'),
    ('{"t": 1, "address": "203.0.113.7"', 'no JSON'),
]


@pytest.mark.parametrize("line, complaint", BAD, ids=[bad[0] for bad in BAD])
def test_a_bad_line_is_told_with_its_place_and_the_others_go_on(build, tmp_path, line, complaint):
    path, events = write_policy(tmp_path, PAGE), tmp_path / "events.jsonl"
    good = json.dumps({"t": 5, "address": A})
    events.write_text(f"{good}\n\n{line}\n{good}\n")
    done = drossel(build, "replay", "--decisions", "-", "--policy", path, events, code=1)
    assert f"{events}:3: " in done.stderr and complaint in done.stderr and done.stderr.count("\n") == 1
    assert [json.loads(text)["remaining"] for text in done.stdout.splitlines()] == [49, 48]


def test_what_other_writers_make_of_the_same_events_is_read(build, tmp_path):
    """A byte order mark, line ends of Windows, whole numbers with a point, a header that is not there."""
    path = write_policy(tmp_path, PAGE)
    text = ('\ufeff{"t": 1.0, "address": "203.0.113.7", "cost": 3.0, "status": 404.0}\r\n'
            '{"t": 2, "address": "203.0.113.7", "headers": {"A": null, "B": ["x"]}, "status": null, "cost": 4e1}')
    done = drossel(build, "replay", "--format", "events", "--decisions", "-", "--policy", path, "-", text=text)
    assert [(d["remaining"], d["status"]) for d in map(json.loads, done.stdout.splitlines())] == [(47, 404), (7, 200)]


def test_events_are_taken_in_the_order_of_their_time_from_all_files(build, tmp_path):
    path = write_policy(tmp_path, "limits: { page: { by: address, allow: 2 per 10s } }")
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_text("".join(json.dumps({"t": t, "address": A, "status": s}) + "\n" for t, s in [(3, 301), (1, 302), (1, 303)]))
    second.write_text("".join(json.dumps({"t": t, "address": A, "status": s}) + "\n" for t, s in [(0, 304), (1, 204)]))
    lines = drossel(build, "replay", "--decisions", "-", "--policy", path, first, second).stdout.splitlines()
    assert [(d["t"], d["status"]) for d in map(json.loads, lines)] == [(0, 304), (1, 302), (1, 429), (1, 429), (3, 429)]


def test_decisions_go_to_a_file_and_a_summary_is_printed_only_on_demand(build, tmp_path):
    path, out = write_policy(tmp_path, PAGE), tmp_path / "decisions"
    event = json.dumps({"t": 1, "address": A})
    done = drossel(build, "replay", "--decisions", out, "--policy", path, "-", text=event)
    assert done.stdout == "" and json.loads(out.read_text())["limit"] == "page"
    both = drossel(build, "replay", "--decisions", out, "--json", "--policy", path, "-", text=event)
    assert json.loads(both.stdout)["requests"] == 1 and json.loads(out.read_text())["limit"] == "page"
    people = drossel(build, "replay", "--policy", path, "-", text=event).stdout
    assert "1 requests of 1 clients" in people and "page" in people


USAGE = [
    (["--json", "--decisions", "-"], "both want standard output"), (["--json", "--refused", "-"], "both want standard output"),
    (["--door", "windows"], "there is no door windows"), (["--order", "size"], "there are time and file"),
    (["--top", "few"], "write one, or all"),
]


@pytest.mark.parametrize("options, complaint", USAGE, ids=[" ".join(usage[0]) for usage in USAGE])
def test_wrong_usage_says_what_would_be_right(build, tmp_path, options, complaint):
    path = write_policy(tmp_path, PAGE)
    assert complaint in drossel(build, "replay", "--policy", path, *options, "-", code=2).stderr


def test_an_unknown_format_is_told_with_those_that_there_are(build, tmp_path):
    path = write_policy(tmp_path, PAGE)
    told = drossel(build, "replay", "--policy", path, "--format", "no-such", "-", code=1).stderr
    assert "no-such" in told and "combined" in told


def test_a_missing_file_and_a_policy_with_mistakes_fail(build, tmp_path):
    path = write_policy(tmp_path, PAGE)
    assert "no-such" in drossel(build, "replay", "--policy", path, tmp_path / "no-such", code=1).stderr
    wrong = write_policy(tmp_path, "limits: { page: { bi: address, allow: 50 per 10s } }", "wrong.yaml")
    done = drossel(build, "replay", "--policy", wrong, "--decisions", "-", "-", code=1, text='{"t":0,"address":"192.0.2.1"}')
    assert f"{wrong}:2:" in done.stderr and done.stdout == ""


def test_the_client_is_recovered_from_peer_and_header_lines(build, tmp_path):
    policy = """
client: { trusted: [127.0.0.1, 10.0.0.0/8], address_from: X-Forwarded-For }
limits: { page: { by: address, allow: 1 per 60s } }
"""
    lines = [{"X-Forwarded-For": "203.0.113.1, 10.1.1.1"}, {"x-forwarded-for": ["198.51.100.1", "203.0.113.1", "10.9.9.9"]},
             {"X-Forwarded-For": "203.0.113.2"}, {}]
    events = [{"t": n, "peer": "127.0.0.1", "headers": headers} for n, headers in enumerate(lines)]
    events += [{"t": 4, "peer": "192.0.2.1", "headers": lines[0]}, {"t": 5, "address": "203.0.113.2", "headers": lines[0]}]
    assert [d["verdict"] for d in replay(build, tmp_path, policy, events)] == ["allow", "refuse", "allow", "allow", "allow", "refuse"]


@pytest.mark.parametrize("written", ["unix", '"unix:"'])
def test_a_peer_on_a_local_socket_is_written_as_nginx_does(build, tmp_path, written):
    policy = f"""
client: {{ trusted: [{written}], address_from: X-Forwarded-For }}
limits: {{ page: {{ by: address, allow: 1 per 60s }} }}
"""
    headers = {"X-Forwarded-For": "203.0.113.1"}
    events = [{"t": 0, "peer": "unix:", "headers": headers}, {"t": 1, "peer": "unix", "headers": headers},
              {"t": 2, "peer": "unix:"}, {"t": 3, "peer": "unix"}]
    assert verdicts(replay(build, tmp_path, policy, events)) == ["allow", "refuse", "allow", "refuse"]


def test_host_path_token_and_cost_are_facts(build, tmp_path):
    policy = """
client: { token_from: [header.X-Api-Key] }
classes: { shop: { host: shop.example, path: /a/b } }
limits: { it: { for: shop, by: token, allow: 10 per 60s } }
"""
    at = {"address": A, "host": "Shop.Example:8080", "path": "/x/../a//%62?q=1"}
    events = [{"t": 0, "token": "k", **at}, {"t": 1, "headers": {"X-Api-Key": "k"}, **at}, {"t": 2, "token": "k", "cost": 3, **at},
              {"t": 3, "token": "k", "cost": 0, **at}, {"t": 4, "token": "other", **at}, {"t": 5, **at},
              {"t": 6, "token": "k", "cost": 6, **at}, {"t": 7, "token": "k", "cost": 11, **at}]
    told = [(d["limit"], d["remaining"], d["retry_after"]) for d in replay(build, tmp_path, policy, events)]
    assert told == [("it", 9, 0), ("it", 8, 0), ("it", 5, 0), ("it", 5, 0), ("it", 9, 0), (None, None, 0), ("it", 5, 54), ("it", 5, None)]


def test_a_limit_for_other_doors_does_not_apply(build, tmp_path):
    policy = "limits: { it: { by: address, allow: 1 per 60s, only: [php] } }"
    events = [{"t": n, "address": A} for n in range(3)]
    assert {d["limit"] for d in replay(build, tmp_path, policy, events)} == {None}
    assert replay(build, tmp_path, policy, events, options=["--door", "php"])[-1]["verdict"] == "refuse"


ACTIONS = [("refuse", "refuse", 429), ("drop", "drop", 0), ("challenge", "challenge", 401), ("mark", "mark", 401)]


@pytest.mark.parametrize("action, verdict, status", ACTIONS)
def test_each_action_has_its_verdict_and_status(build, tmp_path, action, verdict, status):
    policy = f"limits: {{ it: {{ by: address, allow: 1 per 60s, action: {action} }} }}"
    last = replay(build, tmp_path, policy, [{"t": n, "address": A, "status": 401} for n in range(2)])[-1]
    assert (last["verdict"], last["status"], last["limit"]) == (verdict, status, "it")


def test_a_policy_may_choose_the_status_of_a_refusal(build, tmp_path):
    policy = "answer: { status: 503 }\nlimits: { it: { by: address, allow: 0 per 60s } }"
    assert replay(build, tmp_path, policy, [{"t": 0, "address": A}])[0]["status"] == 503


def test_the_summary_counts_for_each_limit(build, tmp_path):
    policy = """
limits:
  page: { by: address, allow: 3 per 10s, block: 20s }
  ask: { by: address, allow: 2 per 10s, action: challenge }
"""
    events = [{"t": n, "address": A} for n in (0, 1, 2, 3, 4, 30)] + [{"t": 5, "address": "192.0.2.1"}]
    told = summary(build, tmp_path, policy, events + [{"t": -1}], code=1)
    assert (told["requests"], told["unparsed"], told["first"], told["last"], told["clients"]) == (7, 1, 0, 30, 2)
    page = told["limits"]["page"]
    assert {name: page[name] for name in ("requests", "clients", "refused", "clients_refused", "blocked", "challenged", "peak")} == {
        "requests": 7, "clients": 2, "refused": 2, "clients_refused": 1, "blocked": 1, "challenged": 0, "peak": 5}
    assert page["top"][0] == {"key": A, "requests": 6, "refused": 2, "peak": 5}
    assert told["limits"]["ask"]["challenged"] == 3 and told["limits"]["ask"]["refused"] == 0


def test_a_peak_is_exact_in_the_window_open_at_its_start(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 100 per 10s } }"
    times = [0, 1, 2, 10, 10.5, 11, 12, 30]
    told = summary(build, tmp_path, policy, [{"t": t, "address": A} for t in times])
    widest = max(sum(t - 10 < other <= t for other in times) for t in times)
    assert told["limits"]["page"]["peak"] == widest == 4   # closed at both ends it would be 5


def test_more_keys_than_the_policy_has_room_for_change_no_decision(build, tmp_path):
    policy = "table: { keys: 64 }\nlimits: { page: { by: address, allow: 1 per 1h } }"
    events = [{"t": lap, "address": f"10.{n >> 8}.{n & 255}.1"} for lap in range(2) for n in range(20000)]
    decisions = replay(build, tmp_path, policy, events)
    assert [d["verdict"] for d in decisions] == ["allow"] * 20000 + ["refuse"] * 20000


def test_a_key_that_a_stranger_chose_steers_no_terminal_and_shares_no_count(build, tmp_path):
    policy = "limits: { it: { by: path, allow: 1 per 60s } }"
    events = [{"t": n, "address": A, "path": f"/{'x' * 300 * (n % 2)}%1b%5b2J%ff%c3%{0xa0 + n:x}"} for n in range(9)]
    told = summary(build, tmp_path, policy, events)["limits"]["it"]
    assert (told["peak"], len(told["top"]), told["refused"]) == (1, 9, 0)
    text = "".join(json.dumps(event) + "\n" for event in events * 2)
    shown = drossel(build, "replay", "--policy", tmp_path / "policy.yaml", "-", text=text).stdout
    assert "[2J" in shown and "\x1b" not in shown


def test_every_line_of_a_mutated_file_is_either_decided_or_complained_about(build, tmp_path):
    dice = random.Random(3)
    good = json.dumps({"t": 12.5, "address": A, "peer": "2001:db8::1", "method": "POST", "path": "/a%20b/../c", "host": "a.example:80",
                       "account": "u", "token": "k", "headers": {"X-A": ["1", "2"]}, "cost": 2, "status": 401, "settle_at": 13}).encode()
    lines = []
    for _ in range(3000):
        line = bytearray(good)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(line))
            line[at:at + dice.randrange(3)] = bytes(dice.choice(b'"{}[],:0123456789.eE-%/\\x00\\xff\\\\u a') for _ in range(dice.randrange(3)))
        lines.append(bytes(line).replace(b"\n", b" "))
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(lines))
    path = write_policy(tmp_path, "limits: { page: { by: [address, path, header.X-A], allow: 50 per 10s } }")
    done = subprocess.run([build / "drossel", "replay", "--json", "--policy", path, events], capture_output=True, timeout=60)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["unparsed"] == done.stderr.count(b"\n") > 100
    assert told["requests"] + told["unparsed"] == len(lines) and told["requests"] > 100
