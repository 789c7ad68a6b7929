"""The paper's claims beside what was measured at a proven epsilon."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.folder.cell_results import SeedResult
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.studies.reproduce import cell_store, recipes
from dpdl.studies.reproduce.claims import claims, largest
from tests.studies.reproduce.small import CELL, RUN

CONCORD = CELL._replace(algorithm="concord")
DECOR = CELL._replace(algorithm="decor")
"""The paper claims 91.8 there."""


def entered(out: Path, cell, *runs: SeedResult) -> None:
    for seed, run in enumerate(runs):
        cell_store.add(out, cell, "sound", recipes.experiment(cell, "sound", seed), run)


def reached(average: float, worst: float | None) -> SeedResult:
    return replace(RUN, accuracy=average, agents_mean=worst, agents_worst=worst)


def test_a_claim_that_every_agent_reaches_is_better_than_a_better_average(
    tmp_path: Path,
) -> None:
    entered(tmp_path, DECOR, reached(99.0, 80.0))
    entered(tmp_path, CONCORD, reached(92.0, 91.9))
    found = claims(tmp_path, [DECOR, CONCORD])
    assert (found.of, found.measured) == (108, 1)
    assert (found.reached, found.reached_by_every_agent) == (1, 1)
    (one,) = found.cells
    assert (one.algorithm, one.claimed, one.average_model) == ("concord", 91.8, 92.0)
    assert claims(tmp_path, [DECOR]).reached_by_every_agent == 0
    assert "1 were measured" in found.sentence


def test_where_two_are_reached_by_all_the_better_worst_agent_counts(
    tmp_path: Path,
) -> None:
    entered(tmp_path, DECOR, reached(97.0, 95.7))
    entered(tmp_path, CONCORD, reached(96.9, 96.9))
    for order in ([DECOR, CONCORD], [CONCORD, DECOR]):
        assert claims(tmp_path, order).cells[0].algorithm == "concord"


def test_seeds_are_averaged_and_their_largest_epsilon_counts(tmp_path: Path) -> None:
    first = reached(91.0, 90.0)
    second = replace(reached(93.0, 92.0), epsilon={"eavesdropper": Epsilon(3.0)})
    entered(tmp_path, CONCORD, first, second)
    (one,) = claims(tmp_path, [CONCORD]).cells
    assert (one.average_model, one.agents_worst, one.seeds) == (92.0, 91.0, (0, 1))
    assert one.proven == {"eavesdropper": Epsilon(3.0)}, "no claim of Theorem 1"
    assert (one.reached, one.reached_by_every_agent) == (True, False)


def test_what_was_not_recorded_reaches_nothing(tmp_path: Path) -> None:
    entered(tmp_path, CONCORD, reached(99.0, 99.0), reached(99.0, None))
    (one,) = claims(tmp_path, [CONCORD]).cells
    assert one.agents_worst is None
    assert not one.reached_by_every_agent


def test_what_was_measured_in_other_modes_is_no_proof(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    cell_store.add(tmp_path, CELL, "as-published", e, reached(99.0, 99.0))
    found = claims(tmp_path, [CELL, CONCORD])
    assert (found.measured, found.cells) == (0, ())


def test_one_unknown_epsilon_makes_the_largest_unknown() -> None:
    assert largest([Epsilon(1.0), Epsilon(2.0)]) == Epsilon(2.0)
    assert largest([Epsilon(1.0), UNKNOWN]) == UNKNOWN == largest([])
