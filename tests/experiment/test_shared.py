"""The options that every experiment has."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.experiment.options import FLAT, RESERVED, installed
from dpdl.experiment.shared import SHARED, Shared
from dpdl.options import allowed_names, checked, is_option, kind, may_be_none

LEFT_OPEN = {"records", "sigma", "budget"}
"""Options that stay None in a plan."""


def test_every_field_is_an_option_with_a_help_and_a_default_that_is_allowed() -> None:
    assert list(SHARED) == [f.name for f in fields(Shared)]
    for name, f in SHARED.items():
        assert is_option(f), name
        assert f.metadata["help"] and not f.metadata["help"].endswith("."), name
        assert checked(f, f.default) == f.default


def test_no_algorithm_has_an_option_of_the_same_name() -> None:
    assert not set(SHARED) & {*installed(), *FLAT}
    assert set(SHARED) < RESERVED


def test_none_means_that_a_default_depends_on_something_or_that_nothing_is_set() -> (
    None
):
    for name, f in SHARED.items():
        assert (f.default is None) == may_be_none(f), name
    by = {name for name, f in SHARED.items() if f.metadata["by"]}
    assert {"model", "batch", "clip", "epsilon"} <= by
    e = Experiment(dataset="digits").resolved()
    assert all(getattr(e, name) is None for name in LEFT_OPEN)
    assert None not in (e.model, e.batch, e.clip, e.epsilon)


@pytest.mark.parametrize(
    "name", [name for name, f in SHARED.items() if allowed_names(f)]
)
def test_a_name_with_a_typing_error_is_refused(name: str) -> None:
    f = SHARED[name]
    for allowed in allowed_names(f):
        if "K" not in allowed:
            assert checked(f, allowed) == allowed
    if not f.metadata["also"]:
        with pytest.raises(InputError, match=f"Unknown {name}"):
            from_mapping({name: f"{allowed_names(f)[0]}x"})


@pytest.mark.parametrize(
    "name", [name for name, f in SHARED.items() if kind(f) in (int, float)]
)
def test_numbers_are_not_given_as_texts(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be a"):
        from_mapping({name: "3"})


def test_an_experiment_is_hashable_and_frozen() -> None:
    assert hash(Experiment()) == hash(Experiment())
    assert hash(Experiment(lr=0.3)) != hash(Experiment(lr=0.4))
    with pytest.raises(AttributeError):
        Experiment().rounds = 3
