/* Every mistake is told with its place, what was found and what would be right; all of a file at once. */
#include "opened.h"

#define LIMIT "limits: { a: { by: address, allow: 1 per 1s } }\n"
#define HEAD "version: 1\n"
#define ONE(keys) HEAD "limits: { a: { by: address, allow: 5 per 10s, " keys " } }\n"
#define CLASS(conditions)                                                                                              \
    HEAD "classes: { c: { " conditions " } }\nlimits: { a: { for: c, by: address, allow: 1 per 1s } }\n"

#define PLACE                                                                                                          \
    " to send a client to; write a path, as /verify, or an address with https:// or http://, of up to 2048 "           \
    "characters "                                                                                                      \
    "without spaces\n"

struct mistake_case {
    const char *name, *yaml, *mistakes;
};

static const struct mistake_case file_cases[] = {
    { "empty file", "", "p.yaml:1:1: an empty file; begin with `version: 1`\n" },
    { "only a comment", "# nothing\n", "p.yaml:1:1: an empty file; begin with `version: 1`\n" },
    { "text", "hello\n", "p.yaml:1:1: text; begin with `version: 1`\n" },
    { "list", "- a\n", "p.yaml:1:1: a list; begin with `version: 1`\n" },
    { "no version", LIMIT, "p.yaml:1:1: no `version`; begin with `version: 1`\n" },
    { "version 2", "version: 2\n" LIMIT, "p.yaml:1:10: version \"2\"; this drossel reads version 1\n" },
    { "version as a map", "version: {}\n" LIMIT, "p.yaml:1:10: version a map; this drossel reads version 1\n" },
    { "unclosed bracket", HEAD "limits: { a: [\n",
      "p.yaml:3:1: YAML: did not find expected node content, while parsing a flow node that begins at line 3; look for "
      "a "
      "missing colon, quote, bracket or indentation\n" },
    { "tab as indentation", HEAD "limits:\n\ta: 1\n",
      "p.yaml:3:1: YAML: a tab at the begin of the line; indent with spaces\n" },
    { "tab behind spaces", HEAD "limits:\n  a:\n  \tby: address\n",
      "p.yaml:4:3: YAML: a tab at the begin of the line; indent with spaces\n" },
    { "tab below text", HEAD "limits:\n  a:\n    by: address\n\tallow: 5 per 10s\n",
      "p.yaml:5:1: YAML: a tab at the begin of the line; indent with spaces\n" },
    { "no UTF-8", HEAD "# \xff\n",
      "p.yaml:2:3: invalid leading UTF-8 octet; write the file in UTF-8, without control characters\n" },
    { "control character", HEAD "#\x01\n",
      "p.yaml:2:2: control characters are not allowed; write the file in UTF-8, without control characters\n" },
    { "two documents", HEAD LIMIT "---\nversion: 1\n",
      "p.yaml:3:1: a second YAML document; write one policy in one file\n" },
    { "alias", HEAD "limits: { a: &x { by: address, allow: 1 per 1s }, b: *x }\n",
      "p.yaml:2:54: a YAML alias; write the value here again\n" },
    { "tag", "version: !!int 1\n" LIMIT, "p.yaml:1:10: a YAML tag; leave it out, types are known here\n" },
    { "a key that is a list", HEAD "[a]: 1\n" LIMIT, "p.yaml:2:1: a key that is a list; write a name\n" },
    { "limit defined twice",
      HEAD "limits:\n  a: { by: address, allow: 1 per 1s }\n  a: { by: site, allow: 1 per 1s }\n",
      "p.yaml:4:3: \"a\" stands here twice, first at line 3; leave one out\n" },
    { "key defined three times", HEAD "on_outage: open\non_outage: open\non_outage: local\n" LIMIT,
      "p.yaml:3:1: \"on_outage\" stands here twice, first at line 2; leave one out\n"
      "p.yaml:4:1: \"on_outage\" stands here twice, first at line 2; leave one out\n" },
    { "misspelt key", HEAD "limit: {}\n", "p.yaml:2:1: unknown key \"limit\"; did you mean \"limits\"?\n" },
    { "unknown key", HEAD "table: { colour: red }\n",
      "p.yaml:2:10: unknown key \"colour\"; known here are path, keys, names, reveal\n" },
    { "section of the wrong type", HEAD "table: [1]\nlimits: many\n",
      "p.yaml:2:8: a list; write a map of keys\n"
      "p.yaml:3:9: text; write a map of names, as { page: { by: address, allow: 50 per 10s } }\n" },
    { "many at once, in the file's order", HEAD "limits: { a: { by: adress, allow: 5 per 10 } }\ntabel: {}\n",
      "p.yaml:2:20: unknown key part \"adress\"; did you mean \"address\"?\n"
      "p.yaml:2:35: rate \"5 per 10\": time \"10\": no unit; write ms, s, m, h or d behind the number, as 10s\n"
      "p.yaml:3:1: unknown key \"tabel\"; did you mean \"table\"?\n" },
};

static const struct mistake_case section_cases[] = {
    { "relative table path", HEAD "table: { path: dev }\n",
      "p.yaml:2:16: \"dev\" does not begin with /; write an absolute path, as /dev/shm/drossel\n" },
    { "no keys", HEAD "table: { keys: 0 }\n",
      "p.yaml:2:16: \"0\"; write a number from 1 to 4G, as 100k, 1M or 4M (k, M and G are powers of 1000)\n" },
    { "too many keys", HEAD "table: { keys: 5G }\n",
      "p.yaml:2:16: \"5G\"; write a number from 1 to 4G, as 100k, 1M or 4M (k, M and G are powers of 1000)\n" },
    { "no flag", HEAD "table: { names: yes }\n", "p.yaml:2:17: \"yes\"; write true or false\n" },
    { "trusting everybody", HEAD "client: { trusted: 0.0.0.0/0, address_from: X-Real-IP }\n",
      "p.yaml:2:20: `trusted` covers every address there is, so that every visitor may choose who he is; name the "
      "proxies "
      "only\n" },
    { "trusting everybody by halves", HEAD "client: { trusted: [0.0.0.0/1, 128.0.0.0/1], address_from: X-Real-IP }\n",
      "p.yaml:2:20: `trusted` covers every address there is, so that every visitor may choose who he is; name the "
      "proxies "
      "only\n" },
    { "trusting all of IPv6", HEAD "client: { trusted: [\"::/0\"], address_from: Forwarded }\n",
      "p.yaml:2:20: `trusted` covers every address there is, so that every visitor may choose who he is; name the "
      "proxies "
      "only\n" },
    { "host bits", HEAD "client: { trusted: 10.1.2.3/8, address_from: Forwarded }\n",
      "p.yaml:2:20: \"10.1.2.3/8\" has bits set behind its prefix; write 10.0.0.0/8 for the network, or 10.1.2.3 for "
      "the one "
      "address\n" },
    { "malformed address", HEAD "exempt: { addresses: [300.1.2.3, \"2001:db8::/129\"] }\n",
      "p.yaml:2:23: \"300.1.2.3\": not an address; write 203.0.113.7, 10.0.0.0/8, 2001:db8::/32 or unix\n"
      "p.yaml:2:34: \"2001:db8::/129\": not a prefix length; write /0 to /128 after an IPv6 address\n" },
    { "neither address nor file", HEAD "exempt: { addresses: lists/none.txt, paths: none.txt }\n",
      "p.yaml:2:22: \"lists/none.txt\" is no address, and as a list file it cannot be read (No such file or "
      "directory); write "
      "an address, a network, or the name of a file that is there, relative to the policy\n"
      "p.yaml:2:45: \"none.txt\" does not begin with /, and as a list file it cannot be read (No such file or "
      "directory); "
      "write a path's begin, as /webhooks/, or the name of a file that is there, relative to the policy\n" },
    { "unix as a client", HEAD "exempt: { addresses: unix }\n",
      "p.yaml:2:22: \"unix\" is no client's address; it belongs into `trusted` only\n" },
    { "header that is none", HEAD "client: { trusted: unix, address_from: \"X Real\" }\n",
      "p.yaml:2:40: \"X Real\" is no header's name; write one, as X-Forwarded-For, or proxy_protocol\n" },
    { "requiring nobody", HEAD "client: { require_trusted: true }\n",
      "p.yaml:2:28: `require_trusted` without `trusted` refuses every request; list your proxies in `trusted`\n" },
    { "short IPv6 prefix", HEAD "client: { ipv6_prefix: 31 }\n",
      "p.yaml:2:24: \"31\"; write a whole number from 32 to 128\n" },
    { "sources", HEAD "client: { account_from: [form., bearer, baisc], token_from: [header.a b, basic] }\n",
      "p.yaml:2:26: \"form.\" is no source of an account; write header.NAME, cookie.NAME, basic, form.FIELD or "
      "json.PATH\n"
      "p.yaml:2:33: \"bearer\" is no source of an account; write header.NAME, cookie.NAME, basic, form.FIELD or "
      "json.PATH\n"
      "p.yaml:2:41: unknown source \"baisc\"; did you mean \"basic\"?\n"
      "p.yaml:2:62: \"header.a b\" is no source of a token; write header.NAME, cookie.NAME or bearer\n"
      "p.yaml:2:74: \"basic\" is no source of a token; write header.NAME, cookie.NAME or bearer\n" },
    { "sources of bodies", HEAD "client: { account_from: [form.email, json.user.email, json.a..b, form] }\n",
      "p.yaml:2:55: \"json.a..b\" is no source of an account; write header.NAME, cookie.NAME, basic, form.FIELD or "
      "json.PATH\n"
      "p.yaml:2:66: unknown source \"form\"; did you mean \"form.NAME\"?\n" },
    { "bytes of a body", HEAD "client: { account_from: form.a, body_cap: 0k }\n",
      "p.yaml:2:43: \"0k\"; write a number of bytes from 1 to 16M, as 64k (k and M are powers of 1000)\n" },
    { "too many bytes of a body", HEAD "client: { account_from: form.a, body_cap: 17M }\n",
      "p.yaml:2:43: \"17M\"; write a number of bytes from 1 to 16M, as 64k (k and M are powers of 1000)\n" },
    { "method that is none", HEAD "exempt: { methods: [\"GET /\"] }\n",
      "p.yaml:2:21: \"GET /\" is no method; write one, as OPTIONS\n" },
    { "outcomes", HEAD "outcomes: { failure: { status: [401, 42], header.X Y: no }, sucess: { } }\n",
      "p.yaml:2:38: \"42\"; write a whole number from 100 to 599\n"
      "p.yaml:2:43: \"X Y\" is no header's name; write one, as X-Drossel-Outcome\n"
      "p.yaml:2:43: a header besides `status`; an outcome is told by one of them, leave one out\n"
      "p.yaml:2:61: unknown key \"sucess\"; did you mean \"success\"?\n"
      "p.yaml:2:69: an empty map; write { status: [401, 403] } or { header.NAME: VALUE }\n" },
    { "an answer that is both",
      HEAD "outcomes:\n  success: { status: [200, 401] }\n  failure: { status: [401, 403] }\n",
      "p.yaml:3:28: status 401 is a failure, too, by line 4; an answer is one of the two, leave it out here or "
      "there\n" },
    { "a header that is both",
      HEAD "outcomes:\n  failure: { header.X-Outcome: Bad }\n  success: { header.x-outcome: bad }\n",
      "p.yaml:4:14: this header and value are a failure, too, by line 3; write another value for a success\n" },
    { "outcomes of nothing", HEAD "outcomes: { failure: , success: {} }\n",
      "p.yaml:2:22: nothing; write { status: [401, 403] } or { header.NAME: VALUE }\n"
      "p.yaml:2:33: an empty map; write { status: [401, 403] } or { header.NAME: VALUE }\n" },
    { "outcomes of too much",
      HEAD "outcomes: { failure: { header.A: [x, y], header.B: z }, success: { status: 2xx, stauts: 200 } }\n",
      "p.yaml:2:34: a list; write the header's value, as failure\n"
      "p.yaml:2:42: a second header; one header tells an outcome, leave the other out\n"
      "p.yaml:2:76: \"2xx\"; write a whole number from 100 to 599\n"
      "p.yaml:2:81: unknown key \"stauts\"; did you mean \"status\"?\n" },
    { "secret file", HEAD "secret_file: /none/secret\n",
      "p.yaml:2:14: secret file \"/none/secret\" cannot be read (No such file or directory); name a file that is there "
      "and readable, relative to the policy; `head -c 32 /dev/urandom` makes a secret\n" },
    { "a folder of secrets", HEAD "secret_file: /tmp\n",
      "p.yaml:2:14: secret file \"/tmp\" cannot be read (Is a directory); name a file that is there and readable, "
      "relative to the policy; `head -c 32 /dev/urandom` makes a secret\n" },
    { "a secret without end", HEAD "secret_file: /dev/zero\n",
      "p.yaml:2:14: secret file \"/dev/zero\" has too many bytes; write 16 to 4096 bytes, as `head -c 32 /dev/urandom` "
      "does\n" },
    { "a secret that is a list", HEAD "secret_file: [a]\n", "p.yaml:2:14: a list; write the path of a file\n" },
    { "stores", HEAD "store: redis://\n",
      "p.yaml:2:8: store \"redis://\" is not complete; write redis://HOST:PORT/NUMBER\n"
      "p.yaml:2:8: store \"redis://\": not carried out by this version yet; use `store: table`, this machine's shared "
      "table, or "
      "leave `store` out\n" },
    { "unknown store", HEAD "store: reddis://a\n",
      "p.yaml:2:8: unknown store \"reddis://a\"; did you mean \"redis\"?\n" },
    { "two units", HEAD "deadline: 1h30m\n",
      "p.yaml:2:11: time \"1h30m\": more than one number; write all of it in the smallest unit, as 90m for 1h30m\n" },
    { "outage", HEAD "on_outage: close\n", "p.yaml:2:12: unknown value \"close\"; did you mean \"closed\"?\n" },
    { "deadline", HEAD "deadline: 0s\n", "p.yaml:2:11: time \"0s\": too short; write at least 1ms\n" },
    { "answer", HEAD "answer: { status: 399, body: xml, headers: [retry], reveal: all, jitter: 101%, date: 1 }\n",
      "p.yaml:2:19: \"399\"; write a whole number from 400 to 599\n"
      "p.yaml:2:30: unknown value \"xml\"; write one of auto, problem, json, html, text, none\n"
      "p.yaml:2:45: unknown value \"retry\"; write one of retry-after, ratelimit, ratelimit-draft12, ratelimit-draft7, "
      "ratelimit-draft6, x-ratelimit, none\n"
      "p.yaml:2:61: unknown value \"all\"; write one of signed-in, everyone, nobody\n"
      "p.yaml:2:74: \"101%\"; write a share from 0% to 100%, as 10%\n"
      "p.yaml:2:86: \"1\"; write true or false\n" },
    { "JSON body", HEAD "answer: { json: \"{\\x01}\" }\n",
      "p.yaml:2:17: control characters in the body; write them as JSON does, as \\u0000\n" },
    { "placeholder", HEAD "answer: { json: '{\"wait\":${retryafter}}' }\n",
      "p.yaml:2:17: unknown placeholder \"${retryafter}\"; write ${retry_after} or ${limit}\n" },
};

static const struct mistake_case class_cases[] = {
    { "no condition", HEAD "classes: { c: {} }\n",
      "p.yaml:2:12: class \"c\" has no condition; write one, as { path: /login }\n" },
    { "misspelt condition", CLASS("pathbegins: /a"),
      "p.yaml:2:17: unknown key \"pathbegins\"; did you mean \"path_begins\"?\n" },
    { "misspelt header",
      HEAD "classes: { c: { Header.X-Key: present, headr.Y: absent, header.: present, header: x } }\n",
      "p.yaml:2:17: unknown key \"Header.X-Key\"; did you mean \"header.X-Key\"?\n"
      "p.yaml:2:40: unknown key \"headr.Y\"; did you mean \"header.Y\"?\n"
      "p.yaml:2:57: unknown key \"header.\"; did you mean \"header.NAME\"?\n"
      "p.yaml:2:75: unknown key \"header\"; did you mean \"header.NAME\"?\n" },
    { "name", HEAD "classes: { \"a b\": { path: /a }, not: { path: /b } }\n",
      "p.yaml:2:12: \"a b\" is no name for a class; write 1 to 64 of A-Z a-z 0-9 . _ - (and not \"not\")\n"
      "p.yaml:2:33: \"not\" is no name for a class; write 1 to 64 of A-Z a-z 0-9 . _ - (and not \"not\")\n" },
    { "empty list", CLASS("path: []"), "p.yaml:2:23: an empty list; name at least one, or leave the key out\n" },
    { "pattern", CLASS("path_matches: \"^/(a\""),
      "p.yaml:2:31: pattern \"^/(a\": missing closing parenthesis at offset 4; write a regular expression of PCRE2\n" },
    { "method", CLASS("method: [GET, \"P OST\"]"), "p.yaml:2:31: \"P OST\" is no method; write one, as POST\n" },
    { "header", CLASS("header.X/Y: present"),
      "p.yaml:2:17: \"X/Y\" is no header's name; write one, as header.X-Api-Key\n" },
    { "control character", CLASS("path: \"/a\\0\""),
      "p.yaml:2:23: \"/a\\x00\" has control characters in it; write a path, as /login without them\n" },
    { "defined twice", HEAD "classes:\n  c: { path: /a }\n  c: { path: /b }\n",
      "p.yaml:4:3: \"c\" stands here twice, first at line 3; leave one out\n" },
};

static const struct mistake_case limit_cases[] = {
    { "nothing", HEAD "limits: { a: }\n",
      "p.yaml:2:11: limit \"a\" says nothing; write at least { by: address, allow: 50 per 10s }\n" },
    { "no by, no allow", HEAD "limits: { a: { dry_run: true } }\n",
      "p.yaml:2:11: limit \"a\" has no `by`; write whom it counts, as by: address\n"
      "p.yaml:2:11: limit \"a\" has no `allow`; write how many, as allow: 50 per 10s\n" },
    { "name", HEAD "limits: { \"a/b\": { by: address, allow: 1 per 1s } }\n",
      "p.yaml:2:11: \"a/b\" is no name for a limit; write 1 to 64 of A-Z a-z 0-9 . _ -\n" },
    { "long name",
      HEAD "limits: { aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: { by: address, allow: 1 per "
           "1s } }\n",
      "p.yaml:2:11: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" is no name for a limit; "
      "write 1 to 64 "
      "of A-Z a-z 0-9 . _ -\n" },
    { "unknown class",
      HEAD
      "classes: { login: { path: /a } }\nlimits: { a: { for: [logn, not lgoin, x], by: address, allow: 1 per 1s } }\n",
      "p.yaml:3:22: unknown class \"logn\"; did you mean \"login\"?\n"
      "p.yaml:3:28: unknown class \"lgoin\"; did you mean \"login\"?\n"
      "p.yaml:3:39: unknown class \"x\"; define it under `classes`\n" },
    { "key parts",
      HEAD "limits: { a: { by: [address, address], allow: 1 per 1s }, b: { by: [site, token], allow: 1 per 1s } }\n",
      "p.yaml:2:30: \"address\" stands here twice; leave one out\n"
      "p.yaml:2:68: \"site\" is one key for everybody; leave it out beside other parts\n" },
    { "rates",
      HEAD
      "limits: { a: { by: address, allow: [x per 1s, 5 request per 1s, 5 per 1 s, 5 per s, 5/10s, -1 per 1s, 1 per 0s, "
      "1 per 1.5s, 1 per 400d, 100000001 per 1s, 1 per 10sec, 101M per 1s, 18446744073709551615G per 1s, k per 1s, "
      "1.5k per 1s, 1K per 1s, 1kk per 1s] } }\n",
      "p.yaml:2:37: rate \"x per 1s\": \"x\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:47: rate \"5 request per 1s\": unknown word \"request\"; did you mean \"requests\"?\n"
      "p.yaml:2:65: rate \"5 per 1 s\": no rate; write N [requests|failures|cost] per T, as 50 per 10s\n"
      "p.yaml:2:76: rate \"5 per s\": time \"s\": no number before the unit; write a number with ms, s, m, h or d, as "
      "10s\n"
      "p.yaml:2:85: rate \"5/10s\": \"5/10s\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:92: rate \"-1 per 1s\": \"-1\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:103: rate \"1 per 0s\": time \"0s\": no time at all; write at least 1ms\n"
      "p.yaml:2:113: rate \"1 per 1.5s\": time \"1.5s\": a fraction; write a whole number of a smaller unit, as "
      "1500ms\n"
      "p.yaml:2:125: rate \"1 per 400d\": time \"400d\": too long; write at most 366d\n"
      "p.yaml:2:137: rate \"100000001 per 1s\": too large a number; write at most 100000000\n"
      "p.yaml:2:155: rate \"1 per 10sec\": time \"10sec\": unknown unit; write ms, s, m, h or d, as 10s\n"
      "p.yaml:2:168: rate \"101M per 1s\": too large a number; write at most 100000000\n"
      "p.yaml:2:181: rate \"18446744073709551615G per 1s\": too large a number; write at most 100000000\n"
      "p.yaml:2:211: rate \"k per 1s\": \"k\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:221: rate \"1.5k per 1s\": \"1.5k\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:234: rate \"1K per 1s\": \"1K\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:245: rate \"1kk per 1s\": \"1kk\" is no whole number; write N per T, as 50 per 10s\n" },
    { "a rate twice", HEAD "limits: { a: { by: address, allow: [5 per 60s, 5 per 1m] } }\n",
      "p.yaml:2:48: the rate \"5 per 1m\" stands here twice; leave one out\n" },
    { "too deep a bucket", HEAD "limits: { a: { by: address, allow: 1 per 366d, algorithm: bucket, burst: 1000 } }\n",
      "p.yaml:2:36: rate \"1 per 366d\": a bucket so deep takes more than ten years to drain at this rate; lower the "
      "burst or "
      "raise the rate\n" },
    { "algorithm", ONE("algorithm: slidding"), "p.yaml:2:58: unknown value \"slidding\"; did you mean \"sliding\"?\n" },
    { "companions of an algorithm that is none", ONE("algorithm: leeky, burst: 1, from: first, delay: 1"),
      "p.yaml:2:58: unknown value \"leeky\"; did you mean \"leaky\"?\n" },
    { "a limit with several mistakes",
      HEAD "limits:\n  a: { by: [tokn], allow: 1 per 366d, algorithm: bucket, burst: 1000 }\n"
           "  b: { by: address, allow: 10 addresses per 1h, block: 1, overrides: { 10.0.0.1/8: 5 addresses per 1h } }\n"
           "  c: { by: adress, allow: [1 per 1s, 2 per 1s, 3 per 1s, 4 per 1s, 5 per 1s, 6 per 1s, 7 per 1s, 8 per 1s, "
           "9 per 1s, 10 per 1s] }\n"
           "  d: { by: address, allow: 99999999999999999999 per 1s, burst: 1, block: 1h, ban: 2h, dry_run: [true] }\n",
      "p.yaml:3:13: unknown key part \"tokn\"; did you mean \"token\"?\n"
      "p.yaml:3:27: rate \"1 per 366d\": a bucket so deep takes more than ten years to drain at this rate; lower the "
      "burst or raise the rate\n"
      "p.yaml:4:28: different addresses of a key that is one address; write by: account\n"
      "p.yaml:4:56: time \"1\": no unit; write ms, s, m, h or d behind the number, as 10s\n"
      "p.yaml:4:72: \"10.0.0.1/8\" has bits set behind its prefix; write 10.0.0.0/8 for the network, or 10.0.0.1 for "
      "the one address\n"
      "p.yaml:5:12: unknown key part \"adress\"; did you mean \"address\"?\n"
      "p.yaml:5:108: more than 8 rates; write a second limit for the others\n"
      "p.yaml:6:28: rate \"99999999999999999999 per 1s\": too large a number; write at most 100000000\n"
      "p.yaml:6:64: `burst` without a bucket; write algorithm: bucket or leaky, or leave it out\n"
      "p.yaml:6:78: `ban` besides a different `block`; a ban blocks this limit's key as well, leave `block` out\n"
      "p.yaml:6:96: a list; write true or false\n" },
    { "companions", ONE("burst: 1, from: first, delay: 1, extend: true"),
      "p.yaml:2:54: `burst` without a bucket; write algorithm: bucket or leaky, or leave it out\n"
      "p.yaml:2:63: `from` without a fixed window; write algorithm: fixed, or leave it out\n"
      "p.yaml:2:77: `delay` without a leaky bucket; write algorithm: leaky, or action: delay, or leave it out\n"
      "p.yaml:2:88: `extend` without `block` or `ban`; write how long the block is, or leave it out\n" },
    { "blocks", ONE("block: { factor: 0.5, max: 1s, forgive: never }"),
      "p.yaml:2:54: no `for`; write how long, as { for: 15m }\n"
      "p.yaml:2:64: \"0.5\"; write a number from 1 to 1000 with at most three decimals, as 2 or 1.5\n"
      "p.yaml:2:87: time \"never\": no number before the unit; write a number with ms, s, m, h or d, as 10s\n" },
    { "growth", ONE("block: { for: 1h, factor: 2, max: 10m }"),
      "p.yaml:2:81: `max` is shorter than `for`; write the longest block\n" },
    { "max without growth", ONE("block: { for: 1h, max: 2h }"),
      "p.yaml:2:70: `max` without `factor`; write by how much each block is longer, as factor: 2\n" },
    { "block and ban", ONE("block: 1h, ban: 2h"),
      "p.yaml:2:58: `ban` besides a different `block`; a ban blocks this limit's key as well, leave `block` out\n" },
    { "enum values", ONE("action: reject, only: [ngnix], dry_run: on"),
      "p.yaml:2:55: unknown value \"reject\"; write one of refuse, drop, delay, challenge, mark\n"
      "p.yaml:2:70: unknown value \"ngnix\"; did you mean \"nginx\"?\n"
      "p.yaml:2:87: \"on\"; write true or false\n" },
    { "cost", ONE("cost: { x: 1 }"), "p.yaml:2:55: unknown class \"x\"; define it under `classes`\n" },
    { "negative cost", ONE("cost: -1"), "p.yaml:2:53: \"-1\"; write a whole number from 0 to 100000000\n" },
    { "not yet", ONE("consistency: synced"),
      "p.yaml:2:60: \"synced\": not carried out by this version yet; use `consistency: exact`, or leave it out\n" },
    { "distinct counting",
      HEAD
      "limits:\n  a: { by: address, allow: 10 accounts per 1h }\n"
      "  b: { by: account, allow: [20 addresses per 1h, 5 failures per 1h], overrides: { x: 9 addresses per 1h } }\n"
      "  c: { by: address, allow: 10 acounts per 1h }\n",
      "p.yaml:4:50: rate \"5 failures per 1h\" counts failures, and the limit's first one addresses; write `5 "
      "addresses "
      "per 1h`, or a second limit\n"
      "p.yaml:5:28: rate \"10 acounts per 1h\": unknown word \"acounts\"; did you mean \"accounts\"?\n" },
    { "different ones of one",
      HEAD "limits:\n  a: { by: account, allow: 10 accounts per 1h }\n"
           "  b: { by: [token, address], allow: 3 addresses per 1h }\n"
           "  c: { by: address, allow: 21 accounts per 1h }\n"
           "  d: { by: address, allow: 9 accounts per 1h, algorithm: fixed, cost: 2 }\n",
      "p.yaml:3:28: different accounts of a key that is one account; write by: address\n"
      "p.yaml:4:37: different addresses of a key that is one address; write by: account\n"
      "p.yaml:5:28: rate \"21 accounts per 1h\": a key can tell no more than 20 different ones apart; write 20 or "
      "fewer, "
      "or count failures\n"
      "p.yaml:6:58: `algorithm` on a limit that counts different ones, which has its own; leave it out\n"
      "p.yaml:6:71: `cost` on a limit that counts different ones; leave it out\n" },
    { "what only failures have", ONE("hold: 0, reset_on: success, challenge_to: /captcha"),
      "p.yaml:2:53: `hold` on a limit that counts no failures; write allow: N failures per T, or leave it out\n"
      "p.yaml:2:66: `reset_on` on a limit that counts no failures; write allow: N failures per T, or leave it out\n"
      "p.yaml:2:89: `challenge_to` without `action: challenge`; write that, too, or leave it out\n" },
    { "companions of a rate that is none",
      HEAD "limits: { a: { by: address, allow: 5, hold: 1s, reset_on: success } }\n",
      "p.yaml:2:36: rate \"5\": no rate; write N [requests|failures|cost] per T, as 50 per 10s\n" },
    { "companions of an action that is none", ONE("action: chalenge, challenge_to: /captcha"),
      "p.yaml:2:55: unknown value \"chalenge\"; did you mean \"challenge\"?\n" },
    { "failures, and wrong inside",
      HEAD "limits: { a: { by: address, allow: 5 failures per 15m, hold: 2, reset_on: sucess, action: delay } }\n",
      "p.yaml:2:62: time \"2\": no unit; write ms, s, m, h or d behind the number, as 10s\n"
      "p.yaml:2:75: unknown value \"sucess\"; did you mean \"success\"?\n"
      "p.yaml:2:91: `action: delay` on a limit that counts failures, which cannot be put off; write refuse or "
      "challenge\n" },
    { "failures and requests", HEAD "limits: { a: { by: address, allow: [5 failures per 15m, 20 requests per 1h] } }\n",
      "p.yaml:2:57: rate \"20 requests per 1h\" counts requests, and the limit's first one failures; write `20 "
      "failures "
      "per 1h`, or a second limit\n" },
    { "requests and failures in overrides",
      HEAD "limits: { a: { by: address, allow: 5 per 15m, overrides: { 10.0.0.1: 9 failures per 1h } },\n"
           "  b: { by: address, allow: 5 failures per 15m, overrides: { 10.0.0.1: [9 cost per 1h, 8 per 1m] } } }\n",
      "p.yaml:2:70: rate \"9 failures per 1h\" counts failures, and the limit's first one requests; write `9 per 1h`, "
      "or "
      "a second limit\n"
      "p.yaml:3:72: rate \"9 cost per 1h\" counts requests, and the limit's first one failures; write `9 failures per "
      "1h`, or a second limit\n"
      "p.yaml:3:87: rate \"8 per 1m\" counts requests, and the limit's first one failures; write `8 failures per 1m`, "
      "or "
      "a second limit\n" },
    { "places to send a client to",
      HEAD "limits:\n  a: { by: address, allow: 5 per 15m, action: challenge, challenge_to: verify }\n"
           "  b: { by: address, allow: 5 per 15m, action: challenge, challenge_to: \"/a b\" }\n"
           "  c: { by: address, allow: 5 per 15m, action: challenge, challenge_to: \"https:///x\" }\n"
           "  d: { by: address, allow: 5 per 15m, action: challenge, challenge_to: \"/a\\r\\nSet-Cookie:x\" }\n"
           "  e: { by: address, allow: 5 per 15m, action: challenge, challenge_to: javascript:x }\n",
      "p.yaml:3:72: \"verify\" is no place" PLACE "p.yaml:4:72: \"/a b\" is no place" PLACE
      "p.yaml:5:72: \"https:///x\" is no place" PLACE
      "p.yaml:6:72: \"/a\\r\\nSet-Cookie:x\" has control characters in it; write where a challenged client is sent, as "
      "/verify without them\n"
      "p.yaml:7:72: \"javascript:x\" is no place" PLACE },
    { "overrides", ONE("overrides: { 10.0.0.1/8: unlimited, 10.0.0.2: much, 10.0.0.3: [unlimited, 1 per 1s] }"),
      "p.yaml:2:60: \"10.0.0.1/8\" has bits set behind its prefix; write 10.0.0.0/8 for the network, or 10.0.0.1 for "
      "the one "
      "address\n"
      "p.yaml:2:93: rate \"much\": \"much\" is no whole number; write N per T, as 50 per 10s\n"
      "p.yaml:2:109: unlimited and a rate together; write one of them\n" },
    { "an address overridden twice", ONE("overrides: { 10.0.0.1: unlimited, 10.0.0.1/32: 7 per 1s }"),
      "p.yaml:2:81: this network is overridden twice, also at line 2; leave one out\n" },
    { "rate names",
      HEAD "limits:\n  a: { by: address, allow: [5 per 1s, 9 per 1m] }\n  a-1s: { by: address, allow: 3 per 1s }\n",
      "p.yaml:4:3: a rate of this limit is called \"a-1s\", as one of the limit at line 3 is; rename one of the two "
      "limits\n" },
    { "answer of a limit", ONE("answer: { status: 200, jiter: 1% }"),
      "p.yaml:2:65: \"200\"; write a whole number from 400 to 599\n"
      "p.yaml:2:70: unknown key \"jiter\"; did you mean \"jitter\"?\n" },
};

static void run(const struct mistake_case *cases, size_t count)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct opened opened = open_text(cases[i].yaml);
        if (opened.mistakes == NULL || strcmp(opened.mistakes, cases[i].mistakes) != 0) {
            failed++;
            print_error("%s: expected\n%sgot\n%s\n", cases[i].name, cases[i].mistakes,
                        opened.mistakes != NULL ? opened.mistakes : "nothing\n");
        }
        close_opened(&opened);
    }
    assert_int_equal(failed, 0);
}

#define RUN(cases) run(cases, sizeof(cases) / sizeof(cases[0]))

static void mistakes_of_the_whole_file_are_told_with_their_places(void **state)
{
    (void)state;
    RUN(file_cases);
}

static void mistakes_of_the_sections_are_told_with_their_places(void **state)
{
    (void)state;
    RUN(section_cases);
}

static void mistakes_of_the_classes_are_told_with_their_places(void **state)
{
    (void)state;
    RUN(class_cases);
}

static void mistakes_of_the_limits_are_told_with_their_places(void **state)
{
    (void)state;
    RUN(limit_cases);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct opened opened = open_file("none.yaml");
    assert_string_equal(opened.mistakes,
                        "none.yaml:1:1: the policy cannot be read (No such file or directory); name a file "
                        "that is there and readable\n");
    close_opened(&opened);
    opened = open_file("/tmp");
    assert_string_equal(
        opened.mistakes,
        "/tmp:1:1: the policy cannot be read (it is a directory); name a file that is there and readable\n");
    close_opened(&opened);
}

static void too_deep_a_file_is_refused(void **state)
{
    (void)state;
    char text[400] = "version: 1\nlimits: ";
    memset(text + strlen(text), '[', 100);
    struct opened opened = open_text(text);
    assert_string_equal(opened.mistakes, "p.yaml:2:40: nested too deeply; a policy has at most 32 levels\n");
    close_opened(&opened);
}

static void a_thousand_mistakes_are_told_and_the_rest_is_counted(void **state)
{
    (void)state;
    FILE *out = fopen("p.yaml", "w");
    assert_non_null(out);
    fputs("version: 1\nlimits: {}\n", out);
    for (int i = 0; i < 1200; i++)
        fprintf(out, "qqqqqqqqq%d: 1\n", i);
    fclose(out);
    struct opened opened = open_file("p.yaml");
    size_t lines = 0;
    for (const char *at = opened.mistakes; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 1001);
    assert_non_null(strstr(opened.mistakes, "\np.yaml:1:1: 200 more of this kind are not listed; mend these first\n"));
    close_opened(&opened);
}

static void a_byte_order_mark_is_passed_over(void **state)
{
    (void)state;
    struct opened opened = open_text("\xEF\xBB\xBFversion: 2\n");
    assert_string_equal(opened.mistakes, "p.yaml:1:10: version \"2\"; this drossel reads version 1\n");
    close_opened(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_of_the_whole_file_are_told_with_their_places),
        cmocka_unit_test(mistakes_of_the_sections_are_told_with_their_places),
        cmocka_unit_test(mistakes_of_the_classes_are_told_with_their_places),
        cmocka_unit_test(mistakes_of_the_limits_are_told_with_their_places),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(too_deep_a_file_is_refused),
        cmocka_unit_test(a_thousand_mistakes_are_told_and_the_rest_is_counted),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
