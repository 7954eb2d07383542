"""Access logs as tests of `drossel suggest` want them: who asks for what, when, as lines of the combined format."""
import random
import time

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
BOT = "ExampleBot/1.0 (+https://bot.example/)"
START = 1767600000


def line(t, client, request="GET /a HTTP/1.1", status=200, agent=BROWSER, tail=""):
    stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(START + t))
    return START + t, f'{client} - - [{stamp}] "{request}" {status} 512 "-" "{agent}"{tail}\n'


def person(client, visits, seed, first=0, span=3600):
    """Pages with their static files, at odd moments."""
    dice = random.Random(f"{client} {seed}")
    for _ in range(visits):
        t = first + dice.randrange(span)
        yield line(t, client, f"GET /p/{dice.randrange(50)} HTTP/1.1")
        for i in range(3):
            yield line(t + i // 2, client, f"GET /a/{i}.css HTTP/1.1")


def people(count, seed=1, visits=8):
    for i in range(count):
        yield from person(f"10.0.{i // 200}.{i % 200 + 1}", visits, seed)


def machine(client, rate, seconds, agent=BROWSER, request="GET /p/{} HTTP/1.1", status=200, first=0):
    """`rate` a second, each second."""
    for t in range(seconds):
        for i in range(rate):
            yield line(first + t, client, request.format(t * rate + i), status, agent)


def write(path, *parts):
    lines = sorted((entry for part in parts for entry in part), key=lambda entry: entry[0])
    path.write_text("".join(text for _, text in lines), encoding="latin-1")
    return path
