"""Limits that count failures, through `drossel replay`: charged on arrival, held, settled when the outcome is known."""
import collections
import heapq
import json
import random

import pytest

from command import drossel, replay, spread, summary, write_policy

A, B = "203.0.113.7", "198.51.100.9"
LOGIN = "classes: { login: { method: POST, path: /login } }\n"
FIVE = "allow: 5 failures per 900s"


def ask(t, status=None, settle=None, address=A, path="/login", **facts):
    """One POST; without a status its outcome never arrives."""
    event = {"t": t, "address": address, "method": "POST", "path": path, **facts}
    return event | ({} if status is None else {"status": status}) | ({} if settle is None else {"settle_at": settle})


def one(numbers, by="address", more=""):
    return f"{LOGIN}{more}limits: {{ login: {{ for: login, by: {by}, {numbers} }} }}"


def told(decisions):
    """`allow`, `refuse`, or `allow+0.3` for one that was held."""
    return [d["verdict"] + (f"+{d['held']:g}" if "held" in d else "") for d in decisions]


# A limit by address, the events, and what becomes of each.
OFFICE = [ask(0, 200, 0.3) for _ in range(10)]
GUESSES = [ask(0, 401, 0.3) for _ in range(100)]
WAYS = [
    ("right passwords one after the other spend nothing (field case 16)", "allow: 5 failures per 20s",
     [ask(0, 200) for _ in range(10)], ["allow"] * 10),
    ("ten of one office at the same moment all get in (P4)", FIVE, OFFICE, ["allow"] * 5 + ["allow+0.3"] * 5),
    ("ninety-five of a hundred parallel guesses do not (P4)", FIVE, GUESSES, ["allow"] * 5 + ["refuse+0.3"] * 95),
    ("whoever answered first decides about those who wait", "allow: 1 failures per 900s",
     [ask(0, 200, 0.5), ask(0, 200, 0.75), ask(0, 401, 1.25), ask(0.125, 200)],
     ["allow", "allow+0.5", "allow+0.75", "refuse+1.125"]),
    ("an outcome that never arrives keeps its charge", "allow: 2 failures per 900s",
     [ask(0), ask(0), ask(1, 200), ask(1.5, 200), ask(5, 200), ask(899, 200), ask(900, 200)],
     ["allow", "allow", "refuse+2", "refuse+2", "refuse+2", "refuse", "allow"]),
    ("without a hold nobody waits", "allow: 1 failures per 900s, hold: 0",
     [ask(0, 200, 0.3), ask(0.1, 200), ask(0.3, 200)], ["allow", "refuse", "allow"]),
    ("a hold is as long as it says", "allow: 1 failures per 900s, hold: 250ms",
     [ask(0, 200, 0.3), ask(0, 200), ask(0.1, 200)], ["allow", "refuse+0.25", "allow+0.2"]),
    ("an outcome at the end of a hold comes first", "allow: 1 failures per 900s, hold: 250ms",
     [ask(0, 200, 0.25), ask(0, 200)], ["allow", "allow+0.25"]),
    ("an outcome comes before a request of the same time", "allow: 1 failures per 900s",
     [ask(0, 200, 1), ask(1, 200, 2), ask(2, 200)], ["allow"] * 3),
    ("a held one is asked before one who comes at that time", "allow: 1 failures per 900s",
     [ask(0, 200, 1), ask(0.5, 401), ask(1, 200)], ["allow", "allow+0.5", "refuse"]),
    ("an outcome that was due while its request was held follows the decision", "allow: 1 failures per 900s",
     [ask(0, 200, 1), ask(0, 200, 0.5), ask(0, 200, 0.1)], ["allow", "allow+1", "allow+1"]),
    ("failures are counted, successes between them are not", "allow: 3 failures per 900s",
     [ask(n, 401 if n % 3 == 0 else 200) for n in range(9)], ["allow"] * 7 + ["refuse"] * 2),
    ("what is neither a failure nor a success gives the charge back", "allow: 1 failures per 900s",
     [ask(n, status) for n, status in enumerate((404, 500, 503, 429, 301, 204, 302, 401, 200))], ["allow"] * 8 + ["refuse"]),
    ("every status of the default failures is one", "allow: 4 failures per 900s",
     [ask(n, status) for n, status in enumerate((400, 401, 403, 422, 200))], ["allow"] * 4 + ["refuse"]),
    ("a refused request never settles", "allow: 1 failures per 900s",
     [ask(0, 401), ask(1, 200), ask(2, 200), ask(3, 200)], ["allow"] + ["refuse"] * 3),
    ("a refund reaches its window when that has half passed", "allow: 2 failures per 10s",
     [ask(0, 200, 5), ask(1, 401), ask(6, 401), ask(7, 401), ask(11, 401)], ["allow"] * 3 + ["refuse", "allow"]),
    ("a refund gives nothing to a new window on the clock", "allow: 2 failures per 10s, algorithm: fixed",
     [ask(9, 200, 12), ask(11, 401), ask(11.5, 401), ask(12.5, 200), ask(20, 200)], ["allow"] * 3 + ["refuse", "allow"]),
    ("a refund gives nothing to a new window from the first", "allow: 2 failures per 10s, algorithm: fixed, from: first",
     [ask(1, 200, 14), ask(11, 401), ask(13, 401), ask(15, 200), ask(21, 200)], ["allow"] * 3 + ["refuse", "allow"]),
    ("a refund gives nothing to a sliding window that has gone on", "allow: 2 failures per 10s",
     [ask(1, 200, 14), ask(12, 401), ask(13, 401), ask(15, 200), ask(22, 200)], ["allow"] * 3 + ["refuse", "allow"]),
    ("a block keeps out right passwords, too, for as long as announced", "allow: 2 failures per 60s, block: 15m",
     [ask(0, 401), ask(1, 401), ask(2, 401), ask(3, 200), ask(901.999999999, 200), ask(902, 200)],
     ["allow"] * 2 + ["refuse"] * 3 + ["allow"]),
    ("a request that only waits starts no block", "allow: 1 failures per 60s, block: 15m, hold: 1s",
     [ask(0, 200, 5), ask(0, 200), ask(6, 200)], ["allow", "refuse+1", "allow"]),
    ("a cost is what a failure costs", "allow: 5 failures per 900s, cost: 2",
     [ask(0, 401), ask(1, 200, 1.5), ask(1, 401), ask(2, 401)], ["allow", "allow", "allow+0.5", "refuse"]),
    ("who asks at no cost is charged nothing", "allow: 1 failures per 900s",
     [ask(0, 401, cost=0), ask(1, 401, cost=0), ask(2, 401)], ["allow"] * 3),
]


@pytest.mark.parametrize("numbers, events, wanted", [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
def test_an_outcome_decides(build, tmp_path, numbers, events, wanted):
    decisions = replay(build, tmp_path, one(numbers), events)
    assert told(decisions) == wanted
    assert [d["t"] for d in decisions] == [event["t"] for event in events]


@pytest.mark.parametrize("start", [0, 1, 924000])
def test_when_it_happens_changes_nothing(build, tmp_path, start):
    """Aligned windows of several lengths begin as ever when events at 0 are held."""
    policy = LOGIN + ("limits: { clock: { for: login, by: address, allow: 3 failures per 7s, algorithm: fixed }, "
                      "page: { by: address, allow: 50 per 11s, algorithm: fixed } }")
    base = 77 * (start // 77)     # both windows begin there
    events = [ask(base + t, status, base + settle) for t, status, settle in
              [(0, 200, 0.5), (0, 401, 6), (0, 401, 6.5), (0, 401, 0.6), (6.999999999, 200, 7), (7, 401, 7)]]
    assert told(replay(build, tmp_path, policy, events)) == ["allow"] * 3 + ["allow+0.5", "refuse", "allow"]


def test_the_wait_after_a_hold_is_the_true_one(build, tmp_path):
    """P2: at 0 and elsewhere, whether the hold ended by an outcome or by itself."""
    for start in (0, 5):
        first = replay(build, tmp_path, one(FIVE), [ask(start, 401, start + 0.3) for _ in range(6)])[-1]
        assert (first["held"], first["retry_after"], first["status"]) == (0.3, 899.7, 429)
        last = replay(build, tmp_path, one(FIVE), [ask(start) for _ in range(6)])[-1]
        assert (last["held"], last["retry_after"], last["status"]) == (2, 898, 429)


def test_the_client_of_a_held_request_gets_the_answer_of_the_application(build, tmp_path):
    decisions = replay(build, tmp_path, one("allow: 1 failures per 60s"), [ask(0, 302, 0.5), ask(0, 204, 0.75), ask(0, 401), ask(0.8)])
    assert [(d["verdict"], d["status"]) for d in decisions] == [("allow", 302), ("allow", 204), ("allow", 401), ("refuse", 429)]


def test_others_are_decided_while_one_is_held_and_printed_after_it(build, tmp_path):
    events = [ask(0, 200, 1.5), ask(0, 200)] + [ask(0.25 * n, 200, address=B, path="/x", token=f"{n}") for n in range(1, 9)]
    decisions = replay(build, tmp_path, one("allow: 1 failures per 60s"), events)
    assert told(decisions) == ["allow", "allow+1.5"] + ["allow"] * 8
    assert [d["t"] for d in decisions] == [event["t"] for event in events]


def test_no_decision_is_lost_when_the_last_event_is_held(build, tmp_path):
    assert told(replay(build, tmp_path, one("allow: 1 failures per 60s"), [ask(0), ask(1)])) == ["allow", "refuse+2"]


TIMES = [("2026-01-31T12:00:01Z", "allow+1"), (1769860801, "allow+1"), (None, "allow")]


@pytest.mark.parametrize("settle, wanted", TIMES, ids=[str(time[0]) for time in TIMES])
def test_an_outcome_may_arrive_at_any_way_to_write_a_time(build, tmp_path, settle, wanted):
    events = [{**ask("2026-01-31T12:00:00Z", 200), "settle_at": settle}, ask("2026-01-31T12:00:00Z", 200)]
    assert told(replay(build, tmp_path, one("allow: 1 failures per 60s"), events)) == ["allow", wanted]


# ---- what counts as what ----

OUTCOMES = [
    ("", {400: "failure", 401: "failure", 403: "failure", 422: "failure", 200: "success", 201: "success", 204: "success",
          302: "success", 303: "success", 301: "other", 404: "other", 500: "other"}),
    ("outcomes: { failure: { status: 200 }, success: { status: 302 } }", {200: "failure", 302: "success", 401: "other", 201: "other"}),
    ("outcomes: { failure: { status: [401, 404] } }", {401: "failure", 404: "failure", 403: "other", 200: "success"}),
    ("outcomes: { success: { status: [301] } }", {301: "success", 200: "other", 401: "failure"}),
    ("outcomes: { failure: { header.X-Outcome: failure } }", {401: "other", 200: "success"}),
]


@pytest.mark.parametrize("outcomes, statuses", OUTCOMES, ids=[case[0] or "defaults" for case in OUTCOMES])
def test_a_policy_says_what_is_a_failure_and_what_a_success(build, tmp_path, outcomes, statuses):
    """After one failure: a failure leaves none of two, a success clears, another outcome leaves one."""
    failing = next((status for status, what in statuses.items() if what == "failure"), None)
    policy = one("allow: 2 failures per 900s, reset_on: success", by="account", more=outcomes + "\n")
    left = {"failure": 0, "success": 2, "other": 1 if failing else 2}
    for status, what in statuses.items():
        events = [ask(0, failing, account="u")] * (failing is not None) + [ask(1, status, account="u"), ask(2, cost=0, account="u")]
        assert replay(build, tmp_path, policy, events)[-1]["remaining"] == left[what], status


ANSWERS = [("failure", "refuse"), ("FAILURE", "refuse"), ("success", "allow"), ("other", "allow"), (["other", "failure"], "allow"),
           (None, "allow")]


@pytest.mark.parametrize("value, second", ANSWERS, ids=[str(answer[0]) for answer in ANSWERS])
def test_an_outcome_may_stand_in_a_header_of_the_answer(build, tmp_path, value, second):
    policy = one("allow: 1 failures per 900s", more="outcomes: { failure: { header.X-Outcome: failure } }\n")
    headers = {} if value is None else {"answer_headers": {"x-outcome": value, "X-Other": "failure"}}
    events = [ask(0, 200, headers={"X-Outcome": "failure"}, **headers), ask(1, 200)]     # a request cannot say it
    assert told(replay(build, tmp_path, policy, events)) == ["allow", second]


def test_guesses_that_are_answered_with_200_are_caught_by_a_long_window(build, tmp_path):
    """Field case 19."""
    policy = """
classes: { rpc: { method: POST, path: /xmlrpc.php } }
outcomes: { failure: { status: 200 } }
limits:
  short: { for: rpc, by: address, allow: 50 failures per 10s }
  long: { for: rpc, by: address, allow: 100 failures per 1h }
"""
    decisions = replay(build, tmp_path, policy, spread(8780, 0, 3599.8, method="POST", path="/xmlrpc.php", status=200))
    assert [d["verdict"] for d in decisions] == ["allow"] * 100 + ["refuse"] * 8680
    assert {d["limit"] for d in decisions[100:]} == {"long"}


# ---- accounts ----

GUARDED = LOGIN + """
limits:
  fast: { for: login, by: [account, address], allow: 5 failures per 900s, block: 900s, reset_on: success }
  slow: { for: login, by: account, allow: 100 failures per 1h, action: challenge }
  address: { for: login, by: address, allow: 10 failures per 600s }
"""


def test_the_owner_is_not_locked_out_by_who_guesses(build, tmp_path):
    """Field case 17."""
    guesses = [ask(n, 401, account="u@b") for n in range(6)]
    decisions = replay(build, tmp_path, GUARDED, guesses + [ask(7, 200, address=B, account="u@b"), ask(8, 200, account="u@b")])
    assert told(decisions) == ["allow"] * 5 + ["refuse", "allow", "refuse"]


def test_a_thousand_addresses_meet_the_slow_limit_and_the_owner_is_asked_for_more(build, tmp_path):
    """Field case 17."""
    guesses = [ask(n, 401, address=f"198.51.{n // 250}.{n % 250 + 1}", account="u@b") for n in range(1000)]
    decisions = replay(build, tmp_path, GUARDED, guesses + [ask(1001, 200, address=B, account="u@b")])
    assert told(decisions) == ["allow"] * 100 + ["challenge"] * 901
    assert {d["limit"] for d in decisions[100:]} == {"slow"} and decisions[-1]["status"] == 200


def test_a_success_clears_its_accounts_key_and_never_the_addresses(build, tmp_path):
    """Who has an account of his own does not wash his address clean."""
    mine = [ask(0, 401, account="mine"), ask(0, 200, account="mine")]
    rounds = [[ask(0, 401, account=f"victim{n}"), ask(0, 401, account=f"victim{n}"), *mine] for n in range(4)]
    events = [{**event, "t": t} for t, event in enumerate(event for each in rounds for event in each)]
    decisions = replay(build, tmp_path, GUARDED, events)
    assert told(decisions) == ["allow"] * 13 + ["refuse"] * 3
    assert {d["limit"] for d in decisions[13:]} == {"address"}


def test_a_success_clears_what_was_charged_before_it(build, tmp_path):
    events = [ask(n, 401, account="u") for n in range(4)] + [ask(4, 200, account="u")] + [ask(5 + n, 401, account="u") for n in range(6)]
    policy = one(FIVE + ", reset_on: success", by="account")
    assert told(replay(build, tmp_path, policy, events)) == ["allow"] * 10 + ["refuse"]
    assert told(replay(build, tmp_path, one(FIVE, by="account"), events)) == ["allow"] * 6 + ["refuse"] * 5


def test_a_request_without_the_account_is_not_counted_by_it(build, tmp_path):
    assert {d["limit"] for d in replay(build, tmp_path, one("allow: 1 failures per 60s", by="account"), [ask(n, 401) for n in range(5)])} == {None}


# ---- advisory limits ----

def test_a_dry_run_of_failures_is_told_of_certain_ones_only(build, tmp_path):
    policy = LOGIN + "limits: { login: { for: login, by: address, allow: 2 failures per 60s, dry_run: true } }"
    events = [ask(0, 200, 1), ask(0, 401, 1), ask(0, 401, 1), ask(2, 401), ask(3, 401), ask(4, 401)]
    decisions = replay(build, tmp_path, policy, events)
    assert told(decisions) == ["allow"] * 6
    assert [d["dry_run"] for d in decisions] == [[]] * 4 + [["login"]] * 2
    counted = summary(build, tmp_path, policy, events)
    assert (counted["held"], counted["limits"]["login"]["refused"], counted["limits"]["login"]["held"]) == (0, 2, 0)


SPRAY = LOGIN + "limits: { spray: { for: login, by: site, allow: 200 failures per 10m, action: challenge%s } }"


@pytest.mark.parametrize("more, status", [("", 200), (", challenge_to: /verify", 303)])
def test_failures_of_everybody_challenge_everybody(build, tmp_path, more, status):
    events = [ask(n / 10, 401, address=f"198.51.{n // 250}.{n % 250 + 1}", account=f"u{n}") for n in range(200)]
    events += [ask(30, 200, address=B), ask(31, 200, address=B), ask(631, 200, address=B)]
    decisions = replay(build, tmp_path, SPRAY % more, events)
    assert told(decisions) == ["allow"] * 200 + ["challenge"] * 2 + ["allow"]
    assert [d["status"] for d in decisions[200:]] == [status, status, 200]
    policy = "limits: { all: { by: site, allow: 0 per 1m, action: challenge, challenge_to: /verify } }"
    methods = {"GET": 302, "HEAD": 302, "POST": 303, "PUT": 303}                         # so that what follows is a GET
    events = [{"t": n, "address": A, "method": method} for n, method in enumerate(methods)]
    assert [d["status"] for d in replay(build, tmp_path, policy, events)] == list(methods.values())


def test_a_request_that_is_sent_elsewhere_by_a_challenge_has_no_outcome(build, tmp_path):
    """It neither fails nor clears: the application never saw it."""
    policy = LOGIN + """
limits:
  ask: { for: login, by: address, allow: 3 failures per 60s, action: challenge, challenge_to: /verify,
         overrides: { 198.51.100.9: unlimited } }
  own: { for: login, by: account, allow: 5 failures per 60s, reset_on: success }
"""
    events = [ask(0, 401, account=name) for name in "uvw"] + [ask(1, status, account="u") for status in (401, 200, 401)]
    decisions = replay(build, tmp_path, policy, events + [ask(2, address=B, account="u", cost=0)])
    assert [(d["verdict"], d["status"]) for d in decisions[3:6]] == [("challenge", 303)] * 3
    assert (decisions[-1]["limit"], decisions[-1]["remaining"]) == ("own", 4)


# ---- several limits ----

def test_a_certain_refusal_does_not_wait_for_a_doubtful_one(build, tmp_path):
    policy = LOGIN + """
limits:
  page: { by: address, allow: 2 per 60s }
  login: { for: login, by: address, allow: 1 failures per 60s }
"""
    decisions = replay(build, tmp_path, policy, [ask(0, 200, 1), ask(0, 200, 1), ask(0, 200, 1), ask(0.5, path="/"), ask(0.5, path="/")])
    assert told(decisions) == ["allow", "refuse+1", "refuse+1", "allow", "refuse"]     # while it waits others are served
    assert [d["limit"] for d in decisions[1:]] == ["page"] * 4
    decisions = replay(build, tmp_path, policy, [ask(0, path="/"), ask(0, 200, 1), ask(0.5, 200)])
    assert told(decisions) == ["allow", "allow", "refuse"] and decisions[-1]["limit"] == "page"


def test_each_limit_ends_its_own_hold(build, tmp_path):
    policy = LOGIN + """
limits:
  short: { for: login, by: [account, address], allow: 1 failures per 60s, hold: 1s }
  long: { for: login, by: address, allow: 2 failures per 60s, hold: 3s }
"""
    events = [ask(0, 200, 0.5, account="a"), ask(0, 200, 9, account="b"), ask(0, 200, account="a"), ask(4, 200, account="b"), ask(4, 200, account="c")]
    assert told(replay(build, tmp_path, policy, events)) == ["allow", "allow", "allow+0.5", "refuse+1", "allow"]
    events = [ask(0, 200, 2.5, account="a"), ask(0, 200, 9, account="b"), ask(0, 200, account="c"), ask(0, 200, account="a")]
    assert told(replay(build, tmp_path, policy, events)) == ["allow", "allow", "allow+2.5", "refuse+1"]


def test_a_held_request_spends_nothing_from_the_others(build, tmp_path):
    """P3."""
    policy = LOGIN + """
limits:
  page: { by: address, allow: 10 per 60s }
  login: { for: login, by: address, allow: 1 failures per 60s }
"""
    decisions = replay(build, tmp_path, policy, [ask(0, 401, 1), ask(0, 401), ask(0.5, cost=0, path="/"), ask(2, cost=0, path="/")])
    assert told(decisions) == ["allow", "refuse+1", "allow", "allow"]
    assert [d["remaining"] for d in decisions[2:]] == [9, 9]


# ---- the policy of a PHP application, word for word but for the store that is not there yet ----

PHP = """
on_outage: open
answer: { body: json, json: '{"error":"rate_limit_exceeded"}' }
client: { account_from: [form.email, json.email], token_from: [header.Authorization] }
classes:
  api:       { path_begins: /api/ }
  login:     { method: POST, path: /auth/login }
  api-login: { method: POST, path: /api/v1/auth/login }
limits:
  api.ip:                      { for: api, by: address,          allow: 120 per 60s, algorithm: fixed, from: first, block: 120s }
  api.token_ip:                { for: api, by: [token, address], allow: 300 per 60s, algorithm: fixed, from: first, block: 120s }
  login.resolve.ip:            { for: login, by: address,        allow: 25 per 600s, algorithm: fixed, from: first, block: 300s }
  login.password.email_ip:     { for: login, by: [account, address], allow: 5 failures per 900s, algorithm: fixed, from: first, block: 900s, reset_on: success }
  api.auth.login.ip:           { for: api-login, by: address,    allow: 10 failures per 600s, algorithm: fixed, from: first, block: 300s }
  api.auth.login.email_ip:     { for: api-login, by: [account, address], allow: 5 failures per 900s, algorithm: fixed, from: first, block: 900s, reset_on: success }
  remember:                    { only: [php], by: address, allow: 5 failures per 900s, algorithm: fixed, from: first, block: 900s, reset_on: success }
"""
WEB, API = {"path": "/auth/login", "account": "a@b.example"}, {"path": "/api/v1/auth/login", "account": "a@b.example"}
SMOKE = [
    ("120 API requests a minute and no more", [ask(n / 10, 200, path="/api/x") for n in range(125)] + [ask(131.99, 200, path="/api/x"), ask(132, 200, path="/api/x")],
     ["allow"] * 120 + ["refuse"] * 6 + ["allow"], {"api.ip"}),
    ("five wrong passwords for one e-mail, and a block of 15 minutes", [ask(n, 401, **WEB) for n in range(6)] + [ask(904.999, 200, **WEB), ask(905, 200, **WEB)],
     ["allow"] * 5 + ["refuse", "refuse", "allow"], {"login.password.email_ip"}),
    ("a right password in between starts afresh", [ask(n, 200 if n == 4 else 401, **WEB) for n in range(11)],
     ["allow"] * 10 + ["refuse"], {"login.password.email_ip"}),
    ("the API login is counted by account as well", [ask(n, 401, **API) for n in range(6)], ["allow"] * 5 + ["refuse"], {"api.auth.login.email_ip"}),
    ("and by address over several accounts", [ask(n, 401, path=API["path"], account=f"u{n}") for n in range(11)] + [ask(309.9, 200, path=API["path"], account="v"), ask(310, 200, path=API["path"], account="v")],
     ["allow"] * 10 + ["refuse"] * 2 + ["allow"], {"api.auth.login.ip"}),
    ("the resolve step 25 times in ten minutes", [ask(n, 200, path="/auth/login") for n in range(26)], ["allow"] * 25 + ["refuse"], {"login.resolve.ip"}),
    ("another address is another client", [ask(n, 401, **WEB) for n in range(6)] + [ask(7, 200, address=B, **WEB)],
     ["allow"] * 5 + ["refuse", "allow"], {"login.password.email_ip"}),
    ("a hundred parallel guesses", [ask(0, 401, 0.3, **{**WEB, "path": API["path"]}) for _ in range(100)],
     ["allow"] * 5 + ["refuse+0.3"] * 95, {"api.auth.login.email_ip"}),
]


@pytest.mark.parametrize("events, wanted, by", [case[1:] for case in SMOKE], ids=[case[0] for case in SMOKE])
def test_the_policy_of_a_php_application_works_without_its_code(build, tmp_path, events, wanted, by):
    decisions = replay(build, tmp_path, PHP, events)
    assert told(decisions) == wanted
    assert {d["limit"] for d in decisions if d["verdict"] == "refuse"} == by


def test_the_remember_me_limit_is_for_its_own_door(build, tmp_path):
    events = [ask(n, 401, path="/remember") for n in range(6)]
    assert told(replay(build, tmp_path, PHP, events)) == ["allow"] * 6
    assert told(replay(build, tmp_path, PHP, events, options=["--door", "php"])) == ["allow"] * 5 + ["refuse"]


# ---- against a slow model that is obviously right ----

KEYS = {"pair": ("account", "address"), "address": ("address",), "account": ("account",)}


def model(events, counts, hold):
    """Windows without end: what is charged stays but for what is given back.  With every outcome everybody is asked again."""
    kept, opened, agenda, waiting, out = collections.Counter(), collections.Counter(), [], [], {}

    def keys(event):
        return [(name, *(event[part] for part in KEYS[name])) for name in counts]

    def judge(n, now, last):
        mine = keys(events[n])
        full = [key for key in mine if kept[key] + opened[key] >= counts[key[0]]]
        if full and not last and all(kept[key] < counts[key[0]] for key in full):
            return False
        out[n] = ("refuse" if full else "allow", now - events[n]["t"])
        if not full:
            opened.update(mine)
            if "status" in events[n]:
                heapq.heappush(agenda, (max(now, events[n].get("settle_at", now)), 0, n))
        return True

    for n, event in enumerate(events):
        heapq.heappush(agenda, (event["t"], 2, n))
    while agenda:                                       # at equal times: outcomes, ends of holds, requests
        now, kind, n = heapq.heappop(agenda)
        if kind == 2 and not judge(n, now, False):
            waiting.append(n)
            heapq.heappush(agenda, (now + hold, 1, n))
        elif kind == 1 and n in waiting and judge(n, now, True):
            waiting.remove(n)
        elif kind == 0:
            opened.subtract(keys(events[n]))
            kept.update(keys(events[n]) if events[n]["status"] == 401 else [])
            waiting = [m for m in waiting if not judge(m, now, False)]
    return [out[n] for n in range(len(events))]


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_model_decides_the_same(build, tmp_path, seed):
    dice = random.Random(seed)
    hold, most = dice.choice([0.25, 2, 8]), dice.choice([2, 5, 9, 30])
    counts = {name: dice.randrange(1, most) for name in dice.sample(sorted(KEYS), dice.randrange(1, 4))}
    events = []
    for t in sorted(dice.randrange(0, 160) / 8 for _ in range(240)):
        status = dice.choices([200, 401, 500, None], [12, 2, 3, 1])[0]
        events.append(ask(t, status, t + dice.randrange(0, 24) / 8 if dice.random() < 0.8 else None,
                          address=dice.choice([A, B]), account=dice.choice("uvw")))
    policy = LOGIN + "limits:\n" + "".join(
        f"  {name}: {{ for: login, by: [{', '.join(KEYS[name])}], allow: {count} failures per 1d, algorithm: fixed, hold: {int(hold * 1000)}ms }}\n"
        for name, count in counts.items())
    decisions = replay(build, tmp_path, policy, events)
    assert [(d["verdict"], d.get("held", 0)) for d in decisions] == model(events, counts, hold)
    assert any("held" in d for d in decisions)


def test_many_who_are_held_at_once_are_decided_in_no_time(build, tmp_path):
    """Each outcome is asked of those whom it may concern."""
    events = [ask(1 + n / 1000, 200, 1.3 + a / 1e5, address=f"10.1.{a >> 8}.{a & 255}") for a in range(2000) for n in range(10)]
    decisions = replay(build, tmp_path, one(FIVE), events)
    assert collections.Counter("held" in d for d in decisions) == {False: 10000, True: 10000}
    assert {d["verdict"] for d in decisions} == {"allow"}


@pytest.mark.parametrize("algorithm", ["bucket", "leaky, burst: 29"])
def test_right_passwords_that_are_answered_in_any_order_leave_nothing_in_a_bucket(build, tmp_path, algorithm):
    settled = [0.1 + n / 1000 for n in range(30)]
    random.Random(7).shuffle(settled)
    events = [ask(0, 200, settle) for settle in settled] + [ask(1, 401)]
    *_, last = replay(build, tmp_path, one(f"allow: 30 failures per 900s, algorithm: {algorithm}"), events)
    assert (last["verdict"], last["remaining"]) == ("allow", 29)


@pytest.mark.parametrize("algorithm", ["sliding", "fixed", "bucket", "leaky, burst: 4"])
def test_an_answer_from_before_a_success_erases_no_failure_from_after_it(build, tmp_path, algorithm):
    """The success clears the key; what was in doubt by then is no charge any more, and cannot be given back."""
    in_doubt = [ask(0, 404, 10, account="a") for _ in range(3)]
    events = [*in_doubt, ask(1, 200, account="a"), *[ask(t, 401, account="a") for t in (2, 3, 4)], ask(20, 401, account="a")]
    numbers = f"allow: 5 failures per 9000s, reset_on: success, algorithm: {algorithm}"
    decisions = replay(build, tmp_path, one(numbers, by="[account, address]"), events)
    assert [d["remaining"] for d in decisions] == [4, 3, 2, 1, 4, 3, 2, 1]


# ---- the summary ----

def test_the_summary_counts_the_held(build, tmp_path):
    policy = LOGIN + """
limits:
  page: { by: address, allow: 500 per 60s }
  login: { for: login, by: address, allow: 5 failures per 900s }
"""
    told_all = summary(build, tmp_path, policy, OFFICE + [ask(10, 401, 10.3, address=B) for _ in range(100)])
    login, page = told_all["limits"]["login"], told_all["limits"]["page"]
    assert (told_all["requests"], told_all["held"]) == (110, 100)
    assert {name: login[name] for name in ("requests", "clients", "held", "refused", "clients_refused", "peak")} == {
        "requests": 110, "clients": 2, "held": 100, "refused": 95, "clients_refused": 1, "peak": 100}
    assert (page["requests"], page["held"], page["refused"], page["peak"]) == (110, 0, 0, 100)
    assert login["top"][0] == {"key": B, "requests": 100, "refused": 95, "peak": 100}
    lines = "".join(json.dumps(event) + "\n" for event in OFFICE)
    text = drossel(build, "replay", "--policy", write_policy(tmp_path, policy), "-", text=lines).stdout
    assert ", 5 held," in text and "held" in text.splitlines()[2]
