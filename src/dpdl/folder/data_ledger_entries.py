"""The entries of the ledger of a data set.

Each is a JSON object with the hash of the entry before it under `prev`; its own hash is SHA-256 of
its bytes. The first one states the terms, every later one is one of three:

    {"kind": "terms", "id": ..., "epsilon": 6.0, "delta": 1e-06, "relation": "add-remove", ...}
    {"kind": "reserve", "run": ..., "view": 0, "charges": [{"sigma": ..., "count": 1000}], ...}
    {"kind": "debit", "run": ..., "view": 0, "round": 7, "charge": {"sigma": ..., "count": 1}}
    {"kind": "release", "run": ..., "time": ...}

What a mechanism was is stored; every epsilon is derived from it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Literal, Self, final

from dpdl.bounds import count as checked_count
from dpdl.errors import InputError
from dpdl.foreign import parse_json
from dpdl.privacy.accounting import Step
from dpdl.records import Record, absent
from dpdl.text import shown

FORMAT = 1
START = "0" * 64
"""What the first entry has in place of a hash."""
LONGEST = 200
"""Characters of the name of a run, and of what a ledger is about."""


@final
@dataclass(frozen=True)
class Charge(Record):
    """So many equal rounds of one owner of data: the accountant's `Step`, and how often.

    The fields are those of `dpdl.privacy.accounting.Step`. An ordinary round costs what its
    parameters say, whoever computes it later.
    """

    sigma: float  # effective noise multiplier of a round
    batch: int
    records: int  # declared
    fixed: bool = False
    lost: float = 0.0
    adaptive: bool = False
    share: float | None = absent()
    count: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no step, and what cannot be written."""
        if not math.isfinite(self.sigma):
            raise InputError(f"sigma must be a finite number, not {self.sigma}.")
        checked_count("rounds", self.count)
        _ = self.step  # refuses the rest

    @classmethod
    def of(cls, step: Step, count: int) -> Self:
        """So many of a step."""
        named = {f.name: getattr(step, f.name) for f in fields(step)}
        return cls(**named, count=count)

    @property
    def step(self) -> Step:
        """One of them."""
        named = {f.name: getattr(self, f.name) for f in fields(Step)}
        return Step(**named)

    def times(self, count: int) -> Charge:
        """The same rounds, another number of them."""
        return replace(self, count=count)


@final
@dataclass(frozen=True, kw_only=True)
class LedgerTerms(Record):
    """What a ledger promises: the first entry, which nothing changes."""

    kind: Literal["terms"] = "terms"
    ledger: int = FORMAT
    version: str  # of dpdl
    id: str  # drawn at random
    epsilon: float  # all that may be given away, together with delta
    delta: float
    relation: str
    adaptive: bool = False  # runs may be planned by what earlier ones showed
    about: str  # which data, in words
    time: str
    prev: str = START


@final
@dataclass(frozen=True, kw_only=True)
class Reserved(Record):
    """A run may make these rounds, in this order."""

    kind: Literal["reserve"] = "reserve"
    run: str
    view: int  # rounds of earlier views are over
    charges: tuple[Charge, ...]
    threat: str  # whom the charges are about
    time: str
    prev: str = START


@final
@dataclass(frozen=True, kw_only=True)
class Debited(Record):
    """A round that left, or is about to: it is spent."""

    kind: Literal["debit"] = "debit"
    run: str
    view: int
    round: int
    charge: Charge
    beyond: Literal[True] | None = absent()  # nothing was reserved for it
    prev: str = START


@final
@dataclass(frozen=True, kw_only=True)
class Released(Record):
    """A run gave back what it had reserved and not spent."""

    kind: Literal["release"] = "release"
    run: str
    time: str
    prev: str = START


Entry = LedgerTerms | Reserved | Debited | Released
KINDS: dict[str, type[Entry]] = {
    "terms": LedgerTerms,
    "reserve": Reserved,
    "debit": Debited,
    "release": Released,
}


def entry_text(entry: Entry) -> str:
    """As it is stored and hashed."""
    return json.dumps(entry.to_json(), allow_nan=False)


def entry_hash(text: str) -> str:
    """What the next entry has under `prev`."""
    return hashlib.sha256(text.encode()).hexdigest()


def entry_of(text: str) -> Entry:
    """The entry that was written; anything else is refused."""
    try:
        content = parse_json(text)
    except ValueError as failure:
        raise InputError(f"{failure}.") from failure
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"An entry of the kind {shown(kind)} is not known.")
    return KINDS[kind].from_json(content)


def check_name(what: str, text: str) -> str:
    """A text of one line that is neither empty nor long; another one is refused."""
    if not text or len(text) > LONGEST or not text.isprintable():
        raise InputError(
            f"{what} must be a text of one line with at most {LONGEST} characters, not "
            f"{shown(text)}."
        )
    return text


def now() -> str:
    """The time that an entry has unless one is given."""
    return datetime.now(UTC).isoformat(timespec="seconds")
