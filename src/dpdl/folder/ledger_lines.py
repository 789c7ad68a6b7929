"""The lines of a ledger.

Each is a JSON object and has the hash of the line before it under `prev`:

    {"ledger": 2, ...}   a header: the mechanism of the rounds that follow, and how many are planned
    {"round": 7}         round 7 left; "agents" says whom it is charged to if not all, "again" that
                         it had left before
    {"centre": 1}        the centre of all features left, which no round counts; "again" as above
    {"rounds": 40}       from here on the run was to have 40 rounds

Format 1 had no hashes; a run that was begun with it goes on after a header of format 2, which has
the hash of all that is above it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from dpdl.bounds import check_size, count
from dpdl.errors import InputError
from dpdl.privacy.releases import Release
from dpdl.records import Json, JsonObject, Record, absent
from dpdl.text import shown

FORMAT = 2
START = "0" * 32
"""What the first line has in place of a hash."""
OPTIONS = (
    "algorithm",
    "sampling",
    "batch",
    "clip_unit",
    "clip",
    "randomness",
    "threat",
    "relation",
    "delta",
)
"""Options that a header has beside its numbers; all others that matter are under `options`."""
LATER = ("rounds", "clip", "randomness", "weights", "parameters", "options")
"""What format 1 did not have."""


@final
@dataclass(frozen=True, kw_only=True)
class Header(Record):
    """The mechanism of every agent, and all options that change what leaves."""

    ledger: int  # the format
    version: str | None = absent()
    rounds: int | None = absent()  # planned; None: format 1 does not say
    algorithm: str
    sampling: str
    batch: int
    clip_unit: str
    clip: float | None = absent()
    randomness: str | None = absent()
    threat: str
    relation: str
    delta: float
    records: tuple[int, ...]  # declared by every agent
    parameters: int | None = absent()  # of the model
    sigma: float  # the noise multiplier of one answer
    noise_factors: tuple[tuple[float, ...], ...] | None = None  # [asker, host]
    neighbours: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, int, float], ...] | None = (
        absent()
    )  # (i, j, w_ij), i <= j
    releases: tuple[Release, ...] = ()
    sigma_eff: Mapping[str, tuple[float, ...]]  # by threat, of every agent
    options: Mapping[str, Json] | None = absent()
    above: str | None = absent()  # hash of the lines of format 1 above
    prev: str | None = absent()

    def __post_init__(self) -> None:
        if self.ledger not in (1, FORMAT):
            raise InputError(
                f"Format {self.ledger} is that of another version of dpdl."
            )
        for name in ("sigma", "delta", "clip", "batch", "parameters"):
            check_size(name, getattr(self, name) or 0)
        agents = range(len(self.records))
        if not agents or len(self.neighbours) != len(agents):
            raise InputError("records and neighbours must be those of the same agents.")
        if not all(j in agents for around in self.neighbours for j in around):
            raise InputError(f"neighbours must be agents, from 0 to {len(agents) - 1}.")
        missing = [name for name in LATER if getattr(self, name) is None]
        if self.ledger == FORMAT and missing:
            raise InputError(f"A header of format {FORMAT} needs {missing[0]!r}.")

    @property
    def fixed(self) -> bool:
        """Whether batches have a fixed size."""
        return self.sampling == "fixed"

    @property
    def repeatable(self) -> bool:
        """Whether a round that leaves again leaves with the same bytes; format 1 cannot say so."""
        return self.randomness == "reproducible"

    @property
    def bounds_record(self) -> bool:
        """Whether the gradient of every single record is clipped."""
        return self.clip_unit == "sample"


@final
@dataclass(frozen=True)
class ChargedRound(Record):
    """One round that left."""

    round: int
    agents: tuple[int, ...] | None = absent()  # whom it is charged to; None: all
    again: Literal[True] | None = absent()  # it had left before
    prev: str | None = absent()

    def __post_init__(self) -> None:
        count("rounds", self.round)


@final
@dataclass(frozen=True)
class ChargedCentre(Record):
    """The centre of all agents' features left, before the first round."""

    centre: Literal[1] = 1
    again: Literal[True] | None = absent()
    prev: str | None = absent()


@final
@dataclass(frozen=True)
class PlannedRounds(Record):
    """From here on the run was to have another number of rounds."""

    rounds: int
    prev: str | None = absent()


Line = Header | ChargedRound | ChargedCentre | PlannedRounds


def line_of(content: Json) -> Line:
    """A line that was written."""
    if not isinstance(content, dict):
        raise InputError("A line must be an object.")
    if "ledger" in content:
        return _header(content)
    if "round" in content:
        return ChargedRound.from_json(content)
    if "centre" in content:
        return ChargedCentre.from_json(content)
    if "rounds" in content:
        return PlannedRounds.from_json(content)
    raise InputError("A line must be a header or a round.")


def _header(content: JsonObject) -> Header:
    if content["ledger"] not in (1, FORMAT):
        raise InputError(
            f"Format {shown(content['ledger'])} is that of another version of dpdl."
        )
    return Header.from_json(content)


def line_hash(line: bytes) -> str:
    """What the next line has under `prev`."""
    return hashlib.sha256(line).hexdigest()[: len(START)]
