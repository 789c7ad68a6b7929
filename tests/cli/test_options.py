"""Options of the command line come from the fields of experiments and algorithms."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dpdl.algorithms import DPSGD, name_of
from dpdl.cli.options import (
    ExperimentCommand,
    default_of,
    experiment_options,
    given,
    preset_option,
)
from dpdl.experiment.shared import SHARED
from dpdl.options import Typed, option


def command(*more: click.Option) -> tuple[click.Command, list[dict]]:
    """A command with all options of experiments, and what it was called with."""
    called: list[dict] = []

    @click.command(cls=ExperimentCommand, params=list(more))
    @click.argument("file", required=False)
    @click.option("--algorithms")
    @preset_option
    @experiment_options()
    def run(**options) -> None:
        called.append(given(options))

    return run, called


def call(*words: str) -> dict:
    run, called = command()
    result = CliRunner().invoke(run, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return called[0]


def help_of(*words: str) -> str:
    run, _ = command()
    result = CliRunner().invoke(run, [*words, "--help"], terminal_width=400)
    assert result.exit_code == 0, result.output
    return result.output


def line_of(text: str, flag: str) -> str:
    (line,) = [one for one in text.splitlines() if one.split()[:1] == [flag]]
    return " ".join(line.split())


def test_only_options_that_were_set_arrive() -> None:
    assert call() == {}
    assert call("--agents", "4", "--eval-every", "7") == {"agents": 4, "eval_every": 7}


def test_options_of_algorithms_arrive_as_they_were_typed() -> None:
    found = call("--momentum", "0.50", "--local-steps", "3")
    assert found == {"momentum": "0.50", "local_steps": "3"}
    assert {type(value) for value in found.values()} == {Typed}


@pytest.mark.parametrize("name", SHARED)
def test_every_shared_option_has_a_flag_with_its_default(name: str) -> None:
    line = line_of(help_of(), "--" + name.replace("_", "-"))
    default = default_of(SHARED[name])
    assert line.endswith(default)
    assert SHARED[name].metadata["help"] in line


def test_help_lists_what_is_allowed() -> None:
    text = help_of()
    assert "(float32, float64)" in line_of(text, "--dtype")
    assert "module:" in line_of(text, "--model")


def test_help_is_about_the_algorithms_that_are_named(tmp_path: Path) -> None:
    every = help_of()
    assert "Options of algorithms:" in every
    assert "--correlation" in every
    decor = help_of("--algorithm", "decor")
    assert "Options of decor:" in decor
    assert "--correlation" in decor
    assert "--sam-radius" not in decor
    two = help_of("--algorithms", "decor, dfedsam")
    assert "Options of decor, dfedsam:" in two
    assert line_of(two, "--sam-radius").startswith("--sam-radius FLOAT dfedsam: ")
    file = tmp_path / "e.toml"
    file.write_text('algorithm = "decor"\n')
    assert "Options of decor:" in help_of(str(file))
    assert "Options of dfedsam:" in help_of(str(file), "--algorithm=dfedsam")
    file.write_text("algorithm = \n")
    assert "Options of algorithms:" in help_of(str(file))


@dataclass(frozen=True)
class More(DPSGD):
    """An algorithm with one more option."""

    power: float = option(2.0, "how much")


def test_an_algorithm_of_ones_own_brings_its_options() -> None:
    more = ["--algorithm", name_of(More)]
    assert call(*more, "--power", "3")["power"] == "3"
    assert line_of(help_of(*more), "--power") == ("--power FLOAT how much [2.0]")


def test_a_flag_of_the_command_wins_over_one_of_an_algorithm() -> None:
    own = click.Option(["--momentum"], help="of the command")
    run, called = command(own)
    result = CliRunner().invoke(run, ["--momentum", "x"], catch_exceptions=False)
    assert result.exit_code == 0
    assert type(called[0]["momentum"]) is str
    text = CliRunner().invoke(run, ["--help"], terminal_width=400).output
    assert line_of(text, "--momentum").endswith("of the command")


def test_a_default_is_shown_or_what_it_depends_on() -> None:
    @dataclass(frozen=True)
    class Some:
        plain: int = option(3, "")
        none: int | None = option(None, "")
        depends: float | None = option(None, "", by="data set")

    @dataclass(frozen=True)
    class Needed:
        must: float

    shown = [default_of(f) for f in (*fields(Some), *fields(Needed))]
    assert shown == ["[3]", "", "[by data set]", "[must be given]"]


def test_the_last_algorithm_of_a_command_line_counts() -> None:
    text = help_of("--algorithm", "decor", "--algorithm", "dfedsam")
    assert "Options of dfedsam:" in text


def test_an_algorithm_at_the_end_of_a_command_line_counts() -> None:
    run, _ = command()
    for last in (["--algorithm=dfedsam"], ["--algorithm", "dfedsam"]):
        result = CliRunner().invoke(run, ["--help", *last])
        assert "Options of dfedsam:" in result.output
