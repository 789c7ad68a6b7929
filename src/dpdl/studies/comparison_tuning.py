"""Step sizes for a comparison, found by searches that cost the same for every algorithm.

Each algorithm gets as many trials as the others, with the same draws, scored on the same tenth of
the training records, which no trial trains on (`dpdl.studies.tuning`, whose warning holds: no
epsilon accounts for a search). Test records are not looked at. The same request finds finished
searches finished.
"""

from __future__ import annotations

from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.options import has
from dpdl.options import Value
from dpdl.studies.comparison_request import Comparison
from dpdl.studies.pool import PoolWatch, RunMany, run_many
from dpdl.studies.search import make_search
from dpdl.studies.tuning import tune


def searches_of(out: Path) -> Path:
    """The folder beside that of a comparison, for its searches: one for every algorithm."""
    return out.with_name(f"{out.name}-tuning")


def tuned(
    c: Comparison,
    out: Path,
    trials: int,
    *,
    jobs: int | None,
    watch: PoolWatch,
    progress: bool = False,
    pool: RunMany = run_many,
) -> Comparison:
    """The comparison with the step size that did best in `trials` trials of each algorithm."""
    _check(c, trials)
    found: dict[str, Value] = {}
    for name in c.own:
        if has(name, "lr"):
            s = make_search(c.experiment(name), "lr", trials)
            place = searches_of(out) / name
            heard = _of(name, watch)
            result = tune(
                s, place, jobs=jobs, watch=heard, progress=progress, pool=pool
            )
            found[name] = result.best["lr"]
    return c.with_lr(found)


def _of(algorithm: str, watch: PoolWatch) -> PoolWatch:
    """Trials have the same names for all algorithms; who watches hears of which they are."""
    return lambda trial, news: watch(f"{algorithm} {trial}", news)


def _check(c: Comparison, trials: int) -> None:
    if trials < 2:
        raise InputError(f"tune must be at least 2 trials, not {trials}.")
    if c.megabytes is not None:
        raise InputError(
            "--tune needs to know the rounds, which --bytes counts later; tune with --rounds "
            "first, and give what was found by --set ALGORITHM.lr=value."
        )
    for name in c.own:
        if c.lr_from(name) == "given":
            raise InputError(f"--tune looks for lr; leave out the lr of {name}.")
