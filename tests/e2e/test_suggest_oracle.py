"""drossel suggest against an independent oracle and a generator with known truth, which lie beside the real logs."""
import csv
import json
import os
import pathlib
import subprocess

import pytest

from command import drossel

LOGS = pathlib.Path(os.environ["DROSSEL_LOGS"]) if "DROSSEL_LOGS" in os.environ else None
ANSWERS = sorted((LOGS / "reference").glob("*.perip.tsv")) if LOGS else []
FIELDS = ("total", "pages", "static", "max10", "max10_page", "max10_static", "max60", "bot_lines", "no_ua")

pytestmark = pytest.mark.skipif(LOGS is None, reason="DROSSEL_LOGS names no folder of real logs")


def suggest(build, *arguments):
    return json.loads(drossel(build, "suggest", "--json", "--all", *arguments, timeout=120).stdout)


def compare(found, answer):
    mine = {client["key"]: tuple(client[field] for field in FIELDS) for client in found["clients"]}
    with answer.open(newline="", encoding="utf-8") as table:
        theirs = {row["key"]: tuple(int(row[field]) for field in FIELDS) for row in csv.DictReader(table, delimiter="\t")}
    assert len(theirs) > 0 and mine == theirs


def ranks(values):
    """Nearest rank, as the oracle has it, with p99.9 in tenths of a percent."""
    values = sorted(values)
    return {name: values[max(0, -(-len(values) * permille // 1000) - 1)] if values else 0
            for name, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999), ("max", 1000))}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.name.split(".")[0])
def test_every_client_of_every_real_log_has_the_figures_of_the_oracle(build, answer):
    found = suggest(build, LOGS / (answer.name.removesuffix(".perip.tsv") + ".log"))
    compare(found, answer)
    answers = json.loads((answer.parent / answer.name.replace(".perip.tsv", ".json")).read_text())
    for name, field, has in (("page", "max10_page", "pages"), ("static", "max10_static", "static"), ("all", "max10", "total")):
        for kind, spread in found["classes"][name]["windows"]["10s"].items():
            if kind == "gap":
                continue
            peaks = [client[field] for client in found["clients"] if kind in ("all", client["kind"]) and client[has] > 0]
            assert spread == {"clients": len(peaks), **ranks(peaks)}
        spread, oracle = found["classes"][name]["windows"]["10s"]["all"], answers[field]
        assert [spread[rank] for rank in ("p50", "p90", "p99", "max")] == [oracle[rank] for rank in ("p50", "p90", "p99", "p100")]


def generate(folder, lines, seed, *options):
    log, truth = folder / "log", folder / "truth"
    with log.open("w") as out:
        subprocess.run(["/usr/bin/python3", LOGS / "generate.py", "--lines", str(lines), "--seed", str(seed), "--truth", truth, *options],
                       stdout=out, check=True, timeout=120)
    return log, json.loads(truth.read_text())


def test_a_generated_log_in_disorder_has_the_figures_of_the_oracle(build, tmp_path):
    log, _ = generate(tmp_path, 60000, 7, "--jitter", "40")
    subprocess.run(["/usr/bin/python3", LOGS / "reference.py", "--tsv", tmp_path / "answer.tsv", "--json", tmp_path / "all", log], check=True,
                   timeout=120)
    compare(suggest(build, log), tmp_path / "answer.tsv")


@pytest.mark.parametrize("lines, seed, options", [(100000, 1, ()), (200000, 2, ()), (120000, 3, ("--jitter", "30")), (150000, 4, ("--keys", "9000")),
                                                  (60000, 5, ("--rate", "60")), (150000, 6, ("--zipf", "0.8"))])
def test_proposals_hit_the_machines_of_a_known_truth_and_no_person(build, tmp_path, lines, seed, options):
    log, truth = generate(tmp_path, lines, seed, *options)
    found = suggest(build, log)
    limit = {limit["name"]: {hit["key"] for hit in limit["exceeding"]} for limit in found["limits"]}
    machines = set(truth["bots"]) | set(truth["brute_fast"]) | set(truth["brute_slow"])
    for name, hits in limit.items():
        assert all(key in machines or key.startswith("198.18.") for key in hits), (name, hits - machines)
    assert limit["page"] >= set(truth["bots"]) | set(truth["brute_fast"])
    assert limit["login-from"] == set(truth["brute_fast"]) | set(truth["brute_slow"])
    kinds = {client["key"]: client["kind"] for client in found["clients"]}
    assert all(kinds[key] == "bot" for key in truth["bots"] + truth["brute_slow"])
    assert all(kinds[key] == "machine" for key in truth["brute_fast"])
    assert all(kinds[key] == "person" for key in truth["offices"])
    assert all(kind in ("person", "unclear") for key, kind in kinds.items() if key.startswith(("10.", "2001:")))
