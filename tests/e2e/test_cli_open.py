"""Charges whose outcome is open, in a live table: what `explain`, `show` and `reset` make of them."""
import ctypes
import json
import re

import pytest

from command import drossel, write_policy

POLICY = """version: 1
table: { path: %s/table, keys: 1k, names: %s }
client: { account_from: [form.email, json.user.email, header.X-Account] }
classes: { login: { method: POST, path: /login } }
limits:
  login: { for: login, by: [account, address], allow: 3 failures per 15m, reset_on: success }
  address: { for: login, by: address, allow: 4 failures per 1h, hold: 3s }
  ask: { for: login, by: site, allow: 2 failures per 10m, action: %s }
"""
A, B = "203.0.113.7", "198.51.100.9"


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Address(ctypes.Structure):
    _fields_ = [("family", ctypes.c_uint8), ("bytes", ctypes.c_uint8 * 16)]


class Request(ctypes.Structure):
    """The head of drossel_request, as far as it is needed; the rest stays zero."""
    _fields_ = [("now_ns", ctypes.c_uint64), ("peer", Address), ("address", Address), ("method", Text), ("host", Text),
                ("path", Text), ("account", Text), ("rest", ctypes.c_uint64 * 64)]


class Limiter:
    """libdrossel on a policy: asks, and never tells what came of it."""

    def __init__(self, build, policy):
        self.library = ctypes.CDLL(str(build / "libdrossel.so"))
        self.library.drossel_now.restype = ctypes.c_uint64
        self.limiter = ctypes.c_void_p()
        assert self.library.drossel_open(ctypes.byref(self.limiter), str(policy).encode(), None, None) == 0

    def ask(self, address, account="u@b"):
        request, decision = Request(), ctypes.create_string_buffer(65536)
        request.now_ns = self.library.drossel_now(self.limiter)
        assert self.library.drossel_address_parse(address.encode(), len(address), ctypes.byref(request.address)) == 0
        request.method, request.path = Text(b"POST", 4), Text(b"/login", 6)
        request.account = Text(account.encode(), len(account))
        assert self.library.drossel_check(self.limiter, ctypes.byref(request), decision) == 0
        return int.from_bytes(decision[:4], "little")

    def close(self):
        self.library.drossel_close(self.limiter)


@pytest.fixture
def live(build, tmp_path):
    """Asks so many times for each client; returns the policy."""
    if b"__asan_init" in (build / "libdrossel.so").read_bytes() or b"__tsan_init" in (build / "libdrossel.so").read_bytes():
        pytest.skip("Python cannot load a library with a sanitizer")

    def make(asked, names="true", action="mark"):
        policy = write_policy(tmp_path, POLICY % (tmp_path, names, action))
        limiter = Limiter(build, policy)
        for address, times in asked.items():
            for _ in range(times):
                assert limiter.ask(address) == 0             # allowed
        limiter.close()
        return policy
    return make


def explain(build, policy, *options):
    text = drossel(build, "explain", policy, "POST /login", "--address", A, *options).stdout
    return re.sub(r" +", " ", text)


EXPLAINED = [
    (1, ["--account", "u@b"],
     ["account taken as it was given", ", counts failures, a success clears it", "3 failures per 15m: lets it through, 1 left after it; 1 of 1 have no outcome yet",
      "4 failures per 1h: lets it through, 2 left", "result allow"]),
    (2, ["--account", "u@b"], ["2 failures per 10m: lets it through until more is known; 2 of 2 have no outcome yet", "result allow"]),
    (3, ["--account", "u@b"],
     ["3 failures per 15m: holds it for up to 2 s; 3 of 3 have no outcome yet", "result hold by limit login for up to 2 s, until outcomes that are open decide"]),
    (3, [], ["account from form.email, else json.user.email, else header.x-account; --account NAME stands for the body",
             "login no account, so this limit does not apply: it would come from the body; give it with --account",
             "4 failures per 1h: lets it through, 0 left", "result allow"]),
    (0, ["--header", "X-Account: u@b"], ["login applies", "3 failures per 15m: lets it through, 2 left after it\n"]),
]


@pytest.mark.parametrize("asked, options, told", EXPLAINED, ids=[f"{case[0]} open {' '.join(case[1])}" for case in EXPLAINED])
def test_explain_tells_of_open_outcomes_and_where_an_account_comes_from(build, live, asked, options, told):
    text = explain(build, live({A: asked}), *options)
    for line in told:
        assert line in text, text


def test_explain_tells_that_a_challenge_waits_for_open_outcomes(build, live):
    text = explain(build, live({A: 2}, action="challenge"), "--account", "u@b")
    assert "2 failures per 10m: holds it for up to 2 s; 2 of 2 have no outcome yet" in text, text
    assert "result hold by limit ask for up to 2 s, until outcomes that are open decide" in text, text


def entries(build, place, *options):
    return json.loads(drossel(build, "show", "--json", "--table", place, *options).stdout)["entries"]


def test_show_hides_the_tables_own_limits_unless_it_is_asked_for_them(build, live, tmp_path):
    live({A: 2})
    shown, everything = entries(build, tmp_path / "table"), entries(build, tmp_path / "table", "--all-limits")
    assert sorted(entry["limit"] for entry in shown) == ["address", "ask", "login"]
    assert {entry["used"] for entry in shown} == {2}
    assert sorted(entry["limit"] for entry in everything) == ["address", "ask", "login"] + ["open"] * 3 + ["ticket"] * 2
    assert {entry["used"] for entry in entries(build, tmp_path / "table", "--all-limits", "open")} == {2}
    assert "no limit open" in drossel(build, "show", "open", "--table", tmp_path / "table", code=1).stderr


@pytest.mark.parametrize("names", ["true", "false"])
def test_reset_of_an_address_forgets_its_open_outcomes(build, live, tmp_path, names):
    live({A: 2, B: 1}, names)
    open_before = entries(build, tmp_path / "table", "--all-limits", "open")
    assert "address: 203.0.113.7 forgotten" in drossel(build, "reset", A, "--table", tmp_path / "table").stdout
    open_after = entries(build, tmp_path / "table", "--all-limits", "open")
    # by its hash the address alone is found; by its name also where it is a part of the key
    assert len(open_before) - len(open_after) == (2 if names == "true" else 1)
    assert [entry for entry in entries(build, tmp_path / "table") if entry["limit"] == "address"][0]["used"] == 1


def test_reset_in_one_limit_leaves_the_open_outcomes_of_others(build, live, tmp_path):
    live({A: 2})
    assert drossel(build, "reset", A, "--limit", "address", "--table", tmp_path / "table").stdout.count("forgotten") == 1
    assert len(entries(build, tmp_path / "table", "--all-limits", "open")) == 2
    assert sorted(entry["limit"] for entry in entries(build, tmp_path / "table")) == ["ask", "login"]


def test_unblock_forgets_no_open_outcomes(build, live, tmp_path):
    live({A: 1})
    drossel(build, "unblock", A, "--table", tmp_path / "table", code=1)
    assert len(entries(build, tmp_path / "table", "--all-limits", "open")) == 3
