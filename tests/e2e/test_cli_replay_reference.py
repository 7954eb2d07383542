"""`drossel replay` over real access logs, against an oracle that counts them independently.

They are no part of the project: DROSSEL_LOGS names the folder with the logs and `reference/`.
"""
import csv
import json
import os
import pathlib

import pytest

from command import drossel, write_policy

FOLDER = os.environ.get("DROSSEL_LOGS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="DROSSEL_LOGS does not name the folder of real logs")
LOGS = sorted(path.name[:-len(".perip.tsv")] for path in (pathlib.Path(FOLDER) / "reference").glob("*.perip.tsv")) if FOLDER else []
# The oracle's key is the client as it is written, each IPv6 address for itself.
POLICY = """
client: {{ ipv6_prefix: 128 }}
limits: {{ page: {{ by: address, allow: {count} per 10s }} }}
"""
COUNTS = (5, 10, 12, 20, 50)
EXACT = 12  # up to here a limit is exact


def peaks_of(name):
    with (pathlib.Path(FOLDER) / "reference" / f"{name}.perip.tsv").open() as table:
        return {row["key"]: (int(row["max10"]), int(row["total"])) for row in csv.DictReader(table, delimiter="\t")}


def told_of(build, folder, name, count):
    policy = write_policy(folder, POLICY.format(count=count))
    return json.loads(drossel(build, "replay", "--policy", policy, "--json", "--top", "all",
                              pathlib.Path(FOLDER) / f"{name}.log").stdout)


@pytest.mark.parametrize("name", LOGS)
def test_the_peak_of_every_client_is_that_of_the_oracle(build, tmp_path, name):
    told, expected = told_of(build, tmp_path, name, 50), peaks_of(name)
    found = {key["key"]: (key["peak"], key["requests"]) for key in told["limits"]["page"]["top"]}
    assert found == expected
    reference = json.loads((pathlib.Path(FOLDER) / "reference" / f"{name}.json").read_text())
    assert (told["requests"], told["clients"], told["unparsed"]) == (reference["events"], reference["keys"], reference["unparsed"])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", LOGS)
def test_the_limited_clients_are_those_of_the_oracle(build, tmp_path, name, count):
    told, peaks = told_of(build, tmp_path, name, count), peaks_of(name)
    limited = {key["key"] for key in told["limits"]["page"]["top"] if key["refused"] > 0}
    due = {key for key, (peak, _) in peaks.items() if peak > count}
    if count <= EXACT:
        assert limited == due
    assert due <= limited, "somebody beyond the limit was never refused"
    assert not [key for key in limited if peaks[key][0] <= count * 15 // 16], "somebody far below the limit was refused"
    assert told["limits"]["page"]["clients_refused"] == len(limited)
