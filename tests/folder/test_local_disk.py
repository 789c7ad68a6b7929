"""Whether a folder is on a disk of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.local_disk import file_system, refuse_network_disk

MOUNTS = """\
1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
2 1 0:5 / /data rw - nfs4 server:/data rw
3 2 8:2 / /data/here rw master:2 - xfs /dev/sdb rw
4 1 0:6 / /with\\040space rw - fuse.sshfs host:/ rw
5 1 0:7 / /covered rw - cifs //a/b rw
6 1 8:3 / /covered rw - ext4 /dev/sdc rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    return path


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/", "ext4"),
        ("/home/x", "ext4"),
        ("/data", "nfs4"),
        ("/data/a/b", "nfs4"),
        ("/database", "ext4"),
        ("/data/here/x", "xfs"),
        ("/with space/x", "fuse.sshfs"),
        ("/covered/x", "ext4"),
    ],
)
def test_the_deepest_mount_holds_a_path(mounts: Path, place: str, kind: str) -> None:
    assert file_system(Path(place), mounts) == kind


@pytest.mark.parametrize("place", ["/data/a", "/with space"])
def test_network_disks_are_refused(mounts: Path, place: str) -> None:
    with pytest.raises(InputError, match=r"network disk \("):
        refuse_network_disk(Path(place), "Ledger", mounts)


def test_disks_of_this_machine_are_not(mounts: Path, tmp_path: Path) -> None:
    refuse_network_disk(Path("/data/here"), "Ledger", mounts)
    refuse_network_disk(tmp_path, "Ledger")


def test_where_nothing_is_known_nothing_is_refused(tmp_path: Path) -> None:
    assert file_system(tmp_path, tmp_path / "none") is None
    refuse_network_disk(tmp_path, "Ledger", tmp_path / "none")
