"""The examples that people start from: each policy is right and warns of nothing, and the program in C does what it says."""
import os
import pathlib
import subprocess

import pytest

from command import drossel

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("policy", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_a_policy_to_start_from_is_right_and_warns_of_nothing(build, policy):
    done = drossel(build, "check", "--quiet", policy)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_library_is_used_as_the_manual_says(build, tmp_path):
    # As pkg-config tells before anything is installed.
    found = dict(os.environ, PKG_CONFIG_PATH=f"{build}/meson-uninstalled", LD_LIBRARY_PATH=str(build))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "drossel"], env=found, capture_output=True, text=True,
                           check=True, timeout=30).stdout.split()
    program = tmp_path / "library"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", EXAMPLES / "library.c", *flags, "-o", program], check=True,
                   timeout=120)
    said = subprocess.run([program, EXAMPLES / "first.yaml"], env=found, capture_output=True, text=True, check=True,
                          timeout=30).stdout.splitlines()
    assert [line.rpartition(",")[0] for line in said] == ["49: allow, 1 left", "50: allow, 0 left", "51: refuse, 0 left",
                                                          "52: refuse, 0 left"]
    assert all(0 < float(line.split()[-2]) <= 10 for line in said[2:])
