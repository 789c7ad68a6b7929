"""What `dpdl audit` does: settings from options or from a run, the game, and what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dpdl.audit.facts import AuditFacts, facts_of
from dpdl.audit.measure import CountWatch, audit
from dpdl.audit.result import AuditResult
from dpdl.audit.setting import (
    AuditSetting,
    GameRules,
    setting_of_options,
    setting_of_run,
)
from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import from_mapping
from dpdl.folder import files
from dpdl.folder.run_folder import RunFolder
from dpdl.options import Value
from dpdl.planning.build import make_algorithm
from dpdl.planning.plan import make_randomness
from dpdl.privacy.threats import threat

WITH_A_RUN = {"rounds", "threat", "randomness", "seed"}
"""The options that may be given beside a run; it has all the others."""
RULES = ("accountant", "theorem1")

GameWatch = Callable[[str, int], AbstractContextManager[CountWatch]]
"""Opened with what is counted, rounds or trials, and how many there are."""


@final
@dataclass(frozen=True)
class AuditRequest:
    """What is audited, the settings of a run or those of options, and how."""

    options: Mapping[str, Value]  # of an experiment, as far as they are given
    default_records: int  # of every agent, where `records` is not given
    most_canaries: int  # unless `canaries` are given
    run: Path | None = None
    records: int | None = None
    rate: float | None = None  # the batch as a share of the records
    rule: str | None = None  # that sets sigma
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
        if self.rule is not None and self.run is None and self.rule not in RULES:
            raise unknown("noise", self.rule, RULES)

    @property
    def given(self) -> set[str]:
        """The names of all settings that are given, as a person writes them."""
        more = {"records": self.records, "rate": self.rate, "noise": self.rule}
        return {*self.options, *(name for name in more if more[name] is not None)}

    def setting(self) -> tuple[AuditSetting, float | None]:
        """All that the game needs to know, and the sigma of the run; None: there is no run."""
        if self.run is None:
            return self._of_options(), None
        for name in sorted(self.given - WITH_A_RUN):
            raise InputError(
                f"{name} is an option of the run {str(self.run)!r}, and cannot be given "
                "beside it."
            )
        return self._of_run(self.run)

    def _of_options(self) -> AuditSetting:
        records = self.default_records if self.records is None else self.records
        values: dict[str, Value] = {"noise": "theorem1", **self.options}
        if self.rate is not None:
            if "batch" in values:
                raise InputError("batch and rate exclude each other; give one of them.")
            if not 0 < self.rate <= 1:
                raise InputError(
                    f"rate must be above 0 and at most 1, not {self.rate!r}."
                )
            values["batch"] = max(1, round(self.rate * records))
        return setting_of_options(from_mapping(values), records)

    def _of_run(self, run: Path) -> tuple[AuditSetting, float]:
        """The run's own settings but for who listens, the rounds played, and the randomness."""
        rounds = self.options.get("rounds")
        assert rounds is None or isinstance(rounds, int)
        setting, sigma = setting_of_run(run, rounds)
        e = setting.experiment
        # The seed is of the game's batches and noise: what the run drew in public stays its own.
        listened = replace(
            e,
            threat=str(self.options.get("threat", e.threat)),
            randomness=str(self.options.get("randomness", e.randomness)),
        )
        return replace(setting, experiment=listened), sigma


def examine(request: AuditRequest, watch: GameWatch) -> AuditFacts:
    """Play the game of a request; the result for a run is kept in its folder."""
    started = time.perf_counter()
    setting, sigma = request.setting()
    size = request.canaries
    if size is None:
        size = min(request.most_canaries, *setting.records)
    if sigma is None:
        sigma = sigma_of(setting, request.rule, size)
    seed = request.options.get("seed", setting.experiment.seed)
    assert isinstance(seed, int)
    rules = GameRules(size, request.trials, request.crowd, request.confidence, seed)
    result = play_game(setting, sigma, rules, watch)
    seconds = round(time.perf_counter() - started, 1)
    run = str(request.run) if request.run else None
    facts = facts_of(result, setting, rules, run, seconds)
    if request.run:
        path = RunFolder(request.run).audit_path
        with files.refusing("File", path):
            files.write_json(path, facts.to_json())
    return facts


def sigma_of(setting: AuditSetting, rule: str | None, size: int) -> float:
    """The noise multiplier that is audited: a fixed one, or by a rule for models of this size."""
    e, theorem1 = setting.experiment, setting.theorem1
    assert e.epsilon
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


def play_game(
    setting: AuditSetting, sigma: float, rules: GameRules, watch: GameWatch
) -> AuditResult:
    """The audit of a setting; the seed of the rules is that of its batches and noise."""
    e = setting.experiment
    counted = "rounds" if rules.trials is None else "trials"
    randomness = make_randomness(replace(e, seed=rules.seed), make_algorithm(e))
    with watch(counted, rules.trials or e.rounds) as done:
        return audit(
            setting.privacy(rules.parameters, sigma),
            setting.theorem1,
            threat(e.threat),
            trials=rules.trials,
            crowd=rules.crowd or "none",
            confidence=rules.confidence,
            randomness=randomness,
            seed=rules.seed,
            watch=done,
        )
