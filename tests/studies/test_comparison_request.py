"""Requests for comparisons: who gets which option, and what is equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.algorithms import NAMES
from dpdl.errors import InputError
from dpdl.experiment.shared import LATER, SHARED
from dpdl.options import Typed
from dpdl.studies.comparison_request import (
    COMMON,
    ONCE_SHARED,
    ComparisonTerms,
    make_comparison,
    own_option,
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_given_for_all_goes_to_those_that_have_it() -> None:
    c = make_comparison(
        "dpdl,dmsgd",
        2,
        {"momentum": 0.5, "sigma": 2.0, "seed": 4, "lr": 0.3},
        ["dpdl.alpha=0.25", "dmsgd.lr=0.4"],
    )
    a, b = (c.experiment(name) for name in c.own)
    assert (a.sigma, a.noise, a.alpha, a.lr, a.momentum) == (
        2.0,
        "accountant",
        0.25,
        0.3,
        0.5,
    )
    assert (b.sigma, b.noise, b.clip_unit, b.momentum, b.lr) == (
        None,
        "none",
        "none",
        0.5,
        0.4,
    )
    assert (c.seeds, c.equal, a.seed) == ((4, 5), "sigma", 4)


def test_an_algorithm_without_an_option_does_not_get_it() -> None:
    c = make_comparison("dpdl,muffliato", 1, {"momentum": 0.5, "lr": 0.3})
    assert c.experiment("dpdl").momentum == 0.5
    assert "momentum" not in c.experiment("muffliato").options
    assert [c.experiment(name).lr for name in c.own] == [0.3, 0.3]
    with pytest.raises(InputError, match="momentum is an option of none of muffliato"):
        make_comparison("muffliato", 1, {"momentum": 0.5})


def test_a_file_is_read_and_its_algorithm_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('algorithm = "dpdl"\nrounds = 7\nlr = 0.2\nagents = 4\n')
    c = make_comparison("dpdl-sound", 1, {"lr": 0.4}, file=file)
    e = c.experiment("dpdl-sound")
    assert (e.algorithm, e.rounds, e.lr, e.agents) == ("dpdl-sound", 7, 0.4, 4)
    assert (
        make_comparison("dpdl", 1, {}, preset="as-published").experiment("dpdl").noise
        == "public-code"
    )


# ------------------------------------------------------------------ what is equal
@pytest.mark.parametrize(
    ("options", "megabytes", "equal"),
    [
        ({}, None, "epsilon"),
        ({"epsilon": 2.0}, None, "epsilon"),
        ({"sigma": 1.0}, None, "sigma"),
        ({"noise": "none"}, None, "sigma"),
        ({"sigma": 1.0}, 3.0, "bytes"),
    ],
    ids=str,
)
def test_what_was_given_a_number_is_equal(options, megabytes, equal: str) -> None:
    c = make_comparison("dpdl", 1, options, megabytes=megabytes)
    assert c.equal == equal
    named = make_comparison("dpdl", 1, options, equal=equal, megabytes=megabytes)
    assert named == c


@pytest.mark.parametrize(
    ("options", "more", "hint"),
    [
        ({}, {"equal": "sigma"}, "needs --sigma"),
        ({}, {"equal": "bytes"}, "needs --bytes"),
        ({}, {"equal": "time"}, "equal"),
        ({"noise": "none"}, {"equal": "epsilon"}, "leave out noise none"),
        ({"sigma": 1.0}, {"equal": "epsilon"}, "leave out --sigma"),
        ({}, {"equal": "sigma", "megabytes": 1.0}, "cannot be given together"),
        ({}, {"megabytes": float("nan")}, "above 0"),
        ({"rounds": 3}, {"megabytes": 1.0}, "leave out rounds"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(options, more, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        make_comparison("dpdl", 1, options, **more)


# ------------------------------------------------------------------ what all runs share
def test_terms_have_every_shared_option_but_those_that_came_later() -> None:
    terms = make_comparison("dpdl", 1, {"lr": Typed("0.2"), "rounds": 7}).terms()
    assert set(terms.options) == {
        *(name for name in SHARED if name not in LATER),
        *ONCE_SHARED,
    } - {"seed", "algorithm"}
    assert (terms.options["lr"], terms.options["rounds"]) == (0.2, 7)
    found = terms.to_json()
    assert list(found)[:3] == ["equal", "bytes", "preset"]
    assert ComparisonTerms.from_json(json.loads(json.dumps(found))) == terms


def test_sites_are_the_same_as_a_text_and_as_a_list() -> None:
    Path("e.toml").write_text('sites = ["a.npz", "b.npz"]\n')
    from_file = make_comparison("dpdl", 1, {}, file=Path("e.toml"))
    typed = make_comparison("dpdl", 1, {"sites": "a.npz, b.npz"})
    assert from_file.terms() == typed.terms()
    assert typed.terms().options["sites"] == ("a.npz", "b.npz")


def test_options_of_one_algorithm_are_no_terms() -> None:
    c = make_comparison("dpdl,dp-dpsgd", 1, {}, ["dpdl.lr=0.3", "dpdl.alpha=2"])
    assert c.own == {"dpdl": {"lr": 0.3, "alpha": 2.0}, "dp-dpsgd": {}}
    assert c.terms() == make_comparison("dpdl", 1, {}).terms()


@pytest.mark.parametrize("option", sorted(COMMON))
def test_what_must_be_the_same_cannot_be_set_for_one(option: str) -> None:
    flag = option.replace("_", "-")
    with pytest.raises(InputError, match="the same for all"):
        own_option(f"dpdl.{flag}=1", ["dpdl"])


def test_a_preset_is_taken_from_a_file_unless_one_is_given() -> None:
    Path("e.toml").write_text('preset = "as-published"\n')
    c = make_comparison("dpdl", 1, {}, file=Path("e.toml"))
    assert c.preset == c.terms().preset == "as-published"


@pytest.mark.parametrize(
    ("options", "sets", "preset", "expected"),
    [
        ({"dataset": "digits"}, [], None, ["default", "default"]),
        ({"dataset": "digits", "lr": 0.3}, [], None, ["given", "given"]),
        ({"dataset": "digits"}, ["dpdl.lr=0.3"], None, ["given", "default"]),
        ({"dataset": "digits"}, [], "as-published", ["given", "given"]),
    ],
)
def test_where_a_step_size_is_from(options, sets, preset, expected) -> None:
    c = make_comparison("dpdl,muffliato", 1, options, sets, preset=preset)
    assert [c.lr_from(name) for name in c.own] == expected
    found = c.with_lr({"muffliato": 0.7})
    assert [found.lr_from(name) for name in found.own] == [expected[0], "tuned"]
    assert found.experiment("muffliato").lr == 0.7


def test_a_step_size_that_was_tuned_for_the_data_set_says_so() -> None:
    known = [
        (name, next(iter(one.datasets)))
        for name, named in NAMES.items()
        for one in named.tuned
        if "lr" in one.values and one.graph is None and one.rule is None
    ]
    assert known
    name, dataset = known[0]
    c = make_comparison(name, 1, {"dataset": dataset})
    assert c.lr_from(name) == "tuned"
