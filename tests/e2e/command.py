"""The command `drossel` as tests use it: run it, replay events, read decisions."""
import json
import subprocess


def drossel(build, *arguments, code=0, text="", env=None, timeout=60):
    """Runs the command and insists on its exit code; returns what it said."""
    done = subprocess.run([str(build / "drossel"), *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=timeout, env=env)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done


def write_policy(folder, text, name="policy.yaml"):
    path = folder / name
    path.write_text(text if text.startswith("version") else "version: 1\n" + text)
    return path


def replay(build, folder, policy, events, code=0, options=()):
    """Decisions to events (objects), in the order of their time."""
    path = write_policy(folder, policy)
    lines = "".join(json.dumps(event) + "\n" for event in events)
    done = drossel(build, "replay", "--format", "events", "--decisions", "-", "--policy", path, *options, "-", code=code,
                   text=lines)
    return [json.loads(line) for line in done.stdout.splitlines()]


def summary(build, folder, policy, events, code=0):
    path = write_policy(folder, policy)
    lines = "".join(json.dumps(event) + "\n" for event in events)
    return json.loads(drossel(build, "replay", "--json", "--policy", path, "-", code=code, text=lines).stdout)


def spread(count, first, last, **facts):
    """`A x count @first..last`: evenly, both ends included; one client unless an address is given."""
    step = (last - first) / (count - 1) if count > 1 else 0
    facts.setdefault("address", "203.0.113.7")
    return [{"t": round(first + i * step, 9), **facts} for i in range(count)]


def verdicts(decisions):
    return [decision["verdict"] for decision in decisions]
