"""drossel suggest: logs that tell little or nothing, and being interrupted."""
import array
import fcntl
import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

import pytest
import yaml

from command import drossel
from conftest import wait_until
from suggest_log import BOT, line, machine, people, write


def suggest(build, *arguments, text=""):
    return json.loads(drossel(build, "suggest", "--json", *arguments, text=text).stdout)


def test_an_empty_log_is_said_to_be_one(build, tmp_path):
    log = write(tmp_path / "log")
    found = suggest(build, log)
    assert found["requests"] == 0 and found["limits"] == [] and found["first"] is None
    assert found["warnings"] == ["There is no request in it, so there is nothing to suggest."]
    log.write_text("nonsense\n" * 3)
    assert "3 lines are none of the known formats" in suggest(build, log)["warnings"][0]
    log.write_text("")
    for options in ([], ["--html", tmp_path / "page"], ["--policy", tmp_path / "policy"]):
        assert "There is no request in it" in drossel(build, "suggest", *options, log).stdout
    assert yaml.safe_load((tmp_path / "policy").read_text()) == {"version": 1, "limits": {}}


@pytest.mark.parametrize("name, parts, limits, said", [
    ("only bots", [machine("198.51.100.1", 3, 60, BOT)], {"page", "page-long"}, "No client looks like a person"),
    ("no pages", [[line(i, "10.0.0.1", "GET /a.css HTTP/1.1") for i in range(30)]], {"static"}, "Little to go by"),
    ("one line", [[line(0, "10.0.0.1")]], {"page", "page-long"}, "Little to go by"),
    ("no agents", [[line(i * 9, f"10.0.0.{i % 7}", agent="-") for i in range(70)]], {"page", "page-long"}, "The log has no User-Agent"),
    ("no static files", [[line(i * 9, f"10.0.0.{i % 7}") for i in range(70)]], {"page", "page-long"}, "hardly any static files"),
    ("limited", [people(20), [line(i, "10.0.0.1", status=429) for i in range(30)]], {"page", "page-long", "static"},
     "30 requests were answered with 429"),
    ("no failures", [people(20), [line(i * 50, f"10.0.0.{i % 7 + 1}", "POST /login HTTP/1.1") for i in range(30)]],
     {"page", "page-long", "static", "login", "login-from", "login-spray", "login-slow", "login-alarm"},
     "None of 30 login attempts was answered 400"),
    ("doors", [people(20), [line(i * 50, "198.51.100.7", "POST /wp-login.php HTTP/1.1", 404) for i in range(30)]],
     {"page", "page-long", "static"}, "30 POSTs went to paths of logins that are not there"),
])
def test_what_a_log_cannot_tell_is_said(build, tmp_path, name, parts, limits, said):
    log = write(tmp_path / "log", *parts)
    found = suggest(build, "--policy", tmp_path / "policy.yaml", log)
    assert {limit["name"] for limit in found["limits"]} == limits
    assert any(said in text for text in found["warnings"]), found["warnings"]
    assert drossel(build, "check", "--quiet", tmp_path / "policy.yaml").stderr == ""
    assert said.split()[0] in drossel(build, "suggest", log).stdout


def test_a_long_log_of_many_people_needs_no_warning(build, tmp_path):
    log = write(tmp_path / "log", *([(t + day * 86400, text) for t, text in people(120, seed=day)] for day in range(1)),
                [line(86400 * 2, "10.0.0.1")])
    assert not any("Little to go by" in text for text in suggest(build, log)["warnings"])


@pytest.mark.parametrize("proxies", [["10.1.2.3"], ["::1"], ["fd00::5", "::1", "10.1.2.3"], ["unix"]])
def test_behind_a_proxy_the_clients_are_taken_from_the_forwarded_addresses(build, tmp_path, proxies):
    tail = [(t, text.replace("10.0.", "203.0.", 1)) for t, text in people(60)]
    lines = [(t, proxies[i % len(proxies)] + text[text.index(" "):].rstrip("\n") + f' "{text.split()[0]}"\n')
             for i, (t, text) in enumerate(sorted(tail))]
    log = write(tmp_path / "log", lines)
    found = suggest(build, log)
    named = ", ".join(proxies)
    assert found["proxy"] == named and found["client_count"] == 60
    assert any(re.search(f"Most lines show .* address(es)? \\({re.escape(named)}\\)", text) for text in found["warnings"])
    policy = tmp_path / "policy.yaml"
    policy.write_text(found["policy"])
    client = yaml.safe_load(found["policy"])["client"]
    assert client["trusted"] == proxies and client["address_from"] == "X-Forwarded-For"
    assert drossel(build, "check", "--quiet", policy).stderr == ""


def test_behind_a_chain_of_proxies_the_policy_finds_the_clients_that_the_figures_are_of(build, tmp_path):
    parts = sorted([*people(60), *machine("10.0.9.9", 30, 60)])
    lines = [(t, f"10.1.2.{i % 2}" + text[text.index(" "):].rstrip("\n") + f' "6.6.6.6, {text.split()[0].replace("10.0.", "203.0.", 1)}, 10.1.3.{i % 3}"\n')
             for i, (t, text) in enumerate(parts)]
    log = write(tmp_path / "log", lines)
    found = suggest(build, log)
    assert found["client_count"] == 61
    policy = tmp_path / "policy.yaml"
    policy.write_text(found["policy"])
    assert set(yaml.safe_load(found["policy"])["client"]["trusted"]) == {"10.1.2.0", "10.1.2.1", "10.1.3.0", "10.1.3.1", "10.1.3.2"}
    report = json.loads(drossel(build, "replay", "--json", "--policy", policy, log).stdout)
    assert report["clients"] == 61
    for limit in found["limits"]:
        assert report["limits"][limit["name"]]["clients_refused"] == limit["clients_exceeding"]
    assert {key["key"] for limit in found["limits"] if limit["name"] == "page" for key in limit["exceeding"]} == {"203.0.9.9"}


def test_visitors_with_private_addresses_behind_a_proxy_are_visitors(build, tmp_path):
    lines = [(t, "10.1.2.3" + text[text.index(" "):].rstrip("\n") + f' "{text.split()[0]}"\n') for t, text in people(4, visits=60)]
    found = suggest(build, write(tmp_path / "log", lines))
    assert found["proxy"] == "10.1.2.3" and {client["key"] for client in found["clients"]} == {f"10.0.0.{n}" for n in range(1, 5)}


def test_a_proxy_in_a_log_without_forwarded_addresses_is_told_of(build, tmp_path):
    lines = [(t, "10.1.2.3" + text[text.index(" "):]) for t, text in people(60)]
    found = suggest(build, write(tmp_path / "log", lines))
    assert found["client_count"] == 1
    assert any("If that is a proxy, the log shows it in place of the clients" in text for text in found["warnings"])


def test_a_log_that_names_no_client_is_told_of(build, tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(json.dumps({"ts": 1767600000 + n, "who": f"198.51.100.{n}", "uri": "/", "status": 200}) + "\n" for n in range(60)))
    said = "60 requests are of nobody that the log names"
    assert any(said in text and "--map client=NAME" in text for text in suggest(build, log)["warnings"])
    assert not any(said in text for text in suggest(build, "--map", "client=who", log)["warnings"])


def test_standard_input_gives_the_same_as_the_file(build, tmp_path):
    tries = [line(i * 30, f"10.0.0.{i % 50 + 1}", "POST /pin HTTP/1.1", 401 if i % 3 == 0 else 200) for i in range(90)]
    log = write(tmp_path / "log", people(60), machine("198.51.100.1", 6, 60, BOT), tries)  # is looked at twice
    named, piped = suggest(build, log), suggest(build, "-", text=log.read_text())
    assert named["classes"]["login"]["requests"] == 90
    for found in (named, piped):
        found["policy"] = ""
    assert named == piped


def test_lines_that_are_no_requests_are_counted(build, tmp_path):
    log = write(tmp_path / "log", people(30))
    log.write_text(log.read_text() + "this is no request\nnor this\n")
    assert suggest(build, log)["unparsed"] == 2
    assert "2 lines were no requests" in drossel(build, "suggest", log).stdout.replace("\n", " ")


def test_bars_are_ascii_where_the_terminal_has_nothing_else_and_lines_fit_80_columns(build, tmp_path):
    log = write(tmp_path / "log", people(60), machine("198.51.100.1", 6, 60, BOT),
                [line(i * 7, f"10.0.0.{i % 30 + 1}", "POST /login HTTP/1.1", 401) for i in range(90)])
    plain = drossel(build, "suggest", log, env={"LC_ALL": "C"}).stdout
    wide = drossel(build, "suggest", log, env={"LC_ALL": "C.UTF-8"}).stdout
    assert plain.isascii() and "# people" in plain
    assert "█" in wide and max(map(len, plain.splitlines() + wide.splitlines())) <= 80


@pytest.mark.parametrize("arguments, said", [
    (["--order", "backwards", "x"], "there is no order backwards"),
    ([], "LOG... is missing"),
    (["--json", "--policy", "-", "x"], "--json wants standard output for itself"),
])
def test_a_wrong_usage_is_told(build, arguments, said):
    assert said in drossel(build, "suggest", *arguments, code=2).stderr


def test_files_that_cannot_be_read_or_written_are_named(build, tmp_path):
    assert "nowhere.log" in drossel(build, "suggest", tmp_path / "nowhere.log", code=1).stderr
    log = write(tmp_path / "log", people(3))
    for option in ("--html", "--policy"):
        assert "/nowhere/file: No such file" in drossel(build, "suggest", option, "/nowhere/file", log, code=1).stderr


def test_no_half_of_a_policy_or_a_page_is_left_where_there_is_no_room(build, tmp_path):
    log = write(tmp_path / "log", people(60))
    for option in ("--policy", "--html"):
        out = tmp_path / option
        script = f'ulimit -f 1; exec "$0" suggest {option} "$1" "$2"'  # blocks of 1024 bytes
        done = subprocess.run(["bash", "-c", script, build / "drossel", out, log], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                              preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        assert done.returncode == 1 and out.read_bytes() == b""
        assert f"{out}: could not be written, and is empty now: File too large" in done.stderr.decode()


def test_a_damaged_file_gives_what_could_be_read_and_a_failure(build, tmp_path):
    log = tmp_path / "log.gz"
    whole = gzip.compress(write(tmp_path / "log", people(300)).read_bytes())
    log.write_bytes(whole[: len(whole) // 2])
    said = drossel(build, "suggest", log, code=1)
    assert "log.gz" in said.stderr and "Proposal" in said.stdout
    log.write_bytes(whole)
    assert suggest(build, log)["requests"] == suggest(build, tmp_path / "log")["requests"] > 0


def read_until(master, percent, seconds=20.0):
    """Reads the bar until it stands at so many percent."""
    seen, end = b"", time.monotonic() + seconds
    while max(map(int, re.findall(rb"(\d+)%", seen)), default=0) < percent:
        assert time.monotonic() < end, seen
        if select.select([master], [], [], 0.1)[0]:
            seen += os.read(master, 65536)
    assert b"[#" in seen


def test_a_bar_is_drawn_on_a_terminal_and_an_interrupt_gives_the_figures_so_far(build, tmp_path):
    block = write(tmp_path / "block", people(3000, visits=2)).read_text()
    log = tmp_path / "log"
    with log.open("w") as out:
        for i in range(60):
            out.write(block.replace("05/Jan/2026", f"{i % 28 + 1:02}/{('Feb', 'Mar', 'Apr')[i // 28]}/2026"))
    master, slave = pty.openpty()
    process = subprocess.Popen([build / "drossel", "suggest", "--json", log], stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    try:
        read_until(master, 55)  # of two passes: the first one only looks at the times
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
    found = json.loads(out)
    assert process.returncode == 130 and found["complete"] is False
    assert 0 < found["requests"] < 60 * block.count("\n")
    assert found["warnings"][0].startswith("Stopped before the end of the log")


def test_an_interrupt_while_a_pipe_still_gives_takes_what_came_so_far(build, tmp_path):
    text = write(tmp_path / "log", people(60)).read_bytes()
    process = subprocess.Popen([build / "drossel", "suggest", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdin.write(text)
        process.stdin.flush()
        wait_until(lambda: not pending(process.stdin), "all of it was read")
        process.send_signal(signal.SIGINT)
        found = json.loads(process.stdout.read())
        assert process.wait(30) == 130
    finally:
        process.stdin.close()
        if process.poll() is None:
            process.kill()
            process.wait()
    assert found["complete"] is False and found["requests"] == text.count(b"\n")


def pending(pipe):
    """Bytes in a pipe that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_nothing_is_drawn_in_a_pipe(build, tmp_path):
    log = write(tmp_path / "log", people(2000, visits=4))
    assert drossel(build, "suggest", log).stderr == ""
