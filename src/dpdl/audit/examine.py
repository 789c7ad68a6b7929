"""What `dpdl audit` does: settings from options or from a run, the game, and what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from dpdl.audit.facts import AuditFacts, facts_of
from dpdl.audit.measure import CountWatch, audit
from dpdl.audit.request import AuditRequest
from dpdl.audit.result import AuditResult
from dpdl.audit.setting import AuditSetting, GameRules
from dpdl.errors import InputError
from dpdl.folder import files
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.build import make_algorithm
from dpdl.planning.plan import make_randomness
from dpdl.privacy.threats import threat

GameWatch = Callable[[str, int], AbstractContextManager[CountWatch]]
"""Opened with what is counted, rounds or trials, and how many there are."""


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
    played = play_game(setting, sigma, rules, watch)
    proof = setting.proven_of_run(sigma, played.threat)
    result = replace(played, of_run=proof)
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
