"""The four worlds that a policy has to express: each loads word for word, or names exactly what is not there yet; and what is
there does what its operator meant."""
import json
import pathlib
import subprocess

import pytest

from command import drossel, replay, spread, verdicts

WORLDS = pathlib.Path(__file__).parent.parent / "policy" / "worlds"
NOT_YET = "not carried out"


def world(name):
    return (WORLDS / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name, whole", [("nginx-edge", True), ("haproxy-tables", True), ("php-service", False), ("paid-catalogue", False)])
def test_each_world_loads_or_names_what_is_not_there_yet(build, name, whole):
    path = WORLDS / f"{name}.yaml"
    done = subprocess.run([build / "drossel", "check", path], capture_output=True, text=True, timeout=20)
    mistakes = [line for line in done.stderr.splitlines() if ": warning: " not in line]
    assert all(line.startswith(f"{path}:") and NOT_YET in line for line in mistakes), mistakes
    assert done.returncode == (1 if mistakes else 0) and not (whole and mistakes)


def test_an_edge_limit_is_tried_out_behind_a_tunnel(build, tmp_path):
    def login(t, client, **more):
        return {"t": t, "peer": "127.0.0.1", "path": "/login", "headers": {"CF-Connecting-IP": client}, **more}

    events = [*(login(0, "203.0.113.7") for _ in range(5)), login(1, "198.51.100.4"), login(12, "203.0.113.7"), login(12, "203.0.113.7"),
              login(13, "203.0.113.7", path="/")]
    decisions = replay(build, tmp_path, world("nginx-edge"), events)
    assert verdicts(decisions) == ["allow"] * 9
    assert [one["dry_run"] for one in decisions] == [[]] * 4 + [["login"]] + [[], [], ["login"], []]


PAGE, STATIC = {"path": "/page"}, {"path": "/style.CSS?v=2"}


@pytest.fixture
def tables(build, tmp_path):
    (tmp_path / "ratelimit-allow.lst").write_text("# the office\n192.0.2.0/24\n")
    (tmp_path / "ratelimit-excluded-paths.lst").write_text("/webhooks/\n")
    return lambda events: replay(build, tmp_path, world("haproxy-tables"), events)


@pytest.mark.parametrize("facts, passing, limit", [
    (PAGE, 50, "page"), (STATIC, 300, "static"), ({"path": "/webhooks/x"}, 400, None), ({**PAGE, "address": "192.0.2.9"}, 400, None),
])
def test_both_tables_count_their_own_and_lists_are_left_out(tables, facts, passing, limit):
    decisions = tables(spread(400, 0, 9, **facts))
    assert verdicts(decisions) == ["allow"] * passing + ["refuse"] * (400 - passing)
    assert decisions[-1]["limit"] == limit


def test_pages_and_static_files_do_not_spend_from_each_other(tables):
    decisions = tables([{**one, **(PAGE if i % 7 == 0 else STATIC)} for i, one in enumerate(spread(350, 0, 9))])
    assert verdicts(decisions) == ["allow"] * 350


def test_a_bot_below_the_short_window_is_banned_by_the_long_one(tables):
    """4.6 a second pass the first table for ever; the second has enough of it after a thousand."""
    bot = spread(1001, 0, 217.5, **PAGE)
    after = [{"t": 300, **STATIC}, {"t": 517.4, **STATIC}, {"t": 517.5, **STATIC}, {"t": 517.5, **PAGE}]
    events = bot + [{"address": "203.0.113.7", **one} for one in after] + [{"t": 300, "address": "198.51.100.1", **PAGE}]
    decisions = tables(events)
    assert verdicts(decisions[:1000]) == ["allow"] * 1000
    assert (decisions[1000]["limit"], decisions[1000]["retry_after"]) == ("page-long", 300)
    assert [(one["verdict"], one["limit"]) for one in decisions[1001:]] == [
        ("refuse", "ban"), ("allow", "page"), ("refuse", "ban"), ("allow", "static"), ("allow", "page")]


def test_what_is_there_of_a_service_and_a_catalogue_works(build, tmp_path):
    """Their limits without what is not carried out yet: windows from the first request, combined keys, two rates, no key no limit."""
    policy = """
client: { token_from: [header.Authorization] }
answer: { body: json, json: '{"error":"rate_limit_exceeded"}' }
classes: { api: { path_begins: /api/ }, search: { path_begins: /search }, export: { path_begins: /export } }
limits:
  api.ip: { for: api, by: address, allow: 120 per 60s, algorithm: fixed, from: first, block: 120s }
  api.token_ip: { for: api, by: [token, address], allow: 100 per 60s, algorithm: fixed, from: first, block: 120s }
  search: { for: search, by: address, allow: [10 per 10s, 12 per 10m] }
  export: { for: export, by: token, allow: 2 per 1h }
"""
    key = {"headers": {"authorization": "Bearer k"}}
    anonymous = replay(build, tmp_path, policy, [*spread(121, 5, 64.9, path="/api/x"), *spread(2, 184.89, 184.9, path="/api/x")])
    assert verdicts(anonymous) == ["allow"] * 120 + ["refuse", "refuse", "allow"] and anonymous[120]["retry_after"] == 120
    signed = replay(build, tmp_path, policy, spread(101, 5, 64.9, path="/api/x", **key))
    assert verdicts(signed) == ["allow"] * 100 + ["refuse"] and signed[100]["limit"] == "api.token_ip"
    searched = replay(build, tmp_path, policy, [*spread(11, 0, 1, path="/search"), *spread(3, 11, 12, path="/search?q=x")])
    assert [(one["verdict"], one["retry_after"]) for one in searched[10:]] == [("refuse", 9), ("allow", 0), ("allow", 0), ("refuse", 588)]
    exported = replay(build, tmp_path, policy, spread(4, 0, 1, path="/export", **key) + spread(4, 0, 1, path="/export"))
    assert [json.dumps(one["limit"]) for one in exported].count("null") == 4 and verdicts(exported).count("refuse") == 2


def test_the_plain_sentences_say_what_the_operator_wrote(build):
    said = drossel(build, "check", WORLDS / "haproxy-tables.yaml").stdout
    for words in ("50 times in any 10 s", "the 51st", "1000 times in any 10 min", "for 5 min", "300 times in any 10 s", "not `static`"):
        assert words in said, words
