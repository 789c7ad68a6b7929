"""The trials of a search: ranges, draws, grids, rungs, and schedules for a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from dpdl.algorithms import DPSGD, name_of
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.options import Range, option
from dpdl.studies.search import Search, field_of, make_search
from tests.studies.scored import E as BUDGET
from tests.studies.scored import planned

E = Experiment(dataset="digits", agents=3, batch=8, algorithm="dpdl-sound", rounds=200)


def test_trial_0_has_the_defaults_and_the_draws_do_not_depend_on_what_else_is_asked() -> (
    None
):
    s = make_search(E, "clip,lr,momentum", 200, ranges=["lr=0.001:10"])
    assert s.values(0) == {"lr": 0.1, "clip": 1.0, "momentum": 0.7}
    drawn = [s.values(k) for k in range(1, 200)]
    assert len({one["lr"] for one in drawn}) > 190
    for name, one in s.ranges.items():
        assert all(one.low <= values[name] <= one.high for values in drawn)
    # Log-uniform: half of the draws of lr are below the geometric middle, and hardly any below the arithmetic one.
    assert 75 < sum(values["lr"] < 0.1 for values in drawn) < 125
    assert 75 < sum(values["momentum"] < 0.475 for values in drawn) < 125
    assert [
        make_search(E, "momentum", 3).values(k)["momentum"] for k in range(1, 9)
    ] == [v["momentum"] for v in drawn[:8]]
    assert make_search(replace(E, seed=1), "momentum", 3).values(1) != make_search(
        E, "momentum", 3
    ).values(1)


@pytest.mark.parametrize(
    ("algorithm", "drawn"),
    [
        ("dpdl-sound", {"lr": 0.9858, "clip": 1.507, "momentum": 0.6796, "alpha": 3.884}),
        ("dpdl-sound", {"weight_decay": 0.002411, "lr_decay": 0.861}),
        ("dfedsam", {"local_steps": 3, "sam_radius": 0.006851}),
        ("muffliato", {"gossip_steps": 2}),
        ("dp-cga", {"margin": 0.1631}),
        ("ngm", {"data_share": 0.8474}),
        ("gut", {"tracking": 0.1602}),
    ],
)  # fmt: skip
def test_draws_are_those_of_earlier_versions(algorithm: str, drawn: dict) -> None:
    e = Experiment(dataset="digits", agents=3, batch=8, algorithm=algorithm, seed=5)
    assert make_search(e, ",".join(drawn), 2).values(1) == drawn


@dataclass(frozen=True)
class More(DPSGD):
    """An algorithm with one more option."""

    aa: float = option(1.0, "an option that comes first", search=Range(0, 1))


def test_other_options_have_draws_of_their_own() -> None:
    def batches(over: str) -> list[float]:
        return [make_search(E, over, 2).values(k)["batch"] for k in range(1, 9)]

    alone = batches("batch")
    assert len(set(alone)) > 4
    assert all(16 <= batch <= 512 for batch in alone)
    assert batches("lr,batch,clip") == alone

    more = replace(E, algorithm=name_of(More))
    assert (
        make_search(more, "aa,lr", 2).values(1)["lr"]
        == make_search(E, "lr", 2).values(1)["lr"]
    )
    assert 0 < make_search(more, "aa", 2).values(1)["aa"] < 1


def test_whole_numbers_are_drawn_whole_and_reach_both_ends(monkeypatch) -> None:
    e = replace(E, algorithm="dp-netfleet")
    s = Search(
        e, {"local_steps": field_of(e.algorithm, "local_steps").metadata["search"]}, 200
    )
    assert {s.values(k)["local_steps"] for k in range(1, 200)} == set(range(1, 9))


def test_halving_compares_at_a_ninth_a_third_and_the_end() -> None:
    assert Search(E, {}, 1, "halving").rungs() == [23, 67, 200]
    assert Search(replace(E, rounds=2), {}, 1, "halving").rungs() == [1, 2]
    assert (
        Search(E, {}, 1, "random").rungs() == Search(E, {}, 2, "grid").rungs() == [200]
    )


def test_a_grid_goes_from_end_to_end_in_equal_steps_or_equal_factors() -> None:
    def grid(over: str, trials: int, *ranges: str) -> list[float]:
        s = make_search(
            replace(
                E, algorithm="dp-netfleet" if over == "local_steps" else E.algorithm
            ),
            over,
            trials,
            "grid",
            ranges,
        )
        return [s.values(k)[over] for k in range(trials)]

    assert grid("lr", 6, "lr=0.2:6.4") == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
    assert grid("momentum", 3, "momentum=0.5:0.9") == [0.5, 0.7, 0.9]
    assert grid("local_steps", 8) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert grid("local_steps", 2) == [1, 8]


def test_nothing_is_held_out_at_sites() -> None:
    e = Experiment(sites=("a.npz", "b.npz"))
    with pytest.raises(InputError, match="at sites there is none"):
        make_search(e, "lr", 2)


# ------------------------------------------------------------------ for a budget
def budget_search(
    e: Experiment, trials: int, over: str = "lr", ranges: Sequence[str] = ()
) -> Search:
    s = make_search(e, over, trials, ranges=ranges, work=4.0)
    return replace(s, plan=tuple(planned(e, 4.0)))


def test_trial_0_is_as_given_and_the_others_do_not_depend_on_how_many_there_are() -> (
    None
):
    s = budget_search(BUDGET, 100)
    assert s.values(0) == {"lr": 0.1, "rounds": 8, "batch": 32}
    drawn = [s.values(k) for k in range(1, 100)]
    assert {(v["rounds"], v["batch"]) for v in drawn} == {
        (c.rounds, c.batch) for c in s.plan if c.candidate
    }
    fewer, other, more = (
        budget_search(BUDGET, 3),
        budget_search(replace(BUDGET, seed=1), 3),
        budget_search(BUDGET, 3, "lr,clip"),
    )
    assert [fewer.values(k) for k in range(1, 100)] == drawn
    pairs = [(v["rounds"], v["batch"]) for v in drawn]
    assert [
        (v["rounds"], v["batch"]) for v in map(other.values, range(1, 100))
    ] != pairs
    assert [(v["rounds"], v["batch"]) for v in map(more.values, range(1, 100))] == pairs
    assert [s.rungs(k) for k in range(1, 100)] == [[v["rounds"]] for v in drawn]


def test_lr_times_rounds_is_what_was_drawn_for_the_rounds_of_the_experiment() -> None:
    plain = make_search(BUDGET, "lr", 50, ranges=["lr=0.3:3"])
    budget = budget_search(BUDGET, 50, ranges=["lr=0.3:3"])
    assert {budget.values(k)["rounds"] for k in range(50)} > {8}
    for k in range(50):
        values = budget.values(k)
        assert values["lr"] * values["rounds"] == pytest.approx(
            plain.values(k)["lr"] * 8, rel=1e-3
        )
    default = budget_search(replace(BUDGET, lr=0.7), 50, "clip")
    for k in range(50):
        values = default.values(k)
        assert values["lr"] * values["rounds"] == pytest.approx(0.7 * 8, rel=1e-3)
        assert values["clip"] == make_search(BUDGET, "clip", 50).values(k)["clip"]
