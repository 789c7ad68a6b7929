"""Coefficients are drawn in the range that can occur, and are public where they are perturbed."""

from __future__ import annotations

import pytest

from dpdl import InputError
from dpdl.pages.calibration import calibration, calibration_figure
from tests.folder.measured import metrics


def test_coefficients_are_drawn_in_the_range_that_can_occur() -> None:
    rounds = [metrics(t, coefficient=0.5, cosine=t / 10) for t in (1, 2)]
    broken = metrics(3, coefficient=None, cosine=0.1)
    coefficient, cosine = calibration_figure([*rounds, broken, metrics(4)]).axes
    assert coefficient.get_ylim() == (0.25, 0.75) and cosine.get_ylim() == (-1, 1)
    assert cosine.lines[0].get_xydata().tolist() == [[1, 0.1], [2, 0.2]]
    with pytest.raises(InputError, match="no coefficients"):
        calibration_figure([broken])


@pytest.mark.parametrize(
    ("algorithm", "open_"), [("dpdl", False), ("dpdl-sound", True)]
)
def test_they_are_public_for_the_algorithm_that_perturbs_them(
    algorithm: str, open_: bool
) -> None:
    part = calibration(algorithm, [metrics(1, coefficient=0.5, cosine=0.1)])
    assert part is not None and part.public == open_
    assert "0.500 in round 1" in part.html


def test_without_coefficients_there_is_nothing_to_show() -> None:
    assert calibration("dp-dpsgd", [metrics(1)]) is None
