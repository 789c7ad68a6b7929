"""The commands whose start is timed are answered."""

from __future__ import annotations

from click.testing import CliRunner

from dpdl.bench.startup import COMMANDS
from dpdl.cli import cli
from dpdl.folder.bench_results import Startup


def test_every_command_has_a_field() -> None:
    assert set(COMMANDS) == set(Startup(help=0.1, plan=2.0).to_json())


def test_the_help_is_a_command_that_ends_well() -> None:
    assert CliRunner().invoke(cli, list(COMMANDS["help"])).exit_code == 0
