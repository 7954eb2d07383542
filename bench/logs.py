"""Lines of an access log a second: `drossel replay` with one limit, goaccess, and awk that counts the first field.

All read the same file in /dev/shm, one right after the other, on processor 1, and write to /dev/null.  A tool's time is from its
start to its end, by the clock on the wall.
"""
import json
import os
import pathlib
import shutil
import subprocess
import time

LINES = 2_000_000
POLICY = "version: 1\nlimits:\n  page: { by: address, allow: 50 per 10s }\n"


def pinned(command):
    if shutil.which("taskset") and (os.cpu_count() or 1) > 1:
        return ["taskset", "-c", "1", *command]
    return command


class Logs:
    def __init__(self, build, folder, lines=LINES):
        self.folder, self.lines = pathlib.Path(folder), lines
        self.log, self.policy = self.folder / "access.log", self.folder / "replay.yaml"
        self.policy.write_text(POLICY)
        with self.log.open("wb") as out:
            subprocess.run([f"{build}/bench/bench-lines", str(lines)], stdin=subprocess.DEVNULL, stdout=out, check=True, timeout=300)
        self.commands = {
            "replay": [f"{build}/drossel", "replay", "--json", "--policy", self.policy, self.log],
            "awk": ["awk", "{c[$1]++} END {for (a in c) n++; print n}", self.log],
            "goaccess": ["goaccess", self.log, "--log-format=COMBINED", "--no-progress", "--no-global-config",
                         "-o", self.folder / "goaccess.json"],
        }

    def rate(self, tool):
        """Lines a second."""
        start = time.monotonic()
        done = subprocess.run(pinned(self.commands[tool]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=600, env=dict(os.environ, LC_ALL="C"))
        spent = time.monotonic() - start
        if done.returncode != 0:
            raise RuntimeError(f"{tool}: {(done.stderr.strip().splitlines() or ['ended with ' + str(done.returncode)])[-1]}")
        if tool == "replay" and json.loads(done.stdout)["requests"] != self.lines:
            raise RuntimeError(f"replay: {json.loads(done.stdout)['unparsed']} of {self.lines} lines were not read")
        return self.lines / spent

    def close(self):
        for path in (self.log, self.policy, self.folder / "goaccess.json"):
            path.unlink(missing_ok=True)


def measure(build, folder, rounds, lines=LINES):
    """Yields (row, ours, other), both lines a second.  goaccess is asked once only: it takes as long as all others together."""
    logs = Logs(build, folder, lines)
    try:
        logs.rate("replay")
        for _ in range(rounds):
            yield "replay-awk", logs.rate("replay"), logs.rate("awk")
        if shutil.which("goaccess"):
            yield "replay-goaccess", logs.rate("replay"), logs.rate("goaccess")
    finally:
        logs.close()
