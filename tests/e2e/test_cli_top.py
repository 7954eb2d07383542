"""drossel top on a pseudo-terminal: what it shows, what its keys do, and that it leaves the terminal as it found it."""
import os
import pathlib
import re
import signal
import subprocess
import termios
import time

import pexpect
import pyte
import pytest

from command import drossel
from conftest import wait_until

POLICY = """
client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }
limits:
  page: { by: address, allow: 5 per 1h }
  trial: { by: address, allow: 2 per 1h, dry_run: true }
"""
DOWN, ESCAPE, ENTER = "\x1bOB", "\x1b", "\r"


def fresh_modes():
    """Those of a new pseudo-terminal: by the time that a command's own is looked at, it may have changed them."""
    ends = os.openpty()
    modes = termios.tcgetattr(ends[0])
    for end in ends:
        os.close(end)
    return modes


class Terminal:
    """A command on a pseudo-terminal, and the screen as a person sees it."""

    def __init__(self, arguments, columns=80, lines=24, term="xterm-256color", **environment):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.output = b""
        environment = {"LC_ALL": "C.UTF-8", **os.environ, "TERM": term, **environment}
        self.process = pexpect.spawn(str(arguments[0]), [str(argument) for argument in arguments[1:]],
                                     dimensions=(lines, columns), env=environment, timeout=10)
        self.modes = fresh_modes()

    def read(self):
        try:
            chunk = self.process.read_nonblocking(65536, 0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.output += chunk
        self.stream.feed(chunk)
        return True

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def see(self, what):
        """Waits until the screen matches."""
        def seen():
            self.read()
            return re.search(what, self.text(), re.M)
        try:
            wait_until(seen, what)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.text()}") from None

    def press(self, *keys):
        for key in keys:
            self.process.send(key)
            if key == ESCAPE:
                time.sleep(0.2)  # alone, it is no part of another key

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        self.screen.reset()
        self.process.setwinsize(lines, columns)

    def end(self):
        while self.read():
            pass
        self.process.close()
        return self.process

    def drawing_pid(self):
        pid = self.process.pid
        return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@pytest.fixture
def terminal(build):
    opened = []

    def make(*arguments, **options):
        opened.append(Terminal(arguments, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.process.close(force=True)


def visit(server, client, count=1):
    return [server.fetch(headers={"X-Forwarded-For": client}).status for _ in range(count)]


@pytest.fixture
def busy(nginx):
    server = nginx(POLICY)
    visit(server, "203.0.113.1", 2)
    visit(server, "203.0.113.2", 7)
    visit(server, "203.0.113.3", 4)
    visit(server, "2001:db8:1:2::1", 1)
    return server


@pytest.fixture
def top(terminal, build, busy):
    def make(**options):
        return terminal(build / "drossel", "top", "--policy", busy.policy, **options)
    return make


def rows_of(view):
    """The rows of the list of keys."""
    lines = view.lines()
    head = max(i for i, line in enumerate(lines) if re.match(r"limit +key ", line))
    return [line for line in lines[head + 1:-1] if line]


def test_limits_with_their_rates_come_first_and_then_the_keys_closest_to_their_limit(top, busy):
    view = top()
    view.see(r"^page +203\.0\.113\.2 +5/5 wait +59m\d\ds +2 ")
    assert view.lines()[0].startswith(" drossel top") and str(busy.folder)[:40] in view.lines()[0]
    view.see(r"^page +5 per 1h ")
    view.see(r"^trial +2 per 1h +\S+ +\S+ dry")
    view.see(r"^trial +203\.0\.113\.2 +2/2 dry run 59m")
    rows = rows_of(view)
    page = [row.split()[1] for row in rows if row.startswith("page")]
    assert page == ["203.0.113.2", "203.0.113.3", "203.0.113.1", "2001:db8:1:2::/64"]
    assert len(rows) == 8
    for _ in range(2):
        visit(busy, "203.0.113.9", 20)
        view.see("[▁▂▃▄▅▆▇█]")
    view.see(r"^page +203\.0\.113\.9 ")
    assert view.lines()[-1].startswith("? help")


def test_without_a_utf_8_locale_or_with_ascii_only_ascii_is_drawn(terminal, build, busy):
    for options, locale in ((["--ascii"], "C.UTF-8"), ([], "C")):
        view = terminal(build / "drossel", "top", "--policy", busy.policy, *options, LC_ALL=locale)
        view.see("203.0.113.2")
        visit(busy, "203.0.113.4", 30)
        view.see(r"^page .* [.:=+*#@-]")
        view.press("q")
        view.end()
        assert view.output.isascii()


@pytest.mark.parametrize("columns, lines", [(50, 10), (55, 12), (60, 15), (79, 23), (200, 60)])
def test_it_fits_every_size_from_50_by_10(top, columns, lines):
    view = top(columns=columns, lines=lines)
    view.see(r"203\.0\.")
    view.see(r"^\? help")
    shown = view.lines()
    assert shown[0].startswith(" drossel top") and shown[-1].startswith("? help")
    assert sum(line.startswith("limit") for line in shown) == 2


def test_it_follows_the_size_of_the_terminal_and_says_when_that_is_too_small(top):
    view = top()
    view.see("203.0.113.2")
    view.resize(30, 6)
    view.see("too small: 30x6")
    view.see("50x10 is the least")
    assert [line for line in view.lines() if line] == ["too small: 30x6", "50x10 is the least"]
    view.resize(120, 30)
    view.see(r"^page +203\.0\.113\.2 ")
    view.see(r"^\? help")
    view.resize(80, 24)
    view.see(r"^page +203\.0\.113\.2 ")


def test_a_filter_shows_what_it_matches_and_escape_clears_it(top):
    view = top()
    view.see("203.0.113.2")
    view.press("/", "2001:DB8")
    view.see("filter: 2001:DB8_")
    wait_until(lambda: view.read() and len(rows_of(view)) == 2, "two rows")
    assert all("2001:db8:1:2::/64" in row for row in rows_of(view))
    view.press("\x7f" * 8, "nobody", ENTER)
    view.see("nothing matches the filter")
    view.press(ESCAPE)
    view.see("203.0.113.2")


def test_orders_follow_each_other(top):
    view = top()
    view.see("sort: closest to its limit")
    for name in ("used", "wait", "stopped", "last stopped", "name"):
        view.press("s")
        view.see(f"sort: {name} ")
    wait_until(lambda: view.read() and rows_of(view)[0].split()[1] == "2001:db8:1:2::/64", "the order of names")
    view.press("S", "s", "s")
    view.see("sort: closest to its limit")


def test_a_key_is_looked_into(top):
    view = top()
    select(view, "203.0.113.2")
    view.press(ENTER)
    view.see(r"^203\.0\.113\.2 +tag [0-9a-f]{12}")
    view.see(r"^page +203\.0\.113\.2 +5/5")
    view.see(r"^trial +203\.0\.113\.2 +2/2")
    view.see(r"^page +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  2 refused$")
    view.see(r"^trial .*  5 refused \(dry run\)$")
    view.press(ESCAPE)
    view.see(r"^limit +rate ")


def test_a_pause_holds_the_picture(top, busy):
    view = top()
    view.see("203.0.113.2")
    view.press("p")
    view.see("PAUSED")
    visit(busy, "203.0.113.77", 3)
    before = view.text()
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        view.read()
    assert view.text() == before
    view.press("p")
    view.see("203.0.113.77")


def test_help_names_every_key_and_any_key_leaves_it(top):
    view = top()
    view.see("203.0.113.2")
    view.press("?")
    view.see("block its address in all limits")
    view.press("x")
    view.see("203.0.113.2")


def select(view, client):
    view.press("/", client, ENTER)
    view.see(rf"^page +{re.escape(client)} ")
    wait_until(lambda: view.read() and all(client in row for row in rows_of(view)), "only that client")
    view.press("g")


def test_block_asks_for_the_time_and_for_a_yes_and_then_blocks(top, busy, build):
    view = top()
    select(view, "203.0.113.1")
    view.press("b")
    view.see("block for: 15m_")
    view.press("\x15", "x", ENTER)
    view.see("no number")
    view.press("\x7f", "2h", ENTER)
    view.see("block 203.0.113.1 in (page|trial) for 2 h.*y: yes")
    view.press("n")
    view.see("nothing was done")
    assert visit(busy, "203.0.113.1") == [200]
    view.press("/", "\x15page", ENTER)
    select_page = r"^page +203\.0\.113\.1 "
    view.see(select_page)
    row = next(i for i, line in enumerate(rows_of(view)) if re.match(select_page, line))
    view.press("g", *[DOWN] * row, "b", ENTER)
    view.see("block 203.0.113.1 in page for 15 min")
    view.press("y")
    view.see("page: 203.0.113.1 blocked for 15 min")
    assert visit(busy, "203.0.113.1") == [429] and visit(busy, "203.0.113.3") == [200]
    view.see(r"^page +203\.0\.113\.1 +\S+ blocked 1[45]m")


def test_a_block_of_the_address_holds_in_all_limits_and_reset_forgets(top, busy, build):
    view = top()
    select(view, "203.0.113.3")
    view.press("B", "\x15", "1h", ENTER)
    view.see("block the address of 203.0.113.3 in all limits for 1 h")
    view.press("y")
    view.see("blocked in all limits for 1 h")
    assert visit(busy, "203.0.113.3") == [429]
    view.see(r"^ban +203\.0\.113\.3 ")
    view.press("\x1b")
    select(view, "203.0.113.3")
    row = next(i for i, line in enumerate(rows_of(view)) if line.startswith("ban"))
    view.press(*[DOWN] * row, "r")
    view.see("reset 203.0.113.3 in ban")
    view.press("y")
    view.see("ban: 203.0.113.3 forgotten")
    assert visit(busy, "203.0.113.3") == [200]


def test_a_table_that_was_replaced_or_cut_off_is_told(top, busy):
    table = busy.folder / "table"
    view = top()
    view.see("203.0.113.2")
    table.rename(busy.folder / "old")
    view.see("THE TABLE WAS REMOVED OR REPLACED")
    (busy.folder / "old").rename(table)
    view.see("passed .* keys used")
    busy.stop()
    os.truncate(table, 4096)
    view.see("THE TABLE WAS CUT OFF")
    view.press("q")
    assert view.end().exitstatus == 0


# ---- the terminal afterwards ----

LEFT = b"\x1b[?1049l"


def assert_restored(view):
    assert termios.tcgetattr(view.process.child_fd) == view.modes
    assert view.output.rindex(LEFT) > view.output.rindex(b"\x1b[?1049h")
    assert view.output.rindex(b"\x1b[?25h") > view.output.rindex(b"\x1b[?25l")


@pytest.mark.parametrize("how", ["q", "Q", "\x03"])
def test_quitting_leaves_the_terminal_as_it_was(top, how):
    view = top(term="xterm")
    view.see("203.0.113")
    assert termios.tcgetattr(view.process.child_fd) != view.modes
    view.press(how)
    process = view.end()
    assert (process.exitstatus, process.signalstatus) == (0, None)
    assert view.output.rindex(LEFT) > view.output.rindex(b"\x1b[?1049h")


@pytest.mark.parametrize("name", ["KILL", "TERM", "HUP", "INT", "QUIT", "SEGV", "ABRT"])
@pytest.mark.parametrize("victim", ["the one that draws", "the one that was started"])
def test_a_killed_one_leaves_the_terminal_as_it_was(build, busy, terminal, name, victim):
    """Under a shell that lives on, so that the terminal can be looked at."""
    view = terminal("sh", "-c", f'"{build}/drossel" top --policy "{busy.policy}" 2>/dev/null; echo over; read -r line',
                    term="xterm")
    view.see("203.0.113")
    shell = view.process.pid
    guard = int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])
    drawing = int(pathlib.Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])
    os.kill(drawing if victim == "the one that draws" else guard, getattr(signal, "SIG" + name))
    view.see("over")
    wait_until(lambda: view.read() and not pathlib.Path(f"/proc/{drawing}/fd").exists(), "nobody is left")
    wait_until(lambda: view.read() and termios.tcgetattr(view.process.child_fd) == view.modes, "the modes are back")
    assert_restored(view)
    assert not pathlib.Path(f"/proc/{guard}").exists()


def test_it_stops_for_a_while_and_goes_on(build, busy, terminal):
    view = terminal("bash", "--norc", "--noprofile", "-i", term="xterm", PS1="ready> ")
    view.see("ready>")
    modes = subprocess.run(["true"], check=True) and termios.tcgetattr(view.process.child_fd)
    view.process.sendline(f"{build}/drossel top --policy {busy.policy}")
    view.see("203.0.113.2")
    view.press("\x1a")
    view.see("Stopped")
    wait_until(lambda: view.read() and view.output.rindex(LEFT) > view.output.rindex(b"\x1b[?1049h"), "the screen is left")
    view.see(r"ready>$")
    assert termios.tcgetattr(view.process.child_fd) == modes
    view.screen.reset()
    view.process.sendline("fg")
    view.see("203.0.113.2")
    visit(busy, "203.0.113.88")
    view.see("203.0.113.88")
    view.press("q")
    view.process.sendline("echo it is $?")
    view.see("it is 0")
    view.process.sendline("exit")
    view.end()


def test_without_a_terminal_or_a_table_it_says_what_to_use(build, tmp_path, terminal, busy):
    assert "show --watch" in drossel(build, "top", "--policy", busy.policy, code=1).stderr
    view = terminal(build / "drossel", "top", "--table", tmp_path / "none")
    assert view.end().exitstatus == 1
    assert b"there is no table" in view.output and b"\x1b" not in view.output
    view = terminal(build / "drossel", "top", "--policy", busy.policy, term="no-such-terminal")
    assert view.end().exitstatus == 1
    assert b"no-such-terminal is not known" in view.output
    view = terminal(build / "drossel", "top", "--policy", busy.policy, term="dumb")
    assert view.end().exitstatus == 1
    assert b"dumb cannot move its cursor" in view.output and b"passed" not in view.output
