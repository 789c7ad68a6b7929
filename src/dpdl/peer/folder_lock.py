"""The folder of a run belongs to one process, and is on a disk of this machine."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from dpdl.errors import InputError, reason

MOUNTS = Path("/proc/self/mountinfo")
POINT = 4
"""The field of a line that says where something is mounted."""
NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "lustre"),
        *("gpfs", "beegfs", "glusterfs", "ocfs2", "gfs2"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.davfs", "fuse.davfs2"),
        *("fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.grpcfuse"),
    )
)
"""Kinds of file systems that other machines may write to, or that promise no durable write."""


def lock_folder(folder: Path, mounts: str | None = None) -> int:
    """Keep other processes out of a folder; closing the result, or dying, lets them in.

    Refused are a folder on a network file system, where locks and shared memory cannot be relied
    on, and one that another process has. `mounts` is the text of `/proc/self/mountinfo`.
    """
    refuse_network(folder, _mounts() if mounts is None else mounts)
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as failure:
        raise InputError(
            f"Folder {str(folder)!r} cannot be opened: {reason(failure)}."
        ) from failure
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as failure:
        os.close(place)
        raise InputError(
            f"The run in folder {str(folder)!r} is already running; end that process first."
        ) from failure
    return place


def refuse_network(folder: Path, mounts: str) -> None:
    """Refuse a folder that is not on a disk of this machine."""
    kind = kind_of(folder, mounts)
    if kind in NETWORK:
        raise InputError(
            f"Folder {str(folder)!r} is on a network file system ({kind}); a run needs a disk of "
            "this machine."
        )


def kind_of(folder: Path, mounts: str) -> str | None:
    """The kind of the file system that a folder is on; None where nobody can say."""
    real = folder.resolve()
    found: tuple[int, str] | None = None
    for line in mounts.split("\n"):
        about, _, source = line.partition(" - ")
        words = about.split(" ")
        if len(words) <= POINT:
            continue
        point = Path(_unescaped(words[POINT]))
        depth = len(point.parts)
        # A later line covers an earlier one of the same place.
        if real.is_relative_to(point) and (found is None or depth >= found[0]):
            found = depth, source.split(" ")[0]
    return None if found is None else found[1]


def _unescaped(text: str) -> str:
    """A path in which a space is written as its number in octal."""
    for code in (r"\040", r"\011", r"\012", r"\134"):
        text = text.replace(code, chr(int(code[1:], 8)))
    return text


def _mounts() -> str:
    try:
        return MOUNTS.read_text("utf-8", errors="surrogateescape")
    except OSError:  # not Linux
        return ""
