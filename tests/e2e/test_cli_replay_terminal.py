"""`drossel replay` at a terminal: a bar while it takes long, blocks for a timeline, and Ctrl-C."""
import os
import pty
import signal
import subprocess
import time

import pexpect
import pytest

from access_log import common, line, write_log
from command import write_policy

PAGE = "limits: { page: { by: address, allow: 5 per 10s } }"
LONG = 400000


@pytest.fixture(scope="module")
def long_log(tmp_path_factory):
    """Of many clients, so that it takes some seconds even on an idle machine."""
    folder = tmp_path_factory.mktemp("long")
    return write_log(folder, [common(n // 200, f"10.{n % 199}.{n % 211}.{n % 223}", f"GET /{n} HTTP/1.1") for n in range(LONG)])


def start(build, policy, *logs, locale="C.UTF-8"):
    return pexpect.spawn(str(build / "drossel"), ["replay", "--policy", str(policy), *map(str, logs)], timeout=60, encoding="utf-8",
                         dimensions=(24, 80), env={**os.environ, "LC_ALL": locale})


def test_a_long_replay_shows_how_far_it_is_and_wipes_that_off(build, tmp_path, long_log):
    child = start(build, write_policy(tmp_path, PAGE), *[long_log] * 4)
    child.expect(r"\r\[#*\.*\] +\d+%  \d+ of \d+ MB, \d.* left\x1b\[K")
    child.expect(r"\r\x1b\[K1,600,000 requests of")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_there_is_no_bar_in_a_pipe(build, tmp_path, long_log):
    done = subprocess.run([build / "drossel", "replay", "--policy", write_policy(tmp_path, PAGE), *[long_log] * 2], capture_output=True,
                          timeout=60)
    assert done.returncode == 0 and done.stderr == b"" and b"\x1b" not in done.stdout


LOCALES = [("C.UTF-8", True), ("C", False)]


@pytest.mark.parametrize("locale, has_blocks", LOCALES)
def test_the_timeline_is_drawn_with_what_the_terminal_can_show(build, tmp_path, locale, has_blocks):
    log = write_log(tmp_path, [line(n // (1 + n // 40)) for n in range(300)])
    child = start(build, write_policy(tmp_path, PAGE), log, locale=locale)
    text = child.read()
    assert ("█" in text) == has_blocks and ("@" in text) == (not has_blocks)
    assert "300 requests" in text


def interrupt(process, read):
    """Sends SIGINT once the bar is there; returns all that was read."""
    text = ""
    while "%" not in text:
        text += os.read(read, 4096).decode()
    process.send_signal(signal.SIGINT)
    return text


def test_the_first_interrupt_gives_the_report_so_far(build, tmp_path, long_log):
    read, write = pty.openpty()
    process = subprocess.Popen([build / "drossel", "replay", "--policy", write_policy(tmp_path, PAGE), *[long_log] * 40],
                               stdout=subprocess.PIPE, stderr=write, text=True)
    os.close(write)
    try:
        interrupt(process, read)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(read)
    assert process.returncode == 130
    assert out.startswith("INTERRUPTED") and "16,000,000 requests" not in out and "requests of" in out and "page: 5 per 10s" in out


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        caught = next(text for text in status if text.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1


def test_an_interrupt_while_standard_input_is_read_ends_it_as_well(build, tmp_path):
    process = subprocess.Popen([build / "drossel", "replay", "--policy", write_policy(tmp_path, PAGE), "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdin.write("".join(line(n) + "\n" for n in range(9)))
        process.stdin.flush()
        end = time.monotonic() + 30
        while not catches_interrupts(process.pid) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)  # what was written is read
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()  # it ends though standard input goes on
        process.wait(30)
    finally:
        process.kill()
    assert process.returncode == 130 and out.startswith("INTERRUPTED") and "9 requests" in out
