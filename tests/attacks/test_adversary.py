"""The adversary has a recording and its knowledge, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.attacks.adversary import Knowledge, method_of, network_of, rebuild
from dpdl.attacks.effort import DEFAULTS
from dpdl.attacks.inverting import Settings
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, Target, target
from dpdl.errors import InputError
from tests.attacks.alone import run_alone
from tests.attacks.runs import record_clear


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    return record_clear(tmp_path_factory.mktemp("runs") / "clear")


def test_attacks_need_the_recording_alone(clear, tmp_path: Path) -> None:
    code = """
from dpdl.attacks.adversary import Knowledge, rebuild
from dpdl.attacks.inverting import Settings
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.scenarios import AttackCase
settings, pixels = Settings(iterations=3, restarts=1), Pixels((0.5,), (0.5,))
how = pixels, "inverting", settings
known = Knowledge(RECORDING, None, AttackCase("cg", 3, 1), (0, 2), 1, None, *how)
images, _, labels = rebuild(known, lambda share: None)
assert images.shape == (2, 1, 1, 8, 8) and labels.shape == (2, 1)
"""
    run_alone(code, clear[0], tmp_path)


def known(run: Path, method: str = "inverting", labels=None) -> Knowledge:
    """Batches of two records of agents 0 and 2."""
    case, pixels = AttackCase("cg", 3, 2), Pixels((0.5,), (0.5,))
    settings = Settings(iterations=2, restarts=1)
    folder = run / "recording"
    return Knowledge(folder, None, case, (0, 2), 2, labels, pixels, method, settings)


@pytest.mark.parametrize("method", ["inverting", "dlg", "idlg"])
def test_pictures_have_valid_pixels_whatever_the_method(clear, method: str) -> None:
    shares: list[float] = []
    images, objective, labels = rebuild(known(clear[0], method), shares.append)
    assert images.shape == (2, 2, 1, 8, 8) and labels.shape == (2, 2)
    assert images.min() >= -1 and images.max() <= 1 and objective.shape == (2,)
    assert shares == sorted(shares) and shares[-1] == 1


def test_each_agent_is_aimed_at_in_the_round_of_the_case(clear) -> None:
    seen = []

    def aim(recording: Recording, *where) -> Target:
        seen.append(where)
        return target(recording, *where)

    rebuild(known(clear[0]), lambda share: None, aim)
    assert seen == [("cg", 3, 2, 0), ("cg", 3, 2, 2)]


def test_known_labels_are_used_and_read_ones_reported(clear) -> None:
    wrong = torch.tensor([[1, 1], [2, 2]]).numpy()
    quiet = lambda share: None  # noqa: E731
    one = rebuild(known(clear[0]), quiet)
    other = rebuild(known(clear[0], labels=wrong), quiet)
    assert (one.labels == other.labels).all(), "what is read off does not depend on it"
    assert (one.images != other.images).any()


def test_single_images_are_peeled_where_the_network_allows_it(clear) -> None:
    recording = Recording(clear[0] / "recording")
    assert network_of(recording) is not None
    assert method_of(recording, "auto", 1) == "peel"
    assert method_of(recording, "auto", 2) == "inverting"
    for name in DEFAULTS:
        if name != "unscatter":
            assert method_of(recording, name, 1) == name
    with pytest.raises(InputError, match="a linear layer on scattering features"):
        method_of(recording, "unscatter", 1)
    with pytest.raises(InputError, match="take 'inverting'"):
        method_of(recording, "peel", 2)
    with pytest.raises(InputError, match="Did you mean 'peel'"):
        method_of(recording, "peeel", 1)


def test_a_network_whose_layers_are_not_known_is_not_peeled(clear) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Bilinear(1, 1, 1))
    recording = Recording(clear[0] / "recording", module)
    assert network_of(recording) is None
    assert method_of(recording, "auto", 1) == "inverting"
