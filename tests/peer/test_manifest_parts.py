"""The tables of a manifest do not construct when they are wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpdl.errors import InputError
from dpdl.experiment.sites import parse_scaling, parse_shape
from dpdl.peer.manifest_parts import (
    DataForm,
    ModelFacts,
    Rules,
    Terms,
    Weighted,
    check_form,
)
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import predicted

SHA = "ab" * 32


@pytest.mark.parametrize(
    "make",
    [
        lambda: Weighted(((0, 1, float("nan")),)),
        lambda: Weighted(((-1, 1, 0.5),)),
        lambda: Weighted(((0, 1, 0.5), (0, 1, 0.5))),
        lambda: Terms(1.0, 0.0, "eavesdropper", "add-remove", ()),
        lambda: Terms(1.0, 1e-5, "neighbours:0", "add-remove", ()),
        lambda: Terms(float("inf"), 1e-5, "eavesdropper", "add-remove", ()),
        lambda: ModelFacts(SHA, {"a": (0,)}),
        lambda: ModelFacts(SHA, {"a": (10**9, 10**9)}),
        lambda: ModelFacts("ab", {"a": (1,)}),
        lambda: Rules(alarm_minutes=0),
        lambda: Rules(least_members=1),
        lambda: Rules(ends="2030-02-30"),
        lambda: DataForm("8", "0 classes"),
    ],
)
def test_what_is_wrong_does_not_construct(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()


def test_a_model_may_have_single_numbers() -> None:
    assert ModelFacts(SHA, {"scale": (), "w": (3, 4)}).size == 13


FORMS = [
    ("30", "2 classes", None),
    ("1,28,28", "10 classes", "pixels"),
    ("3,8,8", "7 labels", "0.1,0.2,0.3/0.5,0.5,0.5"),
    ("3,8,8", "99999 numbers", "0.5/0.25"),
    ("30", "2 classes", "nan/1"),
    ("30", "2 classes", "0/-1"),
    ("3,8,8", "2 classes", "1,2/1"),
    ("3,8,8", "2 classes", "1/inf"),
    ("0", "2 classes", None),
    ("1,2", "2 classes", None),
    ("x", "2 classes", None),
    ("30", "2 things", None),
    ("30", "two classes", None),
    ("30", "classes", None),
    ("30", "", None),
]


@pytest.mark.parametrize(("shape", "predict", "scaling"), FORMS)
def test_a_form_is_right_exactly_if_records_can_have_it(
    shape: str, predict: str, scaling: str | None
) -> None:
    """The check without torch agrees with the form that models are built for."""
    assert passes(lambda: check_form(shape, predict, scaling, "card")) == passes(
        lambda: built(shape, predict, scaling)
    )


def passes(check: Callable[[], object]) -> bool:
    try:
        check()
    except InputError:
        return False
    return True


def built(shape: str, predict: str, scaling: str | None) -> Form:
    wanted = predicted(predict)
    if wanted.count is None:
        raise InputError("no count")
    mean, std = parse_scaling(scaling or "pixels")
    return Form(parse_shape(shape), wanted.of(wanted.count), mean=mean, std=std)
