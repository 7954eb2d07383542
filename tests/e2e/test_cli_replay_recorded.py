"""A recorded run of our own nginx, replayed: the same verdicts, line by line.

nginx writes a line at the end of a request, with the time of that end in milliseconds.  So the traffic comes in bursts, with pauses that
keep every decision some hundred milliseconds away from where a few of them would change it; what matters within a burst is only the
order, in which one client's requests follow each other over one connection.
"""
import http.client
import json
import time

from command import drossel

FORMAT = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $msec $drossel_verdict'
POLICY = """\
client: { token_from: [header.User-Agent] }
classes:
  login: { method: POST, path: /login }
  shop: { path_begins: /shop/ }
limits:
  page: { for: not login, by: address, allow: 5 per 2s }
  strict: { for: not login, by: address, allow: 3 per 2s, dry_run: true }
  login: { for: login, by: address, allow: 2 failures per 3s, block: 2s }
  shop: { for: shop, by: token, allow: 2 per 1s, algorithm: bucket, burst: 3, action: mark }
"""
SERVER = """
    access_log FOLDER/recorded.log recorded;
    location = /login { try_files /none =401; }
    location /shop/ { try_files /file.txt =404; }
"""
WORDS = {"allow": "PASSED", "refuse": "REFUSED", "mark": "MARKED"}


class Client:
    """One address, one connection, all requests one after the other."""

    def __init__(self, port, address):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(address, 0))

    def send(self, count, path, method="GET", agent="one"):
        for _ in range(count):
            self.connection.request(method, path, headers={"User-Agent": agent})
            self.connection.getresponse().read()


def drive(port):
    first, second = Client(port, "127.0.0.1"), Client(port, "127.0.0.2")
    for lap in range(2):
        first.send(7, "/file.txt?n=1")             # page: 5 pass; strict would pass 3
        second.send(4, "/login", "POST")           # login: 2 fail, 2 meet the block
        time.sleep(0.9)
        first.send(2, "/shop/../file.txt")         # page: still full
        second.send(4, "/shop/a", agent="two")     # shop: the burst, and one more
        time.sleep(0.7)
        second.send(2, "/login", "POST")           # login: still blocked
        second.send(1, "/shop/%62", agent="two")   # shop: one is back
        time.sleep(1.4)
        second.send(1, "/login", "POST")           # login: the block is over
        time.sleep(2.0 if lap == 0 else 0)


def live_verdicts(path):
    return [text.rsplit(" ", 1)[1] for text in path.read_text().splitlines()]


def word_of(decision):
    word = WORDS[decision["verdict"]]
    return "REFUSED_DRY_RUN" if word == "PASSED" and decision["dry_run"] else word


def test_a_recorded_run_of_nginx_gives_the_same_verdicts_when_it_is_replayed(nginx, build):
    server = nginx(POLICY, http=f"log_format recorded '{FORMAT}';", server=SERVER)
    log = server.folder / "recorded.log"
    drive(server.port)
    server.stop()                                  # now all lines are written
    out = server.folder / "decisions"
    drossel(build, "replay", "--policy", server.policy, "--format", FORMAT, "--decisions", out, log)
    live, told = live_verdicts(log), [json.loads(text) for text in out.read_text().splitlines()]
    assert {"PASSED", "REFUSED", "REFUSED_DRY_RUN", "MARKED"} <= set(live) and len(live) == 42
    assert [word_of(decision) for decision in told] == live
