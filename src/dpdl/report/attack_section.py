"""What a neighbour could rebuild, in words for people who know neither gradients nor epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpdl.folder import names
from dpdl.report.page import Section, bullets, paragraphs, picture, private, said, table

RECOGNISABLE = 0.5  # SSIM
SURE = 0.05  # p
SENT = {
    "cg": "the gradient that an agent sends to a neighbour",
    "mm": "the momenta that agents send in two rounds",
    "self": "the momenta of two rounds, less the gradients that were heard",
    "step": "the models that agents send in two rounds",
}
SHOWN = "an attack: records, what was rebuilt of them, and how well"
Row = Mapping[str, Any]


def rebuilt(facts: Mapping[str, Any], folder: Path) -> Section:
    """From `attack.json` and the pictures beside it."""
    rows: list[Row] = facts["rows"]
    size = min(row["batch"] for row in rows)
    small = [row for row in rows if row["batch"] == size]
    first = min(row["round"] for row in small)
    seen = [row for row in small if row["round"] == first]
    html = [
        paragraphs(
            "In this training no record ever leaves its owner. What leaves are models, "
            "and gradients: lists of numbers that say how a record would like the "
            "model to change. The pictures below were rebuilt from those numbers "
            "alone, by a program that listens on the links like any neighbour could. "
            "It never saw the records.",
            *_aside(size, seen[0]["own_batch"]),
        ),
        said(verdict(seen)),
        picture(
            folder / names.GALLERY_OF_AGENTS,
            "Rows of small pictures: the records, what was rebuilt from each kind of "
            "message, and a guess.",
            f"Round {first}, batches of {_count(size, 'record')}. Top: the records. "
            "Below: what was rebuilt from the messages named on the left. Bottom: a "
            "guess that needs no message at all, the mean of public records.",
        ),
        bullets(
            f"{row['who']}-{row['scenario'].upper()}: from {SENT[row['scenario']]}: "
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
        paragraphs(*limits(facts["epsilon"])),
        "<h3>All numbers</h3>",
        _numbers(rows, facts["trivial"]),
    ]
    return Section(
        "rebuilt", "What your neighbour could rebuild", [private(SHOWN, *html)]
    )


def outcome(row: Row) -> str:
    """How one attack went, in words."""
    numbers = f"similarity {row['ssim']:.2f} of 1"
    if row["p_better_than_trivial"] > SURE:
        return f"nothing, the guess is no worse ({numbers})."
    if row["ssim"] > RECOGNISABLE:
        return f"the records, recognisable ({numbers})."
    return f"a shadow of the records, better than the guess ({numbers})."


def verdict(rows: Sequence[Row]) -> str:
    """One sentence on who protects what."""
    open_: list[str] = []
    closed: list[str] = []
    for who in dict.fromkeys(row["who"] for row in rows):
        learnt = [
            row
            for row in rows
            if row["who"] == who and row["p_better_than_trivial"] <= SURE
        ]
        (open_ if learnt else closed).append(who)
    words = []
    if open_:
        words.append(
            f"{_named(open_)}: a neighbour sees your records, or a shadow of them."
        )
    if closed:
        words.append(
            f"{_named(closed)}: a neighbour sees nothing that it could not have "
            "guessed."
        )
    return " ".join(words)


def limits(epsilons: Mapping[str, float | str]) -> list[str]:
    """An attack that fails is no proof; epsilon is one."""
    sentences = [
        "An attack that fails proves nothing: a better one may come. What is proven is "
        "epsilon."
    ]
    for who, epsilon in epsilons.items():
        if isinstance(epsilon, str):
            sentences.append(
                f"{_named([who])}: nothing is proven, and nothing is promised."
            )
        else:
            sentences.append(
                f"{_named([who])}: epsilon is at most {epsilon:.3g} over the whole "
                "training, against one who hears every link. Whatever somebody "
                "concludes from all messages is at most e to the epsilon "
                f"({2.718281828**epsilon:,.3g}) times as likely with one of your "
                "records as without it."
            )
    return sentences


def _aside(size: int, own: int) -> list[str]:
    if size == own:
        return []
    return [
        f"Messages of this training are about {own} records at a time. For the "
        "pictures the same rounds were played once more about "
        f"{_count(size, 'record')} at a time, with the noise that such messages get: "
        "the easiest case."
    ]


def _named(names: Sequence[str]) -> str:
    words = [
        f"Without protection ({name})"
        if name.split()[0] == "ND"
        else f"With the noise of {name}"
        for name in names
    ]
    return "; ".join(words)


def _count(number: int, noun: str) -> str:
    return f"one {noun}" if number == 1 else f"{number} {noun}s"


def _numbers(rows: Sequence[Row], trivial: Sequence[Row]) -> str:
    cells = [
        [
            f"{row['who']}-{row['scenario'].upper()}",
            *(str(row["round"]), str(row["batch"]), str(row["images"])),
            *(f"{row['mse']:.3f}", f"{row['psnr']:.1f}", f"{row['ssim']:.2f}"),
            "-" if row["label_recovery"] is None else f"{row['label_recovery']:.0%}",
            f"{row['p_better_than_trivial']:.2g}",
        ]
        for row in rows
    ]
    for row in trivial:
        numbers = (f"{row['mse']:.3f}", f"{row['psnr']:.1f}", f"{row['ssim']:.2f}")
        cells.append([f"no attack: {row['name']}", "", "", "", *numbers, "", ""])
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
