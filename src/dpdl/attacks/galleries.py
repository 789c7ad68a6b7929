"""What a gallery shows: the first images, never those that were rebuilt best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from dpdl.attacks.harness import Reconstructions
from dpdl.attacks.image_scores import score
from dpdl.attacks.scoring import Attacked

TRUTH = "truth"
MOST = 6
"""Agents beside each other."""


class Gallery(NamedTuple):
    """The arguments of `draw_gallery`."""

    columns: list[str]
    rows: dict[str, list[Tensor | None]]
    captions: dict[str, list[str]]
    title: str

    def __repr__(self) -> str:
        return (
            f"Gallery({self.title!r}, {len(self.rows)} rows of {len(self.columns)} "
            "images)"
        )


def by_round(attacked: Sequence[Attacked]) -> Gallery:
    """The first image of the first agent, as in the paper's figures.

    Rounds as columns, what was sent as rows.
    """
    size = _smallest(attacked)
    chosen = _of_size(attacked, size)
    rounds = sorted({outcome.case.round for _, outcome in chosen})
    rows: dict[str, list[Tensor | None]] = {TRUTH: [None] * len(rounds)}
    captions: dict[str, list[str]] = {}
    for run, outcome in chosen:
        found, truth = outcome.found[0], outcome.truth[0]
        name = _name(run, outcome)
        images = rows.setdefault(name, [None] * len(rounds))
        texts = captions.setdefault(name, [""] * len(rounds))
        k = rounds.index(outcome.case.round)
        rows[TRUTH][k] = run.pixels.to_unit(truth[0])
        images[k] = run.pixels.to_unit(found[0])
        one = score(found, truth, run.pixels)[0]
        texts[k] = f"MSE {one.mse:.2f} PSNR {one.psnr:.1f} SSIM {one.ssim:.2f}"
    title = f"What was rebuilt from what was sent, batches of {size}"
    return Gallery([f"round {t}" for t in rounds], rows, captions, title)


def by_agent(attacked: Sequence[Attacked]) -> Gallery:
    """The first image of the first agents, in the first recorded round: what was sent as rows."""
    size = _smallest(attacked)
    chosen = _of_size(attacked, size)
    first = min(outcome.case.round for _, outcome in chosen)
    rows: dict[str, list[Tensor | None]] = {}
    for run, outcome in chosen:
        if outcome.case.round == first:
            unit = run.pixels.to_unit
            rows[TRUTH] = [unit(images[0]) for images in outcome.truth[:MOST]]
            found = [unit(images[0]) for images in outcome.found[:MOST]]
            rows[_name(run, outcome)] = list(found)
    count = len(rows[TRUTH])
    guess = attacked[0].pixels.to_unit(attacked[0].mean_image)
    rows["a guess: the mean of public records"] = [guess] * count
    columns = [f"record {k + 1}" for k in range(count)]
    return Gallery(columns, rows, {}, f"Round {first}, batches of {size}")


def _of_size(
    attacked: Sequence[Attacked], size: int
) -> list[tuple[Attacked, Reconstructions]]:
    """All outcomes with batches of a size, each with its run."""
    return [
        (run, outcome)
        for run in attacked
        for outcome in run.outcomes
        if outcome.truth.shape[1] == size
    ]


def _smallest(attacked: Sequence[Attacked]) -> int:
    outcomes = [outcome for run in attacked for outcome in run.outcomes]
    return min(int(outcome.truth.shape[1]) for outcome in outcomes)


def _name(run: Attacked, outcome: Reconstructions) -> str:
    return f"{run.who}-{outcome.case.scenario.upper()}"
