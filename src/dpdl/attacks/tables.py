"""Scores of what was rebuilt, beside those of pictures that need no attack."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from dpdl.attacks import labels as recovery
from dpdl.attacks.harness import Reconstructions
from dpdl.attacks.metrics import ImageScore, paired_test, pixels_of, score, trivial
from dpdl.attacks.pixels import Pixels
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan
from dpdl.privacy.threats import threat


@final
@dataclass(frozen=True)
class Attacked:
    """The outcomes of a run's cases, and what scores need to know about its data."""

    run: Path
    outcomes: Sequence[Reconstructions]
    plan: Plan
    suffix: str = ""  # tells runs of one algorithm apart

    @property
    def who(self) -> str:
        """The algorithm, or ND: no defence."""
        name = (
            "ND"
            if self.plan.privacy.sigma == 0
            else self.plan.experiment.algorithm.upper()
        )
        return name + self.suffix

    @cached_property
    def epsilon(self) -> float | str:
        """Proven for all rounds, against one who hears every link.

        The summary has it; accounting takes its time.
        """
        listener, folder = threat("eavesdropper"), RunFolder(self.run)
        if folder.finished:
            stated: float | str = folder.summary()["epsilon"][listener.key]
            return stated
        found = self.plan.privacy.worst(listener)
        return found if math.isfinite(found) else "unbounded"

    @cached_property
    def pixels(self) -> Pixels:
        """How pixels became numbers."""
        return pixels_of(self.plan.data)

    @cached_property
    def mean_image(self) -> Tensor:
        """The mean of the test records: public records like the private ones."""
        return self.plan.data.inputs(self.plan.data.x_test, torch.float32).mean(0)

    def rows(self) -> list[dict[str, Any]]:
        """One row per case."""
        return [
            {"run": str(self.run), "who": self.who, **self.row(outcome)}
            for outcome in self.outcomes
        ]

    def row(self, outcome: Reconstructions) -> dict[str, Any]:
        """Medians over all images, and whether they beat the best trivial reconstruction."""
        scores = self.scores(outcome)
        every = self.trivial_scores(outcome)
        name, best = min(
            every.items(), key=lambda item: statistics.median(s.mse for s in item[1])
        )
        read, true = outcome.read_labels, outcome.true_labels
        return {
            "scenario": outcome.case.scenario,
            "round": outcome.case.round,
            "batch": int(outcome.truth.shape[1]),
            "own_batch": self.plan.experiment.batch,
            **medians(scores),
            "label_recovery": recovery.rate(read, true) if read.numel() else None,
            "labels": outcome.case.labels,
            "method": outcome.method,
            "images": len(scores),
            "best_trivial": name,
            "best_trivial_mse": statistics.median(s.mse for s in best),
            "p_better_than_trivial": paired_test(
                _means(scores, outcome), _means(best, outcome)
            ),
        }

    def scores(self, outcome: Reconstructions) -> list[ImageScore]:
        """Every image's score, batch by batch."""
        pairs = zip(outcome.found, outcome.truth, strict=True)
        return [
            one for found, truth in pairs for one in score(found, truth, self.pixels)
        ]

    def trivial_scores(self, outcome: Reconstructions) -> dict[str, list[ImageScore]]:
        """What needs no attack, against the same images."""
        found: dict[str, list[ImageScore]] = {}
        for k, truth in enumerate(outcome.truth):
            for name, images in trivial(
                truth.shape, self.pixels, self.mean_image, k
            ).items():
                found.setdefault(name, []).extend(score(images, truth, self.pixels))
        return found

    def trivial_rows(self) -> list[dict[str, Any]]:
        """Medians of the trivial reconstructions against the images of the first case."""
        return [
            {"name": name, **medians(of)}
            for name, of in self.trivial_scores(self.outcomes[0]).items()
        ]


def medians(scores: Sequence[ImageScore]) -> dict[str, float]:
    """The median of every number."""
    numbers = [s.numbers() for s in scores]
    return {name: statistics.median(n[name] for n in numbers) for name in numbers[0]}


def _means(scores: Sequence[ImageScore], outcome: Reconstructions) -> list[float]:
    """The mean MSE of every batch.

    Images of one batch are rebuilt together and are not independent.
    """
    size = int(outcome.truth.shape[1])
    return [
        statistics.fmean(s.mse for s in scores[k : k + size])
        for k in range(0, len(scores), size)
    ]
