"""What a run has given away, and will have at its end, for every threat model.

Computed from the header of the ledger alone, in the same way as `dpdl privacy verify` does. An
accountant takes up to seconds for one number of rounds, so `Spending` is asked for one after the
other, beside the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, final

from dpdl.errors import DpdlError
from dpdl.experiment.experiment import from_mapping
from dpdl.folder.ledger_cost import experiment_of, listeners_of, model_of
from dpdl.folder.ledger_lines import Header
from dpdl.planning.build import make_theorem1
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.planning.statement import Stated
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.threats import threat
from dpdl.records import Json, JsonObject, written

POINTS = 24
"""Places of the curve over the rounds."""
OFTEN = 50
"""What is spent is computed again after every 1/50 of the planned rounds,"""
GROWTH = 4
"""and where a quarter of the rounds has come to what it was computed for."""


class Priced(NamedTuple):
    """What can be computed from a header of format 2."""

    model: PrivacyModel
    stated: Stated

    @classmethod
    def of(
        cls,
        header: Header,
        rounds: int,
        settings: Mapping[str, Json],
        centres: int = 1,
    ) -> Priced:
        """The mechanism, and what is said about it; Theorem 1 has constants of its own."""
        model = replace(model_of(header, rounds), centres=centres)
        constants = {name: settings[name] for name in ("c2", "h") if name in settings}
        e = from_mapping({**experiment_of(header, rounds).to_json(), **constants})
        return cls(model, Stated(e, model, make_theorem1(e, model), header.repeatable))

    @property
    def claimed(self) -> Epsilon:
        """By Theorem 1, for all rounds together; unknown if it is not about the algorithm."""
        theorem1, sigma = self.stated.theorem1, self.model.sigma
        if theorem1 is None:
            return UNKNOWN
        return Epsilon(theorem1.epsilon(sigma)) if sigma > 0 else UNBOUNDED

    @property
    def noise(self) -> float:
        """The expected length of the noise on an answer, in good approximation."""
        return self.model.mechanism.std * math.sqrt(self.model.size)


@final
class Spending:
    """Epsilons by number of rounds."""

    def __init__(
        self,
        header: Header,
        planned: int,
        settings: Mapping[str, Json],
        centres: int = 1,
    ) -> None:
        """`settings` are the options in `experiment.json`."""
        self._centres = centres
        self._header = header
        self._settings = settings
        self._planned = planned
        self._priced: Priced | None = None
        self._known: dict[int, Mapping[str, Epsilon]] = {}
        self._spent = 0  # rounds, when it was computed last
        self._charged = 0
        self.wrong = ""

    def fits(self, header: Header, planned: int, centres: int = 1) -> bool:
        """Whether it is about this mechanism and so many rounds."""
        same = planned == self._planned and centres == self._centres
        return same and header == self._header

    def charge(self, rounds: int, ended: bool) -> None:
        """So many rounds are charged now; an end is always computed, to the round."""
        self._charged = rounds
        behind = rounds - self._spent
        enough = min(self._planned / OFTEN, self._spent / GROWTH)
        if behind and (ended or behind < 0 or behind >= enough):
            self._spent = rounds

    @property
    def wanted(self) -> int | None:
        """The next number of rounds to compute; None: all is known."""
        if self.wrong or self._header.rounds is None:
            return None
        marks = [self._spent, self._planned, *self._grid()]
        return next((t for t in marks if t > 0 and t not in self._known), None)

    def _grid(self) -> list[int]:
        """Rounds of the curve, from the middle on: its shape is seen early."""
        every = {max(1, self._planned * k // POINTS) for k in range(1, POINTS + 1)}
        return sorted(every | {1}, key=lambda t: (t & -t, t), reverse=True)

    def compute(self, rounds: int) -> None:
        """Compute one of them."""
        try:
            if self._priced is None:
                self._priced = Priced.of(
                    self._header, self._planned, self._settings, self._centres
                )
            found = {
                t.key: Epsilon(self._priced.model.worst(t, rounds))
                for t in listeners_of(self._header)
            }
        except DpdlError as failure:
            self.wrong = str(failure)
            return
        self._known = {**self._known, rounds: found}

    def to_json(self) -> JsonObject:
        """As far as it is known."""
        known, priced = self._known, self._priced
        rounds = sorted(known)
        at = max((t for t in rounds if t <= self._charged), default=0)
        proven = {
            t.key: [known[r][t.key].finite for r in rounds]
            for t in listeners_of(self._header)
        }
        found: JsonObject = {
            "rounds": written(rounds),
            "proven": written(proven),
            "spent_after": self._spent if self._spent in known else at,
            "spent": written(known.get(self._spent, known.get(at, {}))),
            "end": written(known.get(self._planned, {})),
            "planned": self._planned,
            "main": threat(self._header.threat).key,
            "delta": self._header.delta,
            "wrong": self.wrong,
        }
        if priced:
            found["claimed"] = priced.claimed.to_json()
            found["note"] = priced.stated.note()
            found["noise"] = priced.noise
        return found
