"""Offers: what a record looks like is said, and the file is held to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.peer.card import Offer
from dpdl.peer.offers import check_records, form_of_offer, offer_like
from dpdl.tasks import data as datasets
from tests.peer.site_files import digits_file

DIGITS = Offer("lungs", 80, "1,8,8", "10 classes")


@pytest.mark.parametrize("dataset", ["digits", "mnist", "fashion-mnist", "cifar10"])
def test_an_offer_says_all_of_a_form(dataset: str) -> None:
    offer = offer_like("lungs", 400, dataset)
    assert form_of_offer(offer) == datasets.form_of(dataset)


def test_pixels_without_a_scale_have_a_name() -> None:
    form = form_of_offer(Offer("a", 1, "3,4,4", "2 labels", "pixels"))
    assert (form.mean, form.std) == ((0.0,), (1.0,))


def test_a_data_set_that_nobody_knows_is_named() -> None:
    with pytest.raises(InputError, match=r"what records of 'mine\.npz' look like"):
        offer_like("lungs", 400, "mine.npz")


def test_no_more_records_are_declared_than_there_are(tmp_path: Path) -> None:
    file = digits_file(tmp_path / "a.npz")
    check_records(file, DIGITS)
    with pytest.raises(InputError, match="fewer records for training than the 81 that"):
        check_records(file, Offer("lungs", 81, "1,8,8", "10 classes"))


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        (Offer("a", 1, "64", "10 classes"), r"a record in x is \(1, 8, 8\) float32"),
        (Offer("a", 1, "1,8,8", "9 classes"), "labels 0 to 9, allowed are 0 to 8"),
        (Offer("a", 1, "1,8,8", "10 classes", "pixels"), "float32, but the plan says"),
    ],
)
def test_records_that_look_different_are_refused(
    offer: Offer, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        check_records(digits_file(tmp_path / "a.npz"), offer)


def test_a_site_without_some_class_offers_all_of_them(tmp_path: Path) -> None:
    x = np.zeros((20, 1, 8, 8), np.float32)
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(20) % 3)
    check_records(tmp_path / "a.npz", Offer("a", 10, "1,8,8", "10 classes"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.npz"):
        check_records(tmp_path / "none.npz", DIGITS)
