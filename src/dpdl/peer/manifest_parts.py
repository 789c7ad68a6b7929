"""The tables of a manifest, each of which is right by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, final

from dpdl.bounds import MOST
from dpdl.errors import InputError
from dpdl.experiment.sites import parse_scaling, parse_shape
from dpdl.peer.keys import check_agreement, check_signing
from dpdl.peer.spelling import (
    check_count,
    check_date,
    check_hexadecimal,
    check_name,
    check_positive,
    check_url,
)
from dpdl.privacy.limits import DELTA
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.threats import threat
from dpdl.records import Json, Record, absent
from dpdl.text import shown

MOST_MEMBERS = 1000
MOST_NUMBERS = 10**8
"""Numbers of a record."""
MOST_PARAMETERS = 10**9
"""Parameters of a model: 4 GB."""
PREDICT = re.compile(r"[1-9][0-9]{0,4} (classes|labels|numbers)", re.ASCII)


@final
@dataclass(frozen=True)
class Member(Record):
    """One site: its place in the list is the number of its agent."""

    name: str
    key: str  # Ed25519
    agreement: str  # X25519
    data: str  # the name of a data set on its card
    records: int  # that it declares
    url: str | None = absent()  # None: it accepts no connections

    def __post_init__(self) -> None:
        check_name(self.name, "manifest.member.name")
        check_name(self.data, "manifest.member.data")
        check_hexadecimal(self.key, "manifest.member.key")
        check_hexadecimal(self.agreement, "manifest.member.agreement")
        check_signing(self.key)
        check_agreement(self.agreement)
        check_count(self.records, "manifest.member.records", 1, MOST["records"])
        if self.url is not None:
            check_url(self.url, "manifest.member.url")


@final
@dataclass(frozen=True)
class Weighted(Record):
    """The mixing matrix W: (i, j, w_ij) with i <= j and w_ij > 0, in order."""

    weights: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        pairs = [(i, j) for i, j, _ in self.weights]
        if pairs != sorted(set(pairs)) or any(not 0 <= i <= j for i, j in pairs):
            raise InputError(
                "manifest.graph.weights must be (i, j, w) with 0 <= i <= j, in order, each pair "
                "once."
            )
        for _, _, weight in self.weights:
            check_positive(weight, "manifest.graph.weights")


@final
@dataclass(frozen=True)
class Terms(Record):
    """What the run costs: noise multiplier, and epsilon of every member against the threat."""

    sigma: float
    delta: float
    threat: str
    relation: str
    epsilon: tuple[float, ...]

    def __post_init__(self) -> None:
        check_positive(self.sigma, "manifest.privacy.sigma")
        if not DELTA.holds(self.delta):
            raise InputError(
                f"manifest.privacy.delta must be {DELTA.words}, not {self.delta!r}."
            )
        threat(self.threat)
        if self.relation not in CHANGES:
            raise InputError(
                f"manifest.privacy.relation must be {' or '.join(sorted(CHANGES))}, not "
                f"{shown(self.relation)}."
            )
        for epsilon in self.epsilon:
            check_positive(epsilon, "manifest.privacy.epsilon")


@final
@dataclass(frozen=True)
class ModelFacts(Record):
    """SHA-256 of `initial.safetensors`, and the shapes of its parameters in the order of a row."""

    sha256: str
    shapes: Mapping[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        check_hexadecimal(self.sha256, "manifest.model.sha256")
        for name, shape in self.shapes.items():
            for length in shape:
                where = f"manifest.model.shapes.{shown(name, 40)}"
                check_count(length, where, 1, MOST_PARAMETERS)
        check_count(self.size, "The parameters of the model", 1, MOST_PARAMETERS)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes.values())


@final
@dataclass(frozen=True)
class DataForm(Record):
    """What a record looks like, in the words of the options of the same names.

    `test_sha256` is that of the file of the public test set, if there is one.
    """

    shape: str
    predict: str
    scaling: str | None = absent()
    test_sha256: str | None = absent()

    def __post_init__(self) -> None:
        check_form(self.shape, self.predict, self.scaling, "manifest.data")
        if self.test_sha256 is not None:
            check_hexadecimal(self.test_sha256, "manifest.data.test_sha256")


@final
@dataclass(frozen=True)
class Rules(Record):
    """What happens when a member stays away."""

    alarm_minutes: int = 60  # of waiting, after which the site is told
    least_members: int = 2  # that may go on
    graph: Literal["rebuild", "lost-weight"] = "rebuild"  # of those who go on
    largest_norm: float | None = absent()  # of a row that is received
    ends: str | None = absent()  # the last day on which it may be approved

    def __post_init__(self) -> None:
        where = "manifest.rules"
        check_count(self.alarm_minutes, f"{where}.alarm_minutes", 1, 10**6)
        check_count(self.least_members, f"{where}.least_members", 2, MOST_MEMBERS)
        if self.largest_norm is not None:
            check_positive(self.largest_norm, f"{where}.largest_norm")
        if self.ends is not None:
            check_date(self.ends, f"{where}.ends")


@final
@dataclass(frozen=True)
class ManifestParts(Record):
    """All tables of a manifest, under the names that they have in the file."""

    FORMAT: ClassVar[int | None] = 1

    experiment: Json
    member: tuple[Member, ...]
    graph: Weighted
    privacy: Terms
    model: ModelFacts
    data: DataForm
    rules: Rules


def check_form(shape: str, predict: str, scaling: str | None, where: str) -> None:
    """Refuse a form of records that no model could be built for; torch is not needed for it."""
    try:
        sizes = parse_shape(shape)
        scales = ((0.0,), (1.0,)) if scaling is None else parse_scaling(scaling)
    except InputError as failure:
        raise InputError(f"{where}.{failure}") from failure
    if math.prod(sizes) > MOST_NUMBERS:
        raise InputError(
            f"{where}.shape must be of at most {MOST_NUMBERS} numbers, not {shown(shape)}."
        )
    if not _fits(sizes, *scales):
        raise InputError(
            f"{where}.scaling must have finite numbers, one or one of each channel, the second "
            f"ones above 0, not {shown(scaling)}."
        )
    if not PREDICT.fullmatch(predict):
        raise InputError(
            f"{where}.predict must be such as '3 classes', '3 labels' or '3 numbers', not "
            f"{shown(predict)}."
        )


def _fits(
    sizes: tuple[int, ...], mean: tuple[float, ...], std: tuple[float, ...]
) -> bool:
    counts = {len(mean), len(std)} <= {1, sizes[0]}
    return counts and all(map(math.isfinite, mean + std)) and min(std) > 0
