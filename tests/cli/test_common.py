"""Options that several commands have, and how results are printed for programs."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dpdl.cli.common import (
    jobs_option,
    json_option,
    optional_run_argument,
    out_option,
    print_json,
    quiet_option,
    run_argument,
)
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN
from dpdl.privacy.epsilons import Epsilons


@click.command()
@run_argument
@out_option("the file", default=Path("default.html"))
@jobs_option("runs")
@json_option("the result")
@quiet_option
def everything(**given: object) -> None:
    """A command with all of them."""
    print_json({name: None if one is None else str(one) for name, one in given.items()})


def called(*words: str) -> dict[str, str | None]:
    return json.loads(CliRunner().invoke(everything, list(words)).stdout)


def test_options_arrive_under_their_names() -> None:
    assert called("here") == {
        "run_dir": "here",
        "out": "default.html",
        "jobs": None,
        "as_json": "False",
        "quiet": "False",
    }
    found = called("here", "--out", "x", "--jobs", "3", "--json", "--quiet")
    assert list(found.values()).count("True") == 2
    assert (found["out"], found["jobs"]) == ("x", "3")


def test_help_says_what_is_printed_and_what_is_the_default() -> None:
    text = " ".join(CliRunner().invoke(everything, ["--help"]).stdout.split())
    assert "print the result on standard output" in text
    assert "the file [default: default.html]" in text
    assert "runs at the same time [one per core]" in text


def test_a_run_may_be_left_out_where_options_do() -> None:
    @click.command()
    @optional_run_argument
    def maybe(run_dir: Path | None) -> None:
        click.echo(str(run_dir))

    assert CliRunner().invoke(maybe, []).stdout == "None\n"
    assert CliRunner().invoke(everything, []).exit_code == 2


def test_records_and_plain_values_are_one_line_of_json(capsys) -> None:
    print_json(Epsilons(UNKNOWN, {"eavesdropper": UNBOUNDED}))
    line = '{"claimed_theorem1": null, "eavesdropper": "unbounded"}\n'
    assert capsys.readouterr().out == line
    print_json({"inner": Epsilons(), "rows": (1, 2)})
    line = '{"inner": {"claimed_theorem1": null}, "rows": [1, 2]}\n'
    assert capsys.readouterr().out == line


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_not_is_never_printed(capsys, value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"x": value})
    assert capsys.readouterr().out == ""
