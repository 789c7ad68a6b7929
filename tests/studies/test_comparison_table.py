"""The table of a comparison: ranks, means, and the worst of everything that costs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from dpdl.experiment.experiment import Experiment
from dpdl.folder.summary import Summary
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.comparison_table import (
    ComparedRun,
    ComparisonTable,
    FailedRun,
    OverSeeds,
    ScoreOverSeeds,
    StoppedRun,
    as_csv,
    largest,
    tabulate,
)
from tests.studies.tables import ASKED, run, small_table, summary


def test_rows_are_ranked_by_mean_and_those_without_a_result_come_last() -> None:
    rows = small_table().rows
    assert [(row.algorithm, row.rank, row.proven) for row in rows] == [
        ("b", 1, False),
        ("a", 2, True),
        ("c", None, False),
    ]


def test_a_row_has_means_and_the_worst_of_everything_that_costs() -> None:
    b, a, _ = small_table().rows
    assert a.score == ScoreOverSeeds("accuracy", 0.6, pytest.approx(0.02**0.5), 0.3)
    assert a.average_model == OverSeeds(0.6, pytest.approx(0.02**0.5))
    assert (a.rounds, a.bytes_sent, a.sigma) == (4, 101, 1.5)
    assert (a.train_loss, a.consensus_distance, a.seconds) == (None, 0.5, 2.0)
    assert a.epsilon == {
        "claimed_theorem1": UNKNOWN,
        "eavesdropper": Epsilon(4.0),
        "neighbour": Epsilon(2.0),
        "final_model": Epsilon(1.0),
    }
    assert b.epsilon["eavesdropper"] == UNBOUNDED
    assert (a.seeds, a.stopped, a.failed) == ((0, 1), (StoppedRun(1, 4, 5),), ())


def test_without_a_finished_run_numbers_are_missing() -> None:
    row = small_table().rows[-1]
    assert row.score == ScoreOverSeeds("accuracy", None, None, None)
    assert row.failed == (FailedRun(0, "It broke."),)
    assert (row.seeds, row.rounds, row.sigma, row.epsilon) == ((), None, None, {})
    table = tabulate([run("c", 0, None, "It broke.")], ASKED, "c")
    assert table.agents == Experiment().agents


def test_one_seed_has_no_spread() -> None:
    (row,) = tabulate(
        [run("a", 0, summary(0, 0.5, 0.4, Epsilon(3.0)))], ASKED, "c"
    ).rows
    assert (row.score.mean, row.score.spread) == (0.5, None)


@pytest.mark.parametrize(
    ("epsilons", "expected"),
    [
        ([Epsilon(1.0), Epsilon(3.0), Epsilon(2.0)], Epsilon(3.0)),
        ([Epsilon(1.0), UNBOUNDED, Epsilon(3.0)], UNBOUNDED),
        ([Epsilon(1.0), UNKNOWN], UNKNOWN),
        ([Epsilon(0.0)], Epsilon(0.0)),
    ],
)
def test_the_largest_epsilon_is_the_first_that_is_no_number(
    epsilons: list[Epsilon], expected: Epsilon
) -> None:
    assert largest(epsilons) == expected


def test_the_table_names_the_rules_that_set_the_noise() -> None:
    def rules(*experiments: Experiment) -> str | None:
        runs = [
            replace(run("a", 0, summary(0, 0.5, 0.4, Epsilon(3.0))), experiment=e)
            for e in experiments
        ]
        return tabulate(runs, ASKED, "c").noise

    by_theorem, fixed = Experiment(noise="theorem1"), Experiment(sigma=1.0)
    assert rules(by_theorem, Experiment()) == "accountant theorem1"
    assert rules(fixed, by_theorem) == "theorem1"
    assert rules(fixed, Experiment(noise="none")) is None


def test_json_has_the_keys_that_others_rely_on() -> None:
    found = json.loads(json.dumps(small_table().to_json(), allow_nan=False))
    assert list(found) == [
        *("rows", "dataset", "graph", "agents", "delta", "threat", "noise"),
        *("equal", "bytes", "out"),
    ]
    b, a, c = found["rows"]
    assert list(a) == [
        *("algorithm", "rank", "accuracy", "average_model", "train_loss"),
        *("consensus_distance", "sigma", "seconds", "bytes_sent", "rounds"),
        *("epsilon", "proven", "seeds", "stopped", "failed", "lr", "lr_from"),
    ]
    assert a["stopped"] == [{"seed": 1, "rounds": 4, "asked": 5}]
    assert c["failed"] == [{"seed": 0, "error": "It broke."}]
    assert b["epsilon"]["eavesdropper"] == "unbounded"
    assert ComparisonTable.from_json(found) == small_table()


def test_a_line_of_the_spreadsheet_has_a_column_for_every_part() -> None:
    lines = list(csv.DictReader(as_csv(small_table()).splitlines()))
    names = ("algorithm", "accuracy_mean", "seeds", "stopped", "failed")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("b", "0.8", "0 1", "", ""),
        ("a", "0.6", "0 1", "1", ""),
        ("c", "", "", "", "0"),
    ]
    assert lines[0]["epsilon_eavesdropper"] == "unbounded"
    assert lines[2]["epsilon_eavesdropper"] == lines[1]["train_loss"] == ""


def test_of_errors_the_lowest_is_best_and_the_highest_is_worst(capsys) -> None:
    def error(mean: float, worst: float, seed: int = 0) -> Summary:
        return summary(seed, mean, worst, Epsilon(1.0), score="squared_error")

    runs = [
        run("a", 0, error(0.5, 0.6)),
        run("b", 0, error(0.2, 0.4)),
        run("b", 1, error(0.3, 0.9, seed=1)),
    ]
    table = tabulate(runs, ASKED, "c")
    assert [row.algorithm for row in table.rows] == ["b", "a"]
    assert table.rows[0].score.worst == 0.9
    found = table.to_json()
    assert list(found["rows"][0])[:3] == ["algorithm", "rank", "squared_error"]
    assert ComparisonTable.from_json(found) == table
    assert "squared_error_mean" in as_csv(table).splitlines()[0]


def test_a_row_says_which_step_size_it_has_and_where_it_is_from() -> None:
    e = Experiment(algorithm="muffliato", rounds=5, lr=0.25)
    runs = [
        ComparedRun("muffliato", e, summary(0, 0.5, 0.4, Epsilon(3.0))),
        run("dpdl", 0, summary(0, 0.4, 0.3, Epsilon(3.0))),
    ]
    table = tabulate(runs, ASKED, "c", {"muffliato": "tuned", "dpdl": None})
    first, second = (row.to_json() for row in table.rows)
    assert (first["lr"], first["lr_from"]) == (0.25, "tuned")
    assert (second["lr"], second["lr_from"]) == (None, None)
    assert ComparisonTable.from_json(table.to_json()) == table
    old = table.to_json()
    for row in old["rows"]:
        del row["lr"], row["lr_from"]
    assert ComparisonTable.from_json(old).rows[0].lr_from is None, "of an older version"
