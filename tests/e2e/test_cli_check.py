"""`drossel check`: mistakes, warnings, sentences."""
import pytest

from command import drossel, write_policy

GOOD = "limits: { page: { by: address, allow: 50 per 10s } }"


def test_a_good_policy_is_told_in_sentences(build, tmp_path):
    done = drossel(build, "check", write_policy(tmp_path, GOOD))
    assert "page" in done.stdout and "50" in done.stdout and "10 s" in done.stdout.replace("10s", "10 s") and done.stderr == ""
    assert drossel(build, "check", "--quiet", write_policy(tmp_path, GOOD)).stdout == ""


def test_all_mistakes_come_at_once_with_their_places(build, tmp_path):
    path = write_policy(tmp_path, """version: 1
limits:
  page: { by: adress, allow: 50 per 10s }
  other: { by: address, alow: 5 per 1hr }
""")
    done = drossel(build, "check", path, code=1)
    assert f"{path}:3:" in done.stderr and f"{path}:4:" in done.stderr and "did you mean" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("path", ["no-such-file.yaml", "."])
def test_a_file_that_cannot_be_read_is_named(build, tmp_path, path):
    assert path in drossel(build, "check", tmp_path / path if path != "." else path, code=1).stderr
