"""Reads the text format of Prometheus, version 0.0.4, strictly: whatever is not as the format says is an AssertionError."""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, f"labels {text!r} at {at}"
        assert found[1] not in labels and not found[1].startswith("__"), text
        labels[found[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], found[2])
        at = found.end()
        assert bool(found[3]) == (at < len(text)), f"a comma too many in {text!r}"
    return labels


def family_of(name, families):
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and families.get(base, {}).get("type") == "histogram":
            return base
    return name


def check_histogram(name, samples):
    buckets = [(float(dict(labels)["le"].replace("+Inf", "inf")), value)
               for (sample, labels), value in samples.items() if sample == name + "_bucket"]
    assert buckets == sorted(buckets) and buckets[-1][0] == math.inf, name
    counts = [count for _, count in buckets]
    assert counts == sorted(counts), name
    assert samples[name + "_count", frozenset()] == counts[-1]
    assert samples[name + "_sum", frozenset()] >= 0


def read(text):
    """{(name, frozenset of labels): value} of all samples."""
    assert text.endswith("\n") and "\r" not in text
    families, samples, current = {}, {}, None
    for line in text.split("\n")[:-1]:
        comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
        if comment:
            kind, name, rest = comment.groups()
            if kind == "HELP":
                assert name not in families, f"{name} comes in two places"
                families[name] = {"help": rest, "type": None}
                current = name
            else:
                assert name == current and families[name]["type"] is None, line
                assert rest in ("counter", "gauge", "histogram", "summary", "untyped"), line
                families[name]["type"] = rest
            continue
        found = SAMPLE.fullmatch(line)
        assert found, f"no line of the format: {line!r}"
        name, labels, value = found[1], read_labels(found[2] or ""), float(found[3])
        assert family_of(name, families) == current and families[current]["type"], f"{line} stands outside of its family"
        if families[current]["type"] == "counter":
            assert name.endswith("_total") and value >= 0, line
        key = name, frozenset(labels.items())
        assert key not in samples, f"{line} comes twice"
        samples[key] = value
    for name, family in families.items():
        if family["type"] == "histogram":
            check_histogram(name, samples)
    return samples


def value_of(samples, name, **labels):
    return samples[name, frozenset(labels.items())]
