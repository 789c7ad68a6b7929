"""What an attack found: `attack.json`, which `dpdl attack --json` prints too.

    AttackFacts             everything
      CaseScores            how well one case was rebuilt: a scenario, a round, a batch size
      TrivialScores         the same for a picture that needs no attack
      MembershipFacts       how well the members of a batch were distinguished from other records
        MembershipScores    by the gradient and by the loss of a candidate
          MemberRates       the rates of one of them
        EpsilonBounds       what is proven and what is certified; `audit.json` beside `attack.json`
      PaperRow              a case beside the paper's

Images are scored by MSE in normalised units, PSNR in decibels, SSIM, and MSE of pixels in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.files import read_record, write_json
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.records import Record, absent

Interval = tuple[float, float]


@final
@dataclass(frozen=True, kw_only=True)
class CaseScores(Record):
    """Medians over the images of one case, and whether they beat the best trivial picture."""

    run: str | None = absent()  # the run's folder; results that are kept do not name it
    who: str  # the algorithm, or ND: no defence
    scenario: str
    round: int
    batch: int
    own_batch: int | None = absent()  # of the run; version 0.1.0 did not write it
    mse: float
    psnr: float
    ssim: float
    mse_unit: float
    label_recovery: float | None  # None: labels cannot be read off this model
    labels: str  # "known", or "recovered"
    method: str
    images: int
    best_trivial: str
    best_trivial_mse: float
    p_better_than_trivial: float


@final
@dataclass(frozen=True)
class TrivialScores(Record):
    """Medians of one picture that needs no attack, against the images of the first case."""

    name: str
    mse: float
    psnr: float
    ssim: float
    mse_unit: float


# ------------------------------------------------------------------ membership
@final
@dataclass(frozen=True)
class MemberRates(Record):
    """How well a score tells members from non-members; intervals are of 95 %."""

    auc: float
    auc_interval: Interval
    tpr_at_1_percent: float | None  # None: too few non-members to resolve 1 %
    tpr_interval: Interval | None
    fpr_measured: float | None  # on records that the threshold was not chosen on
    note: str
    fpr: tuple[float, ...]  # the curve, ascending
    tpr: tuple[float, ...]


@final
@dataclass(frozen=True)
class MembershipScores(Record):
    """Rates by kind of score; None: the recording does not hold what the loss needs."""

    gradient: MemberRates
    loss: MemberRates | None


@final
@dataclass(frozen=True)
class EpsilonBounds(Record):
    """The epsilon of a run from above and from below, for one who hears everything."""

    proven: Epsilon
    certified: float | None  # by an audit; None: see `why`
    why: str | None = absent()
    confidence: float | None = absent()
    canaries: int | None = absent()

    @classmethod
    def read(cls, path: Path) -> EpsilonBounds:
        """Those in a file."""
        return read_record(cls, path)


@final
@dataclass(frozen=True)
class MembershipFacts(Record):
    """Membership inference in one case; candidates are `members` and as many non-members."""

    run: str
    who: str
    scenario: str
    round: int
    batch: int | None  # None: the run's own
    agents: tuple[int, ...]
    seed: int
    members: int
    non_members: int
    scores: MembershipScores
    epsilon: EpsilonBounds


# ------------------------------------------------------------------ beside the paper
@final
@dataclass(frozen=True)
class PaperAndOurs(Record):
    """One number of the paper, and ours; None: not measured."""

    paper: float
    ours: float | None


@final
@dataclass(frozen=True)
class PaperRow(Record):
    """A row of the paper's attack tables beside ours, and how ours came about."""

    dataset: str
    graph: str
    agents: int
    scenario: str  # such as "nd-cg"
    mse: PaperAndOurs
    psnr: PaperAndOurs
    ssim: PaperAndOurs
    batch: int
    images: int
    method: str
    best_trivial_mse: float
    p_better_than_trivial: float

    @property
    def metrics(self) -> dict[str, PaperAndOurs]:
        """The numbers by the name of their metric."""
        return {"mse": self.mse, "psnr": self.psnr, "ssim": self.ssim}


# ------------------------------------------------------------------ all of it
@final
@dataclass(frozen=True)
class AttackFacts(Record):
    """The result of an attack on some runs; paths are those of pictures."""

    rows: tuple[CaseScores, ...]
    trivial: tuple[TrivialScores, ...]
    epsilon: Mapping[str, Epsilon]  # proven, by who was attacked
    gallery: str = ""
    by_agent: str = ""
    membership: tuple[MembershipFacts, ...] | None = absent()
    roc: str | None = absent()
    paper: tuple[PaperRow, ...] | None = absent()

    @classmethod
    def read(cls, path: Path) -> AttackFacts:
        """Those in a file; one without any case is refused."""
        facts = read_record(cls, path)
        if not facts.rows:
            raise InputError(f"File {str(path)!r} is damaged: it holds no attack.")
        return facts

    def write(self, folder: Path) -> None:
        """Keep them in the folder of an attack."""
        write_json(folder / names.ATTACK_RESULT, self.to_json())


@final
@dataclass(frozen=True)
class AttackedRun(Record):
    """What a run was worth that was attacked: accuracy is that of the average model."""

    accuracy: float
    rounds: int
    sigma: float
    epsilon: Epsilons


@final
@dataclass(frozen=True, kw_only=True)
class PlaceFacts(Record):
    """What is kept of an attack where the paper attacked: `results/attack/DATASET-GRAPH-N.json`."""

    dataset: str
    graph: str
    agents: int
    what: str  # in one sentence
    note: str | None = absent()
    runs: Mapping[str, AttackedRun]
    rows: tuple[CaseScores, ...]
    trivial: tuple[TrivialScores, ...]
    paper: tuple[PaperRow, ...]
