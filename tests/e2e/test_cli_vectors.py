"""limiter.jsonl: what other limiters' own tests expect, through `drossel replay`, where the algorithm is ours."""
import json
import math
import os
import pathlib

import pytest

from command import drossel, replay, write_policy

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = pathlib.Path(os.environ.get("DROSSEL_VECTORS", HERE.parent / "vectors")) / "limiter.jsonl"
ROWS = [json.loads(line) for line in VECTORS.read_text().splitlines() if line.strip()]


class LeftOut(Exception):
    """Why a row cannot be said in a policy and events."""


def period(seconds):
    milliseconds = round(seconds * 1000, 6)
    if milliseconds < 1 or milliseconds != int(milliseconds):
        raise LeftOut("a period below 1 ms, or none")
    return f"{int(milliseconds)}ms"


def bucket(row):
    if "limits" in row:
        raise LeftOut("several buckets of one key with a burst each")
    if row.get("initial_tokens", row["limit"]) != row["limit"]:
        raise LeftOut("a bucket that is not full at first")
    if row["count"] == 0:
        raise LeftOut("a rate of 0 is their mistake and our way to refuse everyone")
    return f"allow: {row['count']} per {period(row['period'])}, algorithm: bucket, burst: {row['limit']}"


def window(row, more):
    if row["limit"] is None:
        raise LeftOut("several limits of one service")
    block = f", block: {period(row['block_s'])}" if "block_s" in row else ""
    counted = ", count_refused: true" if row.get("counts_denied") else ""
    return f"allow: {row['limit']} per {period(row['window_s'])}, {more}{block}{counted}"


def leaky(row):
    return f"allow: {row['limit']} per {period(row['window_s'])}, algorithm: leaky, burst: {row['limit'] - 1}"


def delayed(row):
    return f"allow: {row['count']} per {period(row['period'])}, algorithm: leaky, burst: {row['burst']}, delay: 0"


EXPRESSED = {
    "gcra": bucket,
    "token_bucket": bucket,
    "leaky_bucket": leaky,
    "leaky_bucket_delay": delayed,
    "fixed_window_first_hit": lambda row: window(row, "algorithm: fixed, from: first"),
    "fixed_window_epoch": lambda row: window(row, "algorithm: fixed"),
    "calendar_minute": lambda row: window(row, "algorithm: fixed"),
}
# Members of a row or a step that change what is done, and that events cannot say.
UNSPEAKABLE = {
    "op": "an operation by hand", "drain": "a cost above the limit empties it", "dry_run": "asking what a cost would do",
    "reset_remaining": "an operation by hand",
}


def policy_of(row):
    if "quirk" in row:
        raise LeftOut("a mistake of theirs")
    if row["algo"] not in EXPRESSED:
        raise LeftOut(f"another algorithm: {row['algo']}")
    for step in row["steps"]:
        for name, why in UNSPEAKABLE.items():
            if name in step:
                raise LeftOut(why)
    times = [step["t_ms"] for step in row["steps"]]
    if times != sorted(times):
        raise LeftOut("a clock that steps back: events are taken in the order of their time")
    if any(step["cost"] < 0 and not step.get("expect_error") for step in row["steps"]):
        raise LeftOut("a cost below 0")
    if "share_threshold" in row.get("note", ""):
        raise LeftOut("many keys that share one counter")
    numbers = EXPRESSED[row["algo"]](row)
    shadow = ", dry_run: true" if row.get("shadow") else ""
    return f"limits: {{ it: {{ by: token, {numbers}{shadow} }} }}\n"


def reason(row):
    try:
        policy_of(row)
    except LeftOut as why:
        return str(why)
    return None


RUN = [row for row in ROWS if reason(row) is None]


def event_of(row, step):
    """A prefill puts the counter where the test starts: at most at the limit, as no charge goes beyond it here."""
    cost = min(step["cost"], row["limit"]) if step.get("prefill") else step["cost"]
    t = (row.get("t0_epoch_s") or 0) + step["t_ms"] / 1000
    return {"t": round(t, 6), "address": "192.0.2.1", "token": step.get("key", "k"), "cost": cost}


def check_wait(row, step, decision):
    wait, expected = decision["retry_after"], step.get("expect_retry_after")
    if step.get("never") or (expected == -1 and step["cost"] > row["limit"]):
        assert wait is None
        return
    wait = math.inf if wait is None else wait
    if "expect_retry_after_min" in step:
        assert wait >= step["expect_retry_after_min"]
    if "expect_retry_after_max" in step:
        assert wait <= step["expect_retry_after_max"]
    if expected not in (None, -1):
        # Many of them round to whole seconds, up or down; the exact wait is never a second away from that.
        tolerance = step.get("tolerance_s", row.get("tolerance_s", 0))
        slack = max(tolerance, 0.999999 if expected == int(expected) else 1e-6)
        assert abs(wait - expected) <= slack


def check_step(row, step, decision):
    if step.get("prefill"):
        return
    if step["expect_allowed"] is not None:
        assert (decision["verdict"] in ("allow", "delay")) == step["expect_allowed"]
    if step["expect_remaining"] is not None and not row.get("shadow"):
        assert decision["remaining"] == step["expect_remaining"]
    if "expect_remaining_max" in step:
        assert decision["remaining"] <= step["expect_remaining_max"]
    if step["expect_allowed"] is False:
        check_wait(row, step, decision)
    if "expect_delay_s" in step:
        assert decision["delay"] == pytest.approx(step["expect_delay_s"], abs=1e-6)
    if "expect_status" in step:
        assert decision["status"] == step["expect_status"]


@pytest.mark.parametrize("row", RUN, ids=[row["id"] for row in RUN])
def test_an_expectation_of_others_holds_here(build, tmp_path, row):
    policy = policy_of(row)
    steps = row["steps"]
    if row["limit"] == 0 and all(step.get("expect_error") for step in steps):
        drossel(build, "check", write_policy(tmp_path, policy), code=1)
        return
    good = [step for step in steps if not step.get("expect_error")]
    decisions = replay(build, tmp_path, policy, [event_of(row, step) for step in steps],
                       code=0 if len(good) == len(steps) else 1)
    assert len(decisions) == len(good)
    for number, (step, decision) in enumerate(zip(good, decisions)):
        try:
            check_step(row, step, decision)
        except AssertionError as wrong:
            raise AssertionError(f"{row['id']} step {number}: {step} got {decision}: {wrong}") from wrong


def test_what_is_left_out_has_a_reason_and_is_the_smaller_part(capsys):
    reasons = {}
    for row in ROWS:
        if reason(row) is not None:
            reasons.setdefault(reason(row), []).append(row["id"])
    left = sum(map(len, reasons.values()))
    assert len(RUN) + left == len(ROWS) and left < len(RUN)
    with capsys.disabled():
        print(f"\nlimiter.jsonl: {len(RUN)} rows run, {left} left out:")
        for why, ids in sorted(reasons.items()):
            print(f"  {why}: {', '.join(ids)}")
