"""The letter of the policy through `replay`: which requests are in a class, which share a key, which are exempt."""
import pytest

from command import replay, verdicts


def marks(build, folder, policy, requests):
    """`x` refused, `.` let through and counted, `-` not counted by any limit; one for each request."""
    events = [{"t": i, **({} if "address" in facts else {"address": "203.0.113.7"}), **facts} for i, facts in enumerate(requests)]
    decisions = replay(build, folder, policy, events)
    return "".join("x" if one["verdict"] == "refuse" else "-" if one["limit"] is None else "." for one in decisions)


def each(name, *values):
    return [{name: value} for value in values]


def headers(*values):
    return each("headers", *values)


CLASSES = [
    ("path: /login", each("path", "/login", "//login", "/%6cogin", "/./login", "/login?x", "/x/../login", "/login#f", "/%2e/login",
                          "/a/b/../../login", "/%2flogin", "/..//login", "http://h/login"), "xxxxxxxxxxxx"),
    ("path: /login", each("path", "/login/", "/Login", "/login%3Fx", "/login;x", "/%25login", "/login%00", "/login/.", "/login/.."),
     "--------"),
    ("path_ends: [.jpg, .CSS]", each("path", "/a.jpg", "/a.JPG", "/a.css", "/a.css?x", "/a.%6apg"), "xxxxx"),
    ("path_ends: [.jpg, .CSS]", each("path", "/a.jpgx", "/x?y=.jpg", "/a.jpg/"), "---"),
    ("path_begins: /api/", each("path", "/api/", "/api/x", "//api//x", "/x/../api/y", "/api%2fx"), "xxxxx"),
    ("path_begins: /api/", each("path", "/api", "/API/x", "/apix", "/api/../x"), "----"),
    ('path_matches: "^/(search|suche)$"', each("path", "/search", "/suche", "/search?q=1", "/Search", "/search/", "/x/search"), "xxx---"),
    ("host: shop.example", each("host", "shop.example", "SHOP.Example", "shop.example:8443", "shop.example.", "shop.example.:80"), "xxxxx"),
    ("host: shop.example", [{"headers": {"Host": "shop.example:80"}}, {"host": "www.shop.example"}, {"host": ""}, {}], "x---"),
    ('host: "[2001:db8::1]"', each("host", "[2001:db8::1]", "[2001:db8::1]:443", "2001:db8::1"), "xx-"),
    ("method: [POST, PUT]", [*each("method", "POST", "PUT", "GET", "post", "HEAD"), {}], "xx----"),
    ("header.X-Api-Key: present", [*headers({"x-api-key": "k"}, {"X-API-KEY": ""}, {"X-Api": "k"}, {}), {}], "xx---"),
    ("header.X-Api-Key: absent", [*headers({"x-api-key": "k"}, {"X-API-KEY": ""}, {}), {}], "--xx"),
    ("header.X-A: [one, two]", headers({"x-a": "one"}, {"x-a": "two"}, {"x-a": ["x", "two"]}, {"x-a": " one\t"}, {"x-a": "ONE"},
                                       {"x-a": "one,two"}), "xxxx--"),
    ("method: POST, path: /login, host: a.b, header.x: present",
     [{"method": "POST", "path": "/login", "host": "a.b", "headers": {"X": "1"}},
      {"method": "GET", "path": "/login", "host": "a.b", "headers": {"X": "1"}},
      {"method": "POST", "path": "/login", "host": "a.b"}], "x--"),
]


@pytest.mark.parametrize("condition, requests, expected", CLASSES)
def test_a_class_means_its_conditions(build, tmp_path, condition, requests, expected):
    policy = f"classes: {{ c: {{ {condition} }} }}\nlimits: {{ a: {{ for: c, by: site, allow: 0 per 1s }} }}"
    assert marks(build, tmp_path, policy, requests) == expected


@pytest.mark.parametrize("names, expected", [
    ("a", "xx--x"), ("not a", "--xx-"), ("[a, b]", "-x--x"), ("[a, not b]", "x----"), ("[not a, not b]", "---x-"), ("[a, b, not c]", "-x---"),
])
def test_all_classes_of_a_limit_must_hold(build, tmp_path, names, expected):
    policy = f"""
classes: {{ a: {{ path_begins: /a }}, b: {{ path_ends: .b }}, c: {{ method: POST }} }}
limits:
  l: {{ for: {names}, by: site, allow: 0 per 1s }}
  used: {{ for: [a, b, c], by: site, allow: 0 per 1s, dry_run: true }}"""
    requests = [*each("path", "/a", "/a.b", "/x.b", "/x"), {"path": "/a.b", "method": "POST"}]
    assert marks(build, tmp_path, policy, requests) == expected


KEYS = [
    ("address", "", each("address", "2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:3::1", "1.2.3.4", "::ffff:1.2.3.4",
                         "::FFFF:102:304"), ".x..xx"),
    ("address", "client: { ipv6_prefix: 48 }", each("address", "2001:db8:1:2::1", "2001:db8:1:3::2", "2001:db8:2::"), ".x."),
    ("address", "client: { ipv6_prefix: 128 }", each("address", "2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2::1"), "..x"),
    ("[account, address]", "", [{"account": "u"}, {"account": "u", "address": "9.9.9.9"}, {"account": "u"}, {}, {"account": ""}], "..x--"),
    ("token", "client: { token_from: [bearer, header.X-Api-Key, cookie.session] }",
     [{"token": "k1"}, {"token": "K1"}, {}, *headers({"Authorization": "Bearer k1"}, {"Cookie": "a=b; session=k1"},
                                                    {"Cookie": "session=k9", "X-Api-Key": "k8"}, {"X-Api-Key": "k8"})], "..-xx.x"),
    ("path", "", each("path", "/a", "/b", "/a?x", "//a", "/%61"), "..xxx"),
    ("header.X-Id", "", [*headers({"x-id": "1"}, {"x-id": "2"}, {"X-ID": "1"}, {"x-id": " 1 "}, {"x-id": ""}), {},
                         *headers({"x-id": "z" * 70000}, {"x-id": "z" * 70000}, {"x-id": "z" * 69999})], "..xx--.x."),
    ("[address, header.A, path]", "", [{"headers": {"a": "b"}, "path": "/c"}, {"headers": {"a": "b"}, "path": "/c"}, {"path": "/c"},
                                       {"headers": {"a": "b/"}, "path": "/c"}], ".x-."),
    ("site", "", [{}, {"address": "9.9.9.9"}], ".x"),
]


@pytest.mark.parametrize("by, client, requests, expected", KEYS)
def test_who_is_the_same_key_shares_a_count(build, tmp_path, by, client, requests, expected):
    assert marks(build, tmp_path, f"{client}\nlimits: {{ l: {{ by: {by}, allow: 1 per 1h }} }}", requests) == expected


def test_who_is_exempt_is_neither_counted_nor_refused(build, tmp_path):
    (tmp_path / "addresses.lst").write_text("# those of the office\n198.51.100.0/24  # all of them\n\n2001:db8::/32\r\n")
    (tmp_path / "paths.lst").write_text("/hooks/\n/health # probe\n")
    policy = """
exempt: { addresses: [10.0.0.0/8, addresses.lst], paths: [paths.lst], methods: [OPTIONS] }
limits: { l: { by: site, allow: 1 per 1h } }"""
    requests = [*each("address", "198.51.100.7", "2001:db8:9::1", "10.1.1.1", "::ffff:10.1.1.1", "1.1.1.1", "1.1.1.2"),
                *each("path", "/hooks/x", "/hooks", "/healthz", "//hooks/../hooks/x", "/Hooks/"), *each("method", "OPTIONS", "options")]
    assert marks(build, tmp_path, policy, requests) == "----.x-x--x-x"


def test_a_member_that_is_null_is_a_member_that_is_missing(build, tmp_path):
    names = ["path", "headers", "cost", "status", "settle_at", "method", "host", "account", "token", "peer"]
    event = {"t": 1, "address": "203.0.113.7", **dict.fromkeys(names)}
    assert verdicts(replay(build, tmp_path, "limits: { a: { by: address, allow: 1 per 10s } }", [event])) == ["allow"]
