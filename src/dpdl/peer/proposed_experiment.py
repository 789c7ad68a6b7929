"""The experiment of a run between sites: what a person asked for, with what the cards say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.shared import SHARED
from dpdl.peer.agreed_options import NOT_FOR_PEERS
from dpdl.peer.card import Card, Offer
from dpdl.peer.offers import form_of_offer
from dpdl.tasks import data as datasets
from dpdl.text import shown

FORM = ("shape", "predict", "scaling")
"""What all members' records must have in common."""


def proposed_experiment(
    e: Experiment, cards: Sequence[Card], offers: Sequence[Offer]
) -> Experiment:
    """The experiment with the members as its sites, resolved: no option is left open.

    Defaults are those of the data set that the experiment names, if records look like its records.
    """
    names = tuple(card.name for card in cards)
    _check_asked(e, len(names))
    _check_alike(names, offers)
    form = {name: getattr(offers[0], name) for name in FORM}
    _check_form(e, form)
    records = ",".join(str(offer.records) for offer in offers)
    asked = replace(e, sites=names, agents=len(names), records=records, test=None)
    if datasets.form_of(e.dataset) == form_of_offer(offers[0]):
        asked = replace(asked, shape=None, scaling=None, predict=None).resolved()
    return replace(asked, **form).resolved()


def _check_asked(e: Experiment, members: int) -> None:
    """Refuse what the cards say, and what no run between peers can have."""
    for name in ("sites", "records"):
        if getattr(e, name) is not None:
            raise InputError(f"Leave {name} out: the cards of the members say it.")
    for name, why in NOT_FOR_PEERS.items():
        if getattr(e, name) is not None:
            raise InputError(f"Leave {name} out: {why}.")
    if e.agents not in (members, SHARED["agents"].default):
        raise InputError(
            f"agents must be {members}, one for each member, not {e.agents}."
        )
    if e.randomness != "secure":
        raise InputError(
            "Peers need randomness 'secure': noise from a seed that others know hides nothing."
        )


def _check_alike(names: Sequence[str], offers: Sequence[Offer]) -> None:
    for name, offer in zip(names, offers, strict=True):
        for field in FORM:
            first, other = getattr(offers[0], field), getattr(offer, field)
            if first != other:
                raise InputError(
                    f"Records of {names[0]} and {name} differ in {field}: {shown(first, 40)} and "
                    f"{shown(other, 40)}; all must look alike."
                )


def _check_form(e: Experiment, form: dict[str, str | None]) -> None:
    for name, said in form.items():
        asked = getattr(e, name)
        if asked not in (None, said):
            raise InputError(
                f"{name} is {shown(asked, 40)}, but the cards of the members say {shown(said, 40)}."
            )
