from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.tasks.data.layouts import (
    cifar_batch_from_picture,
    members,
    read_cifar_batch,
    read_idx,
    read_labels,
)
from tests.tasks.mirrored import picture


def idx(array: np.ndarray) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_idx_file_gives_back_the_array(shape: list[int], seed: int) -> None:
    array = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(read_idx(idx(array)), array)


@given(st.integers(0, 27))
def test_truncated_idx_file_is_refused_wherever_it_is_cut(length: int) -> None:
    whole = idx(np.arange(16, dtype=np.uint8).reshape(4, 4))
    assert len(whole) == 28
    with pytest.raises(ValueError, match="IDX"):
        read_idx(whole[:length])


def test_idx_file_of_other_numbers_or_with_extra_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="unsigned bytes"):
        read_idx(b"\x00\x00\x0d\x01" + struct.pack(">I", 1) + b"\x00" * 4)
    with pytest.raises(ValueError, match="does not have"):
        read_idx(idx(np.zeros(3, dtype=np.uint8)) + b"x")


def test_cifar_picture_becomes_the_official_binary_batch() -> None:
    draw = np.random.default_rng(1)
    images = draw.integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    labels = np.array([6, 9, 0, 4], dtype=np.uint8)
    batch = cifar_batch_from_picture(picture(images), labels)
    # The official layout: label, 1024 red, 1024 green, 1024 blue values, row by row.
    assert batch == b"".join(
        bytes([y]) + x.tobytes() for x, y in zip(images, labels, strict=True)
    )
    x, y = read_cifar_batch(batch)
    np.testing.assert_array_equal(x, images)
    np.testing.assert_array_equal(y, labels)


def test_cifar_picture_of_another_size_is_refused() -> None:
    images = np.zeros((2, 3, 32, 32), dtype=np.uint8)
    with pytest.raises(ValueError, match="1024, 3"):
        cifar_batch_from_picture(picture(images), np.zeros(3, dtype=np.uint8))


@pytest.mark.parametrize("length", [0, 3072, 3074])
def test_cifar_batch_of_a_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="multiple of 3073"):
        read_cifar_batch(bytes(length))


@pytest.mark.parametrize(
    "content",
    [
        b"[1, 2]",
        b'{"a": 1}',
        b"[1, 2, 10]",
        b"[1, 2, true]",
        b"[1, 2",
        b"[1,2,2.5]",
        b"[" * 10**5,
    ],
)
def test_label_list_that_is_not_n_digits_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_labels(content, 3)
    np.testing.assert_array_equal(read_labels(b"[1, 2, 9]", 3), [1, 2, 9])


def tar(path: Path, *files: tuple[str, bytes], link: str = "") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return path


def test_only_the_wanted_members_are_taken_by_exact_name(tmp_path: Path) -> None:
    files = [
        ("../evil", b"x"),
        ("./p/a", b"1"),
        ("p/ab", b"2"),
        ("q/p/b", b"3"),
        ("p/b", b"4"),
    ]
    archive = tar(tmp_path / "a.tgz", *files)
    assert dict(members(archive, {"p/a", "p/b"}, 10)) == {"p/a": b"1", "p/b": b"4"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.tgz"]


def test_missing_large_or_linked_members_are_refused(tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tgz", ("a", b"12345"), link="b")
    with pytest.raises(ValueError, match="lacks c"):
        dict(members(archive, {"a", "c"}, 10))
    with pytest.raises(ValueError, match="at most 4 bytes"):
        dict(members(archive, {"a"}, 4))
    with pytest.raises(ValueError, match="not a regular file"):
        dict(members(archive, {"b"}, 10))
