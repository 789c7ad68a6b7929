"""The story on a page, for people who know neither gradients nor epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dpdl.folder.demo_facts import DemoFacts, DemoPart
from dpdl.pages.attack_section import SENT, seen, similarity
from dpdl.pages.page import (
    PagePart,
    Section,
    bullets,
    heading,
    highlighted,
    paragraphs,
    picture,
    private,
    public,
    words_table,
)

HEAD = (
    "protection",
    "accuracy",
    "epsilon claimed",
    "proven: all links",
    "proven: neighbour",
    "proven: final model",
    "rebuilt",
)
KEYS = ("eavesdropper", "neighbour", "final_model")
"""The threat models of the table, by their key in JSON."""


def told(facts: DemoFacts, folder: Path) -> Section:
    """From `story.json` and the picture beside it."""
    return Section(
        "story",
        "What a neighbour rebuilds, and what is proven",
        [
            public(paragraphs(*_opening(facts))),
            *_picture(facts, folder),
            private("similarities of rebuilt records (numbers)", _table(facts)),
            private(
                "how well records were rebuilt (sentences)",
                heading("What it means"),
                bullets(meaning(facts)),
            ),
            public(heading("What it does not show"), bullets(limits(facts))),
            private("where files are", heading("How to go on"), bullets(_next(facts))),
        ],
    )


def meaning(facts: DemoFacts) -> list[str]:
    """One sentence or two about every part."""
    return [_sentence(part) for part in (*facts.parts, *filter(None, [facts.control]))]


def _sentence(part: DemoPart) -> str:
    row = part.attack
    source = SENT.get(row.scenario, row.scenario)
    rebuilt = (
        f"from {source}, the attacker rebuilt {seen(row)} "
        f"(similarity {similarity(row)} of 1{_labels(part)})."
    )
    return f"{part.title.capitalize()}: {rebuilt} {_worth(part)}".strip()


def _worth(part: DemoPart) -> str:
    """What is claimed, certified and proven."""
    words = []
    claimed = part.epsilon.claimed_theorem1
    if claimed.bounded:
        words.append(f"The paper's Theorem 1 claims epsilon = {claimed}.")
    if part.certified is not None and claimed.value is not None:
        confidence = f"{part.confidence:.0%}" if part.confidence else "its"
        verdict = "the claim is refuted" if refuted(part) else "that refutes nothing"
        words.append(
            f"An audit of these settings certifies at least {part.certified:.2g} with "
            f"{confidence} confidence: {verdict}."
        )
    proven = [part.epsilon.proven.get(key) for key in KEYS]
    if all(one is not None and one.bounded for one in proven):
        numbers = " / ".join(f"{one}" for one in proven if one is not None)
        words.append(
            f"Proven is {numbers} against one who hears every link, one neighbour, and "
            "one who gets the final model."
        )
    else:
        words.append("Nothing is proven.")
    return " ".join(words)


def refuted(part: DemoPart) -> bool:
    """Whether an audit certifies more than is claimed."""
    claimed, certified = part.epsilon.claimed_theorem1.value, part.certified
    return certified is not None and claimed is not None and certified > claimed


def _labels(part: DemoPart) -> str:
    read = part.attack.label_recovery
    if read is None:
        return ""
    images = part.attack.images
    return f", labels read off {round(read * images)} of {images}"


def limits(facts: DemoFacts) -> list[str]:
    """An attack that fails is no proof, and a demonstration is no benchmark."""
    first = facts.parts[0].attack
    found = [
        f"The attacked messages are about one record each, in round {first.round}: the "
        "easiest case. The run's own messages are about "
        f"{first.own_batch or 'many'} records, and much harder to invert.",
        "An attack that rebuilds nothing proves nothing: a better one may come. Only "
        "epsilon is a promise, and a smaller one promises more.",
        "One run with one seed each, no benchmark. The noise is seeded, so these runs "
        "are simulations and protect nobody.",
    ]
    return [*found, *facts.notes]


def _opening(facts: DemoFacts) -> list[str]:
    return [
        f"{facts.agents} agents on a {facts.graph} graph train one model on "
        f"{facts.dataset}, without a server. No record leaves its owner: only models "
        "and gradients do, to the neighbours. The attacker reads these messages and "
        "what is public, and never saw the records."
    ]


def _picture(facts: DemoFacts, folder: Path) -> list[PagePart]:
    if facts.picture is None or not (folder / Path(facts.picture).name).exists():
        return [public(highlighted("No picture: matplotlib was not installed."))]
    shown = picture(
        folder / Path(facts.picture).name,
        "Rows of digits: the records at the top, and below what was rebuilt of them "
        "with each protection.",
        "Top: records of the first agents, chosen by nobody. Below: what was rebuilt "
        "from what each of them sent. SSIM is 1 for equal pictures and about 0 for "
        "unrelated ones.",
    )
    return [private("records, and what was rebuilt of them (picture)", shown)]


def _table(facts: DemoFacts) -> str:
    return words_table(
        HEAD,
        [cells(part) for part in facts.parts],
        "Test accuracy, mean over agents. Epsilon: the smaller, the better; proven against "
        "one who hears all links, one neighbour, and one who gets the final model; "
        "unbounded: nothing is proven. SSIM: medians over "
        f"{facts.parts[0].attack.images} images.",
    )


def cells(part: DemoPart) -> list[str]:
    """A row of the table."""
    row = part.attack
    return [
        part.title,
        f"{part.accuracy:.1%}",
        claimed_by(part),
        *proven(part),
        f"{seen(row)}, SSIM {similarity(row)}",
    ]


def proven(part: DemoPart) -> list[str]:
    """The proven epsilon of each threat model."""
    found = (part.epsilon.proven.get(key) for key in KEYS)
    return ["-" if one is None else str(one) for one in found]


def claimed_by(part: DemoPart) -> str:
    """What Theorem 1 claims, if it is about the run."""
    claimed = part.epsilon.claimed_theorem1
    if not claimed.bounded:
        return "-"
    return f"{claimed}, refuted" if refuted(part) else str(claimed)


def _next(facts: DemoFacts) -> Iterable[str]:
    yield f"All numbers are in {facts.out}/story.json; every run is a run folder beside it."
    for part in facts.parts:
        yield f"{part.title}: dpdl report {part.run}"
