"""What is known of data sets by their names, without reading them and without torch."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.tasks import data
from dpdl.tasks.data import NAMES, check_name, class_counts, fetch, is_here


def test_names() -> None:
    assert set(NAMES) == {"digits", "mnist", "fashion-mnist", "cifar10"}
    with pytest.raises(InputError, match="Unknown dataset"):
        fetch("my.npz")


@pytest.mark.parametrize("name", [*NAMES, "own.npz", "mine:data"])
def test_a_name_or_the_form_of_ones_own_data_passes(name: str) -> None:
    check_name(name)


def test_anything_else_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"Did you mean 'mnist'.*PATH\.npz"):
        check_name("mnits")


def test_what_the_package_offers_on_demand_is_there() -> None:
    for name in data.__all__:
        assert getattr(data, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = data.nothing


def test_only_fetched_data_sets_have_known_numbers_of_records() -> None:
    assert class_counts("digits") is None
    assert class_counts("cifar10") == (5000,) * 10


def test_a_data_set_without_a_name_cannot_be_looked_for() -> None:
    assert is_here("digits")
    with pytest.raises(InputError, match="Unknown dataset"):
        is_here("own.npz")
