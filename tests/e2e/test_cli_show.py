"""drossel show: verdicts, limits, dry runs from trial to enforcement, watching, and names that clients chose."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from command import drossel
from conftest import wait_until
from test_cli_open import live  # noqa: F401

POLICY = """
client: {{ trusted: [127.0.0.1], address_from: X-Forwarded-For }}
classes: {{ api: {{ path_begins: /file }} }}
limits:
  page: {{ by: address, allow: 3 per 1h{dry} }}
  api: {{ for: api, by: address, allow: 1 per 1h, block: 10m }}
  path: {{ for: api, by: path, allow: 100 per 1h }}
"""


def visit(server, client, count=1, path="/"):
    return [server.fetch(path, headers={"X-Forwarded-For": client}).status for _ in range(count)]


def show(build, server, *options):
    return drossel(build, "show", "--policy", server.policy, *options).stdout


def told(build, server, *options):
    return json.loads(show(build, server, "--json", *options))


def test_a_dry_run_tells_who_would_have_been_refused_and_when_and_one_line_less_enforces_it(build, nginx):
    server = nginx(POLICY.format(dry=", dry_run: true"))
    assert "no limit in dry run" in show(build, server, "--dry-run")
    before = time.time()
    assert visit(server, "203.0.113.7", 8) == [200] * 8
    assert visit(server, "203.0.113.8", 2) == [200] * 2
    assert visit(server, "2001:db8:1:2::9", 4) == [200] * 4
    after = time.time()

    lines = show(build, server, "--dry-run").splitlines()
    assert len(lines) == 3 and "203.0.113.8" not in "".join(lines)
    row = next(line for line in lines if "203.0.113.7" in line)
    first, last = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row)
    for moment in (first, last):
        assert before - 2 <= time.mktime(time.strptime(moment, "%Y-%m-%d %H:%M:%S")) <= after + 1
    assert row.startswith("page ") and "5 refused" in row
    assert any("2001:db8:1:2::/64" in line and "1 refused" in line for line in lines)
    offenders = {entry["key"]: entry for entry in told(build, server, "--dry-run")["dry_run"]}
    assert set(offenders) == {"203.0.113.7", "2001:db8:1:2::/64"}
    assert offenders["203.0.113.7"]["verdicts"]["refused"] == 5
    assert before - 1 <= offenders["203.0.113.7"]["first"] <= offenders["203.0.113.7"]["last"] <= after + 1
    whole = told(build, server)
    entry = next(entry for entry in whole["entries"] if entry["key"] == "203.0.113.7")
    assert entry["dry_run"] and entry["stopped"] == 5
    page = next(limit for limit in whole["limits"] if limit["limit"] == "page")
    assert page["dry_run"] and page["dry_run_verdicts"]["passed"] == 8 and page["dry_run_verdicts"]["refused"] == 6
    assert page["verdicts"]["passed"] == page["verdicts"]["refused"] == 0
    assert re.search(r"^page .*203\.0\.113\.7 .*dry run", show(build, server), re.M)

    server.write_policy(POLICY.format(dry=""))
    server.reload()
    assert visit(server, "203.0.113.7", 2) == [429] * 2  # what it used in the trial counts
    assert visit(server, "203.0.113.8", 2) == [200, 429]
    whole = told(build, server)
    page = next(limit for limit in whole["limits"] if limit["limit"] == "page")
    assert not page["dry_run"] and page["verdicts"]["refused"] == 3 and page["verdicts"]["passed"] == 1
    assert page["dry_run_verdicts"]["refused"] == 6  # the trial is not forgotten
    assert "5 refused" in show(build, server, "--dry-run")
    assert not re.search(r"^page .*203\.0\.113\.7 .*dry run", show(build, server), re.M)


@pytest.mark.parametrize("names", ["true", "false"])
def test_blocked_clients_are_counted_and_named_only_where_the_table_has_names(build, nginx, names):
    server = nginx(POLICY.format(dry="") + f"table: {{ path: TABLE, keys: 1k, names: {names} }}\n", run=False)
    server.policy.write_text(server.policy.read_text().replace("TABLE", str(server.folder / "table")))
    server.start()
    assert visit(server, "203.0.113.7", 6, "/file.txt") == [200] + [429] * 5
    whole = told(build, server)
    api = next(limit for limit in whole["limits"] if limit["limit"] == "api")
    assert api["rate"] == "1 per 1h" and api["by"] == "address" and api["count"] == 1 and api["window"] == 3600
    assert api["verdicts"] == {"passed": 1, "marked": 0, "delayed": 0, "challenged": 0, "refused": 5, "dropped": 0,
                               "by_block": 4, "blocks": 1}
    (offender,) = [entry for entry in whole["offenders"] if entry["limit"] == "api"]
    assert (offender["key"] == "203.0.113.7") == (names == "true")
    assert names == "true" or re.fullmatch("#[0-9a-f]{16}", offender["key"])
    lines = show(build, server).splitlines()
    assert re.match(r"verdicts of all limits: 13 passed, 0 marked, 0 delayed, 0 challenged, 5 refused, 0 dropped$", lines[1])
    row = next(line for line in lines if line.startswith("api"))
    assert "blocked" in row and re.search(r" 1 +5  (now|\d s ago)$", row)
    rows = show(build, server, "--limits").splitlines()
    assert [line.split()[0] for line in rows[2:]] == ["limit", "page", "api", "path"]
    assert show(build, server, "--limits", "api").count("\n") == 4


def test_names_that_clients_chose_reach_no_terminal_as_they_are(build, nginx):
    server = nginx(POLICY.format(dry=""))
    assert visit(server, "203.0.113.7", 1, "/file%1b%5b31m%0a%ff.txt") == [404]
    text = show(build, server)
    assert "\x1b" not in text and "/file?[31m??.txt" in text
    assert any(entry["key"] == "/file?[31m??.txt" for entry in told(build, server)["entries"])


def test_watching_tells_rates_and_ends_quietly_when_nobody_reads_any_more(build, nginx):
    server = nginx(POLICY.format(dry=""))
    with subprocess.Popen([build / "drossel", "show", "--policy", server.policy, "--json", "--watch", "0.2"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        try:
            first = json.loads(watcher.stdout.readline())
            assert "passed_per_second" not in first["limits"][0]
            rates = []

            def one_rate():
                visit(server, "203.0.113.7")
                page = next(limit for limit in json.loads(watcher.stdout.readline())["limits"] if limit["limit"] == "page")
                rates.append((page["passed_per_second"], page["stopped_per_second"]))
                return rates[0][0] > 0 and rates[-1][1] > 0

            wait_until(one_rate, "rates of passed and stopped requests")
            watcher.stdout.close()
            watcher.wait(5)
        finally:
            watcher.kill()
        assert watcher.returncode in (1, -signal.SIGPIPE)


def test_watching_ends_when_the_table_is_replaced(build, nginx):
    server = nginx(POLICY.format(dry=""))
    with subprocess.Popen([build / "drossel", "show", "--policy", server.policy, "--watch", "0.1"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as watcher:
        try:
            assert "keys used" in watcher.stdout.readline()
            (server.folder / "table").rename(server.folder / "old")
            assert "was removed, replaced or cut off" in watcher.communicate(timeout=10)[1]
        finally:
            watcher.kill()
        assert watcher.returncode == 1


def test_watching_on_a_terminal_shows_one_screen_after_the_other(build, nginx):
    server = nginx(POLICY.format(dry=""))
    visit(server, "203.0.113.7")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(build / "drossel", ["drossel", "show", "--policy", str(server.policy), "--watch=0.1"])
    seen = b""
    try:
        while seen.count(b"\x1b[H\x1b[2J") < 3:
            seen += os.read(terminal, 4096)
    finally:
        os.kill(pid, signal.SIGINT)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert seen.count(b"203.0.113.7") >= 2


LONG = "a-limit-whose-name-goes-on-and-on-and-on-until-it-ends"


def test_columns_are_as_wide_as_the_longest_name_of_a_limit(build, nginx):
    server = nginx(f"limits: {{ page: {{ by: address, allow: 5 per 1h }}, {LONG}: {{ by: address, allow: 3 per 1h, dry_run: true }} }}")
    for _ in range(7):
        server.fetch("/")
    for options in (), ("--limits",), ("--dry-run",):
        lines = [line for line in show(build, server, *options).splitlines() if line.startswith(("limit ", "page ", LONG))]
        assert lines[-1].startswith(("page", LONG)) and any(line.startswith(LONG) for line in lines)
        assert {line[len(LONG)] for line in lines} == {" "} and " " not in {line[len(LONG) + 1] for line in lines}


@pytest.mark.parametrize("columns, lines", [(80, 24), (200, 24), (40, 10)])
def test_no_more_keys_are_shown_than_the_terminal_has_lines_for(build, nginx, columns, lines):
    server = nginx("client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }\n"
                   "limits: { page: { by: address, allow: 3 per 1h } }")
    for client in range(40):
        visit(server, f"203.0.113.{client}")
    whole, part = os.openpty()
    fcntl.ioctl(part, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    subprocess.run([build / "drossel", "show", "--policy", server.policy], stdout=part, timeout=20, check=True)
    text = os.read(whole, 65536).decode().splitlines()
    os.close(part)
    os.close(whole)
    keys = [line for line in text if line.startswith("page ")]
    wrapped = sum(-(-len(line) // columns) for line in text if not line.startswith(("/", "verdicts")))
    assert 1 <= len(keys) < 40 and f"and {40 - len(keys)} more" in text[-1]
    assert wrapped <= lines or len(keys) == 1


@pytest.mark.parametrize("options", [[], ["--json"], ["--watch", "0.1"], ["--watch", "0.1", "--json"], ["--limits"]])
def test_a_full_disk_is_told_as_what_it_is(build, nginx, options):
    server = nginx(POLICY.format(dry=""))
    visit(server, "203.0.113.7")
    with open("/dev/full", "w") as full:
        done = subprocess.run([build / "drossel", "show", "--policy", server.policy, *options], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=20)
    assert done.returncode == 1 and done.stderr.count("standard output: could not be written") == 1
    assert "UTF-8" not in done.stderr


@pytest.mark.parametrize("arguments", [["--watch", "0"], ["--watch=x"], ["--watch", "999999"]])
def test_a_wrong_interval_is_told(build, arguments):
    assert "write seconds" in drossel(build, "show", *arguments, code=2).stderr


def test_a_table_of_a_limit_that_was_never_used_says_so(build, nginx):
    server = nginx(POLICY.format(dry=""))
    assert "nothing is counted at the moment" in show(build, server)
    assert all(limit["verdicts"]["passed"] == 0 for limit in told(build, server)["limits"])


def test_what_is_printed_with_the_output_closed_gets_into_no_file(build, live, tmp_path):  # noqa: F811
    # The number of the closed stream would be that of the next file: the table, or the decisions.
    policy, place = live({"203.0.113.7": 1}), tmp_path / "table"
    head = place.read_bytes()[:64]
    watching = subprocess.Popen(["sh", "-c", f"exec '{build}/drossel' show --watch 0.1 --table '{place}' >&-"])
    time.sleep(1)
    watching.kill()
    watching.wait(timeout=10)
    assert place.read_bytes()[:64] == head
    decisions = tmp_path / "decisions"
    subprocess.run(["sh", "-c", f"exec '{build}/drossel' replay --policy '{policy}' --format events --decisions '{decisions}' - >&-"],
                   input='{"t":1,"address":"192.0.2.1"}\n', text=True, check=True, timeout=30)
    assert [json.loads(line)["verdict"] for line in decisions.read_text().splitlines()] == ["allow"]
