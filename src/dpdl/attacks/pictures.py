"""What a gallery shows, and why that: nothing is chosen by how well it came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from dpdl.attacks.harness import Reconstructions
from dpdl.attacks.metrics import score
from dpdl.attacks.tables import Attacked

TRUTH = "truth"
MOST = 6  # agents beside each other


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
    chosen = [(a, o) for a in attacked for o in a.outcomes if o.truth.shape[1] == size]
    rounds = sorted({o.case.round for _, o in chosen})
    rows: dict[str, list[Tensor | None]] = {TRUTH: [None] * len(rounds)}
    captions: dict[str, list[str]] = {}
    for a, o in chosen:
        k, name = rounds.index(o.case.round), _name(a, o)
        rows[TRUTH][k] = a.pixels.to_unit(o.truth[0, 0])
        rows.setdefault(name, [None] * len(rounds))[k] = a.pixels.to_unit(o.found[0, 0])
        one = score(o.found[0], o.truth[0], a.pixels)[0]
        caption = f"MSE {one.mse:.2f} PSNR {one.psnr:.1f} SSIM {one.ssim:.2f}"
        captions.setdefault(name, [""] * len(rounds))[k] = caption
    title = f"What was rebuilt from what was sent, batches of {size}"
    return Gallery([f"round {t}" for t in rounds], rows, captions, title)


def by_agent(attacked: Sequence[Attacked]) -> Gallery:
    """The first image of the first agents, in the first recorded round: what was sent as rows."""
    size = _smallest(attacked)
    chosen = [(a, o) for a in attacked for o in a.outcomes if o.truth.shape[1] == size]
    first = min(o.case.round for _, o in chosen)
    rows: dict[str, list[Tensor | None]] = {}
    for a, o in (pair for pair in chosen if pair[1].case.round == first):
        rows[TRUTH] = [a.pixels.to_unit(x[0]) for x in o.truth[:MOST]]
        rows[_name(a, o)] = [a.pixels.to_unit(x[0]) for x in o.found[:MOST]]
    a = attacked[0]
    count = len(rows[TRUTH])
    rows["a guess: the mean of public records"] = [
        a.pixels.to_unit(a.mean_image)
    ] * count
    return Gallery(
        [f"record {k + 1}" for k in range(count)],
        rows,
        {},
        f"Round {first}, batches of {size}",
    )


def _smallest(attacked: Sequence[Attacked]) -> int:
    return min(int(o.truth.shape[1]) for a in attacked for o in a.outcomes)


def _name(a: Attacked, o: Reconstructions) -> str:
    return f"{a.who}-{o.case.scenario.upper()}"
