"""Whether a folder is on a disk of this machine: databases need honest locks and shared memory."""

from __future__ import annotations

import re
from pathlib import Path

from dpdl.errors import InputError

MOUNTS = Path("/proc/self/mountinfo")
REMOTE = re.compile(
    r"(nfs4?|cifs|smb\d?|smbfs|afs|ncpfs|9p|ceph|lustre|glusterfs|fuse\.(sshfs|glusterfs|ceph"
    r"|s3fs|rclone))"
)
"""Kinds of file systems that other machines may write, too."""


def refuse_network_disk(path: Path, what: str, mounts: Path = MOUNTS) -> None:
    """Refuse a folder that another machine may hold; where nothing is known, none is."""
    kind = file_system(path, mounts)
    if kind is not None and REMOTE.fullmatch(kind):
        raise InputError(
            f"{what} {str(path)!r} is on a network disk ({kind}), whose locks cannot be relied "
            "upon; move it to a disk of this machine."
        )


def file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The kind of file system that holds a path; None: unknown."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    at, found = path.resolve(), None
    deepest = -1
    for line in lines:
        place, kind = _mount(line)
        # Of two at one place the later one covers the earlier one.
        if at.is_relative_to(place) and len(place.parts) >= deepest:
            deepest, found = len(place.parts), kind
    return found


def _mount(line: str) -> tuple[Path, str]:
    """Where something is mounted, and its kind, as proc(5) describes a line."""
    before, _, after = line.partition(" - ")
    place = re.sub(
        r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4]
    )
    return Path(place), after.split(" ")[0]
