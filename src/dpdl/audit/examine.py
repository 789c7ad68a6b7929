"""What `dpdl audit` does: settings from options or from a run, the game, and what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final

from dpdl.audit.facts import facts_of
from dpdl.audit.measure import CountWatch, audit
from dpdl.audit.result import AuditResult
from dpdl.audit.setting import AuditSetting, of_options, of_run
from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import from_mapping
from dpdl.folder import files
from dpdl.folder.run_folder import RunFolder
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.threats import threat

WITH_A_RUN = {"rounds", "threat", "randomness", "seed"}
"""The options that may be given beside a run; it has all the others."""
RULES = ("accountant", "theorem1")

GameWatch = Callable[[str, int], AbstractContextManager[CountWatch]]
"""Opened with what is counted, rounds or trials, and how many there are."""


@final
@dataclass(frozen=True)
class AuditRequest:
    """What is audited: the settings of a run, or those of options; and how."""

    options: Mapping[str, Any]  # of an experiment, also `records` and `rate`, as given
    records: int  # of every agent, unless the options say so
    most_canaries: int
    run: Path | None = None
    noise: str | None = None  # the rule that sets sigma
    canaries: int | None = None  # None: as many as there are records, or the most
    trials: int | None = None
    crowd: str | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InputError(
                f"confidence must be strictly between 0 and 1, not {self.confidence!r}."
            )
        if self.crowd is not None and self.trials is None:
            raise InputError(
                "crowd is for trials of one record; give trials, or leave it out."
            )

    def setting(self) -> tuple[AuditSetting, float | None]:
        """All that the game needs to know, and the sigma of the run (None: there is no run)."""
        if self.run is None:
            return _of_options(dict(self.options), self.records), None
        given = dict(self.options)
        if self.noise is not None:
            given["noise"] = self.noise
        return _of_run(self.run, given)


class GameRules(NamedTuple):
    """How the game is played."""

    parameters: int  # d, and the number of canaries
    trials: int | None
    crowd: str | None
    confidence: float
    seed: int


class Examined(NamedTuple):
    """The result, and everything about it for JSON."""

    result: AuditResult
    facts: dict[str, Any]


def examine(request: AuditRequest, watch: GameWatch) -> Examined:
    """Play the game that is asked for; the result for a run is kept in its folder."""
    started = time.perf_counter()
    setting, sigma = request.setting()
    size = request.canaries
    if size is None:
        size = min(request.most_canaries, *setting.records)
    if sigma is None:
        sigma = sigma_of(setting, request.noise, size)
    seed = request.options.get("seed", setting.experiment.seed)
    rules = GameRules(size, request.trials, request.crowd, request.confidence, seed)
    result = play(setting, sigma, rules, watch)
    facts = {
        **facts_of(result, setting),
        **rules._asdict(),
        "canaries": size if request.trials is None else 1,
        "run": str(request.run) if request.run else None,
        "seconds": round(time.perf_counter() - started, 1),
    }
    if request.run:
        path = RunFolder(request.run).audit_path
        with files.refusing("File", path):
            files.write_json(path, facts)
    return Examined(result, facts)


def sigma_of(setting: AuditSetting, rule: str | None, size: int) -> float:
    """The noise multiplier that is audited: a fixed one, or by a rule for models of this size."""
    e, theorem1 = setting.experiment, setting.theorem1
    assert e.epsilon
    if rule is not None and rule not in RULES:
        raise unknown("noise", rule, RULES)
    if e.sigma is not None:
        return e.sigma
    if rule == "theorem1" and theorem1 is None:
        raise InputError(
            f"Theorem 1 says nothing about {e.algorithm}: take noise 'accountant', or a "
            "fixed sigma."
        )
    if theorem1 and rule != "accountant":
        return theorem1.sigma(e.epsilon)
    return setting.privacy(size).needed_sigma(e.epsilon, threat(e.threat))


def play(
    setting: AuditSetting, sigma: float, rules: GameRules, watch: GameWatch
) -> AuditResult:
    """The audit of a setting."""
    e = setting.experiment
    what = "rounds" if rules.trials is None else "trials"
    secure = e.randomness == "secure"
    with watch(what, rules.trials or e.rounds) as done:
        return audit(
            setting.privacy(rules.parameters, sigma),
            setting.theorem1,
            threat(e.threat),
            trials=rules.trials,
            crowd=rules.crowd or "none",
            confidence=rules.confidence,
            randomness=Secure() if secure else Reproducible(rules.seed),
            seed=rules.seed,
            watch=done,
        )


# ------------------------------------------------------------------ from words to a setting
def _of_run(run: Path, given: dict[str, Any]) -> tuple[AuditSetting, float]:
    """What the run says, but for who listens, how many rounds are played, and the randomness."""
    for name in given:
        if name not in WITH_A_RUN:
            raise InputError(
                f"{name} is an option of the run {str(run)!r}, and cannot be given "
                "beside it."
            )
    setting, sigma = of_run(run, given.pop("rounds", None))
    # The seed is of the game's batches and noise: what the run drew in public stays its own.
    given.pop("seed", None)
    experiment = replace(setting.experiment, **given)
    return replace(setting, experiment=experiment), sigma


def _of_options(given: dict[str, Any], default: int) -> AuditSetting:
    records = given.pop("records", default)
    given |= _batch(given.get("batch"), given.pop("rate", None), records)
    return of_options(from_mapping({"noise": "theorem1", **given}), records)


def _batch(batch: int | None, rate: float | None, records: int) -> dict[str, int]:
    if rate is None:
        return {}
    if batch is not None:
        raise InputError("batch and rate exclude each other; give one of them.")
    if not 0 < rate <= 1:
        raise InputError(f"rate must be above 0 and at most 1, not {rate!r}.")
    return {"batch": max(1, round(rate * records))}
