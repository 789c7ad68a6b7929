"""What a person did wrong is one sentence, with an exit code that programs can rely on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dpdl.errors import (
    Diverged,
    DpdlError,
    InputError,
    PrivacyRefused,
    RunFailed,
    unknown,
)
from tests.commands import SOURCE


@pytest.mark.parametrize(
    ("kind", "code"),
    [(DpdlError, 1), (InputError, 2), (PrivacyRefused, 3), (RunFailed, 4)],
)
def test_every_kind_of_error_has_its_exit_code(
    kind: type[DpdlError], code: int
) -> None:
    assert kind("words").exit_code == code
    assert issubclass(kind, DpdlError)


def test_a_notebook_shows_one_sentence() -> None:
    code = "from dpdl.errors import InputError\nraise InputError('rounds \\x1b')"
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--quick", "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    assert done.stdout == "InputError: rounds \\x1b\n"


def test_a_run_that_diverged_has_failed() -> None:
    assert issubclass(Diverged, RunFailed)
    assert Diverged.exit_code == 4


def test_the_nearest_names_are_suggested_before_all_are_listed() -> None:
    error = unknown("graph", "rnig", ["torus", "ring", "complete"])
    assert isinstance(error, InputError)
    assert str(error) == (
        "Unknown graph 'rnig'. Did you mean 'ring'? Allowed: complete, ring, torus."
    )


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    error = unknown("graph", "xyz", ["ring"], also="or a file")
    assert str(error) == "Unknown graph 'xyz'. Allowed: ring, or a file."


def test_at_most_three_names_are_suggested() -> None:
    names = [f"name{k}" for k in range(9)]
    hint = str(unknown("option", "name", names)).partition(" Allowed")[0]
    assert hint.count("name") == 4  # what was given, and three others
