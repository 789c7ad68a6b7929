"""Comparisons, searches and pages from Python are those of the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

import dpdl
from dpdl.errors import InputError
from dpdl.studies.search import SEARCHES, SearchName

SMALL = dpdl.Experiment(
    dataset="digits", agents=3, batch=8, rounds=2, sigma=1.0, eval_every=2
)


def test_algorithms_are_compared(tmp_path: Path) -> None:
    table = dpdl.compare(
        SMALL,
        ["dp-dpsgd", "muffliato"],
        own={"muffliato": {"lr": 0.02}},
        out=tmp_path / "c",
        jobs=1,
    )
    assert {row.algorithm for row in table.rows} == {"dp-dpsgd", "muffliato"}
    assert table.equal == "sigma" and [row.rank for row in table.rows] == [1, 2]
    assert json.loads((tmp_path / "c" / "table.json").read_text()) == table.to_json()
    run = tmp_path / "c" / "runs" / "muffliato-seed0" / "experiment.json"
    options = json.loads(run.read_text())["experiment"]
    assert (options["lr"], options["batch"], options["sigma"]) == (0.02, 8, 1.0)
    page = dpdl.report(run.parent, out=tmp_path / "page.html", public=True)
    assert page.public and Path(page.page).read_text("utf-8").startswith("<!doctype")


def test_options_are_tuned(tmp_path: Path) -> None:
    found = dpdl.tune(
        dpdl.Experiment(**{**SMALL.as_dict(), "algorithm": "dp-dpsgd"}),
        ["lr"],
        trials=2,
        ranges={"lr": (0.01, 0.02)},
        out=tmp_path / "t",
        jobs=1,
    )
    assert len(found.trials) == 2 and set(found.best) == {"lr"}
    drawn = next(one for one in found.trials if one.trial == 1)
    assert 0.01 <= drawn.values["lr"] <= 0.02
    assert (tmp_path / "t" / "best.toml").is_file()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dpdl.compare({}, ["dpdl"]), "experiment must be a dpdl"),
        (lambda: dpdl.compare(SMALL, [dpdl.algorithms.DPSGD()]), "list of names"),
        (lambda: dpdl.compare(SMALL, ["dpld"]), "dpld"),
        (lambda: dpdl.compare(SMALL, []), "one or more names"),
        (
            lambda: dpdl.compare(SMALL, "dpdl", own={"dpdl": {"seed": 1}}),
            "seed is the same for all",
        ),
        (lambda: dpdl.tune("digits", ["lr"]), "experiment must be a dpdl"),
        (lambda: dpdl.tune(SMALL, ["lr"], search="best"), "best"),
        (lambda: dpdl.tune(SMALL, ["lr"], trials=0), "trials must be"),
        (lambda: dpdl.report(), "at least one folder"),
        (lambda: dpdl.report(["runs"]), "folder must be a path"),
        (lambda: dpdl.report("nowhere"), "holds neither"),
    ],
)
def test_what_is_wrong_is_one_sentence(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_the_searches_have_names_that_type_checkers_know() -> None:
    assert get_args(SearchName) == SEARCHES
