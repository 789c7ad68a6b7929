"""The sentences of docs/cross-gradients.md that have numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from dpdl.folder.calibration_study import StudySetting
from dpdl.pages.calibration_leads import (
    LEARNED,
    OURS,
    Lead,
    Study,
    departure,
    leads,
    learned,
    points,
    same_step,
    spread,
)

SEEN = 0.01
"""Mean departure of a coefficient from 1/2 from which on something of the cosine was seen."""
UNLIKE = 0.05
"""With this alpha_d, or less, agents have very different records."""


def facts(study: Study) -> list[str]:
    """All of them, in the order of the page."""
    clear = sum(map(learned, study.values()))
    noisy = sum(s.epsilon is not None for s in study)
    return [
        *worth_of_looking(study),
        hiding(study),
        *worth_of_asking(study),
        f"{len(study)} settings, {noisy} of them with noise; in {clear} some algorithm "
        f"gets {LEARNED:.0%} right, and only those count below.",
        "Within a setting and a seed the proven epsilons differ by at most "
        f"{100 * apart(study):.2g} %.",
    ]


def worth_of_looking(study: Study) -> list[str]:
    """Leads over the algorithm that looks at nothing."""
    found = leads(study, "blind")
    noisy = [one for one in found if one.setting.epsilon is not None]
    same = [one for one in noisy if same_step(study[one.setting], "blind")]
    seen = [one for one in noisy if departure(study[one.setting]) >= SEEN]
    silent = [one for one in found if one.setting.epsilon is None]
    return [
        f"In the {len(noisy)} settings with noise `dpdl-sound` leads it by {spread(noisy)} "
        f"points, on average by {fmean(one.mean for one in noisy):+.2f}.",
        f"In the {len(same)} of them in which both chose the same step, the lead is "
        f"{spread(same)} points.",
        f"With noise, and a mean coefficient that is {SEEN} or more from 1/2, "
        f"`dpdl-sound` is {counts(seen)}.",
        f"Without noise it is {counts(silent)}.",
    ]


def hiding(study: Study) -> str:
    """What noise leaves of the cosines, in the mean over all runs."""
    seen = [
        (s.epsilon is None, abs(one.cosine))
        for s, lines in study.items()
        for one in lines[OURS].seeds
        if one.cosine is not None
    ]
    noisy, silent = (
        fmean(size for quiet, size in seen if quiet is which) for which in (False, True)
    )
    return (
        f"The mean size of neighbours' cosine is {silent:.3f} without noise, and "
        f"{noisy:.3f} with it."
    )


def worth_of_asking(study: Study) -> list[str]:
    """Leads over the algorithm that asks no neighbour, with noise."""
    noisy = [one for one in leads(study, "dp-dmsgd") if one.setting.epsilon is not None]
    there = [one for one in noisy if unlike_ring(one.setting)]
    rest = [one for one in noisy if not unlike_ring(one.setting)]
    return [
        f"On rings with such records and with noise `dpdl-sound` is {counts(there)}.",
        f"In the other settings with noise it is {counts(rest)}.",
    ]


def unlike_ring(s: StudySetting) -> bool:
    """Where models differ, and records do."""
    return s.graph == "ring" and s.alpha_d <= UNLIKE


def counts(found: Sequence[Lead]) -> str:
    """How many are ahead and behind, in words."""
    sure = [one.sure for one in found]
    middle = median(one.mean for one in found)
    return (
        f"ahead in {sure.count(1)} of {len(found)} settings and behind in "
        f"{sure.count(-1)}, with a median lead of {points(middle)} points"
    )


def apart(study: Study) -> float:
    """The largest relative difference between the epsilons of one setting and seed."""
    found = [0.0]
    for lines in study.values():
        for every in zip(*(line.seeds for line in lines.values()), strict=True):
            proven = [one.epsilon for one in every if one.epsilon is not None]
            found += [max(proven) / min(proven) - 1] if proven else []
    return max(found)
