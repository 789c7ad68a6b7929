"""What everybody may know about a run: one object, the same in all processes, with a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from torch import Tensor

from dpdl.algorithms import Algorithm
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from dpdl.planning.budget import Allowance
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Randomness, Reproducible
from dpdl.privacy.releases import Release
from dpdl.privacy.theorem1 import Theorem1
from dpdl.tasks.data.form import Form
from dpdl.tasks.task import Task

CENTRE = "centre"
"""The channel of what is released before the first round, where anything is."""
RowScore = Callable[[Tensor], float]


@final
@dataclass(frozen=True)
class PublicPlan:
    """Graph, algorithm, model, mechanism, rounds and budgets of a run; no record is in it."""

    experiment: Experiment
    form: Form
    task: Task
    privacy: PrivacyModel
    theorem1: Theorem1 | None  # None: it is not about this algorithm
    allowance: Allowance | None  # None: no budget was set
    validate: RowScore | None = None  # of a row's model, on records that are public

    def __repr__(self) -> str:
        return f"PublicPlan({self.privacy}, {self.task}, {self.hash[:12]})"

    @property
    def graph(self) -> Graph:
        """Who talks to whom, with which weights."""
        return self.privacy.graph

    @property
    def algorithm(self) -> Algorithm:
        """What is run."""
        return self.privacy.algorithm

    @property
    def mechanism(self) -> Mechanism:
        """What every agent does to its records."""
        return self.privacy.mechanism

    @cached_property
    def noise_factors(self) -> np.ndarray | None:
        """Factors on the noise multiplier, [asker, host]; None: the same everywhere."""
        return self.algorithm.noise_factors(self.graph)

    def gradient(self, randomness: Randomness) -> PrivateGradient:
        """The mechanism at work, with somebody's randomness."""
        self.check_noise(randomness)
        return PrivateGradient(
            self.task, self.mechanism, randomness, self.noise_factors, self.validate
        )

    def check_noise(self, randomness: Randomness) -> None:
        """Refuse secure randomness where its noise would have no proof, and too short numbers."""
        bytes_each = self.task.initial.itemsize
        if why := self.algorithm.imprecise(self.graph, bytes_each):
            raise InputError(why)
        if not randomness.repeatable:
            self.privacy.check_secure(bytes_each)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """Every channel of a round, and what is in it."""
        found = self.algorithm.releases(self.gradient(Reproducible(0)))
        centre = self.privacy.centre
        if centre is None:
            return found
        carries = "features of all records, once, with noise; then their mixtures"
        sigma, moved = centre.noise_multiplier, centre.sensitivity
        return (*found, Release(CENTRE, True, carries, moved, sigma))

    def with_mechanism(self, mechanism: Mechanism) -> PublicPlan:
        """The same run with another mechanism."""
        return replace(self, privacy=self.privacy.with_mechanism(mechanism))

    # ------------------------------------------------------------------ identity
    def fields(self) -> list[tuple[str, bytes]]:
        """Everything by name, each with a hash: equal exactly when the values are."""
        kind, form = type(self.algorithm), self.form
        factors = self.noise_factors
        values = {
            **self.experiment.as_dict(),
            "class of the algorithm": f"{kind.__module__}.{kind.__qualname__}",
            "noise multiplier": self.mechanism.noise_multiplier,
            "numbers of records": self.mechanism.declared,
            "model shapes": self.task.shapes,
            "loss function": self.task.loss_name,
            "score function": self.task.score.name,
            "form of a record": [str(form), str(form.targets), form.mean, form.std],
        }
        arrays = {
            "mixing matrix": self.graph.W,
            "noise factors": np.zeros(0) if factors is None else factors,
            "initial model": self.task.initial.numpy(),
        }
        plain = {name: json.dumps(value).encode() for name, value in values.items()}
        exact = {name: _bytes(array) for name, array in arrays.items()}
        return [(name, _hash(content)) for name, content in (plain | exact).items()]

    @cached_property
    def hash(self) -> str:
        """The name of this plan: SHA-256 of all its fields."""
        total = hashlib.sha256()
        for name, content in self.fields():
            total.update(name.encode() + b"\0" + content)
        return total.hexdigest()


def _bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype} {array.shape}".encode() + array.tobytes()


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
