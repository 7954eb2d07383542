"""drossel suggest and drossel replay: what the one says of a log, the other does to it."""
import json

from command import drossel
from suggest_log import BOT, BROWSER, line, machine, people, person, write


def test_a_replay_of_the_proposal_refuses_those_and_only_those_that_are_named(build, tmp_path):
    post = "POST /login HTTP/1.1"
    office = [entry for i in range(40) for entry in person("203.0.113.9", 12, i)]
    log = write(tmp_path / "log", people(80), office, machine("198.51.100.1", 6, 200, BOT), machine("198.51.100.2", 9, 60),
                machine("198.51.100.3", 1, 1800), machine("192.0.2.1", 5, 40, BROWSER, post, 401),
                [line(i * 7 % 3600, f"198.18.0.{i % 90 + 1}", post, 401) for i in range(900)])
    policy = tmp_path / "policy.yaml"
    found = json.loads(drossel(build, "suggest", "--json", "--policy", policy, log).stdout)
    limits = {limit["name"]: limit for limit in found["limits"]}
    names = ("page", "page-long", "static", "login-from")
    named = {name: {hit["key"] for hit in limits[name]["exceeding"]} for name in names}
    assert named["page"] == {"198.51.100.1", "198.51.100.2", "192.0.2.1"} and "198.51.100.3" in named["page-long"]

    def replay():
        done = json.loads(drossel(build, "replay", "--json", "--policy", policy, log).stdout)
        assert done["requests"] == found["requests"] and done["clients"] == found["client_count"]
        refused = {name: {key["key"] for key in done["limits"][name]["top"] if key["refused"] > 0} for name in names}
        assert {name: len(keys) for name, keys in refused.items()} == {name: done["limits"][name]["clients_refused"] for name in names}
        return done, refused

    done, refused = replay()
    assert refused == named
    for name, kind, window in (("page", "page", "10s"), ("page-long", "page", "10m"), ("static", "static", "10s")):
        assert done["limits"][name]["peak"] == found["classes"][kind]["windows"][window]["all"]["max"]
    policy.write_text(policy.read_text().replace("    dry_run: true\n", ""))
    _, refused = replay()  # who is refused by one spends nothing from another
    assert set().union(*refused.values()) == set().union(*named.values())
