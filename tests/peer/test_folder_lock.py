"""One process has the folder of a run, and it is on a disk of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.folder_lock import MOUNTS, NETWORK, kind_of, lock_folder, refuse_network

ROOT = "22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/vda rw"


def mount(point: object, kind: str, fields: str = "shared:2") -> str:
    return f"40 22 0:33 / {point} rw,relatime {fields} - {kind} somewhere rw"


def test_a_folder_has_one_process(tmp_path: Path) -> None:
    lock = lock_folder(tmp_path)
    with pytest.raises(InputError, match="is already running; end that process first"):
        lock_folder(tmp_path)
    os.close(lock)
    os.close(lock_folder(tmp_path))


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(InputError, match="cannot be opened"):
            lock_folder(tmp_path / name)


@pytest.mark.parametrize("kind", sorted(NETWORK))
def test_network_file_systems_are_refused(tmp_path: Path, kind: str) -> None:
    mounts = f"{ROOT}\n{mount(tmp_path, kind)}\n"
    with pytest.raises(InputError, match=r"on a network file system \(" + kind):
        lock_folder(tmp_path, mounts)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay"])
def test_disks_are_fine(tmp_path: Path, kind: str) -> None:
    refuse_network(tmp_path, f"{ROOT}\n{mount(tmp_path, kind)}\n")


def test_the_innermost_mount_counts_and_the_later_one(tmp_path: Path) -> None:
    inner = tmp_path / "a b"
    inner.mkdir()
    escaped = str(inner).replace(" ", r"\040")
    mounts = [ROOT, mount(escaped, "xfs"), mount(tmp_path, "nfs4", "")]
    assert kind_of(tmp_path, "\n".join(mounts)) == "nfs4"
    assert kind_of(inner, "\n".join(mounts)) == "xfs"
    assert kind_of(inner, "\n".join([*mounts, mount(escaped, "cifs")])) == "cifs"
    assert kind_of(Path("/"), "\n".join(mounts)) == "ext4"
    assert kind_of(Path(f"{tmp_path}x"), "\n".join(mounts)) == "ext4"


def test_a_link_leads_to_where_the_folder_is(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "link").symlink_to(there)
    assert kind_of(tmp_path / "link", f"{ROOT}\n{mount(there, 'nfs')}") == "nfs"


def test_where_nothing_is_known_nothing_is_refused(tmp_path: Path) -> None:
    refuse_network(tmp_path, "")
    refuse_network(tmp_path, "rubbish\n\n - \n")


@pytest.mark.skipif(not MOUNTS.exists(), reason="no list of mounts on this system")
def test_this_machine_says_where_a_folder_is(tmp_path: Path) -> None:
    assert kind_of(tmp_path, MOUNTS.read_text("utf-8"))
