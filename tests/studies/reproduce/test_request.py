"""A request for a reproduction is refused if it cannot be meant."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.studies.reproduce.recipes import MODES
from dpdl.studies.reproduce.request import ReproductionRequest


@pytest.mark.parametrize(
    ("given", "default", "chosen"),
    [
        (None, "as-published", ["as-published"]),
        (None, "all", list(MODES)),
        ("all", "as-published", list(MODES)),
        ("sound,algorithm1", "as-published", ["sound", "algorithm1"]),
    ],
)
def test_modes_are_names_or_all(given: str | None, default: str, chosen) -> None:
    assert ReproductionRequest(modes=given).chosen_modes(default) == chosen


@pytest.mark.parametrize("modes", ["sond", "sound,", ""])
def test_other_modes_are_refused(modes: str) -> None:
    with pytest.raises(InputError, match=r"Unknown mode .* or all"):
        ReproductionRequest(modes=modes).chosen_modes()


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"seeds": 0}, "seeds must be a whole number of at least 1, not 0"),
        ({"minutes": 0.0}, "minutes must be above 0, not 0"),
        ({"minutes": -1.5}, "minutes must be above 0, not -1.5"),
        ({"minutes": float("nan")}, "minutes must be above 0, not nan"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        ReproductionRequest(**given)
