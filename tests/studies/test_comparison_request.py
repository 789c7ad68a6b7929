"""Requests for comparisons: who gets which option, and what is equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.algorithms import NAMES, NOT_PRIVATE, Named
from dpdl.algorithms.base import Stepped
from dpdl.algorithms.dpdl import SoundDPDL
from dpdl.errors import InputError
from dpdl.studies.comparison_request import make_comparison


def test_what_is_given_for_all_goes_to_those_that_have_it(monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "plain", Named(SoundDPDL, "no noise", fixed=NOT_PRIVATE))
    c = make_comparison(
        "dpdl,plain",
        2,
        {"momentum": 0.5, "sigma": 2.0, "seed": 4, "lr": 0.3},
        ["dpdl.alpha=0.25", "plain.lr=0.4"],
    )
    a, b = (c.experiment(name) for name in c.own)
    assert (a.sigma, a.noise, a.alpha, a.lr, a.momentum) == (
        2.0,
        "accountant",
        0.25,
        0.3,
        0.5,
    )
    assert (b.sigma, b.noise, b.clip_unit, b.alpha, b.lr) == (
        None,
        "none",
        "none",
        2.0,
        0.4,
    )
    assert (c.seeds, c.equal, a.seed) == ((4, 5), "sigma", 4)


def test_an_algorithm_without_an_option_does_not_get_it(monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "bare", Named(Stepped, "nothing but a step size"))
    c = make_comparison("dpdl,bare", 1, {"momentum": 0.5, "lr": 0.3})
    assert c.experiment("dpdl").momentum == 0.5
    assert "momentum" not in c.experiment("bare").options
    assert [c.experiment(name).lr for name in c.own] == [0.3, 0.3]
    with pytest.raises(InputError, match="momentum is an option of none of bare"):
        make_comparison("bare", 1, {"momentum": 0.5})


def test_a_file_is_read_and_its_algorithm_is_replaced() -> None:
    Path("e.toml").write_text('algorithm = "dpdl"\nrounds = 7\nlr = 0.2\nagents = 4\n')
    e = make_comparison("dpdl-sound", 1, {"lr": 0.4}, file=Path("e.toml")).experiment(
        "dpdl-sound"
    )
    assert (e.algorithm, e.rounds, e.lr, e.agents) == ("dpdl-sound", 7, 0.4, 4)
    assert (
        make_comparison("dpdl", 1, {}, preset="as-published").experiment("dpdl").noise
        == "public-code"
    )
