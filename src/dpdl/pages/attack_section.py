"""What a neighbour could rebuild, for people who know neither gradients nor epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpdl.folder import names
from dpdl.folder.attack_facts import AttackFacts, CaseScores, TrivialScores
from dpdl.pages.alarms import Alarm, alarm
from dpdl.pages.page import (
    Section,
    bullets,
    highlighted,
    paragraphs,
    picture,
    private,
    table,
)
from dpdl.privacy.epsilon import Epsilon

RECOGNISABLE = 0.5  # SSIM
SURE = 0.05  # p
SENT = {
    "cg": "the gradient that an agent sends to a neighbour",
    "mm": "the momenta that agents send in two rounds",
    "self": "the momenta of two rounds, less the gradients that were heard",
    "step": "the models that agents send in two rounds",
}
SHOWN = "an attack: records, what was rebuilt of them, and how well"


def rebuilt(facts: AttackFacts, folder: Path) -> Section:
    """From `attack.json` and the pictures beside it."""
    size = min(row.batch for row in facts.rows)
    small = [row for row in facts.rows if row.batch == size]
    first = min(row.round for row in small)
    seen = [row for row in small if row.round == first]
    html = [
        paragraphs(
            "In this training no record ever leaves its owner. What leaves are models, "
            "and gradients: lists of numbers that say how a record would like the "
            "model to change. The pictures below were rebuilt from those numbers "
            "alone, by a program that listens on the links like any neighbour could. "
            "It never saw the records.",
            *_aside(size, seen[0].own_batch),
        ),
        *_verdict(seen),
        picture(
            folder / names.GALLERY_OF_AGENTS,
            "Rows of small pictures: the records, what was rebuilt from each kind of "
            "message, and a guess.",
            f"Round {first}, batches of {_count(size, 'record')}. Top: the records. "
            "Below: what was rebuilt from the messages named on the left (ND: no "
            "defence; CG, MM, SELF, STEP: the message, as listed below). Bottom: a "
            "guess that needs no message at all, the mean of public records.",
        ),
        bullets(
            f"{_label(row)}: from {SENT.get(row.scenario, row.scenario)}: "
            f"{outcome(row)}"
            for row in seen
        ),
        "<h3>Round by round</h3>",
        picture(
            folder / names.GALLERY,
            "One record of the first agent as it was rebuilt in several rounds of the "
            "training.",
            "One record of the first agent, chosen by nobody. ND: no defence. SSIM is "
            "1 for equal pictures and about 0 for unrelated ones.",
        ),
        "<h3>What this does not show</h3>",
        paragraphs(*limits(facts.epsilon)),
        "<h3>All numbers</h3>",
        _numbers(facts.rows, facts.trivial),
    ]
    return Section(
        "rebuilt", "What your neighbour could rebuild", [private(SHOWN, *html)]
    )


def outcome(row: CaseScores) -> str:
    """How one attack went, in words."""
    numbers = f"similarity {row.ssim:.2f} of 1"
    if row.p_better_than_trivial > SURE:
        return f"nothing, the guess is no worse ({numbers})."
    if row.ssim > RECOGNISABLE:
        return f"the records, recognisable ({numbers})."
    return f"a shadow of the records, better than the guess ({numbers})."


def similarity(row: CaseScores) -> str:
    """SSIM with two digits; there is no minus zero."""
    return f"{round(row.ssim, 2) + 0.0:.2f}"


def seen(row: CaseScores) -> str:
    """What was rebuilt, in two words."""
    if row.p_better_than_trivial > SURE:
        return "nothing"
    return "the records" if row.ssim > RECOGNISABLE else "a shadow"


def verdict(rows: Sequence[CaseScores]) -> str:
    """One sentence on who protects what."""
    return " ".join(filter(None, (exposed(rows), shielded(rows))))


def _verdict(rows: Sequence[CaseScores]) -> list[str]:
    """The same as HTML: a warning where records can be seen."""
    seen, unseen = exposed(rows), shielded(rows)
    found = [alarm(Alarm(seen, "Records can be seen"))] if seen else []
    return [*found, highlighted(unseen)] if unseen else found


def exposed(rows: Sequence[CaseScores]) -> str:
    """Whose records are seen; empty if nobody's."""
    names = [who for who in _who(rows) if _surest(rows, who) <= SURE]
    return (
        f"{_named(names)}: a neighbour sees your records, or a shadow of them."
        if names
        else ""
    )


def shielded(rows: Sequence[CaseScores]) -> str:
    """Whose records are not seen; empty if all are."""
    names = [who for who in _who(rows) if _surest(rows, who) > SURE]
    return (
        f"{_named(names)}: a neighbour sees nothing that it could not have guessed."
        if names
        else ""
    )


def _who(rows: Sequence[CaseScores]) -> list[str]:
    return list(dict.fromkeys(row.who for row in rows))


def _surest(rows: Sequence[CaseScores], who: str) -> float:
    """Of all ways in, the one that a guess explains least."""
    return min(row.p_better_than_trivial for row in rows if row.who == who)


def limits(epsilons: Mapping[str, Epsilon]) -> list[str]:
    """An attack that fails is no proof; epsilon is one."""
    sentences = [
        "An attack that fails proves nothing: a better one may come. What is proven is "
        "epsilon."
    ]
    for who, epsilon in epsilons.items():
        proven = epsilon.finite
        if proven is None:
            sentences.append(
                f"{_named([who])}: nothing is proven, and nothing is promised."
            )
        else:
            sentences.append(
                f"{_named([who])}: epsilon is at most {proven:.3g} over the whole "
                "training, against one who hears every link. Whatever somebody "
                "concludes from all messages is at most e to the epsilon "
                f"({_exponential(proven)}) times as likely with one of your "
                "records as without it."
            )
    return sentences


def _exponential(epsilon: float) -> str:
    """Of e, also where the result is too large for a number of the machine."""
    digits = epsilon / math.log(10)
    return f"{math.exp(epsilon):,.3g}" if digits < 300 else f"1e+{digits:.0f}"


def _aside(size: int, own: int | None) -> list[str]:
    if own is None or size == own:
        return []
    return [
        f"Messages of this training are about {own} records at a time. For the "
        "pictures the same rounds were played once more about "
        f"{_count(size, 'record')} at a time, with the noise that such messages get: "
        "the easiest case."
    ]


def _named(names: Sequence[str]) -> str:
    phrases = [
        f"Without protection ({name})"
        if name.split()[0] == "ND"
        else f"With the noise of {name}"
        for name in names
    ]
    return "; ".join(phrases)


def _label(row: CaseScores) -> str:
    return f"{row.who}-{row.scenario.upper()}"


def _count(number: int, noun: str) -> str:
    return f"one {noun}" if number == 1 else f"{number} {noun}s"


def _numbers(rows: Sequence[CaseScores], trivial: Sequence[TrivialScores]) -> str:
    cells = [
        [
            _label(row),
            *(str(row.round), str(row.batch), str(row.images)),
            *(f"{row.mse:.3f}", f"{row.psnr:.1f}", f"{row.ssim:.2f}"),
            "-" if row.label_recovery is None else f"{row.label_recovery:.0%}",
            f"{row.p_better_than_trivial:.2g}",
        ]
        for row in rows
    ]
    for guess in trivial:
        numbers = (f"{guess.mse:.3f}", f"{guess.psnr:.1f}", f"{guess.ssim:.2f}")
        cells.append([f"no attack: {guess.name}", "", "", "", *numbers, "", ""])
    return table(
        [
            "what was attacked",
            "round",
            "batch",
            "images",
            "MSE",
            "PSNR",
            "SSIM",
            "labels read off",
            "p",
        ],
        cells,
        "Medians over images. MSE in the units that the model sees, PSNR in decibels. "
        "p: of a paired test that images are no better than the best one that needs no "
        "attack.",
    )
