"""Counting different ones: how many accounts an address tries, how many addresses try an account."""
import pytest

from command import drossel, replay, verdicts, write_policy

SPRAY = "limits: { spray: { by: address, allow: 10 accounts per 1h } }\n"
BOTNET = "limits: { botnet: { by: account, allow: 20 addresses per 1h, action: challenge } }\n"


def tries(accounts, step=1.0, address="203.0.113.7"):
    return [{"t": i * step, "address": address, "account": account} for i, account in enumerate(accounts)]


def test_the_eleventh_account_of_an_address_is_refused_and_the_known_ones_go_on(build, tmp_path):
    names = [f"user{i}@a.example" for i in range(12)]
    told = replay(build, tmp_path, SPRAY, tries(names + [names[0], names[9].upper()]))
    assert verdicts(told) == ["allow"] * 10 + ["refuse"] * 2 + ["allow"] * 2
    assert told[9]["remaining"] == 0 and told[4]["remaining"] == 5
    assert told[10]["retry_after"] <= 3590


def test_a_hundred_tries_of_one_account_are_one(build, tmp_path):
    assert set(verdicts(replay(build, tmp_path, SPRAY, tries(["a@b.example"] * 100)))) == {"allow"}


def test_whoever_waits_as_told_may_name_one_more(build, tmp_path):
    names = [f"user{i}@a.example" for i in range(11)]
    told = replay(build, tmp_path, SPRAY, tries(names))
    again = told[10]["t"] + told[10]["retry_after"]
    events = tries(names) + [{"t": again, "address": "203.0.113.7", "account": "user11@a.example"}]
    assert verdicts(replay(build, tmp_path, SPRAY, events))[-1] == "allow"


def test_the_twentyfirst_address_of_an_account_is_challenged(build, tmp_path):
    events = [{"t": i, "address": f"198.51.100.{i}", "account": "owner@a.example"} for i in range(24)]
    told = verdicts(replay(build, tmp_path, BOTNET, events))
    assert told[:20] == ["allow"] * 20 and told.count("challenge") >= 3
    other = [{"t": 30, "address": "198.51.100.200", "account": "other@a.example"}]
    assert verdicts(replay(build, tmp_path, BOTNET, events + other))[-1] == "allow"


def test_a_request_without_an_account_is_not_in_it(build, tmp_path):
    told = replay(build, tmp_path, SPRAY, [{"t": 1, "address": "203.0.113.7"}])
    assert told[0]["limit"] is None


def test_ipv6_clients_of_one_network_are_one_address(build, tmp_path):
    events = [{"t": i, "address": f"2001:db8:1:2::{i:x}", "account": "owner@a.example"} for i in range(1, 60)]
    assert set(verdicts(replay(build, tmp_path, BOTNET, events))) == {"allow"}


@pytest.mark.parametrize("policy, words", [(SPRAY, "10 different accounts in any 1 h"), (BOTNET, "20 different addresses")])
def test_check_says_it_in_words(build, tmp_path, policy, words):
    assert words in drossel(build, "check", write_policy(tmp_path, policy)).stdout
