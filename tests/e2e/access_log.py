"""Access logs that tests make up: a line in the combined format, and a replay of many."""
import datetime
import json

from command import drossel, write_policy

T0 = datetime.datetime(2026, 1, 5, 8, 0, 0, tzinfo=datetime.timezone.utc)
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
A = "203.0.113.7"


def stamp(second):
    return (T0 + datetime.timedelta(seconds=second)).strftime("%d/%b/%Y:%H:%M:%S +0000")


def line(second, client=A, request="GET / HTTP/1.1", status=200, user="-", agent=BROWSER, forwarded=None, referer="-"):
    text = f'{client} - {user} [{stamp(second)}] "{request}" {status} 512 "{referer}" "{agent}"'
    return text if forwarded is None else f'{text} "{forwarded}"'


def common(second, client=A, request="GET / HTTP/1.1", status=200, user="-"):
    return f'{client} - {user} [{stamp(second)}] "{request}" {status} 512'


def write_log(folder, lines, name="access.log"):
    path = folder / name
    path.write_text("".join(text + "\n" for text in lines))
    return path


def replay_log(build, folder, policy, lines, *options, code=0):
    """The report as JSON."""
    done = drossel(build, "replay", "--policy", write_policy(folder, policy), "--json", *options, write_log(folder, lines),
                   code=code)
    return json.loads(done.stdout)


def decisions_of(build, folder, policy, lines, *options):
    done = drossel(build, "replay", "--policy", write_policy(folder, policy), "--decisions", "-", *options,
                   write_log(folder, lines))
    return [json.loads(text) for text in done.stdout.splitlines()]
