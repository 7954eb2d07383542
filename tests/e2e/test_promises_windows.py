"""P1 and P2 through `replay`: strict windows under attack, the exact count of small limits, waits that are true."""
import json
import random
from datetime import datetime, timezone
from decimal import Decimal

import pytest

from command import drossel, replay, write_policy

US = 1_000_000
PERIODS = {"1s": US, "10s": 10 * US, "60s": 60 * US, "10m": 600 * US, "1h": 3600 * US, "1d": 86400 * US, "30d": 30 * 86400 * US}
TODAY = 1_796_000_000 * US + 17


def written(t):
    """A number, but for what no double can hold near today: an RFC 3339 time."""
    seconds = Decimal(t) / US
    if t == int(t):
        return f"{seconds:f}"
    whole = int(seconds)
    return f'"{datetime.fromtimestamp(whole, timezone.utc):%Y-%m-%dT%H:%M:%S}.{int((seconds - whole) * 10**9):09d}Z"'


def decide(build, folder, policy, timed):
    """Decisions to (time in microseconds, address), written without any double."""
    path = write_policy(folder, policy)
    text = "".join(f'{{"t":{written(t)},"address":"{address}"}}\n' for t, address in timed)
    done = drossel(build, "replay", "--format", "events", "--decisions", "-", "--policy", path, "-", text=text)
    return [json.loads(line) for line in done.stdout.splitlines()]


def attacks(rng, count, period, start):
    """Lists of times: what a client would try who knows how windows are cut."""
    some = min(count, 800)
    chunk = (count + 15) // 16
    edges = [start + k * period + d for k in range(4) for d in (-1, 0, 1, period - 1, period // 2) for _ in range(some // 2 + 1)]
    slices = [start + k * period // 16 + rng.choice((0, 1, period // 32, period // 16 - 1)) for k in range(48) for _ in range(min(chunk, 60) + 1)]
    late = [start] + [start + period - 2] * some + [start + period + rng.randrange(period) for _ in range(some)]
    random_times, t = [], start
    for _ in range(min(3 * count, 1500)):
        t += int(rng.expovariate(1) * period / count * rng.choice((0.1, 0.5, 1, 3)))
        random_times.append(t)
    return [sorted(edges), sorted(slices), sorted(late), random_times]


@pytest.mark.parametrize("count", [1, 5, 12, 16, 17, 33, 100, 255, 257, 1000, 10000])
@pytest.mark.parametrize("period", ["1s", "10s", "1h", "30d"])
def test_p1_no_window_ever_holds_more_and_a_steady_client_is_never_refused(build, tmp_path, count, period):
    rng, length = random.Random(count), PERIODS[period]
    timed = [(t, f"10.0.0.{i}") for i, times in enumerate(attacks(rng, count, length, TODAY)) for t in times]
    step = -(-16 * length // (15 * count))
    timed += [(TODAY + i * step, "10.9.9.9") for i in range(min(2 * count + 40, 3000))]
    timed.sort(key=lambda one: one[0])
    admitted = {}
    for (t, address), decision in zip(timed, decide(build, tmp_path, f"limits: {{ a: {{ by: address, allow: {count} per {period} }} }}", timed)):
        if decision["verdict"] == "allow":
            admitted.setdefault(address, []).append(t)
        else:
            assert address != "10.9.9.9", f"the steady client was refused at {t}"
    for times in admitted.values():
        assert all(late - early >= length for early, late in zip(times, times[count:]))


def exact(count, period, times):
    """The slow and obviously right model: verdict, remaining, wait in microseconds."""
    admitted, said = [], []
    for t in times:
        live = [one for one in admitted if one > t - period]
        if len(live) < count:
            admitted.append(t)
            said.append(("allow", count - len(live) - 1, 0))
        else:
            said.append(("refuse", 0, live[-count] + period - t))
    return said


@pytest.mark.parametrize("period, grid", [("1s", 1000), ("10s", 1000), ("60s", 1000), ("10m", 1000), ("1h", 1000), ("1d", US), ("30d", US)])
@pytest.mark.parametrize("start", [10**9, TODAY - 17])
def test_p1_small_limits_are_counted_exactly(build, tmp_path, period, grid, start):
    length, rng = PERIODS[period], random.Random(start)
    for count in range(1, 13):
        t, times = start, []
        for _ in range(200):
            t += rng.choice((0, grid, grid * rng.randrange(1, length // grid // 4), length - grid, length, length + grid)[:rng.choice((3, 3, 6))])
            times.append(t)
        decisions = decide(build, tmp_path, f"limits: {{ a: {{ by: address, allow: {count} per {period} }} }}", [(t, "10.0.0.1") for t in times])
        assert [(one["verdict"], one["remaining"], round(one["retry_after"] * US)) for one in decisions] == exact(count, length, times), count


ALGORITHMS = ["", "algorithm: fixed,", "algorithm: fixed, from: first,", "algorithm: bucket,", "algorithm: bucket, burst: 3,",
              "algorithm: leaky,", "algorithm: leaky, burst: 4,", "algorithm: leaky, burst: 4, delay: 2,"]
BLOCKS = ["", "block: 90s,", "ban: 45s,", "block: { for: 7s, factor: 2, max: 1h, forgive: 10m },", "count_refused: true,",
          "block: 5s, extend: true,"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("block", BLOCKS)
def test_p2_the_wait_is_exact_with_every_algorithm_and_block(build, tmp_path, algorithm, block):
    rng = random.Random(algorithm + block)
    tried = 0
    for count, period in [(1, "1s"), (7, "60s"), (20, "10s"), (257, "10m")]:
        policy = f"limits: {{ a: {{ by: address, {algorithm} {block} allow: {count} per {period} }} }}"
        pause = max(2, PERIODS[period] // count // 1000)
        timed = []
        for k in range(8):
            t = TODAY + rng.randrange(1000) * 1000
            for _ in range(count + rng.randrange(2, 12)):
                timed.append((t, f"10.0.0.{k}"))
                t += rng.choice((0, 0, 1000 * rng.randrange(pause)))
        timed.sort(key=lambda one: one[0])
        last = {address: (i, one["retry_after"]) for i, ((_, address), one) in enumerate(zip(timed, decide(build, tmp_path, policy, timed)))
                if one["verdict"] == "refuse"}
        for early, expected in ((0, True), (1000, False)):
            probes = [(timed[i][0] + Decimal(repr(wait)) * US - early, address) for address, (i, wait) in last.items()]
            kept = [one for i, one in enumerate(timed) if i <= last.get(one[1], (len(timed), 0))[0]]
            probes = {address: t for t, address in probes if t > timed[last[address][0]][0]}
            tries = sorted([(t, 0, address) for t, address in kept] + [(t, 1, address) for address, t in probes.items()], key=lambda one: one[:2])
            for (t, probe, address), one in zip(tries, decide(build, tmp_path, policy, [(t, address) for t, _, address in tries])):
                if probe:
                    tried += 1
                    assert (one["verdict"] in ("allow", "delay")) == expected, (policy, t, early, one)
    assert tried > 20


@pytest.mark.parametrize("start", [0, 100.5, 1796000000, 1796000000.978, 1796000000.370165])
def test_p2_a_wait_added_by_a_program_is_long_enough(build, tmp_path, start):
    """Times and sums as doubles have them: today's are a quarter of a microsecond apart."""
    events, rng = [], random.Random(7)
    for k in range(100):
        first = start + rng.randrange(9000) / 1000
        events += [{"t": first, "address": f"10.0.0.{k}"}, {"t": first + rng.randrange(1, 5000) / 1000, "address": f"10.0.0.{k}"}]
    policy = "limits: { a: { by: address, allow: 1 per 10s } }"
    order = sorted(events, key=lambda one: one["t"])
    waits = {one["address"]: one["t"] + said["retry_after"] for one, said in zip(order, replay(build, tmp_path, policy, events)) if said["verdict"] == "refuse"}
    assert len(waits) == 100
    again = events + [{"t": t, "address": address} for address, t in waits.items()]
    assert [said["verdict"] for said in replay(build, tmp_path, policy, again)].count("allow") == 200
    early = events + [{"t": t - 0.001, "address": address} for address, t in waits.items()]
    assert [said["verdict"] for said in replay(build, tmp_path, policy, early)].count("allow") == 100
