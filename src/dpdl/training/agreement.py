"""All processes of a run must mean the same run: compared before anything is written or sent.

What is public is compared by digests, and the first difference is named. The records are not
public, and whoever hears the hash of a data set can test guesses of it. So two processes make a
point S of Curve25519 from it; one sends a S and the other b S, with secret scalars a and b drawn
for this purpose; both compute a b S, of which one sends a hash. The hashes are equal when the
points are. A listener cannot test a guess of S, if the Diffie-Hellman problem is hard (the
exchange is Jablon's SPEKE).
"""

from __future__ import annotations

import hashlib
import itertools
import platform
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.planning.public_plan import PublicPlan
from dpdl.training.control import Control

PRIME, CURVE = 2**255 - 19, 486_662
"""Curve25519: v^2 = u^3 + CURVE u^2 + u over the integers modulo PRIME."""
Fields = Sequence[tuple[str, bytes]]
"""Names with what stands for their values: 32 bytes each."""


VERSIONS = {
    "dpdl": __version__,
    "torch": torch.__version__,
    "numpy": np.__version__,
    "python": platform.python_version(),
}


def described(
    plan: PublicPlan, again: bool, versions: Mapping[str, str] = VERSIONS
) -> list[tuple[str, bytes]]:
    """What must be the same everywhere, by name: versions, the command, and the public plan."""
    facts = {f"{name} version": version for name, version in versions.items()}
    facts["command (run or resume)"] = str(again)
    fields = [(name, digest(value.encode())) for name, value in facts.items()]
    return fields + plan.fields()


def agree(control: Control, fields: Fields) -> None:
    """Refuse, in all processes, the first public field in which one differs from process 0."""
    names = [name for name, _ in fields]
    # A process with other fields would send another number of them, for which nobody waits. Another
    # algorithm has other options.
    listed = digest("\n".join(names).encode())
    algorithm = dict(fields).get("algorithm", listed)
    first = _differing(control.digests([algorithm, listed]))
    _refuse(control, first, ["algorithm", "dpdl version"])
    _refuse(control, _differing(control.digests([value for _, value in fields])), names)


def agree_in_secret(control: Control, fields: Fields) -> None:
    """The same for fields that no listener may learn: only whether they are equal is found out."""
    own = [X25519PrivateKey.generate() for _ in fields]
    mine = [
        _times(key, _point(value)) for key, (_, value) in zip(own, fields, strict=True)
    ]
    theirs = control.digests(mine)
    first = control.share_digests(mine)
    seals = [_seal(_times(key, value)) for key, value in zip(own, first, strict=True)]
    answered = control.digests(seals)
    # What process 0 expects of each other process: its own scalar times what that process sent.
    expected = [
        [_seal(_times(key, value)) for key, value in zip(own, of_one, strict=True)]
        for of_one in theirs[1:]
    ]
    differing = [
        (r, k)
        for r, (a, b) in enumerate(zip(expected, answered[1:], strict=True), 1)
        for k in _unequal(a, b)
    ]
    _refuse(
        control,
        min(differing, key=lambda pair: pair[1], default=None),
        [name for name, _ in fields],
    )


def _differing(rows: Sequence[Sequence[bytes]]) -> tuple[int, int] | None:
    """Process and number of the first field that differs from process 0, on process 0."""
    found = [(r, k) for r, row in enumerate(rows) for k in _unequal(rows[0], row)]
    return min(found, key=lambda pair: pair[1], default=None)


def _unequal(a: Sequence[bytes], b: Sequence[bytes]) -> list[int]:
    return [k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]


def _refuse(
    control: Control, found: tuple[int, int] | None, names: Sequence[str]
) -> None:
    """All processes refuse what process 0 found."""
    process, field = (control.share(number) for number in found or (-1, -1))
    if field >= 0:
        raise InputError(
            f"Process {process} of this run has another {names[field]} than process 0; start all "
            "processes with the same options, data and versions."
        )


def _point(value: bytes) -> bytes:
    """A point of the curve, never of its twist, since a listener could tell which it is."""
    for number in itertools.count():
        found = digest(value + bytes([number]))
        u = int.from_bytes(found, "little") % 2**255
        if pow(u**3 + CURVE * u**2 + u, (PRIME - 1) // 2, PRIME) == 1:
            return found
    raise AssertionError


def _times(key: X25519PrivateKey, point: bytes) -> bytes:
    try:
        return key.exchange(X25519PublicKey.from_public_bytes(point))
    except (
        ValueError
    ):  # a point of small order, which only a forger sends: nothing equals a fresh key
        return X25519PrivateKey.generate().public_key().public_bytes_raw()


def _seal(point: bytes) -> bytes:
    return digest(b"dpdl agreement" + point)


def digest(content: bytes) -> bytes:
    """What stands for a value."""
    return hashlib.sha256(content).digest()
