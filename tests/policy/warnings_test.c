/* What may be written but is hardly meant is told with its reason; what is meant is not warned about. */
#include "opened.h"

#define HEAD "version: 1\n"
#define ONE(keys) HEAD "limits: { a: { by: address, " keys " } }\n"
#define CLASS(conditions)                                                                                              \
    HEAD "classes: { c: { " conditions " } }\nlimits: { a: { for: c, by: address, allow: 1 per 1s } }\n"
#define NEVER                                                                                                          \
    "p.yaml:3:21: warning: the limit can never fire: no request can be counted in class \"c\", see line 2; mend that " \
    "class\n"

struct warning_case {
    const char *name, *yaml, *warnings; /* warnings: NULL for none */
};

#define NO_JSON                                                                                                        \
    "p.yaml:2:17: warning: the body is no JSON, and no client can read it; write it as "                               \
    "'{\"error\":\"rate_limit_exceeded\"}', with ${limit} in quotes\n"

static const struct warning_case limit_cases[] = {
    { "leaky without burst", ONE("allow: 6000 per 1m, algorithm: leaky"),
      "p.yaml:2:36: warning: 6000 per 1m with burst 0 admits 1 at once, then one each 10 ms; write burst: 5999 to "
      "admit 6000 at "
      "once, or algorithm: sliding\n"
      "p.yaml:2:36: warning: a leaky bucket without burst refuses every second request that comes within 10 ms; write "
      "burst: 1 "
      "or more\n" },
    { "leaky with a small burst", ONE("allow: 7 per 1s, algorithm: leaky, burst: 2"),
      "p.yaml:2:36: warning: 7 per 1s with burst 2 admits 3 at once, then one each 142.857 ms; write burst: 6 to admit "
      "7 at once, "
      "or algorithm: sliding\n" },
    { "leaky with all its burst", ONE("allow: 5 per 1m, algorithm: leaky, burst: 4"), NULL },
    { "leaky that refuses all", ONE("allow: 0 per 1m, algorithm: leaky"), NULL },
    { "short block", ONE("allow: [5 per 10s, 100 per 20m], block: 15m"),
      "p.yaml:2:69: warning: a block of 15m is shorter than its window of 20m, and the counter starts afresh after it: "
      "waiting "
      "15m gives the whole quota again; write at least 20m\n" },
    { "block as long as the window", ONE("allow: 5 per 15m, block: 15m"), NULL },
    { "short ban", ONE("allow: 5 per 15m, ban: { for: 10m }"),
      "p.yaml:2:52: warning: a block of 10m is shorter than its window of 15m, and the counter starts afresh after it: "
      "waiting "
      "10m gives the whole quota again; write at least 15m\n" },
    { "cost above the limit", ONE("allow: 10 per 1s, cost: 11"),
      "p.yaml:2:53: warning: a request that costs 11 is never admitted, as at most 10 can be spent at once; write a "
      "lower cost, "
      "or allow more\n" },
    { "cost up to the limit", ONE("allow: 10 per 1s, cost: 10"), NULL },
    { "no cost", ONE("allow: 10 per 1s, cost: 0"),
      "p.yaml:2:53: warning: the limit can never fire: its requests cost nothing; write a cost of 1 or more\n" },
    { "no cost, but nothing allowed", ONE("allow: 0 per 1s, cost: 0"), NULL },
    { "no door", ONE("allow: 10 per 1s, only: []"),
      "p.yaml:2:53: warning: the limit can never fire: `only` names no door; name one, as nginx, or leave `only` "
      "out\n" },
    { "no account", HEAD "limits: { a: { by: [account, address], allow: 1 per 1s } }\n",
      "p.yaml:2:20: warning: no server knows an account, so that this limit never applies there; write "
      "client.account_from, or "
      "only: [php, library], whose callers name it themselves\n" },
    { "no accounts to count", HEAD "limits: { a: { by: address, allow: 5 accounts per 1h } }\n",
      "p.yaml:2:36: warning: no server knows an account, so that this limit never applies there; write "
      "client.account_from, or only: [php, library], whose callers name it themselves\n" },
    { "no account, but callers that name it",
      HEAD "limits: { a: { by: account, allow: 1 per 1s, only: [php, library] } }\n", NULL },
    { "no token", HEAD "limits: { a: { by: token, allow: 1 per 1s } }\n",
      "p.yaml:2:20: warning: no server knows a token, so that this limit never applies there; write client.token_from, "
      "or only: "
      "[php, library], whose callers name it themselves\n" },
    { "token from a header", HEAD "client: { token_from: bearer }\nlimits: { a: { by: token, allow: 1 per 1s } }\n",
      NULL },
    { "both a class and not",
      HEAD "classes: { c: { path: /a } }\nlimits: { a: { for: [c, not c], by: address, allow: 1 per 1s } }\n",
      "p.yaml:3:21: warning: the limit can never fire: no request is in \"c\" and not in it; leave one of the two "
      "out\n" },
    { "two classes that exclude each other",
      HEAD "classes: { c: { path: /a }, d: { path_begins: /b } }\nlimits: { a: { for: [c, d], by: address, allow: 1 "
           "per 1s } }\n",
      "p.yaml:3:21: warning: the limit can never fire: no request is in both \"c\" and \"d\", and all classes of `for` "
      "must hold; "
      "write two limits\n" },
    { "two classes that do not",
      HEAD "classes: { c: { path: [/a, /b/x] }, d: { path_begins: /b } }\nlimits: { a: { for: [c, d], by: address, "
           "allow: 1 per 1s } }\n",
      NULL },
    { "an override that no key can be", ONE("allow: 1 per 1s, overrides: { partner: unlimited }"),
      "p.yaml:2:59: warning: override of \"partner\" never applies: no part of this limit's key can be it; write an "
      "address or a "
      "network\n" },
    { "many failures", ONE("allow: 1072 failures per 1h"),
      "p.yaml:2:36: warning: of more than 1071 failures only the strict window is kept: who fails evenly may be "
      "refused "
      "a little before 1072; write algorithm: bucket, or a lower number\n" },
    { "as many failures as are counted evenly", ONE("allow: 1071 failures per 1h"), NULL },
    { "many failures in a bucket", ONE("allow: 1072 failures per 1h, algorithm: bucket"), NULL },
    { "many requests", ONE("allow: 1072 per 1h"), NULL },
    { "many failures of a named key", ONE("allow: 5 failures per 1h, overrides: { 10.0.0.1: 2000 failures per 1h }"),
      "p.yaml:2:78: warning: of more than 1071 failures only the strict window is kept: who fails evenly may be "
      "refused "
      "a little before 2000; write algorithm: bucket, or a lower number\n" },
    { "a challenge that leads to itself", ONE("allow: 5 per 1h, action: challenge, challenge_to: \"/verify?a\""),
      "p.yaml:2:79: warning: \"/verify?a\" is counted by this limit, too, so that whoever is sent there is sent there "
      "again; leave it out by `for`, or make it exempt\n" },
    { "a challenge of a class that its place is in",
      HEAD "classes: { c: { path_begins: /a } }\n"
           "limits: { a: { for: c, by: address, allow: 5 per 1h, action: challenge, challenge_to: /a/verify } }\n",
      "p.yaml:3:87: warning: \"/a/verify\" is counted by this limit, too, so that whoever is sent there is sent there "
      "again; leave it out by `for`, or make it exempt\n" },
    { "a challenge of another method",
      HEAD "classes: { c: { path_begins: /a, method: POST } }\n"
           "limits: { a: { for: c, by: address, allow: 5 per 1h, action: challenge, challenge_to: /a/verify } }\n",
      NULL },
    { "a challenge whose place is left out",
      HEAD "classes: { c: { path: /verify } }\n"
           "limits: { a: { for: not c, by: address, allow: 5 per 1h, action: challenge, challenge_to: /verify } }\n",
      NULL },
    { "a challenge whose place is exempt",
      HEAD "exempt: { paths: /ver }\n"
           "limits: { a: { by: address, allow: 5 per 1h, action: challenge, challenge_to: /verify } }\n",
      NULL },
    { "a challenge elsewhere", ONE("allow: 5 per 1h, action: challenge, challenge_to: https://id.example/"), NULL },
    { "a dry run", ONE("allow: 1 per 1s, dry_run: true"), NULL },
    { "no limits", HEAD,
      "p.yaml:1:1: warning: no limits: nothing is counted and nobody refused; write one under `limits`\n" },
    { "limits without one", HEAD "limits:\n",
      "p.yaml:2:1: warning: no limits: nothing is counted and nobody refused; write one under `limits`\n" },
};

#define SHORT "limits: { s: { by: address, allow: 50 per 10s"
#define SHADOW(column) SHADOWED(column, "limit")
#define SHADOWED(column, what)                                                                                         \
    "p.yaml:2:" column ": warning: the " what                                                                          \
    " can never fire: 50 per 10s of \"s\" lets at most 500 through in 100s; "                                          \
    "allow less than that here, or leave it out\n"
static const struct warning_case shadow_cases[] = {
    { "a long window that a short one never lets fill", HEAD SHORT " }, l: { by: address, allow: 1000 per 100s } }\n",
      SHADOW("75") },
    { "one that it fills", HEAD SHORT " }, l: { by: address, allow: 500 per 100s } }\n", NULL },
    { "rates of one limit", HEAD "limits: { s: { by: address, allow: [50 per 10s, 1000 per 100s] } }\n",
      SHADOWED("49", "rate") },
    { "a finer key", HEAD SHORT " }, l: { by: [path, address], allow: 1000 per 100s } }\n", SHADOW("83") },
    { "a wider key",
      HEAD "limits: { s: { by: [path, address], allow: 50 per 10s }, l: { by: address, allow: 1000 per 100s } }\n",
      NULL },
    { "fewer requests",
      HEAD "limits: { s: { by: address, allow: 50 per 10s }, l: { for: c, by: address, allow: 1000 per 100s } }\n"
           "classes: { c: { path: /a } }\n",
      SHADOW("83") },
    { "more requests",
      HEAD "limits: { s: { for: c, by: address, allow: 50 per 10s }, l: { by: address, allow: 1000 per 100s } }\n"
           "classes: { c: { path: /a } }\n",
      NULL },
    { "a dry run before", HEAD SHORT ", dry_run: true }, l: { by: address, allow: 1000 per 100s } }\n", NULL },
    { "a mark before", HEAD SHORT ", action: mark }, l: { by: address, allow: 1000 per 100s } }\n", NULL },
    { "keys with more before",
      HEAD SHORT ", overrides: { 10.0.0.1: unlimited } }, l: { by: address, allow: 1000 per 100s } }\n", NULL },
    { "another cost", HEAD SHORT " }, l: { by: address, allow: 1000 per 100s, cost: 5 } }\n", NULL },
    { "other doors before", HEAD SHORT ", only: nginx }, l: { by: address, allow: 1000 per 100s } }\n", NULL },
    { "failures before, which successes pass",
      HEAD "limits: { s: { by: address, allow: 50 failures per 10s }, l: { by: address, allow: 1000 per 100s } }\n",
      NULL },
    { "failures behind", HEAD SHORT " }, l: { by: address, allow: 1000 failures per 100s } }\n", SHADOW("75") },
    { "failures before failures",
      HEAD "limits: { s: { by: address, allow: 9 failures per 9s }, l: { by: address, allow: 99 failures per 90s } }\n",
      "p.yaml:2:82: warning: the limit can never fire: 9 failures per 9s of \"s\" lets at most 90 through in 90s; "
      "allow "
      "less than that here, or leave it out\n" },
    { "failures before failures, which a success forgives",
      HEAD "client: { account_from: basic }\n"
           "limits: { s: { by: account, allow: 9 failures per 9s, reset_on: success },\n"
           "  l: { by: account, allow: 99 failures per 90s } }\n",
      NULL },
    { "refused ones count", HEAD SHORT " }, l: { by: address, allow: 1000 per 100s, count_refused: true } }\n", NULL },
    { "fixed windows let twice as much through",
      HEAD SHORT ", algorithm: fixed }, l: { by: address, allow: 550 per 100s } }\n", NULL },
};

static const struct warning_case class_cases[] = {
    { "never used", HEAD "classes: { c: { path: /a } }\nlimits: { a: { by: address, allow: 1 per 1s } }\n",
      "p.yaml:2:12: warning: class \"c\" is never used; name it in `for` or `cost`, or leave it out\n" },
    { "used for a cost",
      HEAD "classes: { c: { path: /a } }\nlimits: { a: { by: address, allow: 9 per 1s, cost: { c: 2 } } }\n", NULL },
    { "path without slash", CLASS("path: login"),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"login\" does not begin with /; write it as "
      "requests have it\n" NEVER },
    { "one good path", CLASS("path: [login, /login]"),
      "p.yaml:2:24: warning: no request can be in class \"c\" by it: \"login\" does not begin with /; write it as "
      "requests have it\n" },
    { "query string", CLASS("path_begins: \"/a?b=\""),
      "p.yaml:2:30: warning: no request can be in class \"c\" by it: \"/a?b=\" has a query string, which is cut off "
      "before; write it "
      "as requests have it\n" NEVER },
    { "two slashes", CLASS("path: /a//b"),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"/a//b\" has two slashes in a row, which are "
      "made one before; "
      "write it as requests have it\n" NEVER },
    { "escape", CLASS("path: /a%20b"),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"/a%20b\" is escaped, and paths are decoded "
      "before; write it "
      "as requests have it\n" NEVER },
    { "lower method", CLASS("method: get"),
      "p.yaml:2:25: warning: no request can be in class \"c\" by it: \"get\" is in lower case, and methods are in "
      "upper case; write "
      "it as requests have it\n" NEVER },
    { "port", CLASS("host: \"a.example:8080\""),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"a.example:8080\" has a port, which is cut off "
      "before; write it "
      "as requests have it\n" NEVER },
    { "absent among values", CLASS("header.X: [v1, absent, \"present\"]"),
      "p.yaml:2:32: warning: \"absent\" in a list is a value like others, and no test; write it alone, in a class of "
      "its "
      "own\n" },
    { "the value present", CLASS("header.X: [present]"), NULL },
    { "dot behind the host", CLASS("host: a.example."),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"a.example.\" has a dot at its end, which is cut "
      "off before; write it as requests have it\n" NEVER },
    { "a wildcard as host", CLASS("host: \"*.a.example\""),
      "p.yaml:2:23: warning: no request can be in class \"c\" by it: \"*.a.example\" has a * in it, which stands for "
      "itself, and no host has one; write it as requests have it\n" NEVER },
    { "a wildcard in a path", CLASS("path_begins: \"/api/*\""),
      "p.yaml:2:30: warning: the * in \"/api/*\" of class \"c\" stands for itself and no other text; write path_begins "
      "or path_ends without it, or a pattern as path_matches\n" },
    { "no wildcard", CLASS("path: \"*\""), NULL },
    { "a star in a pattern", CLASS("path_matches: \"^/a.*b\""), NULL },
    { "a path that ends in dots", CLASS("path: [/a/.., /a/., /a/b..]"),
      "p.yaml:2:24: warning: no request can be in class \"c\" by it: \"/a/..\" ends in /. or /.., which are resolved "
      "before; write it as requests have it\n"
      "p.yaml:2:31: warning: no request can be in class \"c\" by it: \"/a/.\" ends in /. or /.., which are resolved "
      "before; write it as requests have it\n" },
    { "a wildcard among exempt paths",
      HEAD "exempt: { paths: [\"/hooks/*\"] }\nlimits: { a: { by: address, allow: 1 per 1s } }\n",
      "p.yaml:2:19: warning: the * in \"/hooks/*\" stands for itself and no other text; leave it out, an entry is a "
      "path's "
      "begin\n" },
    { "upper host", CLASS("host: Shop.Example"), NULL },
    { "path against its begin", CLASS("path: /a, path_begins: /b"),
      "p.yaml:2:12: warning: no request can be in class \"c\": its conditions contradict each other; leave one out, or "
      "make two "
      "classes\n" NEVER },
    { "path against its end", CLASS("path: /a.css, path_ends: .js"),
      "p.yaml:2:12: warning: no request can be in class \"c\": its conditions contradict each other; leave one out, or "
      "make two "
      "classes\n" NEVER },
    { "path against a pattern", CLASS("path: /a, path_matches: ^/b"),
      "p.yaml:2:12: warning: no request can be in class \"c\": its conditions contradict each other; leave one out, or "
      "make two "
      "classes\n" NEVER },
    { "path with its begin, end and pattern",
      CLASS("path: /a.CSS, path_begins: /a, path_ends: .css, path_matches: CSS$"), NULL },
    { "exempt method",
      HEAD "exempt: { methods: [OPTIONS, GET] }\nclasses: { c: { method: GET, path: /a } }\nlimits: { a: { for: c, by: "
           "address, allow: 1 per 1s } }\n",
      "p.yaml:3:12: warning: no request can be counted in class \"c\": all of its methods are exempt; take them out of "
      "`exempt`, or "
      "leave the class out\n"
      "p.yaml:4:21: warning: the limit can never fire: no request can be counted in class \"c\", see line 3; mend that "
      "class\n" },
    { "exempt path",
      HEAD "exempt: { paths: [/a] }\nclasses: { c: { path_begins: [/a/b, /ab] } }\nlimits: { a: { for: c, by: address, "
           "allow: 1 per 1s } }\n",
      "p.yaml:3:12: warning: no request can be counted in class \"c\": all of its paths are exempt; take them out of "
      "`exempt`, or "
      "leave the class out\n"
      "p.yaml:4:21: warning: the limit can never fire: no request can be counted in class \"c\", see line 3; mend that "
      "class\n" },
    { "path of which a part is exempt",
      HEAD "exempt: { paths: [/a/b] }\nclasses: { c: { path_begins: /a } }\nlimits: { a: { for: c, by: address, allow: "
           "1 per 1s } }\n",
      NULL },
};

#define LIMIT "limits: { a: { by: address, allow: 1 per 1s } }\n"
static const struct warning_case section_cases[] = {
    { "header of nobody", HEAD "client: { address_from: X-Real-IP }\n" LIMIT,
      "p.yaml:2:25: warning: `address_from` without `trusted`: the header is never read, as anybody could send it; "
      "list your "
      "proxies in `trusted`\n" },
    { "the PROXY protocol of anybody", HEAD "client: { address_from: proxy_protocol }\n" LIMIT,
      "p.yaml:2:25: warning: `address_from` without `trusted`: the PROXY protocol is never believed, as anybody could "
      "send it; list your proxies in `trusted`\n" },
    { "the PROXY protocol of a balancer", HEAD "client: { address_from: proxy_protocol, trusted: 10.0.0.5 }\n" LIMIT,
      NULL },
    { "proxies without a header", HEAD "client: { trusted: 127.0.0.1 }\n" LIMIT,
      "p.yaml:2:20: warning: `trusted` without `address_from`: all visitors behind such a proxy are counted as one, "
      "the proxy; name "
      "the header that tells them apart, as address_from: X-Forwarded-For\n" },
    { "slip in a header's name", HEAD "client: { trusted: 127.0.0.1, address_from: X-Forwared-For }\n" LIMIT,
      "p.yaml:2:45: warning: no proxy is known to send \"X-Forwared-For\", and without it all visitors are one; did "
      "you "
      "mean X-Forwarded-For?\n" },
    { "slip in a word", HEAD "client: { trusted: 127.0.0.1, address_from: proxy-protocol }\n" LIMIT,
      "p.yaml:2:45: warning: no proxy is known to send \"proxy-protocol\", and without it all visitors are one; did "
      "you "
      "mean proxy_protocol?\n" },
    { "a header of one's own", HEAD "client: { trusted: 127.0.0.1, address_from: X-Cluster-Client-Ip }\n" LIMIT, NULL },
    { "a known header in another case", HEAD "client: { trusted: 127.0.0.1, address_from: cf-connecting-ipv6 }\n" LIMIT,
      NULL },
    { "both", HEAD "client: { trusted: 127.0.0.1, address_from: X-Forwarded-For }\n" LIMIT, NULL },
    { "everybody exempt", HEAD "exempt: { addresses: 0.0.0.0/0 }\n" LIMIT,
      "p.yaml:2:22: warning: every IPv4 or every IPv6 address is exempt, so that no limit can ever refuse one of them; "
      "name fewer "
      "networks\n" },
    { "every path exempt", HEAD "exempt: { paths: / }\n" LIMIT,
      "p.yaml:2:18: warning: every path begins with /, so that all requests are exempt and no limit can ever refuse; "
      "write a longer "
      "one\n" },
    { "exempt method in lower case", HEAD "exempt: { methods: options }\n" LIMIT,
      "p.yaml:2:20: warning: no request is exempt by it: methods are in upper case, \"options\" is not; write it "
      "so\n" },
    { "JSON", HEAD "answer: { json: '{}', body: json }\n" LIMIT, NULL },
    { "JSON", HEAD "answer: { json: '[]', body: json }\n" LIMIT, NULL },
    { "JSON", HEAD "answer: { json: '1', body: json }\n" LIMIT, NULL },
    { "JSON", HEAD "answer: { json: '-0.5e+3', body: json }\n" LIMIT, NULL },
    { "JSON", HEAD "answer: { json: 'null', body: json }\n" LIMIT, NULL },
    { "JSON", HEAD "answer: { json: '{\"wait\":${retry_after}, \"limit\" : \"${limit}\"}', body: json }\n" LIMIT,
      NULL },
    { "JSON", HEAD "answer: { json: ' [ true , false , [ ] , {\"a\":{\"b\":\"\\u00e4\\n\"}} ] ', body: json }\n" LIMIT,
      NULL },
    { "no JSON", HEAD "answer: { json: '{\"a\":', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '{\"a\":1,}', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '[1 2]', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '{a:1}', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '01', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '1.', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '\"\\x\"', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '\"\\u12g4\"', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '{\"limit\":${limit}}', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '{} {}', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '''a''', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: 'tru', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '[', body: json }\n" LIMIT, NO_JSON },
    { "no JSON", HEAD "answer: { json: '-', body: json }\n" LIMIT, NO_JSON },
    { "JSON that is never sent", HEAD "answer: { json: '{}' }\n" LIMIT,
      "p.yaml:2:17: warning: `json` counts for nothing, as no `body: json` goes with it; write that, too, or leave it "
      "out\n" },
    { "JSON for a limit that sends another",
      HEAD
      "limits: { a: { by: address, allow: 1 per 1s, answer: { json: '{}', body: text } } }\nanswer: { body: json }\n",
      "p.yaml:2:62: warning: `json` counts for nothing, as no `body: json` goes with it; write that, too, or leave it "
      "out\n" },
    { "JSON that a limit sends",
      HEAD "answer: { json: '{}' }\nlimits: { a: { by: address, allow: 1 per 1s, answer: { body: json } } }\n", NULL },
    { "two drafts", HEAD "answer: { headers: [ratelimit, ratelimit-draft7] }\n" LIMIT,
      "p.yaml:2:32: warning: ratelimit-draft7 besides another draft: both write RateLimit fields, which no client can "
      "read then; "
      "choose one draft\n" },
    { "refusing all while one node is down", HEAD "store: redis://h\non_outage: closed\n" LIMIT,
      "p.yaml:4:11: warning: limit \"a\" refuses everybody while its store is down, and that store is one node; use "
      "redis+cluster://, or on_outage: local\n" },
    { "a cluster", HEAD "store: redis+cluster://h,i\non_outage: closed\n" LIMIT, NULL },
    { "outcomes of nothing counted", HEAD "outcomes: { failure: { status: 401 } }\n" LIMIT,
      "p.yaml:2:1: warning: no limit counts failures, so that outcomes count for nothing; write allow: N failures per "
      "T, "
      "or leave them out\n" },
    { "outcomes of failures",
      HEAD "outcomes: { failure: { status: 401 } }\nlimits: { a: { by: address, allow: 1 failures per 1s } }\n", NULL },
    { "a status twice",
      HEAD "outcomes: { failure: { status: [401, 401] } }\nlimits: { a: { by: address, allow: 1 failures per 1s } }\n",
      "p.yaml:2:38: warning: status 401 stands here twice; once is enough\n" },
    { "a cap of bodies that are not read", HEAD "client: { account_from: basic, body_cap: 1k }\n" LIMIT,
      "p.yaml:2:42: warning: no body is read, as no account is taken from one; name form.FIELD or json.PATH in "
      "account_from, or leave it out\n" },
    { "a cap of bodies that are", HEAD "client: { account_from: json.a, body_cap: 1k }\n" LIMIT, NULL },
    { "success of an account",
      HEAD "client: { account_from: basic }\n"
           "limits: { a: { by: [account, address], allow: 1 failures per 1s, reset_on: success } }\n",
      NULL },
    { "success of a stranger", HEAD "limits: { a: { by: address, allow: 1 failures per 1s, reset_on: success } }\n",
      "p.yaml:2:65: warning: whoever has one right password clears the failures of all accounts tried from his "
      "address; add "
      "account to `by`, or leave `reset_on` out\n" },
};

static void run(const struct warning_case *cases, size_t count)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct opened opened = open_text(cases[i].yaml);
        const char *expected = cases[i].warnings != NULL ? cases[i].warnings : "";
        if (strcmp(opened.warnings != NULL ? opened.warnings : "", expected) != 0) {
            failed++;
            print_error("%s: expected\n%sgot\n%s\n", cases[i].name, expected,
                        opened.warnings != NULL ? opened.warnings : "");
        }
        close_opened(&opened);
    }
    assert_int_equal(failed, 0);
}

#define RUN(cases) run(cases, sizeof(cases) / sizeof(cases[0]))

static void numbers_that_mislead_are_warned_about(void **state)
{
    (void)state;
    RUN(limit_cases);
}

static void a_limit_behind_a_stricter_one_is_warned_about(void **state)
{
    (void)state;
    RUN(shadow_cases);
}

static void a_class_without_requests_is_warned_about(void **state)
{
    (void)state;
    RUN(class_cases);
}

static void settings_that_miss_each_other_are_warned_about(void **state)
{
    (void)state;
    RUN(section_cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_mislead_are_warned_about),
        cmocka_unit_test(a_limit_behind_a_stricter_one_is_warned_about),
        cmocka_unit_test(a_class_without_requests_is_warned_about),
        cmocka_unit_test(settings_that_miss_each_other_are_warned_about),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
