"""`drossel replay` over access logs: a record is a request, and the report says whom a policy hits."""
import gzip
import json
import lzma
import os
import random
import re
import subprocess
import threading

import pytest

from access_log import A, T0, common, decisions_of, line, replay_log, write_log
from command import drossel, replay, write_policy

PAGE = "limits: { page: { by: address, allow: 2 per 10s } }"
LOGIN = "classes: { login: { method: POST, path: /login } }\n"


def verdicts(decisions):
    return [decision["verdict"] for decision in decisions]


def test_a_log_gives_the_same_decisions_as_its_requests_as_events(build, tmp_path):
    policy = LOGIN + """
limits:
  page: { by: address, allow: 4 per 10s }
  login: { for: login, by: [account, address], allow: 2 failures per 60s, block: 30s }
  path: { by: path, allow: 30 per 60s, algorithm: bucket }
"""
    dice = random.Random(5)
    lines, events, second = [], [], 0
    for _ in range(600):
        second += dice.randrange(3)
        client, user = dice.choice(["192.0.2.1", "192.0.2.2", "2001:db8::1"]), dice.choice(["-", "ann", "bob"])
        method, path, status = dice.choice([("GET", "/a/../%62?x=1", 200), ("POST", "/login", 401), ("POST", "/login?n=2", 302),
                                              ("POST", "//login", "-")])
        lines.append(line(second, client, f"{method} {path} HTTP/1.1", status, user))
        events.append({"t": T0.timestamp() + second, "address": client, "method": method, "path": path}
                      | ({"account": user} if user != "-" else {}) | ({"status": status} if status != "-" else {}))
    of_log, of_events = decisions_of(build, tmp_path, policy, lines), replay(build, tmp_path, policy, events)
    for decision in of_log + of_events:
        del decision["t"]
    assert of_log == of_events and len(set(verdicts(of_log))) == 2
    assert [d for d in of_log if "held" in d], "no request waited for an outcome that the log does not have"


def test_a_decision_tells_the_time_of_its_line(build, tmp_path):
    lines = [line(0), line(1).replace("+0000", "-0130")]
    assert [d["t"] for d in decisions_of(build, tmp_path, PAGE, lines)] == ["2026-01-05T08:00:00Z", "2026-01-05T09:30:01Z"]


def test_clients_that_are_names_are_told_apart_and_shown_by_their_names(build, tmp_path):
    names = [f"host{n}.example" for n in range(300)] + ["-", "unix:", "240.0.0.1", "x" * 400]
    lines = [line(n // 100, name) for n, name in enumerate(names * 3)]
    told = replay_log(build, tmp_path, "client: { ipv6_prefix: 32 }\nlimits: { page: { by: address, allow: 2 per 1h } }", lines, "--top", "all")
    page = told["limits"]["page"]
    assert (told["clients"], page["refused"], page["clients_refused"], page["peak"]) == (304, 304, 304, 3)
    keys = {key["key"] for key in page["top"]}
    assert {"host7.example", "host299.example", "-", "unix", "240.0.0.1"} <= keys and "240.0.0.0" not in keys
    combined = replay_log(build, tmp_path, "limits: { page: { by: [address, path], allow: 2 per 1h } }", lines[:300])
    assert combined["limits"]["page"]["top"][0]["key"].endswith(".example")


def test_requests_without_a_request_line_still_count_by_address(build, tmp_path):
    policy = "classes: { root: { path: / } }\nlimits: { root: { for: root, by: address, allow: 9 per 10s }, other: { for: not root, by: address, allow: 1 per 10s } }"
    lines = [line(0, request=request, status=400) for request in ("-", "", r"\x16\x03\x01\x02", "quit")] + [line(1)]
    told = replay_log(build, tmp_path, policy, lines)
    assert (told["requests"], told["unparsed"]) == (5, 0)
    assert (told["limits"]["other"]["requests"], told["limits"]["other"]["refused"], told["limits"]["root"]["requests"]) == (4, 3, 1)


def test_the_client_is_recovered_from_the_forwarding_header_of_the_log(build, tmp_path):
    policy = "client: { trusted: [10.0.0.0/8], address_from: X-Forwarded-For }\n" + PAGE
    lines = [line(n, "10.0.0.1", forwarded=f"198.51.100.9, 203.0.113.{n % 3}") for n in range(9)]
    told = replay_log(build, tmp_path, policy, lines, "--top", "all")
    assert {key["key"] for key in told["limits"]["page"]["top"]} == {f"203.0.113.{n}" for n in range(3)}


ACCOUNTS = [("", True), ("client: { account_from: [basic] }\n", True), ("client: { account_from: [form.user, basic] }\n", True),
            ("client: { account_from: [header.Referer, basic] }\n", False), ("client: { account_from: [basic, header.Referer] }\n", True)]


@pytest.mark.parametrize("source, is_user", ACCOUNTS, ids=[source or "none" for source, _ in ACCOUNTS])
def test_the_account_is_the_user_of_the_log_where_the_policy_finds_no_other_first(build, tmp_path, source, is_user):
    policy = source + "limits: { it: { by: account, allow: 1 per 1h } }"
    lines = [line(0, user="ann", referer="one"), line(1, user="ann", referer="two"), line(2, user="bob", referer="one")]
    expected = ["allow", "refuse", "allow"] if is_user else ["allow", "allow", "refuse"]
    assert verdicts(decisions_of(build, tmp_path, policy, lines)) == expected


def test_the_report_says_who_was_refused_when_and_what_it_would_have_cost(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 2 per 10s, block: 30s }, try: { by: address, allow: 1 per 10s, dry_run: true } }"
    rows = [(0, 200, "-"), (1, 200, "-"), (2, 302, "ann"), (3, 404, "ann"), (4, 500, "-"), (60, 200, "-")]
    lines = ["no line at all"] + [line(second, status=status, user=user) for second, status, user in rows]
    told = replay_log(build, tmp_path, policy, lines)
    page, dry = told["limits"]["page"], told["limits"]["try"]
    assert (told["requests"], told["unparsed"], told["clients"]) == (6, 1, 1)
    assert (told["first"], told["last"]) == ("2026-01-05T08:00:00Z", "2026-01-05T08:01:00Z")
    assert {name: page[name] for name in ("refused", "refused_signed_in", "refused_successful", "blocked", "longest_lockout", "longest_lockout_key")} == {
        "refused": 3, "refused_signed_in": 2, "refused_successful": 1, "blocked": 2, "longest_lockout": 30, "longest_lockout_key": A}
    assert (page["first_refused"], page["last_refused"]) == ("2026-01-05T08:00:02Z", "2026-01-05T08:00:04Z")
    assert [(e["line"], e["key"], e["text"]) for e in page["examples"]] == [(n, A, lines[n - 1]) for n in (4, 5, 6)]
    assert page["examples"][0]["file"].endswith("access.log")
    assert (dry["dry_run"], dry["refused"], dry["refused_successful"]) == (True, 4, 2)
    assert sum(page["timeline"]["counts"]) == 3 and sum(told["timeline"]["counts"]) == 6
    assert told["unparsed_examples"] and told["unparsed_examples"][0].endswith(":1: no line at all")


def test_the_report_for_people_is_aligned_and_fits_80_columns(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 2 per 10s, block: 15m }, try: { by: [address, path], allow: 1 per 1m, dry_run: true } }"
    lines = [line(n // 7, f"2001:db8:{n % 9:x}:ffff:ffff:ffff:ffff:{n % 5:x}", f"GET /{'long' * (n % 2 * 50)} HTTP/1.1") for n in range(900)]
    path = write_log(tmp_path, lines)
    text = drossel(build, "replay", "--policy", write_policy(tmp_path, policy), path).stdout
    assert max(map(len, text.splitlines())) < 80 and text.isascii()
    assert "900 requests of 9 clients" in text and "DRY RUN" in text and "would have been" in text
    assert "at the longest: 2001:db8:" in text and "access.log:" in text and "busiest keys" in text
    assert "15 min" in text and "2026-01-05 08:00:" in text


def test_times_of_logs_are_told_as_utc_and_numbers_of_events_as_numbers(build, tmp_path):
    policy = write_policy(tmp_path, PAGE)
    log = write_log(tmp_path, [line(0).replace("+0000", "+0200"), line(9).replace("+0000", "+0200")])
    assert "from 2026-01-05 06:00:00 to 2026-01-05 06:00:09 UTC: 9 s" in drossel(build, "replay", "--policy", policy, log).stdout
    events = "".join(json.dumps({"t": t, "address": A}) + "\n" for t in (5, 14))
    assert "from 5 to 14: 9 s" in drossel(build, "replay", "--policy", policy, "-", text=events).stdout
    for zone, last, told in [("Z", "Z", " UTC"), ("Z", "+01:00", "+01:00"), ("+01:00", "Z", "")]:
        events = "".join(json.dumps({"t": t, "address": A}) + "\n" for t in (f"2026-01-05T07:00:00{zone}", f"2026-01-05T09:00:09{last}"))
        shown = drossel(build, "replay", "--policy", policy, "-", text=events).stdout
        assert f"from 2026-01-05 07:00:00{zone.strip('Z')} to 2026-01-05 09:00:09{told}: " in shown


@pytest.mark.parametrize("field", ["X-Real-IP", "CF-Connecting-IP"])
@pytest.mark.parametrize("shape", ["json", "ltsv"])
def test_a_proxys_field_in_named_values_is_the_client_as_the_policy_says(build, tmp_path, field, shape):
    name = "http_" + field.lower().replace("-", "_")
    def text(client, **more):
        values = {"time": T0.timestamp(), **more, name: client, "request": "GET / HTTP/1.1", "status": "200"}
        return json.dumps(values) if shape == "json" else "\t".join(f"{key}:{value}" for key, value in values.items())
    trusting = f"client: {{ trusted: [10.0.0.0/8], address_from: {field} }}\n" + PAGE
    lines = [text(f"203.0.113.{n}", remote_addr="10.0.0.1") for n in range(3)] + [text("203.0.113.9", remote_addr="192.0.2.1")]
    keys = {key["key"] for key in replay_log(build, tmp_path, trusting, lines)["limits"]["page"]["top"]}
    assert keys == {"203.0.113.0", "203.0.113.1", "203.0.113.2", "192.0.2.1"}
    alone = replay_log(build, tmp_path, PAGE, [text("203.0.113.7")])  # no other address is in the log
    assert [key["key"] for key in alone["limits"]["page"]["top"]] == ["203.0.113.7"]


@pytest.mark.parametrize("limit, told", [
    ("by: address, allow: 3 accounts per 1h", "nobody: no key had more than 3 different accounts in 1h"),
    ("by: account, allow: 3 addresses per 1h", "nobody: no key had more than 3 different addresses in 1h"),
    ("by: address, allow: 3 per 1m, algorithm: bucket, burst: 50", "nobody: the busiest key came to 9 in 1m, 3 are allowed; others "
     "refused the rest, or a burst has room for it"),
    ("by: address, allow: 9 per 1m", "nobody: the busiest key came to 9 in 1m, 9 are allowed"),
])
def test_why_nobody_was_refused_is_told_in_what_the_limit_counts(build, tmp_path, limit, told):
    policy = write_policy(tmp_path, f"client: {{ account_from: [basic] }}\nlimits: {{ x: {{ {limit} }} }}")
    log = write_log(tmp_path, [line(0, user="ann") for _ in range(9)])
    text = drossel(build, "replay", "--policy", policy, log).stdout
    assert told in re.sub(r"\s+", " ", text), text


def test_the_examples_are_of_ten_different_keys_where_there_are(build, tmp_path):
    lines = [line(0, f"192.0.2.{n}") for n in [1] * 30 + list(range(2, 40)) * 3]
    examples = replay_log(build, tmp_path, PAGE, lines)["limits"]["page"]["examples"]
    assert len(examples) == len({example["key"] for example in examples}) == 10


def test_a_key_has_its_name_in_every_limit_whichever_it_met_first(build, tmp_path):
    policy = LOGIN + """limits:
  page: { by: address, allow: 100 per 10s }
  login: { for: login, by: address, allow: 1 per 10s }
  logins: { for: login, by: [account, address], allow: 1 per 10s }
"""
    clients = [A, "2001:db8::1", "client.example.net"]
    lines = [line(0, client) for client in clients] + [line(1, client, "POST /login HTTP/1.1", user="ann") for client in clients] * 2
    limits = replay_log(build, tmp_path, policy, lines)["limits"]
    names = {A, "2001:db8::/64", "client.example.net"}
    assert {key["key"] for key in limits["page"]["top"]} == {key["key"] for key in limits["login"]["top"]} == names
    assert {example["key"] for example in limits["login"]["examples"]} == names
    path = write_policy(tmp_path, policy)
    shown = drossel(build, "replay", "--policy", path, tmp_path / "access.log").stdout
    assert all(shown.split("login: 1 per 10s")[1].count(name) >= 2 for name in clients[::2])


def test_the_refused_lines_are_written_as_they_stood(build, tmp_path):
    odd = line(3, agent=r"a\"b \x00 é")
    lines = [line(0), line(1), line(2, status=304), odd, line(4, "192.0.2.9")]
    for policy in (PAGE, PAGE.replace("2 per 10s", "2 per 10s, dry_run: true")):
        out = tmp_path / "refused.log"
        done = drossel(build, "replay", "--policy", write_policy(tmp_path, policy), "--refused", out, write_log(tmp_path, lines))
        assert out.read_text().splitlines() == [lines[2], odd] and done.stdout == ""


def test_lines_are_taken_by_their_time_or_as_they_stand(build, tmp_path):
    lines = [line(20), line(0), line(1), line(11), line(21)]
    assert verdicts(decisions_of(build, tmp_path, PAGE, lines)) == ["allow"] * 5
    assert verdicts(decisions_of(build, tmp_path, PAGE, lines, "--order", "file")) == ["allow", "allow", "refuse", "refuse", "refuse"]


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_on(build, tmp_path):
    path = write_log(tmp_path, [line(0)])
    for bad in (tmp_path / "no-such.log", tmp_path):
        done = drossel(build, "replay", "--policy", write_policy(tmp_path, PAGE), "--json", bad, path, code=1)
        assert str(bad) in done.stderr and json.loads(done.stdout)["requests"] == 1


@pytest.mark.parametrize("head", [b"\x28\xb5\x2f\xfd....", "x y".encode("utf-16")])
@pytest.mark.parametrize("command", ["replay", "suggest"])
def test_a_file_of_a_kind_that_is_not_read_is_named_once_and_the_others_go_on(build, tmp_path, command, head):
    bad, path = tmp_path / "access.log.1", write_log(tmp_path, [common(n // 1000, f"10.0.{n % 30000 >> 8}.{n & 255}") for n in range(60000)])
    bad.write_bytes(head)
    policy = ["--policy", write_policy(tmp_path, PAGE)] if command == "replay" else []
    done = drossel(build, command, *policy, "--json", path, bad, code=1)
    assert json.loads(done.stdout)["requests"] == 60000
    assert done.stderr.count(str(bad)) == 2 and done.stderr.count("\n") == 1, done.stderr  # its name, and in the command
    done = drossel(build, command, *policy, bad, code=1)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    done = drossel(build, command, *policy, bad, bad, code=1)
    assert done.stdout == "" and "no log is left" in done.stderr


def test_a_truncated_archive_is_named_and_what_is_there_counts(build, tmp_path):
    lines = "".join(line(n, f"192.0.2.{n % 250}") + "\n" for n in range(5000)).encode()
    whole, cut = gzip.compress(lines), tmp_path / "cut.log.gz"
    cut.write_bytes(whole[:len(whole) // 2])
    path = write_log(tmp_path, [line(0)])
    done = drossel(build, "replay", "--policy", write_policy(tmp_path, PAGE), "--json", cut, path, code=1)
    assert "cut.log.gz" in done.stderr and 1 < json.loads(done.stdout)["requests"] < 5001


def test_logs_and_events_of_one_replay_are_taken_in_the_order_of_their_time(build, tmp_path):
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps({"t": T0.timestamp() + t, "address": A, "status": 204}) + "\n" for t in (1, 3)))
    log = write_log(tmp_path, [line(0), line(2), line(30)])
    done = drossel(build, "replay", "--policy", write_policy(tmp_path, PAGE), "--decisions", "-", log, events)
    told = [json.loads(text) for text in done.stdout.splitlines()]
    assert [(d["verdict"], d["status"]) for d in told] == [("allow", 200), ("allow", 204), ("refuse", 429), ("refuse", 429), ("allow", 200)]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_events_are_events_from_a_file_and_from_a_pipe(build, tmp_path, pack):
    policy = write_policy(tmp_path, "limits: { x: { by: address, allow: 1 failures per 1m } }")
    events = [{"t": 5, "address": A, "status": 200, "settle_at": 5.3}, {"t": 5, "address": A, "status": 200}]
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_text("\ufeff" + "".join(json.dumps(event) + "\n" for event in events))
    packed.write_bytes(pack(plain.read_bytes()))
    told = [json.loads(text) for text in drossel(build, "replay", "--policy", policy, "--decisions", "-", plain).stdout.splitlines()]
    assert [decision.get("held") for decision in told] == [None, 0.3]
    for options in ([], ["--format", "events"]):
        for source in ([packed], ["-"]):
            with packed.open("rb") as text, subprocess.Popen(["cat"], stdin=text, stdout=subprocess.PIPE) as pipe:
                done = subprocess.run([build / "drossel", "replay", "--policy", policy, "--decisions", "-", *options, *source],
                                      stdin=pipe.stdout, capture_output=True, text=True, timeout=20)
            assert [json.loads(text) for text in done.stdout.splitlines()] == told and done.returncode == 0, done.stderr
    cut = tmp_path / "cut"
    cut.write_bytes(packed.read_bytes()[:-6])
    done = drossel(build, "replay", "--format", "events", "--policy", policy, "--decisions", "-", cut, code=1)
    assert str(cut) in done.stderr and "too early" in done.stderr


def test_a_log_through_a_pipe_is_recognised_and_may_be_read_again(build, tmp_path):
    policy = write_policy(tmp_path, "limits: { page: { by: address, allow: 1 per 1h } }")
    clients = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(70000)]
    text = "".join(common(lap, client) + "\n" for lap in range(2) for client in clients)
    told = json.loads(drossel(build, "replay", "--policy", policy, "--json", "-", text=text).stdout)
    page = told["limits"]["page"]
    assert (told["requests"], told["clients"], page["refused"], page["clients_refused"]) == (140000, 70000, 70000, 70000)


def test_what_comes_through_a_pipe_is_kept_where_tmpdir_says(build, tmp_path):
    policy = write_policy(tmp_path, PAGE)
    for command in (["replay", "--policy", policy], ["suggest"]):
        done = drossel(build, *command, "-", text=line(0) + "\n", env=os.environ | {"TMPDIR": str(tmp_path / "none")}, code=1)
        assert f"standard input: no room for it in {tmp_path}/none" in done.stderr and "set TMPDIR" in done.stderr
        drossel(build, *command, "-", text=line(0) + "\n", env=os.environ | {"TMPDIR": str(tmp_path)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.yaml"]


def test_standard_input_that_cannot_be_read_is_no_empty_log(build, tmp_path):
    policy = write_policy(tmp_path, PAGE)
    for command in (["replay", "--policy", policy], ["suggest"]):
        folder = os.open(tmp_path, os.O_RDONLY)
        done = subprocess.run([build / "drossel", *command, "-"], stdin=folder, capture_output=True, text=True, timeout=20)
        os.close(folder)
        assert done.returncode == 1 and "standard input: cannot be read: Is a directory" in done.stderr


@pytest.mark.parametrize("command, option", [("replay", "--decisions"), ("replay", "--refused"), ("suggest", "--policy"), ("suggest", "--html")])
def test_a_file_that_is_read_is_not_written_over(build, tmp_path, command, option):
    log, policy = write_log(tmp_path, [line(0), line(1)]), write_policy(tmp_path, PAGE)
    link = tmp_path / "link"
    link.symlink_to(log)
    before = log.read_text(), policy.read_text()
    arguments = [command] + (["--policy", policy] if command == "replay" else [])
    for written in (log, link, policy):
        if written != policy or option != "--html":  # which suggest does not read
            done = drossel(build, *arguments, option, written, log, code=2)
            assert str(written) in done.stderr and done.stdout == ""
    assert (log.read_text(), policy.read_text()) == before
    done = drossel(build, "replay", "--policy", policy, "--decisions", tmp_path / "x", "--refused", tmp_path / "x", log, code=2)
    assert "name two files" in done.stderr and not (tmp_path / "x").exists()


def test_a_proposal_replaces_a_proposal_but_no_policy_of_somebody(build, tmp_path):
    log, proposal, own = write_log(tmp_path, [line(0)]), tmp_path / "proposal.yaml", write_policy(tmp_path, PAGE)
    proposal.touch()
    for _ in range(2):
        drossel(build, "suggest", "--policy", proposal, log)
        assert proposal.read_text().startswith("# Proposed by `drossel suggest`")
    before = own.read_text()
    assert "was not proposed by this command" in drossel(build, "suggest", "--policy", own, log, code=2).stderr
    assert own.read_text() == before


def test_a_log_through_a_named_pipe_is_read_once_and_whole(build, tmp_path):
    fifo, policy = tmp_path / "access.fifo", write_policy(tmp_path, "limits: { page: { by: address, allow: 1 per 1h } }")
    os.mkfifo(fifo)
    text = "".join(common(n // 40000, f"10.{n % 40000 >> 8}.{n % 40000 & 255}.1") + "\n" for n in range(80000))
    writer = threading.Thread(target=fifo.write_text, args=(text,))
    # the first to open it must be the one that reads it: nobody looks into it before
    reader = subprocess.Popen([build / "drossel", "replay", "--policy", policy, "--json", fifo], stdout=subprocess.PIPE, text=True)
    writer.start()
    try:
        out, _ = reader.communicate(timeout=60)
    finally:
        reader.kill()
        writer.join()
    told = json.loads(out)
    assert reader.returncode == 0 and (told["requests"], told["limits"]["page"]["refused"]) == (80000, 40000)


def through_pipes(build, arguments, texts, paths):
    """What the command says of texts that come through these named pipes."""
    reader = subprocess.Popen([build / "drossel", *arguments, *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writers = [threading.Thread(target=path.write_bytes, args=(text,)) for path, text in zip(paths, texts)]
    for writer in writers:
        writer.start()
    try:
        out, errors = reader.communicate(timeout=60)
    finally:
        reader.kill()
        for path in paths:  # a writer whose pipe nobody opened
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        for writer in writers:
            writer.join()
    return reader.returncode, out, errors


def test_a_named_pipe_is_recognised_as_a_file_is(build, tmp_path):
    policy = write_policy(tmp_path, "limits: { x: { by: address, allow: 1 failures per 1m } }")
    events = [{"t": 5, "address": A, "status": 200, "settle_at": 5.3}, {"t": 5, "address": A, "status": 200}]
    lines, quoted = [f"{{t: 5, address: {A}}}", line(0)], "".join(json.dumps(event) + "\n" for event in events)
    cases = [quoted, gzip.compress(quoted.encode()), "\n".join(map(json.dumps, events[:1])), "", line(0) + "\n" + line(1) + "\n",
             "\n".join(lines), "not a log\n"]
    for number, text in enumerate(cases):
        text = text if isinstance(text, bytes) else text.encode()
        plain, fifo = tmp_path / f"plain{number}", tmp_path / f"fifo{number}"
        plain.write_bytes(text)
        os.mkfifo(fifo)
        arguments = ["replay", "--policy", policy, "--decisions", "-"]
        done = subprocess.run([build / "drossel", *arguments, plain], capture_output=True, text=True, timeout=20)
        code, out, errors = through_pipes(build, arguments, [text], [fifo])
        assert (code, out, errors.replace("fifo", "plain")) == (done.returncode, done.stdout, done.stderr)
    assert json.loads(through_pipes(build, arguments, [quoted.encode()], [tmp_path / "fifo0"])[1].splitlines()[1])["held"] == 0.3


def test_events_and_a_log_through_two_pipes_are_one_stream(build, tmp_path):
    policy = write_policy(tmp_path, PAGE)
    paths = [tmp_path / "events", tmp_path / "log"]
    for path in paths:
        os.mkfifo(path)
    texts = [json.dumps({"t": T0.timestamp() + 1, "address": A}) + "\n", line(0, A) + "\n" + line(2, A) + "\n"]
    code, out, errors = through_pipes(build, ["replay", "--policy", policy, "--decisions", "-"], [text.encode() for text in texts], paths)
    assert code == 0 and verdicts(map(json.loads, out.splitlines())) == ["allow", "allow", "refuse"], errors


def test_more_clients_than_a_table_has_room_for_change_no_decision(build, tmp_path):
    clients = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(120000)]
    path = write_log(tmp_path, [common(lap, client) for lap in range(2) for client in clients])
    policy, out = write_policy(tmp_path, "limits: { page: { by: address, allow: 1 per 1h } }"), tmp_path / "decisions"
    drossel(build, "replay", "--policy", policy, "--decisions", out, path)
    assert verdicts(map(json.loads, out.read_text().splitlines())) == ["allow"] * 120000 + ["refuse"] * 120000


def test_a_window_of_many_requests_takes_no_memory_for_each(build, tmp_path):
    told = replay_log(build, tmp_path, "limits: { page: { by: address, allow: 10 per 1d } }", [common(n // 5000) for n in range(200000)])
    assert told["limits"]["page"]["peak"] == 200000


def test_two_policies_are_compared_by_limits_requests_and_clients(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 2 per 10s }, old: { by: path, allow: 99 per 10s } }"
    other = write_policy(tmp_path, "limits: { page: { by: address, allow: 3 per 10s }, new: { for: login, by: site, allow: 1 per 10s, dry_run: true } }\n" + LOGIN, "other.yaml")
    lines = [line(0, "192.0.2.1")] * 5 + [line(1, "192.0.2.2")] * 3 + [line(2, "192.0.2.3", "POST /login HTTP/1.1")] * 2
    told = replay_log(build, tmp_path, policy, lines, "--compare", other)["compare"]
    assert told["limits"]["page"]["refused"] == [4, 2] and told["limits"]["page"]["clients_refused"] == [2, 1]
    assert told["limits"]["old"]["refused"] == [0, None] and told["limits"]["new"]["refused"] == [None, 1]
    assert told["requests"] == {"both": 2, "only_first": 2, "only_second": 1}
    assert told["clients"]["both"] == 1
    assert told["clients"]["only_first"] == {"clients": 1, "examples": [{"key": "192.0.2.2", "requests": 3, "refused": 1}]}
    assert told["clients"]["only_second"] == {"clients": 1, "examples": [{"key": "192.0.2.3", "requests": 2, "refused": 1}]}
    assert told["second"]["limits"]["page"]["refused"] == 2
    text = drossel(build, "replay", "--policy", tmp_path / "policy.yaml", "--compare", other, tmp_path / "access.log").stdout
    assert "hit only by A" in text and "hit only by B" in text and str(other) in text


def test_a_policy_without_limits_and_an_empty_log_are_reported(build, tmp_path):
    empty = replay_log(build, tmp_path, PAGE, [])
    assert (empty["requests"], empty["first"], empty["limits"]["page"]["peak"]) == (0, None, 0)
    assert drossel(build, "replay", "--policy", tmp_path / "policy.yaml", tmp_path / "access.log").stdout.startswith("0 requests")
    assert replay_log(build, tmp_path, "", [line(0)])["limits"] == {}
