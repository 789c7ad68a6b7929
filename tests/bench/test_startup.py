"""What is timed is answered, and older checkouts can be measured in turn with this one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dpdl.bench.checkouts import THIS
from dpdl.bench.startup import (
    COMMANDS,
    HELP,
    PLAN,
    measure_startup,
    processor_seconds,
)
from dpdl.cli import cli
from dpdl.errors import InputError
from dpdl.folder.bench_results import Startup


def test_no_command_is_timed_twice() -> None:
    assert len(set(COMMANDS)) == len(COMMANDS)
    assert {HELP, PLAN} < set(COMMANDS)


def test_the_help_is_a_command_that_ends_well() -> None:
    assert CliRunner().invoke(cli, HELP.split()).exit_code == 0


def test_a_measurement_has_every_command_and_comes_back_as_it_was() -> None:
    found = measure_startup(1, THIS, (HELP,))
    assert set(found.seconds or {}) == set(found.seconds_old or {}) == {HELP}
    assert 0 < found.help < found.plan
    assert Startup.from_json(found.to_json()) == found


def test_seconds_of_the_processor_are_those_of_the_commands() -> None:
    before = processor_seconds()
    found = measure_startup(1, None, (HELP,), processor_seconds)
    assert found.seconds_old is None
    assert 0 < found.help <= processor_seconds() - before


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no checkout of dpdl"):
        measure_startup(1, tmp_path, (HELP,))
