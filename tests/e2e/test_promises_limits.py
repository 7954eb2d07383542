"""What each key of a limit does, as rows of times and verdicts; and P3: limits side by side against a slow, obviously right model."""
import random

import pytest

from command import replay

LETTERS = {"allow": ".", "refuse": "x", "delay": "d", "drop": "o", "challenge": "c", "mark": "m"}


def played(build, folder, policy, times, **facts):
    decisions = replay(build, folder, policy, [{"t": t, "address": "203.0.113.7", **facts} for t in times])
    return decisions, "".join(LETTERS[one["verdict"]] for one in decisions)


# keys of a limit; times of requests; verdicts; what those that were refused or delayed have to wait
ROWS = [
    ("allow: 2 per 10s", [0, 0, 5, 9.999, 10, 10], "..xx..", [5, 0.001]),
    ("allow: 2 per 10s, algorithm: fixed", [3, 4, 5, 9.999, 10, 14, 15], "..xx..x", [5, 0.001, 5]),
    ("allow: 2 per 10s, algorithm: fixed, from: first", [3, 4, 5, 12.999, 13, 14, 15], "..xx..x", [8, 0.001, 8]),
    ("allow: 2 per 10s, algorithm: bucket", [0, 0, 0, 4.999, 5, 5, 100, 100, 100], "..xx.x..x", [5, 0.001, 5, 5]),
    ("allow: 2 per 10s, algorithm: bucket, burst: 4", [0, 0, 0, 0, 0, 5, 5], "....x.x", [5, 5]),
    ("allow: 2 per 10s, algorithm: leaky", [0, 0, 4.999, 5], ".xx.", [5, 0.001]),
    ("allow: 2 per 10s, algorithm: leaky, burst: 2", [0, 0, 0, 0, 5, 5], "...x.x", [5, 5]),
    ("allow: 2 per 10s, algorithm: leaky, burst: 2, delay: 0", [0, 0, 0, 0, 5, 5], ".ddxdx", [5, 10, 5, 10, 5]),
    ("allow: 2 per 10s, algorithm: leaky, burst: 3, delay: 1", [0, 0, 0, 0, 0, 5], "..ddxd", [5, 10, 5, 10]),
    ("allow: 2 per 10s, action: delay", [0, 0, 0, 0, 0], "..ddx", [10, 10, 10]),
    ("allow: 2 per 10s, action: delay, algorithm: bucket", [0, 0, 0, 0, 0], "..ddx", [5, 10, 5]),
    ("allow: 2 per 10s, block: 15s", [0, 0, 1, 5, 15.999, 16, 16, 16], "..xxx..x", [15, 11, 0.001, 15]),
    ("allow: 2 per 10s, block: 15s, extend: true", [0, 0, 1, 5, 19, 33.9, 48.9], "..xxxx.", [15, 15, 15, 15]),
    ("allow: 1 per 10s, block: { for: 10s, factor: 2, max: 30s, forgive: 1m }",
     [0, 0, 10, 10, 30, 30, 60, 60, 89, 90, 150.5, 151], ".x.x.x.xx..x", [10, 20, 30, 30, 1, 10]),
    ("allow: 1 per 10s, block: { for: 10s, factor: 1.5 }", [0, 0, 10, 10, 25, 25], ".x.x.x", [10, 15, 22.5]),
    ("allow: 2 per 10s, count_refused: true", [0, 0, 5, 10, 14, 24, 24], "..x.x..", [5, 6]),
    ("allow: 2 per 10s, count_refused: true, algorithm: bucket", [0, 0, 4, 5, 6, 9, 13, 19], "..xxxxx.", [5] * 5),
    ("allow: 1 per 10s, action: drop", [0, 0, 1], ".oo", [10, 9]),
    ("allow: 1 per 10s, action: challenge", [0, 0, 1], ".cc", []),
    ("allow: 1 per 10s, action: mark", [0, 0, 1], ".mm", []),
    ("allow: [2 per 1s, 3 per 10s]", [0, 0, 0, 1, 1, 2, 10, 10, 10], "..x.xx..x", [1, 9, 8, 1]),
    ("allow: 0 per 10s", [0, 100], "xx", [None, None]),
    ("allow: 5 per 10s, cost: 2", [0, 0, 1, 10], "..x.", [9]),
    ("allow: 5 per 10s, cost: 6", [0, 100], "xx", [None, None]),
    ("allow: 1 per 10s, overrides: { 203.0.113.0/24: 2 per 10s, 203.0.0.0/16: 9 per 10s }", [0, 0, 0], "..x", [10]),
    ("allow: 1 per 10s, overrides: { 203.0.113.7: unlimited }", [0, 0, 0], "...", []),
    ("allow: 1 per 10s, only: [php]", [0, 0], "..", []),
    ("allow: 1 per 10s, dry_run: true, block: 1h", [0, 0], "..", []),
]


@pytest.mark.parametrize("keys, times, expected, waits", ROWS)
@pytest.mark.parametrize("start", [0, 1796000000])
def test_a_limit_does_what_its_keys_say(build, tmp_path, keys, times, expected, waits, start):
    decisions, letters = played(build, tmp_path, f"limits: {{ a: {{ by: address, {keys} }} }}", [start + t for t in times])
    assert letters == expected
    told = [one["retry_after"] if one["verdict"] in ("refuse", "drop") else one["delay"] for one in decisions if one["verdict"] in ("refuse", "drop", "delay")]
    assert all(said == wait if wait is None else abs(said - wait) < 1e-6 for said, wait in zip(told, waits, strict=True)), told


@pytest.mark.parametrize("limits, costs, expected", [
    ("a: { by: address, allow: 10 per 10s }", [4, 0, 7, 6, 11, 0], [".6", ".6", "x6", ".0", "x0", ".0"]),
    ("a: { by: address, allow: 0 per 10s }", [1, 0], ["x0", "x0"]),
    ("a: { by: address, allow: 9 per 10s, cost: 2 }", [1, 3, 1], [".7", ".1", "x1"]),
])
def test_a_cost_is_spent_whole_or_not_at_all(build, tmp_path, limits, costs, expected):
    events = [{"t": 1, "address": "203.0.113.7", "cost": cost} for cost in costs]
    assert [LETTERS[one["verdict"]] + str(one["remaining"]) for one in replay(build, tmp_path, f"limits: {{ {limits} }}", events)] == expected


@pytest.mark.parametrize("limits, times, expected", [
    # a block, counted refusals or a queue of one limit spend nothing from the other
    ("a: { by: address, allow: 1 per 10s, block: 20s }, b: { by: site, allow: 3 per 100s }", [0, 1, 1, 1, 21, 22, 42, 90], ".xxx.x.x"),
    ("a: { by: address, allow: 1 per 10s, count_refused: true }, b: { by: site, allow: 3 per 100s }", [0, 1, 1, 1, 11, 22, 42], ".xxx..x"),
    ("a: { by: address, allow: 1 per 10s, action: delay }, b: { by: site, allow: 2 per 30s }", [0, 0, 0, 0, 30.5], ".dxx."),
    # what goes on spends from all, whatever it is called
    ("a: { by: address, allow: 1 per 10s, action: challenge }, b: { by: site, allow: 3 per 100s }", [0, 0, 0, 0], ".ccx"),
    ("a: { by: address, allow: 1 per 10s, dry_run: true }, b: { by: site, allow: 3 per 100s }", [0, 0, 0, 0], "...x"),
    # the strictest wins
    ("a: { by: address, allow: 1 per 10s, action: mark }, b: { by: site, allow: 1 per 10s, action: challenge }", [0, 0], ".c"),
    ("a: { by: address, allow: 1 per 100s }, b: { by: site, allow: 1 per 10s, action: drop }", [0, 0], ".o"),
    ("a: { by: address, allow: 1 per 10s, action: delay }, b: { by: site, allow: 1 per 10s, action: mark }", [0, 0], ".d"),
])
def test_p3_limits_side_by_side(build, tmp_path, limits, times, expected):
    assert played(build, tmp_path, f"limits: {{ {limits} }}", times)[1] == expected


US = 1_000_000
PERIODS = {"1s": US, "10s": 10 * US, "60s": 60 * US}


class Model:
    """Limits with lists of all times that were charged; times in microseconds."""

    def __init__(self, rng):
        self.limits, self.charged, self.lines = [], {}, []
        for i in range(rng.randint(1, 5)):
            by, only = rng.choice(["address", "site", "path", "[path, address]"]), rng.choice(["", "for: x,", "for: not x,"])
            kind = rng.choice(["", "", "algorithm: fixed,", "algorithm: fixed, from: first,"])
            rates = [(rng.randint(1, 12), name) for name in rng.sample(list(PERIODS), rng.choice([1, 1, 2]))]
            cost = rng.choice([1, 1, 2])
            self.limits.append((by, only, kind, [(count, PERIODS[name]) for count, name in rates], cost))
            allow = ", ".join(f"{count} per {name}" for count, name in rates)
            self.lines.append(f"  l{i}: {{ by: {by}, {only} {kind} cost: {cost}, allow: [{allow}] }}\n")

    def policy(self):
        return "classes: { x: { path_begins: /x } }\nlimits:\n" + "".join(self.lines)

    def room(self, kind, times, count, period, t):
        """How much is left, and when `cost` more fits, as a function of it."""
        if "fixed" not in kind:
            live = [one for one in times if one > t - period]
            return count - len(live), lambda cost: live[len(live) + cost - count - 1] + period - t
        start = t // period * period if "first" not in kind else next((times[i] for i in self.starts(times, period) if times[i] > t - period), t)
        return count - len([one for one in times if one >= start]), lambda cost: start + period - t

    @staticmethod
    def starts(times, period):
        """Where windows from the first request began."""
        begun = []
        for i, one in enumerate(times):
            if not begun or one >= times[begun[-1]] + period:
                begun.append(i)
        return begun

    def decide(self, t, address, path, cost):
        asked, left, waits = [], [], []
        for i, (by, only, kind, rates, factor) in enumerate(self.limits):
            if only and path.startswith("/x") == ("not" in only):
                continue
            key = {"address": address, "site": "", "path": path}.get(by, (path, address))
            for count, period in rates:
                times, spent = self.charged.setdefault((i, period, key), []), cost * factor
                room, wait = self.room(kind, times, count, period, t)
                asked.append((times, spent))
                left.append(room - spent)
                if spent > room:
                    waits.append(None if spent > count else wait(spent))
        if waits:
            return "refuse", None if None in waits else max(waits), None
        for times, spent in asked:
            times.extend([t] * spent)
        return "allow", 0, min(left, default=None)


@pytest.mark.parametrize("seed", range(80))
def test_p3_several_limits_agree_with_a_model(build, tmp_path, seed):
    rng = random.Random(seed)
    model, requests, t = Model(rng), [], rng.choice([0, 10**9, 1796000000 * US])
    for _ in range(120):
        t += rng.choice([0, 0, 1000, rng.randrange(2000) * 1000, US, rng.randrange(20) * US if rng.random() < 0.1 else 0])
        requests.append((t, rng.choice(["10.0.0.1", "10.0.0.2"]), rng.choice(["/", "/x", "/x/y", "/z"]), rng.choice([1, 1, 1, 1, 2, 3, 0, 13])))
    events = [{"t": t / US, "address": address, "path": path, "cost": cost} for t, address, path, cost in requests]
    for request, one in zip(requests, replay(build, tmp_path, model.policy(), events)):
        verdict, wait, left = model.decide(*request)
        said = (one["verdict"], one["retry_after"] if one["retry_after"] is None else round(one["retry_after"] * US))
        assert said == (verdict, wait) and (verdict == "refuse" or one["remaining"] == left), (model.policy(), request, one)
