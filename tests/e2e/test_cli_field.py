"""What goes wrong in the field with rate limiters, as events for `drossel replay`."""
import collections
import random

import pytest

from command import drossel, replay, spread, summary, verdicts, write_policy

A, B = "203.0.113.7", "198.51.100.9"


def allowed(decisions):
    return sum(decision["verdict"] == "allow" for decision in decisions)


# One limit by address, numbers of it, the arrivals, and how many of them are to pass.
ONE_LIMIT = [
    ("a limit a minute is not one per 10 ms", "allow: 6000 per 1m", spread(154, 0, 0), 154),
    ("ten a second pass at 50 ms each without a burst", "allow: 10 per 1s", spread(5, 0, 0.2), 5),
    ("a leaky bucket without a burst refuses every second of them", "allow: 10 per 1s, algorithm: leaky",
     spread(5, 0, 0.2), 3),
    ("six a minute is not one per ten seconds", "allow: 6 per 1m", spread(5, 0, 0), 5),
    ("of seven at once five pass when five may", "allow: 5 per 1m", spread(7, 0, 0), 5),
    ("a sliding window has no boundary to cheat at", "allow: 10 per 60s", spread(9, 59, 59) + spread(10, 61, 61), 10),
    ("a fixed window has", "allow: 10 per 60s, algorithm: fixed", spread(9, 59, 59) + spread(10, 61, 61), 19),
    ("one a second never uses up 200 per 10 s", "allow: 200 per 10s", spread(300, 0, 299), 300),
    ("an IPv6 host that rotates its address is one client", "allow: 10 per 60s",
     [{"t": 0, "address": f"2001:db8:1:2::{n:x}"} for n in range(1, 1001)], 10),
    ("two IPv6 networks are two clients", "allow: 10 per 60s",
     [{"t": 0, "address": f"2001:db8:1:{net}::{n:x}"} for n in range(1, 101) for net in (2, 3)], 20),
]


@pytest.mark.parametrize("numbers, events, passing", [case[1:] for case in ONE_LIMIT], ids=[case[0] for case in ONE_LIMIT])
def test_a_limit_means_its_number(build, tmp_path, numbers, events, passing):
    assert allowed(replay(build, tmp_path, f"limits: {{ page: {{ by: address, {numbers} }} }}", events)) == passing


def test_a_page_with_25_assets_is_one_page(build, tmp_path):
    policy = """
classes: { static: { path_ends: [.jpg, .CSS, .js] } }
limits: { page: { for: not static, by: address, allow: 10 per 10s } }
"""
    page = [{"t": 0, "address": A, "path": "/"}]
    assets = [{"t": round(0.05 + n * 0.014, 3), "address": A, "path": f"/asset/{n}.{kind}?v=2"}
              for n, kind in zip(range(24), ["css", "js", "JPG"] * 8)]
    decisions = replay(build, tmp_path, policy, page + assets)
    assert verdicts(decisions) == ["allow"] * 25
    assert decisions[0]["remaining"] == 9 and {d["limit"] for d in decisions[1:]} == {None}


def test_two_limits_have_two_counters(build, tmp_path):
    policy = """
classes: { login: { path: /login } }
limits:
  r1: { by: address, allow: 60 per 60s }
  r2: { for: login, by: address, allow: 10 per 60s }
"""
    decisions = replay(build, tmp_path, policy, spread(10, 0, 9, path="/login") + spread(1, 9, 9, path="/"))
    assert verdicts(decisions) == ["allow"] * 11
    assert [d["limit"] for d in decisions] == ["r2"] * 10 + ["r1"]
    assert decisions[-1]["remaining"] == 49


def test_a_request_refused_by_one_limit_spends_nothing_from_the_other(build, tmp_path):
    """P3."""
    policy = """
classes: { login: { path: /login } }
limits:
  all: { by: address, allow: 10 per 60s }
  login: { for: login, by: address, allow: 2 per 60s }
"""
    decisions = replay(build, tmp_path, policy, spread(6, 0, 0, path="/login") + spread(1, 0, 0, path="/"))
    assert verdicts(decisions) == ["allow"] * 2 + ["refuse"] * 4 + ["allow"]
    assert decisions[-1] == {"t": 0, "verdict": "allow", "limit": "all", "remaining": 7, "retry_after": 0, "delay": 0,
                             "dry_run": [], "status": 200}


def test_the_wait_is_the_true_one_and_no_more(build, tmp_path):
    """P2: three per minute at 0, 6 and 12; the fourth at 13 waits 47 s and passes at 60, not a nanosecond before."""
    policy = "limits: { page: { by: address, allow: 3 per 60s } }"
    events = [{"t": t, "address": A} for t in (0, 6, 12, 13, 59.999999999, 60)]
    decisions = replay(build, tmp_path, policy, events)
    assert verdicts(decisions) == ["allow"] * 3 + ["refuse"] * 2 + ["allow"]
    assert decisions[3]["retry_after"] == 47 and decisions[4]["retry_after"] == 1e-09


@pytest.mark.parametrize("numbers", ["allow: 60 per 60s", "allow: 7 per 60s", "allow: 60 per 60s, algorithm: fixed",
                                     "allow: 60 per 60s, algorithm: fixed, from: first",
                                     "allow: 60 per 60s, algorithm: bucket, burst: 5",
                                     "allow: 60 per 60s, algorithm: leaky, burst: 9",
                                     "allow: 5 per 10s, block: 30s"])
def test_whoever_waits_as_told_is_admitted_and_a_nanosecond_earlier_not(build, tmp_path, numbers):
    """P2, after 60 requests late in one window and at random times in the next."""
    policy = f"limits: {{ page: {{ by: address, {numbers} }} }}"
    dice = random.Random(7)
    events = spread(60, 50, 59) + [{"t": round(60 + dice.random() * 60, 6), "address": A} for _ in range(80)]
    events.sort(key=lambda event: event["t"])
    decisions = replay(build, tmp_path, policy, events)
    refused = [n for n, d in enumerate(decisions) if d["verdict"] == "refuse"]
    assert refused
    for n in refused[:: max(1, len(refused) // 8)]:
        ends = round(events[n]["t"] + decisions[n]["retry_after"], 9)
        tried = events[:n + 1] + [{"t": round(ends - 1e-9, 9), "address": A}]
        assert replay(build, tmp_path, policy, tried)[-1]["verdict"] == "refuse", (events[n], decisions[n])
        assert replay(build, tmp_path, policy, tried[:-1] + [{"t": ends, "address": A}])[-1]["verdict"] == "allow"


def test_a_delay_is_told_with_its_length(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 10 per 10s, algorithm: leaky, burst: 5, delay: 0 } }"
    decisions = replay(build, tmp_path, policy, spread(8, 0, 0))
    assert verdicts(decisions) == ["allow"] + ["delay"] * 5 + ["refuse"] * 2
    assert [d["delay"] for d in decisions] == [0, 1, 2, 3, 4, 5, 0, 0]
    assert decisions[-1]["retry_after"] == 1
    told = summary(build, tmp_path, policy, spread(8, 0, 0))["limits"]["page"]
    assert (told["delayed"], told["refused"]) == (5, 2)


def test_the_counter_goes_down_again(build, tmp_path):
    policy = "limits: { page: { by: address, allow: 200 per 10s } }"
    decisions = replay(build, tmp_path, policy, spread(100, 0, 1) + [{"t": 11.1, "address": A, "cost": 0}])
    assert decisions[-1]["remaining"] == 200


PROXIED = [{"t": n / 10, "peer": "127.0.0.1", "headers": {"X-Forwarded-For": f"203.0.113.{n}"}} for n in range(200)]


def test_a_proxy_that_nobody_trusts_is_warned_of(build, tmp_path):
    told = summary(build, tmp_path, "limits: { page: { by: address, allow: 50 per 10s } }", PROXIED)
    assert told["clients"] == 1
    assert [w for w in told["warnings"] if "127.0.0.1" in w and "trusted" in w and "X-Forwarded-For" in w]


def test_a_trusted_proxy_is_not_warned_of(build, tmp_path):
    policy = """
client: { trusted: [127.0.0.1], address_from: X-Forwarded-For }
limits: { page: { by: address, allow: 50 per 10s } }
"""
    told = summary(build, tmp_path, policy, PROXIED)
    assert told["clients"] == 200 and not [w for w in told["warnings"] if "X-Forwarded-For" in w]
    assert told["limits"]["page"]["refused"] == 0


def test_a_missing_header_makes_no_shared_key(build, tmp_path):
    policy = "limits: { keyed: { by: header.X-Api-Key, allow: 1 per 60s } }"
    none = replay(build, tmp_path, policy, [{"t": 0, "address": A}, {"t": 0, "address": B}] * 2)
    assert verdicts(none) == ["allow"] * 4 and {d["limit"] for d in none} == {None}
    long = {"X-Api-Key": "k" * 70000}
    many = replay(build, tmp_path, policy, [{"t": n, "address": A, "headers": long} for n in range(3)])
    assert verdicts(many) == ["allow", "refuse", "refuse"]


def test_a_slow_limit_by_account_catches_a_thousand_addresses(build, tmp_path):
    policy = """
classes: { login: { method: POST, path: /login } }
limits:
  fast: { for: login, by: [account, address], allow: 5 per 900s }
  slow: { for: login, by: account, allow: 100 per 1h }
"""
    guesses = [{"t": n, "address": f"198.51.{n // 250}.{n % 250 + 1}", "method": "POST", "path": "/login", "account": "u@b"}
               for n in range(1000)]
    decisions = replay(build, tmp_path, policy, guesses)
    assert allowed(decisions) == 100 and decisions[-1]["limit"] == "slow"


def test_preflights_and_probes_are_neither_counted_nor_refused(build, tmp_path):
    policy = """
exempt: { methods: [OPTIONS], paths: [/health], addresses: [192.0.2.0/24] }
limits: { page: { by: address, allow: 40 per 60s } }
"""
    both = [{"t": n // 2, "address": A, "method": ["OPTIONS", "GET"][n % 2]} for n in range(80)]
    probes = [{"t": n / 2, "address": B, "path": "/health"} for n in range(200)]
    probes += [{"t": n / 2, "address": "192.0.2.9", "path": "/x"} for n in range(200)]
    decisions = replay(build, tmp_path, policy, both + probes)
    assert set(verdicts(decisions)) == {"allow"}
    assert collections.Counter(d["limit"] for d in decisions) == {None: 440, "page": 40}


def test_a_long_window_catches_guesses_that_are_answered_with_200(build, tmp_path):
    policy = """
classes: { rpc: { method: POST, path: /xmlrpc.php } }
limits:
  page: { by: address, allow: 50 per 10s }
  rpc: { for: rpc, by: address, allow: 100 per 1h }
"""
    events = spread(8780, 0, 3599.8, method="POST", path="/xmlrpc.php", status=200)
    decisions = replay(build, tmp_path, policy, events)
    assert allowed(decisions) == 100 and {d["limit"] for d in decisions if d["verdict"] == "refuse"} == {"rpc"}


def test_a_dry_run_counts_and_refuses_nobody(build, tmp_path):
    policy = """
limits:
  loose: { by: address, allow: 100 per 60s }
  strict: { by: address, allow: 10 per 60s, dry_run: true }
"""
    decisions = replay(build, tmp_path, policy, spread(20, 0, 1))
    assert verdicts(decisions) == ["allow"] * 20
    assert [d["dry_run"] for d in decisions] == [[]] * 10 + [["strict"]] * 10
    told = summary(build, tmp_path, policy, spread(20, 0, 1))["limits"]
    assert told["strict"]["refused"] == 10 and told["strict"]["dry_run"] and told["loose"]["refused"] == 0


def test_a_ban_holds_in_every_limit(build, tmp_path):
    policy = """
classes: { login: { path: /login } }
limits:
  page: { by: address, allow: 100 per 10s }
  login: { for: login, by: address, allow: 2 per 60s, ban: 5m }
"""
    events = spread(3, 0, 0, path="/login") + [{"t": t, "address": A, "path": "/"} for t in (1, 299, 300)]
    decisions = replay(build, tmp_path, policy, events + [{"t": 1, "address": B, "path": "/"}])
    by = sorted(decisions, key=lambda d: d["t"])
    assert verdicts(by[:3]) == ["allow", "allow", "refuse"]
    assert sorted(verdicts(by[3:5])) == ["allow", "refuse"]
    assert verdicts(by[5:]) == ["refuse", "allow"] and by[5]["retry_after"] == 1


def strictly_holds(events, decisions, count, period):
    """No window of `period` that ends at an admitted request holds more than `count` of them."""
    times = collections.deque()
    for event, decision in zip(events, decisions):
        if decision["verdict"] != "allow":
            continue
        times.append(event["t"])
        while times[0] <= event["t"] - period:
            times.popleft()
        assert len(times) <= count


@pytest.mark.parametrize("seed", range(3))
def test_no_window_holds_more_than_its_number_under_attack(build, tmp_path, seed):
    """P1: bursts around every boundary that a window could have, and around each announced end of a wait."""
    dice = random.Random(seed)
    times = [dice.choice([10 * k, 10 * k + dice.random() * 1e-3, 10 * k - dice.random() * 1e-3, dice.random() * 100])
             for k in range(10) for _ in range(300)]
    events = [{"t": round(max(0, t), 9), "address": A} for t in sorted(times)]
    decisions = replay(build, tmp_path, "limits: { page: { by: address, allow: 100 per 10s } }", events)
    strictly_holds(events, decisions, 100, 10)
    assert 100 < allowed(decisions) < len(events)


@pytest.mark.parametrize("count", [1, 5, 12, 16, 100, 1000])
def test_a_steady_client_at_fifteen_sixteenths_is_never_refused(build, tmp_path, count):
    """P1."""
    events = [{"t": round(n * 16 * 10 / (15 * count), 9), "address": A} for n in range(min(4 * count + 50, 3000))]
    decisions = replay(build, tmp_path, f"limits: {{ page: {{ by: address, allow: {count} per 10s }} }}", events)
    assert set(verdicts(decisions)) == {"allow"}


def test_check_warns_of_a_leaky_bucket_that_is_stricter_than_it_looks(build, tmp_path):
    policy = write_policy(tmp_path, "limits: { page: { by: address, allow: 5 per 1m, algorithm: leaky, burst: 3 } }")
    assert "admits 4 at once" in drossel(build, "check", policy, "--quiet").stdout
