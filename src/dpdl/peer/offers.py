"""From a file of records to an offer on a card: what a record looks like, and how many there are.

The form of records is said, never derived from them; the file is only checked against it.
"""

from __future__ import annotations

from pathlib import Path

import torch

from dpdl.errors import InputError
from dpdl.experiment.sites import parse_scaling, parse_shape
from dpdl.peer.card import Offer
from dpdl.tasks import data as datasets
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.site_records import of_site
from dpdl.tasks.targets import predicted


def offer_like(name: str, records: int, dataset: str) -> Offer:
    """An offer of records that look like those of a named data set."""
    form = datasets.form_of(dataset)
    if form is None:
        raise InputError(
            f"It is not known what records of {dataset!r} look like; give shape and predict."
        )
    shape = ",".join(map(str, form.shape))
    return Offer(name, records, shape, str(form.targets), _scaling(form))


def form_of_offer(offer: Offer) -> Form:
    """The form of records that an offer describes."""
    wanted = predicted(offer.predict)
    assert wanted.count is not None
    shape, targets = parse_shape(offer.shape), wanted.of(wanted.count)
    if offer.scaling is None:
        return Form(shape, targets)
    return Form(shape, targets, torch.uint8, *parse_scaling(offer.scaling))


def check_records(file: Path, offer: Offer) -> None:
    """Refuse a file whose records look different, or that has fewer of them than are declared."""
    found = of_site(file, form_of_offer(offer))
    if len(found.y) < offer.records:
        raise InputError(
            f"{str(file)!r} has fewer records for training than the {offer.records} that are "
            "declared: declare fewer."
        )


def _scaling(form: Form) -> str | None:
    """The option `scaling` that stands for the mean and deviation of a form."""
    if form.dtype != torch.uint8:
        return None
    if (form.mean, form.std) == ((0.0,), (1.0,)):
        return "pixels"
    mean, std = (",".join(map(repr, part)) for part in (form.mean, form.std))
    return f"{mean}/{std}"
