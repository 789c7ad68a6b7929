"""A file of tensors is read, or refused as an OSError or a ValueError."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dpdl.folder.tensors import read_facts, read_tensors


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"x": torch.arange(3)}, path, {"round": "7"})
    found = read_tensors(path)
    assert found.facts == read_facts(path) == {"round": "7"}
    assert found.tensors["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 8,
        b"\xff" * 100,
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
        (2).to_bytes(8, "little") + b"{}" + b"x" * 10,
    ],
)
def test_other_bytes_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    for read in (read_tensors, read_facts):
        with pytest.raises((ValueError, OSError), match=r"."):
            read(path)


def test_a_folder_and_a_loop_of_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path, tmp_path / "loop"):
        for read in (read_tensors, read_facts):
            with pytest.raises(OSError, match=r"directory|links"):
                read(path)
