"""What `dpdl audit` is asked for; what is wrong is refused before torch is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dpdl.audit.setting import AuditSetting, setting_of_options, setting_of_run
from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import from_mapping
from dpdl.options import Value

WITH_A_RUN = {"rounds", "threat", "randomness", "seed"}
"""The options that may be given beside a run; it has all the others."""
RULES = ("accountant", "theorem1")


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
