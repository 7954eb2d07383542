"""`drossel explain`: one request, step by step."""
import re

import pytest

from command import drossel, write_policy

POLICY = """version: 1
client: { trusted: [127.0.0.1], address_from: CF-Connecting-IP, token_from: [header.X-Api-Key] }
exempt: { paths: [/health], methods: [OPTIONS], addresses: [192.0.2.0/24] }
classes:
  login: { method: POST, path: /login }
  static: { path_ends: [.css] }
  shop: { host: shop.example }
limits:
  page: { for: not static, by: address, allow: 3 per 60s }
  login: { for: login, by: [token, address], allow: [2 per 10s, 5 per 10m], action: challenge }
  php: { only: [php], by: address, allow: 3 per 60s }
  none: { for: login, by: site, allow: 0 per 60s, dry_run: true }
  big: { for: static, by: address, allow: 2 per 60s }
"""


def explain(build, folder, request, *options):
    text = drossel(build, "explain", write_policy(folder, POLICY), request, "--private", *options).stdout
    return re.sub(r" +", " ", text)


TOLD = [
    ("POST /login", ["--header", "CF-Connecting-IP: 203.0.113.7", "--header", "X-Api-Key: k1"],
     ["client 203.0.113.7: ", "peer 127.0.0.1, a trusted proxy", "exempt no", "banned no", "classes login",
      "page applies, key 203.0.113.7", "3 per 1m: lets it through, 2 left after it", "5 per 10m: lets it through, 4 left",
      "php does not apply: it is for other doors", "none applies, key site, dry run", "result allow",
      "a limit in dry run would have said: refuse", "big does not apply: the request is not in class static"]),
    ("POST /login", ["--peer", "198.51.100.1", "--header", "CF-Connecting-IP: 203.0.113.7"],
     ["client 198.51.100.1: ", "peer 198.51.100.1, not a trusted proxy", "login no token, so this limit does not apply"]),
    ("/", ["--peer", "unix:", "--header", "CF-Connecting-IP: 203.0.113.7"], ["client unix: ", "peer unix, not a trusted proxy"]),
    ("/a.css", ["--address", "2001:db8:1:2:3::1"],
     ["request GET /a.css", "client 2001:db8:1:2:3::1: taken as it was given", "key 2001:db8:1:2::/64",
      "page does not apply: the request is in class static", "classes static"]),
    ("/a.css", ["--address", "198.51.100.1", "--cost", "3"], ["costs 3", "waiting does not help", "result refuse with 429 by limit big"]),
    ("GET /health/live?x", ["--address", "198.51.100.1"], ["request GET /health/live", "exempt yes, its path", "limits not asked", "result allow: exempt"]),
    ("options /", ["--address", "198.51.100.1"], ["request OPTIONS /", "exempt yes, its method"]),
    ("/", ["--address", "192.0.2.7"], ["exempt yes, its address"]),
    ("/", ["--address", "198.51.100.1", "--door", "php"], ["php applies"]),
    ("/x", ["--address", "198.51.100.1"], ["classes none", "table an empty one"]),
    ("POST /login HTTP/1.1", ["--address", "198.51.100.1"], ["request POST /login\n", "classes login\n"]),
    ("/a.css HTTP/1.0", ["--address", "198.51.100.1"], ["request GET /a.css\n", "classes static\n"]),
    ("GET /a b.css", ["--address", "198.51.100.1"], ["request GET /a b.css\n", "classes static\n"]),
    ("GET http://Shop.example:80/x?y HTTP/1.1", ["--address", "198.51.100.1", "--header", "Host: other.example"],
     ["request GET /x\n", "classes shop\n"]),
    ("GET /x", ["--address", "198.51.100.1", "--header", "Host: shop.example"], ["classes shop\n"]),
]


@pytest.mark.parametrize("request_line, options, told", TOLD, ids=[f"{case[0]} {' '.join(case[1])}" for case in TOLD])
def test_the_way_of_a_request_is_told(build, tmp_path, request_line, options, told):
    text = explain(build, tmp_path, request_line, *options)
    for line in told:
        assert line in text


@pytest.mark.parametrize("options, told", [
    ([], ["spray no account, so this limit does not apply", "crowd no account, so this limit does not apply"]),
    (["--account", "bob"], ["spray applies, key 203.0.113.7\n", " 2 accounts per 1h: lets it through, 1 left after it\n",
                            "crowd applies, key #", " 3 addresses per 1h: lets it through, 2 left after it\n"]),
    (["--account", "bob", "--cost", "0"], [" 2 accounts per 1h: lets it through, 2 left after it\n"]),
])
def test_of_limits_that_count_different_ones_it_is_told_what_they_count(build, tmp_path, options, told):
    policy = write_policy(tmp_path, "limits: { spray: { by: address, allow: 2 accounts per 1h }, crowd: { by: account, allow: 3 addresses per 1h } }")
    text = re.sub(r" +", " ", drossel(build, "explain", policy, "/", "--private", "--address", "203.0.113.7", *options).stdout)
    for line in told:
        assert line in text


@pytest.mark.parametrize("options, told", [
    (["--peer", "10.0.0.5"], "client 10.0.0.5: the connection's other end; --address names what its PROXY protocol would say"),
    (["--peer", "10.0.0.6"], "client 10.0.0.6: the connection does not come from a trusted proxy, so its PROXY protocol is not believed"),
    (["--peer", "10.0.0.5", "--address", "203.0.113.7"], "client 203.0.113.7: taken as it was given"),
])
def test_what_the_proxy_protocol_would_say_has_to_be_given(build, tmp_path, options, told):
    policy = write_policy(tmp_path, "client: { trusted: 10.0.0.5, address_from: proxy_protocol }\nlimits: { a: { by: address, allow: 2 per 1h } }")
    assert told in re.sub(r" +", " ", drossel(build, "explain", policy, "/", "--private", *options).stdout)


def test_each_of_several_accounts_is_told(build, tmp_path):
    policy = write_policy(tmp_path, "client: { account_from: cookie.u }\nlimits: { a: { by: account, allow: 2 per 1h, overrides: { amy: 5 per 1h } } }")
    text = re.sub(r" +", " ", drossel(build, "explain", policy, "/", "--private", "--header", "Cookie: u=bob; u=amy; u=Bob").stdout)
    assert text.count("(one of several accounts that it names)") == 2
    assert " 2 per 1h: lets it through, 1 left" in text and " 5 per 1h: lets it through, 4 left" in text


@pytest.mark.parametrize("request_line, peer, told", [
    ("/health", "198.51.100.1", ["exempt no: its path is listed, but around a trusted proxy only listed addresses", "limits not asked", "result refuse with 403"]),
    ("OPTIONS /", "198.51.100.1", ["exempt no: its method is listed"]),
    ("/", "198.51.100.1", ["exempt no\n", "result refuse with 403"]),
    ("/", "192.0.2.7", ["exempt yes, its address", "result allow: exempt"]),
    ("/health", "127.0.0.1", ["exempt yes, its path", "result allow: exempt"]),
])
def test_around_a_required_proxy_only_exempt_addresses_are_let_through(build, tmp_path, request_line, peer, told):
    policy = write_policy(tmp_path, POLICY.replace("trusted: [127.0.0.1],", "trusted: [127.0.0.1], require_trusted: true,"))
    text = re.sub(r" +", " ", drossel(build, "explain", policy, request_line, "--private", "--peer", peer).stdout)
    for line in told:
        assert line in text


@pytest.mark.parametrize("request_line", ["GET", " /", "", "GET x", "http:/x", "POST login"])
def test_what_is_no_request_is_not_explained(build, tmp_path, request_line):
    done = drossel(build, "explain", write_policy(tmp_path, POLICY), request_line, "--private", code=2)
    assert f"'{request_line}' is no request" in done.stderr


def test_a_table_that_is_asked_for_must_be_there(build, tmp_path):
    done = drossel(build, "explain", write_policy(tmp_path, POLICY), "/", "--table", tmp_path / "none", code=1)
    assert str(tmp_path / "none") in done.stderr


def test_a_policy_with_mistakes_is_not_explained(build, tmp_path):
    path = write_policy(tmp_path, "limitz: {}")
    assert f"{path}:2:1:" in drossel(build, "explain", path, "/", code=1).stderr
