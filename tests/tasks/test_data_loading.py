"""Data sets in memory: their forms are known before they are read."""

from __future__ import annotations

import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import class_counts, form_of, is_here, load
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'mnist'"):
        load("minst")
    with pytest.raises(InputError, match=r"Allowed: .*digits.*\.npz"):
        load("qqqq")


def test_the_form_of_digits_is_known_without_reading_them() -> None:
    assert form_of("digits") == load("digits").form


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_the_form_of_a_fetched_data_set_is_that_of_its_records(name: str) -> None:
    if not is_here(name):
        pytest.skip(f"{name} is not in the cache")
    data = load(name)
    assert form_of(name) == data.form
    assert class_counts(name) == tuple(data.y.bincount().tolist())


def test_the_forms_of_named_data_sets() -> None:
    pixels = Form((1, 28, 28), Classes(10), torch.uint8, (0.5,), (0.5,))
    assert form_of("mnist") == form_of("fashion-mnist") == pixels
    colour = form_of("cifar10")
    assert colour is not None
    assert (colour.shape, len(colour.mean)) == ((3, 32, 32), 3)


@pytest.mark.parametrize("name", ["own.npz", "mine:data", "minst"])
def test_nothing_is_known_of_other_data_before_it_is_read(name: str) -> None:
    assert form_of(name) is None
    assert class_counts(name) is None
