"""What an experiment says about records that stay at sites: checked before any of them is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.experiment.shared import SHARED

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment

OF_SITES = ("shape", "scaling", "test")
"""Options that mean nothing without sites."""
DATASET = "sites"
"""What stands for the data set where the records have a shape of their own."""


def check_sites(e: Experiment) -> None:
    """Refuse options that contradict each other."""
    if e.sites is None:
        return
    if not e.sites or not all(e.sites):
        raise InputError("sites must name at least one file, and none may be empty.")
    if e.partition != SHARED["partition"].default:
        raise InputError(
            "Every site has its records already; leave out either partition or sites."
        )
    if e.agents not in (len(e.sites), SHARED["agents"].default):
        raise InputError(
            f"sites must name one file for each of {e.agents} agents, not {len(e.sites)}."
        )
    if e.scaling is not None and e.shape is None:
        raise InputError(
            "scaling is for records of a shape of their own; give shape as well."
        )


def at_sites(e: Experiment) -> Experiment:
    """The experiment with as many agents as it has sites.

    Without sites, what is about them is refused.
    """
    if e.sites is None:
        for name in OF_SITES:
            if getattr(e, name) is not None:
                raise InputError(
                    f"{name} is about records at sites; give sites as well, or leave it out."
                )
        return e
    dataset = e.dataset if e.shape is None else DATASET
    return replace(e, agents=len(e.sites), dataset=dataset)


def parse_shape(text: str) -> tuple[int, ...]:
    """`30` or `1,28,28` as numbers."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise _wrong_shape(text)
    sizes = tuple(int(part) for part in parts)
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise _wrong_shape(text)
    return sizes


def parse_scaling(text: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """`pixels`, or `MEAN/STD` with one number or one of each channel, as mean and deviation."""
    if text == "pixels":
        return (0.0,), (1.0,)
    mean, slash, std = text.partition("/")
    try:
        values = [tuple(float(one) for one in part.split(",")) for part in (mean, std)]
    except ValueError:
        slash = ""
    if not slash:
        raise InputError(
            f"scaling must be 'pixels' or MEAN/STD, such as 0.13/0.31, not {text!r}."
        )
    return values[0], values[1]


def _wrong_shape(text: str) -> InputError:
    return InputError(
        f"shape must be a number of features, such as 30, or channels, height and width, such as "
        f"1,28,28, not {text!r}."
    )
