"""What is proven about a run, in numbers and in prose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpdl.experiment.experiment import Experiment
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import EAVESDROPPER, Threat, threat

LISTENERS = {
    "eavesdropper": "an eavesdropper on all links",
    "neighbours": "curious neighbours",
    "final-model": "somebody who sees the models only",
}


def listening(one: Threat, anywhere: bool) -> str:
    """Who listens, in words; `anywhere`: those who work together need be nobody's neighbours."""
    if one.neighbours > 1:
        who = "agents" if anywhere else "neighbours of an agent"
        return f"{one.neighbours} {who} that work together"
    return LISTENERS[one.kind]


@final
@dataclass(frozen=True)
class Stated:
    """What a privacy statement is about; a plan has it, and so has a ledger. No data is needed."""

    experiment: Experiment
    privacy: PrivacyModel
    theorem1: Theorem1 | None
    simulated: bool  # the noise is seeded, and protects nobody

    def __repr__(self) -> str:
        return f"Stated({self.privacy}, {'simulated' if self.simulated else 'secure'})"

    @property
    def listener(self) -> Threat:
        """The experiment's threat."""
        return threat(self.experiment.threat)

    def epsilon(self, rounds: int) -> Epsilon:
        """What is proven against the experiment's threat, after some rounds."""
        return Epsilon(self.privacy.worst(self.listener, rounds))

    def epsilons(self, rounds: int) -> Epsilons:
        """What Theorem 1 claims, and what is proven, for every threat model."""
        listeners = self.privacy.listeners(self.listener)
        proven = {t.key: Epsilon(self.privacy.worst(t, rounds)) for t in listeners}
        return Epsilons(self._claimed(), proven)

    def _claimed(self) -> Epsilon:
        """What Theorem 1 claims; unknown when it is not about the algorithm."""
        sigma = self.privacy.sigma
        if self.theorem1 is None:
            return UNKNOWN
        return Epsilon(self.theorem1.epsilon(sigma)) if sigma > 0 else UNBOUNDED

    def note(self) -> str:
        """Why the proven epsilons are what they are."""
        e, model = self.experiment, self.privacy
        if model.sigma == 0:
            return "No noise is added: there is no privacy to measure."
        if not model.mechanism.bounds_record:
            return (
                f"Clip unit {e.clip_unit!r} does not bound what a single record can do by C / B, "
                "which the noise is made for: no guarantee."
            )
        if model.unproven:
            return f"{e.algorithm} has no proof for batches of fixed size: nothing is proven."
        if not math.isfinite(model.worst(EAVESDROPPER)):
            if why := model.algorithm.unproven_because:
                return f"{why.capitalize()}: nothing is proven."
            return (
                "The noise is too small, or the model, for the bound on the un-noised "
                "self-gradient: nothing is proven."
            )
        if model.mechanism.sampling.fixed:
            return (
                "Fixed-size batches are accounted for by Rényi DP under replacement of one record, "
                "which is loose."
            )
        return "Epsilon is that of the agent that is worst off, by privacy-loss distributions."

    def prose(self, rounds: int, early: bool = False) -> str:
        """For a person who must decide whether this may be published.

        `early`: whether a rule or a callback ended the run before its last round.
        """
        if self.privacy.sigma == 0:
            return "No privacy: gradients are exchanged without noise."
        sentences = [
            self._proven(rounds),
            self._centre(),
            self.note(),
            self._warning(),
            self._claim(),
            self._public_records(),
            self._own_tests(),
            self._end(early),
            self.privacy.algorithm.caveat,
            self._simulation(),
        ]
        return " ".join(filter(None, sentences))

    def _proven(self, rounds: int) -> str:
        e, anywhere = self.experiment, self.privacy.algorithm.coalitions_anywhere
        listener = listening(self.listener, anywhere)
        proven = self.epsilon(rounds)
        if not proven.bounded:
            return f"Nothing is proven against {listener}."
        few, many = min(self.privacy.records), max(self.privacy.records)
        declared = f"{few}" if few == many else f"{few} to {many}"
        return (
            f"Proven: ({proven:.4g}, {e.delta:g})-differential privacy for one record "
            f"{CHANGES[e.relation]} in one agent's data, against {listener}, over {rounds} rounds "
            f"({e.sampling} sampling, every {e.clip_unit} clipped, noise multiplier "
            f"{self.privacy.sigma:.4g}). Public, and not protected: the number of records that "
            f"agents declare, {declared}."
        )

    def _centre(self) -> str | None:
        """What is released beside the rounds, which epsilon counts."""
        model = self.privacy
        if model.centre is None:
            return None
        times = "once" if model.centres == 1 else f"{model.centres} times"
        return (
            f"Before the first round the mean of all agents' features left {times} (every "
            "record's have length 1, noise multiplier "
            f"{model.centre.noise_multiplier:.4g} at every agent); epsilon counts that."
        )

    def _warning(self) -> str | None:
        few, delta = min(self.privacy.records), self.experiment.delta
        if delta * few <= 1:
            return None
        return (
            f"Warning: delta = {delta:g} is above 1 / {few}, one over the records of an agent; a "
            "rule that publishes one random record in full would count as private."
        )

    def _claim(self) -> str | None:
        if self.theorem1 is None:
            return None
        e, claimed = self.experiment, self.theorem1.epsilon(self.privacy.sigma)
        return (
            f"Theorem 1 of the DPDL paper (c_2 = {e.c2:g}, h = {e.h:g}) claims epsilon = "
            f"{claimed:.4g} for this noise; that claim is not a guarantee."
        )

    def _public_records(self) -> str | None:
        count = self.privacy.algorithm.public_records
        if not count:
            return None
        return f"{count} validation records are taken as public: nothing protects them."

    def _own_tests(self) -> str | None:
        if self.experiment.sites is None or self.experiment.test is not None:
            return None
        return (
            "Every site tests on records of its own: the scores are computed from them without "
            "noise, and no epsilon covers that."
        )

    def _end(self, early: bool) -> str | None:
        """What the number of rounds tells, where it was not fixed beforehand."""
        e = self.experiment
        if not early and e.stop_after_stalled is None:
            return None
        how = "before its last round" if early else "with its last round"
        chosen = "a decision that may look at values without noise"
        if e.stop_after_stalled is not None:
            chosen = "a rule that looks at training losses without noise"
        planned = self.epsilon(e.rounds)
        return (
            f"The run ended {how} by {chosen}: how many rounds there are depends on private "
            f"records, and no epsilon covers that. All {e.rounds} planned rounds: epsilon = "
            f"{planned:.4g}."
        )

    def _simulation(self) -> str | None:
        if not self.simulated:
            return None
        return (
            "The noise is seeded and the seed is known, so this run is a simulation: it protects "
            "nobody."
        )
