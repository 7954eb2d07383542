"""drossel_status: who may see it, in which formats, and whether its numbers are those of what happened."""
import base64
import hashlib
import json
import os
import pathlib
import re
import time

import pytest
import yaml

import exposition
from command import drossel
from conftest import wait_until
from exposition import value_of

POLICY = """\
classes:
  api: { path_begins: /api/ }
limits:
  page:  { for: not api, by: address, allow: 4 per 1h, block: 1h }
  tried: { for: not api, by: address, allow: [3 per 1h, 50 per 1d], dry_run: true }
  api:   { for: api, by: address, allow: 2 per 1h, action: drop }
"""
SERVER = "location = /status { drossel_status; }\n"
PROMETHEUS = ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1")


def status_of(server, path="/status"):
    answer = server.fetch(path)
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    return json.loads(answer.body)


def metrics_of(server, path="/status?format=prometheus"):
    answer = server.fetch(path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return exposition.read(answer.body)


def drop(server, path, count):
    """Requests whose connection is closed without an answer."""
    for _ in range(count):
        with pytest.raises(Exception):
            server.fetch(path)


def limits_of(status):
    return {limit["name"]: limit for limit in status["limits"]}


@pytest.mark.parametrize("path, accept, media_type", [
    ("/status", None, "application/json"),
    ("/status", "*/*", "application/json"),
    ("/status", "application/json", "application/json"),
    ("/status", PROMETHEUS, "text/plain; version=0.0.4; charset=utf-8"),
    ("/status", "text/html,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"),
    ("/status?format=json", "text/html", "application/json"),
    ("/status?a=b&format=prometheus", "text/html", "text/plain; version=0.0.4; charset=utf-8"),
    ("/status?format=html", None, "text/html; charset=utf-8"),
])
def test_the_format_is_that_which_was_asked_for(nginx, path, accept, media_type):
    answer = nginx(POLICY, server=SERVER).fetch(path, headers={"Accept": accept} if accept else {})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == media_type
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Vary"] == "Accept"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert int(answer.headers["Content-Length"]) == len(answer.body.encode())


@pytest.mark.parametrize("path", ["/status?format=xml", "/status?format=", "/status?format=%6ason"])
def test_an_unknown_format_is_a_mistake_that_is_told(nginx, path):
    answer = nginx(POLICY, server=SERVER).fetch(path)
    assert answer.status == 400 and "format=prometheus" in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_and_head_are_answered(nginx, method):
    answer = nginx(POLICY, server=SERVER).fetch("/status", method=method, body="x" * 2000 if method == "POST" else None)
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"


def test_head_tells_what_get_would(nginx):
    server = nginx(POLICY, server=SERVER)
    for accept, differ in ("text/html", 0), ("application/json", 9):     # the time that JSON tells has up to nine digits more or fewer
        get, head = (server.fetch("/status", method=method, headers={"Accept": accept}) for method in ("GET", "HEAD"))
        assert head.status == 200 and head.body == ""
        assert abs(int(head.headers["Content-Length"]) - int(get.headers["Content-Length"])) <= differ


def test_without_the_directive_there_is_no_status(nginx):
    assert nginx(POLICY).fetch("/status").status == 404


@pytest.mark.parametrize("options, complaint", [
    ({"directive": "", "server": SERVER}, '"drossel_status" needs a "drossel_policy"'),
    ({"server": "drossel_status;"}, '"drossel_status" directive is not allowed here'),
    ({"server": "location = /status { drossel_status; drossel_status; }"}, '"drossel_status" directive is duplicate'),
    ({"server": "location = /status { drossel_status on; }"}, 'invalid number of arguments in "drossel_status"'),
])
def test_mistakes_in_the_configuration_are_told(nginx, options, complaint):
    result = nginx(POLICY, run=False, **options).test()
    assert result.returncode == 1 and complaint in result.stderr


def test_allow_and_deny_and_passwords_come_first(nginx):
    server = nginx(POLICY, server="""
        location = /closed { drossel_status; deny all; }
        location = /open { drossel_status; allow 127.0.0.0/8; deny all; }
        location = /password { drossel_status; auth_basic status; auth_basic_user_file FOLDER/users; }
        location = /part { drossel_status; if ($arg_x) { set $y 1; } limit_except GET { deny all; } }
    """)
    (server.folder / "users").write_text("u:{PLAIN}p\n")
    assert server.fetch("/closed").status == 403
    assert server.fetch("/closed?format=prometheus").status == 403
    assert server.fetch("/open").status == 200
    assert server.fetch("/password").status == 401
    basic = base64.b64encode(b"u:p").decode()
    assert server.fetch("/password", headers={"Authorization": f"Basic {basic}"}).status == 200
    assert status_of(server, "/part?x=1")["version"]
    assert server.fetch("/part", method="POST").status == 403


def test_its_own_requests_are_not_judged_unless_that_is_said(nginx):
    policy = "limits: { all: { by: address, allow: 3 per 1h } }\n"
    server = nginx(policy, server="location = /status { drossel_status; } location = /counted { drossel_status; drossel on; "
                                  "if ($arg_x) { set $y 1; } }")
    assert [server.fetch("/status").status for _ in range(8)] == [200] * 8
    assert status_of(server)["decisions"]["count"] == 0 == sum(status_of(server)["requests"].values())
    assert server.statuses(5) == [200] * 3 + [429] * 2
    assert server.fetch("/status").status == 200
    assert server.fetch("/counted").status == 429
    assert server.fetch("/counted?x=1").status == 429
    assert server.fetch("/counted?format=prometheus").status == 429


def test_a_location_within_that_of_the_status_is_judged_as_ever(nginx):
    policy = "limits: { all: { by: address, allow: 3 per 1h } }\n"
    server = nginx(policy, server="location /status { drossel_status; location /status/file { alias FOLDER/root/file.txt; } }")
    assert server.statuses(4, "/status/file") == [200] * 3 + [429]
    assert server.fetch("/status").status == 200


def test_json_tells_what_happened(nginx):
    server = nginx(POLICY, server=SERVER)
    began = int(time.time())
    assert server.statuses(7) == [200] * 4 + [429] * 3
    assert server.fetch("/api/x").status == server.fetch("/api/x").status == 404
    drop(server, "/api/x", 2)
    status = status_of(server)
    limits = limits_of(status)
    assert list(limits) == ["page", "tried-1h", "tried-1d", "api"]
    assert limits["page"]["verdicts"] == {"allow": 4, "mark": 0, "delay": 0, "challenge": 0, "refuse": 3, "drop": 0,
                                          "by_block": 2, "blocks": 1}
    assert (limits["api"]["verdicts"]["allow"], limits["api"]["verdicts"]["drop"]) == (2, 2)
    assert limits["tried-1h"]["dry_run"] and limits["tried-1h"]["dry_run_verdicts"]["refuse"] > 0
    assert sum(limits["tried-1h"]["verdicts"].values()) == 0
    assert (limits["page"]["count"], limits["page"]["window"], limits["page"]["block"]) == (4, 3600, 3600)
    assert (status["requests"]["refuse"], status["requests"]["drop"]) == (3, 2)
    assert sum(status["requests"].values()) == 11 and status["requests"]["allow"] == 6
    assert status["decisions"]["count"] == 2     # one in eight is timed: the first and the ninth
    assert sum(bucket["count"] for bucket in status["decisions"]["buckets"]) == 2
    assert 0 < status["decisions"]["seconds"] < 1
    assert status["table"]["path"] == f"{server.folder}/table" and status["table"]["lost"] is False
    assert status["table"]["used"] == status["table"]["inserted"] == 4
    assert status["table"]["blocked"] == 1
    assert status["store_errors"] == 0
    assert status["policy"]["path"] == str(server.policy)
    assert began - 2 <= status["policy"]["loaded"] <= status["time"]
    assert drossel(server.build, "--version").stdout.split()[1] == status["version"]


def test_prometheus_tells_the_same_as_json_and_keeps_to_the_format(nginx):
    server = nginx(POLICY, server=SERVER)
    server.statuses(7)
    server.statuses(2, "/api/x")
    drop(server, "/api/x", 1)
    samples, status = metrics_of(server), status_of(server)
    for limit in status["limits"]:
        family = "drossel_dry_run_verdicts_total" if limit["dry_run"] else "drossel_verdicts_total"
        verdicts = limit["dry_run_verdicts" if limit["dry_run"] else "verdicts"]
        for verdict in ("allow", "mark", "delay", "challenge", "refuse", "drop"):
            assert value_of(samples, family, limit=limit["limit"], rate=limit["name"], verdict=verdict) == verdicts[verdict]
    assert value_of(samples, "drossel_verdicts_total", limit="page", rate="page", verdict="refuse") == 3
    assert value_of(samples, "drossel_blocks_total", limit="page", rate="page") == 1
    assert value_of(samples, "drossel_requests_total", verdict="refuse") == 3
    assert value_of(samples, "drossel_requests_total", verdict="drop") == 1
    assert value_of(samples, "drossel_requests_total", verdict="allow") == 6
    assert value_of(samples, "drossel_decision_seconds_count") == 2
    assert value_of(samples, "drossel_decision_seconds_sum") > 0
    assert value_of(samples, "drossel_table_slots") == status["table"]["slots"]
    assert value_of(samples, "drossel_table_keys", state="blocked") == 1
    assert value_of(samples, "drossel_store_errors_total") == 0


def test_refusals_by_a_ban_are_told(nginx):
    server = nginx("limits: { page: { by: address, allow: 2 per 1h, ban: 1h } }\n", server=SERVER)
    server.statuses(6)
    assert status_of(server)["banned"] == 3 and status_of(server)["requests"]["refuse"] == 4
    assert value_of(metrics_of(server), "drossel_refused_by_ban_total") == 3


def test_no_label_has_a_value_that_clients_choose(nginx):
    server = nginx("client: { token_from: [header.X-Key] }\nlimits:\n  a: { by: path, allow: 1 per 1h }\n"
                   "  t: { by: token, allow: 1 per 1h }\n", server=SERVER)
    before = set(metrics_of(server))
    for n in range(20):
        server.fetch(f"/path-{n}", headers={"X-Key": f"key-{n}", "User-Agent": f"agent-{n}"})
    server.fetch("/path-1", headers={"X-Key": "key-1"})
    assert set(metrics_of(server)) == before
    text = server.fetch("/status?format=prometheus").body + server.fetch("/status").body
    assert "path-" not in text and "key-" not in text and "127.0.0.1" not in text


def test_a_reload_and_a_restart_keep_the_counts(nginx):
    server = nginx(POLICY, server=SERVER)
    server.statuses(6)
    loaded = status_of(server)["policy"]["loaded"]
    wait_until(lambda: int(time.time()) > loaded, "the next second")
    server.write_policy(POLICY.replace("4 per 1h", "9 per 1h"))
    server.reload()
    status = status_of(server)
    assert limits_of(status)["page"]["verdicts"]["refuse"] == 2 and limits_of(status)["page"]["count"] == 9
    assert status["policy"]["loaded"] > loaded
    server.stop()
    server.start()
    assert limits_of(status_of(server))["page"]["verdicts"]["refuse"] == 2
    assert sum(status_of(server)["requests"].values()) == 6
    assert value_of(metrics_of(server), "drossel_decision_seconds_count") == 1


def test_all_workers_and_two_masters_on_one_table_are_summed_up(nginx):
    first = nginx(POLICY, server=SERVER, workers=2)
    second = nginx(f"table: {{ path: {first.folder}/table, keys: 1k }}\n" + POLICY, server=SERVER)
    for _ in range(4):
        first.fetch("/")
        second.fetch("/")
    for server in (first, second):
        verdicts = limits_of(status_of(server))["page"]["verdicts"]
        assert (verdicts["allow"], verdicts["refuse"]) == (4, 4)
        assert sum(status_of(server)["requests"].values()) == 8


def test_warnings_about_the_policy_are_counted(nginx):
    server = nginx("answer: { headers: [ratelimit, ratelimit-draft7] }\nlimits: { page: { by: address, allow: 4 per 1h } }\n",
                   server=SERVER)
    expected = len([line for line in server.test().stderr.splitlines() if "[warn]" in line])
    assert expected > 0 and status_of(server)["policy"]["warnings"] == expected


def test_a_lost_table_is_told_and_counted_and_the_count_outlives_a_reload(nginx):
    server = nginx(POLICY, server=SERVER)
    server.fetch("/")
    os.truncate(server.folder / "table", 4096)
    assert server.fetch("/").status == 200
    status = status_of(server)
    assert status["table"]["lost"] is True and status["store_errors"] >= 1
    samples = metrics_of(server)
    assert value_of(samples, "drossel_table_lost") == 1
    errors = value_of(samples, "drossel_store_errors_total")
    assert errors >= 1
    os.unlink(server.folder / "table")
    server.reload()
    status = status_of(server)
    assert status["table"]["lost"] is False and status["store_errors"] == errors
    assert server.fetch("/").status == 200 and status_of(server)["store_errors"] == errors


def test_a_policy_of_a_thousand_limits_is_told_whole(nginx):
    limits = "".join(f"  l{n}: {{ by: address, allow: {n + 5} per 1h }}\n" for n in range(1000))
    server = nginx("limits:\n" + limits, server=SERVER)
    server.fetch("/")
    status = status_of(server)
    assert [limit["verdicts"]["allow"] for limit in status["limits"]] == [1] * 1000
    assert len(metrics_of(server)) > 6000


def test_scripts_and_styles_of_the_page_are_named_by_their_hashes_and_nothing_else_may_run(nginx):
    answer = nginx(POLICY, server=SERVER).fetch("/status", headers={"Accept": "text/html"})
    rules = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
    assert rules["default-src"] == "'none'" and rules["connect-src"] == "'self'" and rules["frame-ancestors"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", answer.body, re.S)
        digests = ["'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'" for text in texts]
        assert len(digests) == 1 and rules[rule].split() == digests
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_the_alarms_of_the_example_ask_for_what_is_told(nginx):
    examples = pathlib.Path(__file__).parents[2] / "examples"
    rules = yaml.safe_load((examples / "prometheus-alerts.yml").read_text())["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"drossel_\w+", rule["expr"])}
    assert len(rules) >= 7 and len(asked) >= 7
    assert asked <= {name for name, _ in metrics_of(nginx(POLICY, server=SERVER))}


def test_the_alarm_of_many_refused_asks_for_their_share_of_all_requests(nginx):
    """Its two sums over the counters themselves; a histogram of which one decision in eight is in would be none of them."""
    server = nginx(POLICY, server=SERVER)
    assert server.statuses(20).count(429) == 16
    examples = pathlib.Path(__file__).parents[2] / "examples"
    rules = yaml.safe_load((examples / "prometheus-alerts.yml").read_text())["groups"][0]["rules"]
    expression = next(rule["expr"] for rule in rules if rule["alert"] == "DrosselManyRefused")
    sums = []
    for name, verdicts in re.findall(r'rate\((drossel_\w+)(?:\{verdict=~"([^"]*)"\})?\[', expression):
        sums.append(sum(value for (told, labels), value in metrics_of(server).items() if told == name and
                        (not verdicts or dict(labels)["verdict"] in verdicts.split("|"))))
    assert len(sums) == 2 and sums[0] / sums[1] == 16 / 20


def test_a_table_that_was_cut_off_is_told_at_the_first_look_though_no_request_came(nginx):
    server = nginx(POLICY, server=SERVER)
    server.fetch()
    os.truncate(server.folder / "table", 4096)
    assert status_of(server)["table"]["lost"] is True


def test_the_manual_names_every_metric(nginx):
    manual = (pathlib.Path(__file__).parents[2] / "docs/operations.md").read_text()
    for name, _ in metrics_of(nginx(POLICY, server=SERVER)):
        assert f"`{re.sub('_(bucket|sum|count)$', '', name)}`" in manual, name
