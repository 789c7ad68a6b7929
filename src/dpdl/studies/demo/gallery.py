"""The picture of the story: records at the top, and below what was rebuilt in every part."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from dpdl.attacks.galleries import Gallery
from dpdl.attacks.image_scores import score
from dpdl.attacks.scoring import Attacked
from dpdl.folder.demo_facts import DemoPart
from dpdl.privacy.threats import EAVESDROPPER

TRUTH = "the records, which never left their owners"


def gallery_of(
    told: Sequence[tuple[DemoPart, Attacked]], agents: Sequence[int]
) -> Gallery:
    """A row for every part, a column for every agent; captions are similarities (SSIM)."""
    rows: dict[str, list[Tensor | None]] = {}
    captions: dict[str, list[str]] = {}
    for part, attacked in told:
        outcome, unit = attacked.outcomes[0], attacked.pixels.to_unit
        if not rows:
            rows[TRUTH] = [unit(images[0]) for images in outcome.truth]
        name = _label(part)
        rows[name] = [unit(images[0]) for images in outcome.found]
        pairs = zip(outcome.found, outcome.truth, strict=True)
        scores = [score(*pair, attacked.pixels)[0] for pair in pairs]
        captions[name] = [f"SSIM {round(one.ssim, 2) + 0.0:.2f}" for one in scores]
    title = (
        f"Rebuilt from messages about single records, round {told[0][0].attack.round}"
    )
    return Gallery([f"agent {agent}" for agent in agents], rows, captions, title)


def _label(part: DemoPart) -> str:
    """The protection and its epsilon: what is claimed, or else what is proven."""
    claimed = part.epsilon.claimed_theorem1
    proven = part.epsilon.against(EAVESDROPPER)
    if claimed.bounded:
        return f"{part.title}: epsilon {claimed} is claimed"
    if proven.bounded:
        return f"{part.title}: epsilon {proven:.2g} is proven"
    return f"{part.title}: {part.model}"
