"""What a stranger puts into a log, or into an event, steers no terminal, no page and no policy."""
import os
import pty
import re
import subprocess

import pytest

from access_log import stamp
from command import write_policy

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
EVIL = "\x1b[31m\x07\u009b2J\u202e<script>alert(1)</script>: {x} # \u2028"
POLICY = """
client: { account_from: [basic] }
table: { reveal: true }
limits:
  page: { by: address, allow: 2 per 10s }
  path: { by: path, allow: 2 per 10s }
  account: { by: account, allow: 2 per 10s }
"""


@pytest.fixture
def hostile(tmp_path):
    lines = [f'{client} - {EVIL} [{stamp(n)}] "POST /login{EVIL} HTTP/1.1" 401 1 "{EVIL}" "bot{EVIL}"'
             for n in range(90) for client in ("203.0.113.7", "host" + EVIL.replace(" ", ""))]
    path = tmp_path / "access\x1b[31m\u009b.log"
    path.write_text("\n".join([*lines, EVIL]) + "\n", newline="\n")
    return path


def said(build, *arguments):
    done = subprocess.run([build / "drossel", *arguments], capture_output=True, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("options", [["--json", "--top", "all"], [], ["--decisions", "-"], ["--compare"], ["--compare", "--json"]])
def test_a_replay_prints_nothing_that_a_terminal_obeys(build, tmp_path, hostile, options):
    policy = write_policy(tmp_path, POLICY)
    if "--compare" in options:
        options = ["--compare", policy, *options[1:]]
    code, text = said(build, "replay", "--policy", policy, *options, hostile)
    assert code == 0 and len(text) > 1000
    assert not OBEYED.search(text), OBEYED.search(text)


def test_refused_lines_are_plain_on_a_terminal_and_as_they_stood_elsewhere(build, tmp_path, hostile):
    command = [build / "drossel", "replay", "--policy", write_policy(tmp_path, POLICY), "--refused", "-", hostile]
    piped = subprocess.run(command, capture_output=True, timeout=60).stdout
    assert piped and set(piped.splitlines()) <= set(hostile.read_bytes().splitlines())
    leader, terminal = pty.openpty()
    process = subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(leader, 1 << 16):
            shown += part
    except OSError:  # nobody writes into it any more
        pass
    finally:
        process.wait(30)
        os.close(leader)
    lines = shown.decode().split("\r\n")[:-1]
    assert len(lines) == piped.count(b"\n") and not OBEYED.search("".join(lines))


@pytest.mark.parametrize("options", [[], ["--json", "--all"], ["--policy", "-"], ["--html", "-"]])
def test_a_proposal_has_nothing_that_a_terminal_or_a_page_obeys(build, hostile, options):
    code, text = said(build, "suggest", *options, hostile)
    assert code == 0 and len(text) > 1000
    assert not OBEYED.search(text), OBEYED.search(text)
    if "--html" in options:
        assert "<script" not in text


@pytest.mark.parametrize("event", [
    '{"t":1,"address":"EVIL\\nb.jsonl:9: fine"}', '{"t":1,"address":"203.0.113.7","headers":{"EVIL":1}}', "EVIL", '{"t":"EVIL","address":"::1"}'])
def test_a_mistake_in_an_event_is_told_in_one_plain_line(build, tmp_path, event):
    written = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 and event.startswith("{") else c for c in EVIL)
    path = tmp_path / "a.jsonl"
    path.write_text(event.replace("EVIL", written) + "\n", newline="\n")
    code, text = said(build, "replay", "--format", "events", "--decisions", "-", "--policy", write_policy(tmp_path, POLICY), path)
    assert code == 1 and text.startswith(f"{path}:1: ") and text.count("\n") == 1
    assert not OBEYED.search(text), OBEYED.search(text)


@pytest.mark.parametrize("arguments", [
    ["replay", "--policy", "POLICY", "no\x1b[31m\u009b.log"], ["suggest", "no\x1b[31m\u009b.log"], ["check", "no\x1b[31m.yaml"],
    ["suggest", "--format", "x\x1b[31m", "LOG"], ["rep\x1b[31m"], ["replay", "--map", "\x1b[31m=x", "--policy", "POLICY", "LOG"],
    ["replay", "--x\x1b[31m", "LOG"], ["explain", "POLICY", "G\x1b[31m"], ["explain", "POLICY", "GET /", "--peer", "\x1b[31m"]])
def test_what_was_typed_is_told_back_plainly(build, tmp_path, hostile, arguments):
    known = {"POLICY": write_policy(tmp_path, POLICY), "LOG": hostile}
    code, text = said(build, *[known.get(argument, argument) for argument in arguments])
    assert code in (1, 2) and text
    assert not OBEYED.search(text), OBEYED.search(text)


@pytest.mark.parametrize("path", ["/%1b%5b31m%c2%9b%0aclient     1.2.3.4%ff", "/\x1b[31m\u009b\nclient     1.2.3.4"])
def test_a_request_that_is_explained_is_shown_plainly(build, tmp_path, path):
    code, text = said(build, "explain", write_policy(tmp_path, POLICY), f"GET {path}", "--private", "--account", "a\x1b[31m\nclient")
    assert code == 0 and not OBEYED.search(text), OBEYED.search(text)
    assert [line.split()[0] for line in text.splitlines()].count("client") == 1


def test_a_policy_is_described_plainly(build, tmp_path):
    policy = write_policy(tmp_path, 'classes: { odd: { path: "/\\u009b[31m\\u00e9", header.X: "\\u202e" } }\n'
                                    "limits: { it: { for: odd, by: address, allow: 1 per 1s } }")
    code, text = said(build, "check", policy)
    assert code == 0 and "the path is /??[31m\u00e9 and" in text and not OBEYED.search(text)


def test_the_file_of_a_proposal_is_named_plainly(build, tmp_path, hostile):
    code, text = said(build, "suggest", "--policy", tmp_path / "out\x1b[31m.yaml", hostile)
    assert code == 0 and "The policy was written to" in text and not OBEYED.search(text)
