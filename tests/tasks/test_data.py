"""Data sets by name: what is known of them without reading them, and which names there are."""

from __future__ import annotations

import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data import NAMES, class_counts, fetch, form_of, is_here, load
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'mnist'"):
        load("minst")
    with pytest.raises(InputError, match=r"Allowed: .*digits.*\.npz"):
        load("qqqq")
    with pytest.raises(InputError, match="Unknown dataset"):
        fetch("my.npz")
    assert set(NAMES) == {"digits", "mnist", "fashion-mnist", "cifar10"}


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


def test_only_fetched_data_sets_have_known_numbers_of_records() -> None:
    assert class_counts("digits") is None
    assert class_counts("cifar10") == (5000,) * 10


def test_a_data_set_without_a_name_cannot_be_looked_for() -> None:
    assert is_here("digits")
    with pytest.raises(InputError, match="Unknown dataset"):
        is_here("own.npz")
