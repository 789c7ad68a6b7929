"""Features in place of pixels: computed once, by every record alone, and kept only if public."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import InputError
from dpdl.tasks import deep_patches, models, patches
from dpdl.tasks.data import Dataset, load
from dpdl.tasks.data.form import Form
from dpdl.tasks.directions import of_length
from dpdl.tasks.features import (
    OF_MODEL,
    PIECE,
    DeepPatched,
    Features,
    Patched,
    Scattered,
    for_model,
    with_features,
)
from dpdl.tasks.scattering import GROUPS, Scattering, normalised
from dpdl.tasks.targets import Classes


def tiny(name: str, count: int = 12) -> Dataset:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, 1, 16, 16), generator=draw, dtype=torch.uint8)
    y = torch.arange(count) % 3
    return Dataset(name, x, y, x[:4].clone(), y[:4].clone(), 3, mean=(0.5,), std=(0.5,))


def scattered(data: Dataset, piece: int = PIECE) -> Dataset:
    return with_features(data, Scattered(data.form), piece)


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "cache"))


def test_features_are_those_of_the_transform_in_half_precision() -> None:
    data = tiny("own")
    found = scattered(data)
    expected = normalised(
        Scattering((1, 16, 16))(data.inputs(data.x, torch.float32)), GROUPS
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


def colours() -> tuple[torch.Tensor, Form]:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (6, 3, 20, 20), generator=draw, dtype=torch.uint8)
    return x, Form((3, 20, 20), Classes(2), torch.uint8, (0.5, 0.4, 0.3), (0.5,) * 3)


@pytest.mark.parametrize("kind", [Scattered, Patched, DeepPatched])
def test_features_of_a_record_are_a_function_of_that_record_alone(
    kind: type[Features],
) -> None:
    """To the last bit: otherwise a record would be in more than one gradient."""
    x, form = colours()
    other = 255 - x
    other[0] = x[0]
    of = kind(form).of
    assert torch.equal(of(x)[0], of(other)[0])
    assert torch.equal(of(x)[0], of(x[:1])[0])


def test_a_second_layer_stands_beside_and_all_have_one_length() -> None:
    x, form = colours()
    features = DeepPatched(form)
    found = features.of(x)
    norms = found.double().norm(dim=1)
    torch.testing.assert_close(norms, torch.full_like(norms, 3.0), rtol=1e-3, atol=0)
    first = of_length(found[:, :8192].float())
    wanted = Patched(form).of(x).flatten(1).float()
    torch.testing.assert_close(first, wanted, rtol=2e-3, atol=1e-5)
    assert f"version={patches.VERSION}" in features.key
    assert f"version={deep_patches.VERSION}" in features.key


def test_a_name_says_which_features_a_data_set_has() -> None:
    kinds = set(OF_MODEL.values())
    for one in kinds:
        assert [kind for kind in kinds if ("x" + one.suffix).endswith(kind.suffix)] == [
            one
        ]


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


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"text", None])
def test_features_that_a_disk_damaged_are_computed_again(
    tmp_path: Path, content: bytes | None
) -> None:
    first = scattered(tiny("mnist"))
    x = first.x.clone()
    for path in (tmp_path / "cache" / "features").iterdir():
        half = path.read_bytes()[: path.stat().st_size // 2]
        path.unlink()
        path.write_bytes(half if content is None else content)
    assert torch.equal(scattered(tiny("mnist")).x, x)


def test_models_on_features_are_those_that_have_some() -> None:
    """Named once more without the data sets, which attacks must not need."""
    assert set(OF_MODEL) == set(models.ON_FEATURES)
    scattering = {name for name, kind in OF_MODEL.items() if kind is Scattered}
    assert scattering == set(models.ON_SCATTERING)
