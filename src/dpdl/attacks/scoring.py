"""Scores of what was rebuilt in a run, beside those of pictures that need no attack."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from dpdl.attacks import labels as recovery
from dpdl.attacks.harness import Reconstructions, pictures_of
from dpdl.attacks.image_scores import ImageScore, paired_test, pixels_of, score, trivial
from dpdl.attacks.pixels import Pixels
from dpdl.folder.attack_facts import CaseScores, TrivialScores
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset


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
        unprotected = self.plan.privacy.sigma == 0
        name = "ND" if unprotected else self.plan.experiment.algorithm.upper()
        return name + self.suffix

    @cached_property
    def epsilon(self) -> Epsilon:
        """Proven for all rounds, against one who hears every link.

        The summary of a finished run has it; computing it takes a while.
        """
        folder = RunFolder(self.run)
        if folder.finished:
            return folder.summary().epsilon.against(EAVESDROPPER)
        return Epsilon(self.plan.privacy.worst(EAVESDROPPER))

    @cached_property
    def pixels(self) -> Pixels:
        """How pixels became numbers."""
        return pixels_of(self.pictures)

    @cached_property
    def pictures(self) -> Dataset:
        """The data set whose records are images."""
        return pictures_of(self.plan)

    @cached_property
    def mean_image(self) -> Tensor:
        """The mean of the test records: public records like the private ones."""
        return self.pictures.inputs(self.pictures.x_test, torch.float32).mean(0)

    def rows(self) -> list[CaseScores]:
        """One row per case."""
        return [self.row(outcome) for outcome in self.outcomes]

    def row(self, outcome: Reconstructions) -> CaseScores:
        """Medians over all images, and whether they beat the best trivial reconstruction."""
        scores = self.scores(outcome)
        every = self.trivial_scores(outcome)
        best = min(every, key=lambda name: _median_mse(every[name]))
        ours, guessed = _means(scores, outcome), _means(every[best], outcome)
        read, true = outcome.read_labels, outcome.true_labels
        median = medians(scores)
        return CaseScores(
            run=str(self.run),
            who=self.who,
            scenario=outcome.case.scenario,
            round=outcome.case.round,
            batch=int(outcome.truth.shape[1]),
            own_batch=self.plan.experiment.batch,
            mse=median.mse,
            psnr=median.psnr,
            ssim=median.ssim,
            mse_unit=median.mse_unit,
            label_recovery=recovery.rate(read, true) if read.numel() else None,
            labels=outcome.case.labels,
            method=outcome.method,
            images=len(scores),
            best_trivial=best,
            best_trivial_mse=_median_mse(every[best]),
            p_better_than_trivial=paired_test(ours, guessed),
        )

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
            pictures = trivial(truth.shape, self.pixels, self.mean_image, k)
            for name, images in pictures.items():
                found.setdefault(name, []).extend(score(images, truth, self.pixels))
        return found

    def trivial_rows(self) -> list[TrivialScores]:
        """Medians of the trivial reconstructions against the images of the first case."""
        every = self.trivial_scores(self.outcomes[0])
        return [TrivialScores(name, *medians(of)) for name, of in every.items()]


def medians(scores: Sequence[ImageScore]) -> ImageScore:
    """The median of every number, each of which is finite."""
    finite = [one.finite() for one in scores]
    return ImageScore(*map(statistics.median, zip(*finite, strict=True)))


def _median_mse(scores: Sequence[ImageScore]) -> float:
    return statistics.median(one.mse for one in scores)


def _means(scores: Sequence[ImageScore], outcome: Reconstructions) -> list[float]:
    """The mean MSE of every batch.

    Images of one batch are rebuilt together and are not independent.
    """
    size = int(outcome.truth.shape[1])
    return [
        statistics.fmean(s.mse for s in scores[k : k + size])
        for k in range(0, len(scores), size)
    ]
