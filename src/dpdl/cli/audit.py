"""`dpdl audit`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpdl.cli.options import experiment_options, given
from dpdl.errors import InputError, unknown
from dpdl.run.experiment import SOME

if TYPE_CHECKING:
    from dpdl.audit import AuditResult
    from dpdl.audit.setting import Setting

OPTIONS = {
    "algorithm",
    "graph",
    "agents",
    "weights",
    "batch",
    "rounds",
    "lr",
    "compress",
    "noise_split",
    "epsilon",
    "sigma",
    "delta",
    "threat",
    "c2",
    "h",
    "randomness",
    "seed",
    *SOME,
}
WITH_A_RUN = {"rounds", "threat", "randomness", "seed"}
"""The options that may be given beside a run; it has all the others."""
RULES = ("accountant", "theorem1")
RECORDS = 6000
MOST_CANARIES = 2000


class Way(NamedTuple):
    """How the game is played."""

    parameters: int  # d, and the number of canaries
    trials: int | None
    crowd: str | None
    confidence: float
    seed: int


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path), metavar="[RUN]")
@experiment_options(only=OPTIONS)
@click.option("--noise", default=None, help="rule that sets sigma (accountant, theorem1) [theorem1 if it applies]")
@click.option("--records", type=int, default=None, help=f"records of every agent [{RECORDS}]")
@click.option("--rate", type=float, default=None, help="batch as a share of the records; 1 also measures sigma_eff")
@click.option("--canaries", type=int, default=None, help=f"records that are attacked, at once [{MOST_CANARIES}]")
@click.option("--trials", type=int, default=None, help="instead, one record, and so many runs with and without it")
@click.option("--crowd", default=None, help="then, where the agent's other records pull (against, along, none) [none]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of the lower bound")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def audit(
    run: Path | None,
    noise: str | None,
    canaries: int | None,
    trials: int | None,
    crowd: str | None,
    confidence: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Attack what agents send with worst-case records; certify a lower bound on epsilon.

    With RUN, a run folder, the settings are those of the run, and the result is kept there as audit.json.
    """
    from dpdl.cli.audit_show import facts_of, show

    _check(confidence, trials, crowd)
    started = time.perf_counter()
    setting, sigma = _of_run(run, given({"noise": noise, **options})) if run else (_of_options(given(options)), None)
    size = min(MOST_CANARIES, *setting.records) if canaries is None else canaries
    sigma = _sigma(setting, noise, size) if sigma is None else sigma
    seed = setting.experiment.seed if options["seed"] is None else options["seed"]
    way = Way(size, trials, crowd, confidence, seed)
    result = _play(setting, sigma, way)
    facts = {**facts_of(result, setting), **way._asdict(), "canaries": size if trials is None else 1}
    facts |= {"run": str(run) if run else None, "seconds": round(time.perf_counter() - started, 1)}
    if run:
        _keep(run / "audit.json", facts)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
    else:
        show(facts, result)
    if result.refutes_proof:
        click.get_current_context().exit(3)


def _check(confidence: float, trials: int | None, crowd: str | None) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be strictly between 0 and 1, not {confidence!r}.")
    if crowd is not None and trials is None:
        raise InputError("crowd is for trials of one record; give trials, or leave it out.")


def _keep(path: Path, facts: dict[str, Any]) -> None:
    from dpdl.run.files import write_json

    try:
        write_json(path, facts)
    except OSError as failure:
        raise InputError(f"File {str(path)!r} cannot be written: {failure.strerror}.") from failure


def _of_run(run: Path, options: dict[str, Any]) -> tuple[Setting, float]:
    """What the run says, but for who listens, how many rounds are played, and with which randomness."""
    from dataclasses import replace

    from dpdl.audit.setting import of_run

    for name in options:
        if name not in WITH_A_RUN:
            raise InputError(f"{name} is an option of the run {str(run)!r}, and cannot be given beside it.")
    setting, sigma = of_run(run, options.pop("rounds", None))
    options.pop("seed", None)  # of the game's batches and noise; what the run drew in public is drawn from its own
    return replace(setting, experiment=replace(setting.experiment, **options)), sigma


def _of_options(options: dict[str, Any]) -> Setting:
    from dpdl.audit.setting import of_options
    from dpdl.run.experiment import from_mapping

    records = options.pop("records", RECORDS)
    options |= _batch(options.get("batch"), options.pop("rate", None), records)
    return of_options(from_mapping({"noise": "theorem1", **options}), records)


def _batch(batch: int | None, rate: float | None, records: int) -> dict[str, int]:
    if rate is None:
        return {}
    if batch is not None:
        raise InputError("batch and rate exclude each other; give one of them.")
    if not 0 < rate <= 1:
        raise InputError(f"rate must be above 0 and at most 1, not {rate!r}.")
    return {"batch": max(1, round(rate * records))}


def _sigma(setting: Setting, noise: str | None, size: int) -> float:
    from dpdl.privacy.threats import threat

    e, theorem1 = setting.experiment, setting.theorem1
    assert e.epsilon
    if noise is not None and noise not in RULES:
        raise unknown("noise", noise, RULES)
    if e.sigma is not None:
        return e.sigma
    if noise == "theorem1" and theorem1 is None:
        raise InputError(f"Theorem 1 says nothing about {e.algorithm}: take noise 'accountant', or a fixed sigma.")
    if theorem1 and noise != "accountant":
        return theorem1.sigma(e.epsilon)
    return setting.question(size).sigma(e.epsilon, threat(e.threat))


def _play(setting: Setting, sigma: float, way: Way) -> AuditResult:
    from rich.console import Console
    from rich.progress import Progress

    from dpdl.audit import audit
    from dpdl.privacy.noise import Reproducible, Secure
    from dpdl.privacy.threats import threat

    e, console = setting.experiment, Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("rounds" if way.trials is None else "trials", total=way.trials or e.rounds)
        return audit(
            setting.question(way.parameters),
            setting.theorem1,
            sigma,
            threat(e.threat),
            canaries=way.parameters,
            trials=way.trials,
            crowd=way.crowd or "none",
            confidence=way.confidence,
            randomness=Secure() if e.randomness == "secure" else Reproducible(way.seed),
            seed=way.seed,
            watch=lambda done: bar.update(task, completed=done),
        )
