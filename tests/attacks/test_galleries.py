"""What a gallery shows is what was found, in its place."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import torch

from dpdl.attacks.galleries import TRUTH, by_agent, by_round
from dpdl.attacks.harness import Reconstructions
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.scenarios import AttackCase


def outcome(t: int, batch: int, value: float) -> Reconstructions:
    """Truth is white times `value`, what was found half of that."""
    truth = torch.full((3, batch, 1, 12, 12), value)
    none = torch.zeros(3, 0, dtype=torch.int64)
    return Reconstructions(
        AttackCase("cg", t, batch), "peel", truth / 2, truth, none, none, torch.zeros(3)
    )


def attacked(*outcomes: Reconstructions) -> SimpleNamespace:
    mean = torch.full((1, 12, 12), 0.25)
    return SimpleNamespace(
        who="ND", outcomes=outcomes, pixels=Pixels((0.0,), (1.0,)), mean_image=mean
    )


def test_rounds_are_columns_and_only_the_smallest_batch_is_shown() -> None:
    found = by_round(
        [attacked(outcome(800, 1, 0.4), outcome(5, 1, 0.8), outcome(5, 4, 1.0))]
    )
    assert found.columns == ["round 5", "round 800"]
    assert [float(image.max()) for image in found.rows[TRUTH]] == [
        float(torch.tensor(v)) for v in (0.8, 0.4)
    ]
    assert [round(float(image.max()), 6) for image in found.rows["ND-CG"]] == [0.4, 0.2]
    assert found.captions["ND-CG"][0].startswith("MSE 0.16")


def test_agents_are_columns_of_the_first_round_beside_a_guess() -> None:
    found = by_agent([attacked(outcome(800, 1, 0.4), outcome(5, 1, 0.8))])
    assert found.columns == [
        "record 1",
        "record 2",
        "record 3",
    ] and found.title.startswith("Round 5")
    shown = {
        name: round(float(images[0].max()), 6) for name, images in found.rows.items()
    }
    assert list(shown.values()) == [0.8, 0.4, 0.25]


def test_at_most_six_agents_stand_beside_each_other() -> None:
    truth = torch.full((8, 1, 1, 12, 12), 0.5)
    none = torch.zeros(8, 0, dtype=torch.int64)
    case = AttackCase("mm", 2, 1)
    many = Reconstructions(case, "peel", truth, truth, none, none, torch.zeros(8))
    found = by_agent([attacked(many)])
    assert len(found.columns) == 6 and set(map(len, found.rows.values())) == {6}
    assert list(found.rows)[1] == "ND-MM"
    assert repr(found) == "Gallery('Round 2, batches of 1', 3 rows of 6 images)"


def test_a_round_that_was_not_attacked_by_a_scenario_is_an_empty_cell() -> None:
    first, other = outcome(5, 1, 0.8), outcome(9, 1, 0.4)
    other = replace(other, case=AttackCase("mm", 9, 1))
    found = by_round([attacked(first, other)])
    assert found.rows["ND-CG"][1] is None and found.rows["ND-MM"][0] is None
    assert found.captions["ND-MM"][0] == "" and found.captions["ND-MM"][1]
