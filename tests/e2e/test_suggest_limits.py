"""drossel suggest: the limits that it proposes from a log, and the policy that it writes."""
import json

import pytest
import yaml

from command import drossel
from suggest_log import BOT, BROWSER, line, machine, people, person, write


def suggest(build, *arguments):
    return json.loads(drossel(build, "suggest", "--json", "--all", *arguments).stdout)


def limits(found):
    return {limit["name"]: limit for limit in found["limits"]}


def allowed(limit):
    return int(limit["allow"].split()[0])


def kinds(found):
    return {client["key"]: client["kind"] for client in found["clients"]}


def test_the_page_limit_lies_between_people_and_machines(build, tmp_path):
    log = write(tmp_path / "log", people(60), machine("198.51.100.1", 6, 60, BOT), machine("198.51.100.2", 9, 60))
    found = suggest(build, log)
    gap = found["classes"]["page"]["windows"]["10s"]["gap"]
    page = limits(found)["page"]
    assert gap["people_most"] < allowed(page) < gap["machine_least_above"] == 60
    assert {hit["key"] for hit in page["exceeding"]} == {"198.51.100.1", "198.51.100.2"}
    assert "2 clients exceeded it: 1 calls itself a bot, 1 behaves like a machine." in page["reason"]
    assert kinds(found)["198.51.100.1"] == "bot" and kinds(found)["198.51.100.2"] == "machine"


def test_no_client_that_may_be_a_person_exceeds_a_proposed_limit(build, tmp_path):
    office = [entry for i in range(40) for entry in person("203.0.113.9", 12, i)]
    log = write(tmp_path / "log", people(80), office, machine("198.51.100.1", 5, 600, BOT))
    for limit in suggest(build, log)["limits"]:
        assert all(hit["kind"] in ("machine", "bot") for hit in limit["exceeding"])


def test_where_machines_are_no_faster_than_people_it_says_so(build, tmp_path):
    crowd = [entry for i in range(400) for entry in person("203.0.113.9", 12, i)]
    log = write(tmp_path / "log", crowd, machine("198.51.100.1", 1, 60, BOT))
    found = suggest(build, log)
    gap = found["classes"]["page"]["windows"]["10s"]["gap"]
    assert gap["machines_above"] == 0 and gap["machine_least_above"] is None
    text = drossel(build, "suggest", log).stdout
    assert "There is no gap" in text


def test_those_who_stay_just_below_the_short_limit_are_met_by_the_long_one(build, tmp_path):
    log = write(tmp_path / "log", people(60), machine("198.51.100.1", 1, 1800))
    found = suggest(build, log)
    page, longer = limits(found)["page"], limits(found)["page-long"]
    assert page["exceeding"] == [] and [hit["key"] for hit in longer["exceeding"]] == ["198.51.100.1"]
    assert "1 of them never exceeded that." in longer["reason"]


def test_wrong_passwords_make_limits_for_logins_and_a_botnet_is_told_of(build, tmp_path):
    post = "POST /account/sign-in HTTP/1.1"
    fast = machine("192.0.2.1", 5, 40, BROWSER, post, 401)
    botnet = [line(i * 7 % 3600, f"198.18.0.{i % 90 + 1}", post, 401) for i in range(900)]
    good = [entry for i in range(30) for entry in
            [line(100 + i * 60, f"10.0.0.{i + 1}", post, 401), line(110 + i * 60, f"10.0.0.{i + 1}", post, 302)]]
    found = suggest(build, write(tmp_path / "log", people(60), fast, botnet, good))
    assert set(limits(found)) == {"page", "page-long", "static", "login", "login-from", "login-spray", "login-slow", "login-alarm"}
    assert [hit["key"] for hit in limits(found)["login-from"]["exceeding"]] == ["192.0.2.1"]
    assert "84% of all failed logins came from" not in limits(found)["login"]["reason"]
    assert "only the limits by account and for the whole site can reach those" in limits(found)["login-from"]["reason"]
    assert {kinds(found)[f"198.18.0.{i}"] for i in range(1, 91)} == {"machine"}
    assert {kinds(found)[f"10.0.0.{i}"] for i in range(1, 31)} == {"person"}
    policy = yaml.safe_load(found["policy"])
    assert policy["classes"]["login"] == {"method": "POST", "path": ["/account/sign-in"]}


def test_a_login_with_an_unusual_name_is_known_by_its_answers(build, tmp_path):
    post = "POST /pin HTTP/1.1"
    tries = [line(i * 30, f"10.0.0.{i % 50 + 1}", post, 401 if i % 3 == 0 else 200) for i in range(90)]
    found = suggest(build, write(tmp_path / "log", people(60), tries))
    assert found["classes"]["login"]["requests"] == 90 and found["classes"]["login_failure"]["requests"] == 30
    assert yaml.safe_load(found["policy"])["classes"]["login"]["path"] == ["/pin"]
    assert any("POST /pin is taken for a login" in text for text in found["warnings"])


@pytest.mark.parametrize("written", ["//wp-login.php", "/blog/../wp-login.php", "/%77p-login.php", "/./wp-login.php?x=1"])
def test_a_login_that_is_written_oddly_is_the_page_that_the_policy_takes_it_for(build, tmp_path, written):
    guesses = machine("198.51.100.1", 1, 60, request=f"POST {written} HTTP/1.1", status=401)
    log, policy = write(tmp_path / "log", people(40), guesses), tmp_path / "policy.yaml"
    found = suggest(build, log)
    assert [hit["key"] for hit in limits(found)["login-from"]["exceeding"]] == ["198.51.100.1"]
    drossel(build, "suggest", "--policy", policy, log)
    assert yaml.safe_load(policy.read_text())["classes"]["login"]["path"] in ("/wp-login.php", ["/wp-login.php"])
    met = json.loads(drossel(build, "replay", "--policy", policy, "--json", log).stdout)["limits"]["login-from"]
    assert (met["clients_refused"], met["top"][0]["key"], met["requests"]) == (1, "198.51.100.1", 60)


def test_the_policy_has_no_mistake_and_refuses_nobody(build, tmp_path):
    api = [line(i, f"10.0.0.{i % 50 + 1}", "GET /api/items HTTP/1.1") for i in range(300)]
    search = [line(i * 3, f"10.0.0.{i % 50 + 1}", "GET /search?q=x HTTP/1.1") for i in range(100)]
    login = [line(i * 9, f"10.0.0.{i % 50 + 1}", "POST /login HTTP/1.1", 401 if i % 9 == 0 else 302) for i in range(200)]
    log = write(tmp_path / "log", people(60), api, search, login, machine("198.51.100.1", 6, 60, BOT))
    policy = tmp_path / "policy.yaml"
    drossel(build, "suggest", "--policy", policy, log)
    said = drossel(build, "check", policy)
    assert said.stderr == ""
    written = yaml.safe_load(policy.read_text())
    assert set(written["limits"]) >= {"page", "page-long", "static", "api", "expensive", "login", "login-from"}
    assert all(limit["dry_run"] is True for limit in written["limits"].values())
    assert written["limits"]["page"]["by"] == "address" and written["limits"]["page"]["for"] == "not static"
    assert drossel(build, "suggest", "--policy", "-", log).stdout == policy.read_text()


def test_enforced_it_meets_the_machines_and_nobody_else(build, tmp_path):
    """The proposal as the engine itself takes it: the same requests as events, with all dry runs taken out."""
    parts = [people(60), machine("198.51.100.1", 6, 60, BOT), machine("198.51.100.2", 9, 60)]
    entries = sorted((entry for part in parts for entry in part), key=lambda entry: entry[0])
    log = write(tmp_path / "log", entries)
    policy = tmp_path / "policy.yaml"
    drossel(build, "suggest", "--policy", policy, log)
    policy.write_text(policy.read_text().replace("    dry_run: true\n", ""))
    events = "".join(json.dumps({"t": t, "address": text.split()[0], "method": "GET", "path": text.split()[6]}) + "\n"
                     for t, text in entries)
    drossel(build, "replay", "--format", "events", "--policy", policy, "--decisions", tmp_path / "decisions", "-", text=events)
    refused = {text.split()[0] for (t, text), decision in
               zip(entries, (tmp_path / "decisions").read_text().splitlines(), strict=True)
               if json.loads(decision)["verdict"] == "refuse"}
    assert refused == {"198.51.100.1", "198.51.100.2"}


@pytest.mark.parametrize("tail, request_line, seconds", [(" 1.700", "GET /stock/list HTTP/1.1", True), ("", "GET /stock/list HTTP/1.1", False)])
def test_slow_paths_are_found_where_the_log_has_times(build, tmp_path, tail, request_line, seconds):
    form = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time'
    quick = [(t, text.rstrip("\n") + (" 0.020\n" if seconds else "\n")) for t, text in people(60)]
    slow = [line(i * 20, f"10.0.0.{i % 50 + 1}", request_line, tail=tail) for i in range(100)]
    log = write(tmp_path / "log", quick, slow)
    found = suggest(build, *(["--format", form] if seconds else []), log)
    assert found["classes"]["expensive"]["requests"] == (100 if seconds else 0)
    if seconds:
        assert yaml.safe_load(found["policy"])["classes"]["expensive"] == {"path_begins": ["/stock/list"]}
