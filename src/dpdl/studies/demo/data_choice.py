"""MNIST if it is here or can be fetched, else the bundled digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dpdl.errors import DpdlError
from dpdl.studies.demo.script import DIGITS, MNIST
from dpdl.tasks.data import fetch, is_here

WITHOUT_MNIST = (
    "This is the same story on the bundled 8x8 digits: 1,437 small pictures in place of "
    "60,000, and their own numbers. MNIST is not here: {}"
)


class ChosenData(NamedTuple):
    """A data set, and why it is not MNIST if it is not."""

    dataset: str
    notes: tuple[str, ...] = ()


def choose_data(
    progress: bool = False,
    here: Callable[[str], bool] = is_here,
    fetch: Callable[[str, bool], object] = fetch,
) -> ChosenData:
    """Look in the cache, then fetch."""
    if here(MNIST):
        return ChosenData(MNIST)
    try:
        fetch(MNIST, progress)
    except DpdlError as failure:
        return ChosenData(DIGITS, (WITHOUT_MNIST.format(failure),))
    return ChosenData(MNIST)
