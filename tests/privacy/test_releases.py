"""What an algorithm declares about its channels is complete."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from dpdl.algorithms import NAMES
from dpdl.privacy.releases import Release
from tests.contracts.play import B, C, algorithm, gradient

SIGMA = 1.5


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_private_channel_declares_sensitivity_and_noise_and_no_other_does(
    name: str,
) -> None:
    declared = algorithm(name, lr=0.1).releases(gradient(sigma=SIGMA))
    assert len({release.channel for release in declared}) == len(declared)
    assert any(release.private for release in declared)
    for release in declared:
        assert release.carries
        if release.private:
            assert release.sensitivity is not None
            assert 0 < release.sensitivity <= C / B * (1 + 1e-9)
            assert release.noise_multiplier == SIGMA
        else:
            assert (release.sensitivity, release.noise_multiplier) == (None, None)


def test_a_declaration_cannot_be_changed_afterwards() -> None:
    release = Release("gradient", True, "noise", 1.0, 2.0)
    with pytest.raises(FrozenInstanceError):
        release.sensitivity = 0.1  # type: ignore[misc]
