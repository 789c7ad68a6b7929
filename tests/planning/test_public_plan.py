"""What everybody may know about a run is one object with a hash."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from dpdl.planning.public_plan import PublicPlan
from dpdl.tasks.data import Dataset
from tests.conftest import small_module
from tests.training.small import changed, planned


def public(
    blobs: Dataset, more: dict[str, Any] | None = None, **options: Any
) -> PublicPlan:
    return planned(blobs, changed(**options), **(more or {})).public


def test_the_same_experiment_has_the_same_hash(blobs: Dataset) -> None:
    assert public(blobs).hash == public(blobs).hash
    assert len(public(blobs).hash) == 64


def half(outputs: Tensor, targets: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(outputs, targets) / 2


def right(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.argmax(1) == targets


@pytest.mark.parametrize(
    ("field", "options", "more"),
    [
        ("sigma", {"sigma": 0.6}, {}),
        ("noise multiplier", {"sigma": 0.6}, {}),
        ("rounds", {"rounds": 13}, {}),
        ("lr", {"lr": 0.2}, {}),
        ("mixing matrix", {"graph": "complete"}, {}),
        ("numbers of records", {"records": "115"}, {}),
        ("class of the algorithm", {"algorithm": "dpdl-sound"}, {}),
        ("initial model", {}, {"model": small_module(1)}),
        ("loss function", {}, {"loss": half}),
        ("score function", {}, {"score": right}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_differs_is_a_field_of_another_value(
    blobs: Dataset, field: str, options: dict[str, Any], more: dict[str, Any]
) -> None:
    before, now = public(blobs), public(blobs, more, **options)
    assert before.hash != now.hash
    assert dict(before.fields())[field] != dict(now.fields())[field]


def test_nothing_about_the_records_is_in_it(blobs: Dataset) -> None:
    shifted = Dataset("blobs", blobs.x + 1, blobs.y, blobs.x_test, blobs.y_test, 3)
    assert public(blobs).hash == public(shifted).hash
    tensors = [v for v in vars(public(blobs)).values() if isinstance(v, Tensor)]
    assert tensors == []


def test_releases_are_known_without_anybodys_randomness(blobs: Dataset) -> None:
    channels = {release.channel for release in public(blobs).releases}
    assert {"model", "gradient"} <= channels


def test_another_mechanism_makes_another_plan(blobs: Dataset) -> None:
    p = public(blobs)
    louder = p.with_mechanism(p.mechanism.with_noise(2.0))
    assert (louder.mechanism.noise_multiplier, p.mechanism.noise_multiplier) == (2, 0.5)
    assert louder.hash != p.hash
