"""The command line itself: help, usage, manual pages and completion say the same."""
import pathlib
import re
import subprocess

import pytest

from command import drossel

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["run", "check", "explain", "replay", "suggest", "show", "top", "reset", "block", "unblock"]


def options_of(build, command):
    return set(re.findall(r"^  (--[a-z-]+)", drossel(build, command, "--help").stdout, re.M))


def test_the_overview_lists_every_command(build):
    listed = re.findall(r"^  ([a-z]+) +\S", drossel(build, "--help").stdout, re.M)
    assert listed == [*COMMANDS, "version", "help"]
    assert drossel(build, "help").stdout == drossel(build, "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_is_in_the_manual_page_and_in_the_completion(build, command):
    options = options_of(build, command)
    page = (SOURCE / "docs" / "man" / f"drossel-{command}.1").read_text()
    assert {f"--{name}" for name in re.findall(r"^\.It Fl Fl ([a-z-]+)", page, re.M)} == options
    words = subprocess.run(["bash", "-c", f'. "$1"; COMP_WORDS=(drossel {command} --); COMP_CWORD=2; _drossel;'
                            ' printf "%s\\n" "${COMPREPLY[@]}"', "bash", SOURCE / "packaging" / "drossel.bash"],
                           capture_output=True, text=True, check=True).stdout
    assert set(words.split()) == options and "--help" in options


def test_the_completion_and_the_main_manual_page_know_every_command(build):
    words = subprocess.run(["bash", "-c", '. "$1"; COMP_WORDS=(drossel ""); COMP_CWORD=1; _drossel; echo "${COMPREPLY[@]}"',
                            "bash", SOURCE / "packaging" / "drossel.bash"], capture_output=True, text=True, check=True).stdout
    assert set(COMMANDS) <= set(words.split())
    page = (SOURCE / "docs" / "man" / "drossel.1").read_text()
    assert {f".Xr drossel-{command} 1" for command in COMMANDS} <= {line.rstrip(" .") for line in page.splitlines()}
    assert set((SOURCE / "docs" / "man").glob("*.1")) == {
        SOURCE / "docs" / "man" / name for name in ["drossel.1", *(f"drossel-{command}.1" for command in COMMANDS)]}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_the_same_by_both_ways(build, command):
    assert drossel(build, "help", command).stdout == drossel(build, command, "--help").stdout


WRONG = [
    ([], "usage: drossel COMMAND"), (["chekc"], "did you mean `drossel check`?"), (["frobnicate"], "`drossel --help` lists all"),
    (["check"], "FILE is missing"), (["check", "a", "b"], "too many operands"), (["check", "--quite", "a"], "did you mean --quiet?"),
    (["check", "--quiet=1", "a"], "takes no argument"), (["check", "--xyzzyx", "a"], "there is no option --xyzzyx"),
    (["show", "--table"], "needs an argument"), (["replay", "x"], "--policy FILE is missing"),
    (["run"], "--policy FILE is missing"), (["explain", "p.yaml"], "is missing"), (["block", "192.0.2.1"], "is missing"),
    (["block", "192.0.2.1", "-5s"], "there is no option -5"), (["check", "a", "-q"], "there is no option -q"),
    (["show", "--help=1"], "takes no argument"),
    (["block", "nobody", "1m"], "is no address"), (["block", "192.0.2.1", "1hr"], "1hr"), (["block", "192.0.2.1", "0s"], "0s"),
    (["explain", "p", "POST"], "is no request"), (["explain", "p", "/", "--peer", "x"], "is no address"),
    (["explain", "p", "/", "--header", "NoColon"], "'Name: value'"), (["explain", "p", "/", "--cost", "-1"], "whole number"),
    (["explain", "p", "/", "--door", "barn"], "there is no door barn"), (["help", "chekc"], "did you mean"),
]


@pytest.mark.parametrize("arguments, complaint", WRONG, ids=[" ".join(wrong[0]) or "nothing" for wrong in WRONG])
def test_wrong_usage_exits_with_2_and_says_what_would_be_right(build, arguments, complaint):
    done = drossel(build, *arguments, code=2)
    assert complaint in done.stderr and done.stdout == ""


def test_the_version_is_that_of_the_library(build):
    header = (SOURCE / "include" / "drossel.h").read_text()
    version = re.search(r'DROSSEL_VERSION "(.*)"', header)[1]
    assert drossel(build, "version").stdout == drossel(build, "--version").stdout == f"drossel {version}\n"


def complete(folder, *words):
    done = subprocess.run(["bash", "-c", '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _drossel;'
                           ' printf "%s\\n" "${COMPREPLY[@]}"', "bash", SOURCE / "packaging" / "drossel.bash", *words],
                          capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.splitlines()


def test_a_file_name_with_blanks_is_completed_as_one(tmp_path):
    (tmp_path / "my own.yaml").write_text("")
    (tmp_path / "my root").mkdir()
    assert complete(tmp_path, "drossel", "check", "my o") == ["my own.yaml"]
    assert complete(tmp_path, "drossel", "replay", "--policy", "my o") == ["my own.yaml"]
    assert complete(tmp_path, "drossel", "run", "--root", "my") == ["my root"]


def test_the_completion_knows_the_formats_that_there_are(build, tmp_path):
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nlimits: { a: { by: address, allow: 1 per 1s } }\n")
    told = drossel(build, "replay", "--policy", policy, "--format", "bogus", policy, code=1).stderr
    known = told.split("known are ")[1].split(", and the string")[0].split(", ")
    assert sorted(complete(tmp_path, "drossel", "replay", "--format", "")) == sorted(known)


@pytest.mark.parametrize("words", [["check"], ["explain", "GET /"], ["--help"], ["check", "--help"], ["version"]], ids=" ".join)
def test_what_a_full_disk_cuts_off_is_a_failure(build, tmp_path, words):
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nlimits: { a: { by: address, allow: 1 per 1s } }\n")
    command = [build / "drossel", words[0], *([policy] if words[0] in ("check", "explain") and words[-1] != "--help" else []), *words[1:]]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "could not be written" in done.stderr
