"""Features in place of pixels: computed once, by every record alone, and kept only if public."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import InputError
from dpdl.tasks import features
from dpdl.tasks.data import Dataset, load
from dpdl.tasks.features import for_model, scattered
from dpdl.tasks.scattering import Scattering, normalised


def tiny(name: str, count: int = 12) -> Dataset:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, 1, 16, 16), generator=draw, dtype=torch.uint8)
    y = torch.arange(count) % 3
    return Dataset(name, x, y, x[:4].clone(), y[:4].clone(), 3, mean=(0.5,), std=(0.5,))


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "cache"))


def test_features_are_those_of_the_transform_in_half_precision() -> None:
    data = tiny("own")
    found = scattered(data)
    expected = normalised(
        Scattering((1, 16, 16))(data.inputs(data.x, torch.float32)), features.GROUPS
    )
    assert found.shape == (81, 4, 4) and found.x.dtype == torch.float16
    torch.testing.assert_close(
        found.inputs(found.x, torch.float32), expected, rtol=1e-3, atol=1e-3
    )
    assert torch.equal(found.x[:4], found.x_test) and torch.equal(found.y, data.y)


def kept(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of features in a cache, with what changes when one is written."""
    found = sorted((folder / "cache" / "features").iterdir())
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in found}


def test_how_records_are_cut_into_pieces_makes_no_difference() -> None:
    whole = scattered(tiny("own"))
    assert torch.equal(whole.x, scattered(tiny("own"), piece=5).x)


@pytest.mark.parametrize("model", ["scatter-linear", "scatter-cnn"])
def test_only_models_that_take_features_get_them_and_only_once(model: str) -> None:
    data = tiny("own")
    assert for_model("lenet", data) is data
    once = for_model(model, data)
    assert once.shape == (81, 4, 4) and for_model(model, once) is once


def test_all_models_on_features_share_what_is_kept(tmp_path: Path) -> None:
    first = for_model("scatter-linear", tiny("mnist"))
    written = kept(tmp_path)
    assert torch.equal(for_model("scatter-cnn", tiny("mnist")).x, first.x)
    assert len(written) == 2
    assert kept(tmp_path) == written, "they were computed again"


def test_private_records_are_not_written_anywhere(tmp_path: Path) -> None:
    scattered(tiny("own"))
    assert not (tmp_path / "cache").exists()


def test_features_of_public_data_are_kept_and_read_again(tmp_path: Path) -> None:
    first = scattered(tiny("mnist"))
    written = kept(tmp_path)
    assert len(written) == 2 and all(name.startswith("mnist-") for name in written)
    again = scattered(tiny("mnist"))
    assert torch.equal(first.x, again.x) and torch.equal(first.x_test, again.x_test)
    assert kept(tmp_path) == written, "they were computed again"
    scattered(tiny("mnist", count=13))  # other records, other features
    assert len(kept(tmp_path)) > len(written)


def test_a_cache_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set DPDL_DATA"):
        scattered(tiny("mnist"))


def test_a_linear_model_on_features_learns_digits_and_starts_at_zero() -> None:
    shared = {
        "dataset": "digits",
        "graph": "complete",
        "agents": 3,
        "noise": "none",
        "batch": 64,
        "clip": 1.0,
    }
    e = dpdl.Experiment(
        **shared, model="scatter-linear", algorithm="d-psgd", rounds=60, lr=1.0
    )
    result = dpdl.train(e)
    assert result.plan.data.shape == (81, 2, 2) and not result.plan.task.initial.any()
    assert result.summary["accuracy"]["average_model"] > 0.9


def test_images_too_small_are_refused() -> None:
    x = torch.zeros(6, 1, 4, 4, dtype=torch.uint8)
    y = torch.arange(6) % 2
    with pytest.raises(InputError, match="at least 8 x 8"):
        scattered(Dataset("own", x, y, x, y, 2, mean=(0.0,), std=(1.0,)))


def test_digits_are_not_public_enough_to_be_kept(tmp_path: Path) -> None:
    """They are small, and computed faster than read."""
    scattered(load("digits"))
    assert not (tmp_path / "cache").exists()
