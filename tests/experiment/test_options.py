"""The options of algorithms: which there are, what they become, and what files of old say."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import pytest

from dpdl import algorithms
from dpdl.algorithms import DPDL, DPSGD, AsyncDPSGD, Decor
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.experiment.options import (
    FLAT,
    RESERVED,
    Options,
    accepted,
    defaults,
    has,
    installed,
    lacking,
    of_object,
    options_of,
)
from dpdl.options import Typed

SETTING = ("mnist", "ring", "accountant")


# ------------------------------------------------------------------ a mapping
def test_options_are_a_mapping_that_does_not_change() -> None:
    given = {"lr": 0.3, "momentum": 0.5}
    options = Options(given)
    given["lr"] = 9.0
    assert dict(options) == {"lr": 0.3, "momentum": 0.5}
    assert (options["lr"], len(options), list(options)) == (0.3, 2, ["lr", "momentum"])
    assert options == {"momentum": 0.5, "lr": 0.3}
    assert repr(options) == "{'lr': 0.3, 'momentum': 0.5}"
    with pytest.raises(TypeError):
        options["lr"] = 1.0


def test_equal_options_have_equal_hashes_and_survive_copies() -> None:
    one, other = Options({"a": 1, "b": 2.0}), Options({"b": 2.0, "a": 1})
    assert hash(one) == hash(other)
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))


# ------------------------------------------------------------------ which there are
def test_the_options_of_an_algorithm_are_its_fields_but_for_shared_names() -> None:
    assert set(options_of("decor")) == {
        *("lr", "lr_schedule", "lr_decay", "lr_decay_every", "weight_decay"),
        *("momentum", "correlation"),
    }
    assert "seed" not in options_of("pdsl")
    for name in algorithms.NAMES:
        assert not set(options_of(name)) & RESERVED


def test_an_experiment_has_shared_options_and_those_of_its_algorithm() -> None:
    assert has("decor", "rounds") and has("decor", "correlation")
    assert not has("dpdl", "correlation")


def test_options_are_listed_by_name_and_algorithm_in_the_order_of_old() -> None:
    found = installed()
    assert list(found["correlation"]) == ["concord", "decor"]
    assert set(found["lr"]) == set(algorithms.usable())
    assert [name for name in found if name in FLAT] == list(FLAT)
    assert list(found)[: len(FLAT)] == list(FLAT)


def test_an_option_of_others_and_one_of_nobody_get_different_sentences() -> None:
    words = "correlation is not an option of dpdl."
    assert str(lacking("correlation", "dpdl")) == words
    assert "Unknown option 'corelation'. Did you mean 'correlation'" in str(
        lacking("corelation", "dpdl")
    )


# ------------------------------------------------------------------ what they become
def test_values_get_their_types_and_the_order_of_the_fields() -> None:
    found = accepted("decor", {"correlation": Typed("2"), "lr": 1})
    assert list(found.items()) == [("lr", 1.0), ("correlation", 2.0)]


def test_none_is_not_given_unless_the_field_allows_it() -> None:
    assert dict(accepted("decor", {"lr": None})) == {}
    assert dict(accepted("muffliato", {"gossip_steps": None})) == {"gossip_steps": None}


OLD = {**FLAT, "algorithm": "dp-dpsgd", "lr": 0.3, "momentum": 0.0}
"""What files named before options belonged to algorithms."""


def test_files_of_old_name_all_options_and_those_of_others_mean_nothing() -> None:
    e = from_mapping(OLD)
    assert e == Experiment(
        algorithm="dp-dpsgd",
        lr=0.3,
        momentum=0.0,
        lr_decay=1.0,
        lr_decay_every=30,
        weight_decay=0.0,
    )
    assert e.resolved().as_dict().items() >= {"lr": 0.3, "momentum": 0.0}.items()
    with pytest.raises(
        InputError, match=r"^correlation is not an option of dp-dpsgd\.$"
    ):
        from_mapping({**OLD, "correlation": 2.0})


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("correlation", 3.0, True),
        ("correlation", 3, True),
        ("correlation", Typed("3"), True),
        ("correlation", Typed("three"), False),
        ("correlation", 2.0, False),
        ("alpha", None, True),
        ("alpha", 1.0, False),
        ("cosine", "vector", True),
        ("cosine", "tensor", False),
        ("blend", 0.5, False),
    ],
)
def test_only_the_defaults_of_old_mean_nothing(name, value, fine: bool) -> None:
    if fine:
        assert dict(accepted("dp-dpsgd", {name: value})) == {}
        return
    with pytest.raises(InputError, match=name):
        accepted("dp-dpsgd", {name: value})


def test_tuned_defaults_come_before_those_of_the_data_set_and_the_field() -> None:
    assert defaults("dpdl", *SETTING)["lr"] == 0.2
    assert defaults("dpdl", "cifar10", "ring", "accountant")["lr"] == 0.03
    assert defaults("decor", *SETTING)["correlation"] == 3.0
    assert defaults("dpdl", *SETTING)["alpha"] == 2.0
    assert defaults("muffliato", *SETTING)["gossip_steps"] is None


# ------------------------------------------------------------------ objects
def test_an_object_gives_its_name_and_all_its_options() -> None:
    name, found = of_object(Decor(0.3), {})
    assert name == "decor"
    assert set(found) == set(options_of("decor"))
    assert found["lr"] == 0.3
    assert of_object(DPDL(), {})[0] == "dpdl"


def test_a_shared_value_of_an_object_must_be_that_of_the_experiment() -> None:
    assert "seed" not in of_object(AsyncDPSGD(seed=3), {"seed": 3})[1]
    assert "seed" not in of_object(AsyncDPSGD(), {"seed": 4})[1]
    with pytest.raises(InputError, match="which has 4, not 3; give it to"):
        of_object(AsyncDPSGD(seed=3), {"seed": 4})


@dataclass(frozen=True)
class Sited(DPSGD):
    """It has a list of texts, which is an option, and one of numbers, which is none."""

    near: tuple[str, ...] = ()
    table: tuple[int, ...] = ()


def test_a_list_of_texts_is_an_option_and_another_list_is_none() -> None:
    e = Experiment(algorithm=Sited(near=("a", "b")))
    assert e.options["near"] == ("a", "b")
    assert Experiment.from_json(e.to_json()) == e
    assert e.to_json()["near"] == ["a", "b"]
    with pytest.raises(InputError, match="table of Sited cannot be an option"):
        Experiment(algorithm=Sited(table=(1,)))


@pytest.mark.parametrize("thing", [3, None, object()])
def test_what_is_no_algorithm_is_refused(thing: object) -> None:
    with pytest.raises(InputError, match="algorithm must be a name or an algorithm"):
        of_object(thing, {})
