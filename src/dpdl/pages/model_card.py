"""The card of an exported model, in Markdown: what it is, how well it does, what is proven.

A card is given away with the model. So it holds what a public page may hold, and no more: nothing
that was computed from records without noise, no seed, no folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from dpdl.folder import names
from dpdl.folder.summary import Summary
from dpdl.pages.alarms import Alarm
from dpdl.pages.coverage import (
    alarms,
    file_name,
    limits,
    open_settings,
    tested_in_private,
)
from dpdl.pages.loader_script import ExportedLayers, FeaturesName
from dpdl.pages.statement import NOT_COVERED
from dpdl.privacy.threats import FINAL_MODEL
from dpdl.records import Json

LISTENERS = {
    "eavesdropper": "an eavesdropper on all links",
    "neighbour": "one curious neighbour of an agent",
    "final_model": "somebody who sees the models, such as this one",
}
RELATIONS = {
    "add-remove": "one record of one agent more or less",
    "replace-one": "one record of one agent replaced by any other",
}


@final
@dataclass(frozen=True)
class ModelCard:
    """What a card is about."""

    summary: Summary
    settings: Mapping[str, Json]  # the experiment of the run
    layers: ExportedLayers
    agent: int | None  # None: the average of all agents' models
    version: str  # of the dpdl that exported the model


def model_card(card: ModelCard) -> str:
    """The card as Markdown."""
    s = card.summary
    what = f"{s.algorithm} on {file_name(s.dataset)}, {file_name(s.graph)} of {s.agents} agents"
    title = f"# {_plain(what)}"
    parts = [title, _about(card), *map(_alarm, alarms(s, card.settings))]
    for head, body in _chapters(card):
        parts += [f"## {head}", body]
    return "\n\n".join(parts) + "\n"


def _chapters(card: ModelCard) -> Iterator[tuple[str, str]]:
    yield "Use", _use(card)
    yield "Training", _table(("what", "value"), _training(card))
    yield "Privacy", _privacy(card)
    yield "Results", _results(card)
    yield "Limits", _list(_of_model(card))
    yield "Not covered by epsilon", _list(NOT_COVERED)
    yield "Settings", _table(("option", "value"), _settings(card))
    made = {**card.summary.versions, "exported by dpdl": card.version}
    yield "Versions", _table(("what", "version"), made.items())


def _about(card: ModelCard) -> str:
    s = card.summary
    whose = (
        f"the average of the models of all {s.agents} agents"
        if card.agent is None
        else f"the model of agent {card.agent}"
    )
    return (
        f"A model of {s.parameters:,} parameters ({_plain(file_name(s.model or 'own'))}) that "
        f"{s.agents} agents trained together in {s.rounds:,} rounds, without a server and without "
        f"sharing their records. This is {whose}."
    )


def _use(card: ModelCard) -> str:
    layers = card.layers
    own = "" if layers.calls else f" and your own module `{layers.needs[2]}`"
    like = ", dtype=torch.uint8" if layers.form.pixels else ""
    return "\n".join(
        [
            f"Needs torch and safetensors{own}; dpdl is not needed. Nothing here is a pickle.",
            "",
            "```python",
            "import torch",
            f"from {names.LOADER.removesuffix('.py')} import load",
            "",
            f"records = torch.zeros(2, {', '.join(map(str, layers.form.shape))}{like})",
            "outputs = load()(records)",
            "```",
            "",
            f"Records are {layers.unit}, {layers.shape} for n of them{_unit(card)}; "
            f"{_scaling(card)} "
            f"There are {layers.outputs} outputs for each record ({layers.form.predict}).",
        ]
    )


def _unit(card: ModelCard) -> str:
    """What floating numbers mean, where dpdl itself made them."""
    bundled = card.settings.get("dataset") == "digits" and not card.settings.get(
        "sites"
    )
    return " (pixels p from 0 to 16 as p / 8 - 1)" if bundled else ""


def _scaling(card: ModelCard) -> str:
    form = card.layers.form
    done = "they are used as they are."
    if form.pixels:
        mean, std = (_numbers(values) for values in (form.mean, form.std))
        done = f"the model scales them itself: (x / 255 - {mean}) / {std}."
    if card.layers.features:
        done = f"{done[:-1]}, and computes {FEATURES[card.layers.features]}."
    return done


PHOTOGRAPHS = "two photographs, china.jpg by danielbuechele and flower.jpg by vultilion, CC BY 2.0"
FEATURES: Mapping[FeaturesName, str] = {
    "scattering": "their wavelet scattering, which is fixed",
    "patches": f"their answers to fixed patches of {PHOTOGRAPHS}",
    "deep_patches": f"their answers to two layers of fixed patches of {PHOTOGRAPHS}",
}


def _training(card: ModelCard) -> Iterator[tuple[str, str]]:
    settings, s = card.settings, card.summary
    yield "data, as declared", _data(card)
    yield "graph", f"{file_name(s.graph)} of {s.agents} agents"
    yield "algorithm", s.algorithm
    yield "rounds", f"{s.rounds:,}"
    yield "expected batch of an agent", str(settings.get("batch"))
    yield "clipping norm", str(settings.get("clip"))
    yield "noise multiplier", f"{s.sigma:.4g}"
    yield "randomness", str(settings.get("randomness", "reproducible"))


def _data(card: ModelCard) -> str:
    settings = card.settings
    name = file_name(card.summary.dataset)
    if settings.get("sites"):
        return f"{card.summary.agents} sites, each with records of its own"
    return f"{name}, divided by {settings.get('partition')}"


def _privacy(card: ModelCard) -> str:
    s = card.summary
    rows = [
        (LISTENERS.get(key, key.replace("_", " ")), str(value), f"{s.delta:g}")
        for key, value in s.epsilon.proven.items()
    ]
    relation = RELATIONS.get(str(card.settings.get("relation", "add-remove")), "")
    claim = s.epsilon.claimed_theorem1
    claimed = (
        f"Theorem 1 of the DPDL paper claims epsilon = {claim} for this noise. That is a claim, "
        "not a guarantee."
        if claim.known
        else "Nothing else is claimed."
    )
    return "\n\n".join(
        [
            _plain(s.privacy_statement),
            _table(("against", "epsilon, proven", "delta"), rows),
            f"Epsilon compares two data sets that differ in {relation}. It is that of the agent "
            f"that is worst off. For whoever has this model, the row that counts is "
            f"“{LISTENERS[FINAL_MODEL.key]}”.",
            claimed,
        ]
    )


def _results(card: ModelCard) -> str:
    s, score = card.summary, card.summary.score
    if tested_in_private(card.settings):
        return (
            "Left out: every site tested models on records of its own, and no epsilon covers such "
            "scores."
        )
    rows = [
        (f"test {score.label}, average of all models", score.show(score.average_model)),
        (f"test {score.label}, mean over agents", score.show(score.mean)),
        (
            "worst and best agent",
            f"{score.show(score.worst)}, {score.show(score.best)}",
        ),
        ("distance of the agents' models (RMS)", f"{s.consensus_distance:.4g}"),
    ]
    return _table(("what", "value"), rows)


def _of_model(card: ModelCard) -> list[str]:
    found = [
        "The model is as good as its training records: it knows nothing of records that look "
        "otherwise, and nobody tested it on them.",
        limits(card.summary)[0],
    ]
    if card.agent is not None:
        found.append(
            f"The scores are of all agents together; that of agent {card.agent} alone is not among "
            "them."
        )
    return found


def _settings(card: ModelCard) -> list[tuple[str, str]]:
    shown = open_settings(card.settings).items()
    return [(name, str(value)) for name, value in shown if value is not None]


# ------------------------------------------------------------------ Markdown
def _table(head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return _plain(text).replace("\n", " ")


def _plain(text: str) -> str:
    """A text that Markdown shows as it is: names of files may hold anything."""
    return "".join(f"\\{one}" if one in "\\`*[]<>|" else one for one in text)


def _alarm(warning: Alarm) -> str:
    return f"> **{_plain(warning.head)}.** {_plain(warning.text)}"


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {_plain(text)}" for text in texts)


def _numbers(values: Sequence[float]) -> str:
    shown = ", ".join(f"{value:g}" for value in values)
    return shown if len(values) == 1 else f"({shown})"
