"""`drossel block`, `unblock` and `reset` block and forget whom the operator wrote, and nobody else."""
import json

import pytest

from command import drossel
from test_cli_open import live  # noqa: F401

NETWORKS = ["10.0.0.0/8", "203.0.113.7/31", "203.0.113.7/", "203.0.113.7/x", "203.0.113.7/32/", "2001:db8::/129"]


def bans(build, place):
    shown = json.loads(drossel(build, "show", "--json", "--table", place).stdout)["entries"]
    return [entry["key"] for entry in shown if entry["limit"] == "ban"]


@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_is_not_blocked_as_the_one_address_in_its_name(build, live, tmp_path, network):  # noqa: F811
    live({"203.0.113.7": 1})
    done = drossel(build, "block", network, "15m", "--table", tmp_path / "table", code=2)
    assert f"{network} is a network" in done.stderr
    assert bans(build, tmp_path / "table") == []
    drossel(build, "reset", network, "--table", tmp_path / "table", code=1)


def test_an_ipv6_client_is_blocked_by_the_prefix_that_it_is_counted_by_and_no_other(build, live, tmp_path):  # noqa: F811
    live({"2001:db8:1:2::7": 1})
    place = ["--table", tmp_path / "table"]
    for prefix in (32, 56, 128):
        done = drossel(build, "block", f"2001:db8:1:2::7/{prefix}", "15m", *place, code=1)
        assert "counted by their /64" in done.stderr
        drossel(build, "block", "--limit", "address", f"2001:db8:1:2::7/{prefix}", "15m", *place, code=1)
    assert bans(build, tmp_path / "table") == []
    drossel(build, "block", "2001:db8:1:2::7/64", "15m", *place)
    assert bans(build, tmp_path / "table") == ["2001:db8:1:2::/64"]
    drossel(build, "unblock", "2001:db8:1:2::/48", *place, code=1)
    drossel(build, "unblock", "2001:db8:1:2::/64", *place)
    assert bans(build, tmp_path / "table") == []
    assert "address: 2001:db8:1:2::/64 forgotten" in drossel(build, "reset", "2001:db8:1:2::/64", *place).stdout


def test_one_ipv4_address_may_be_written_as_a_network_of_one(build, live, tmp_path):  # noqa: F811
    live({"203.0.113.7": 1})
    drossel(build, "block", "198.51.100.9/32", "15m", "--table", tmp_path / "table")
    assert bans(build, tmp_path / "table") == ["198.51.100.9"]
    drossel(build, "unblock", "198.51.100.9", "--table", tmp_path / "table")
    assert bans(build, tmp_path / "table") == []
