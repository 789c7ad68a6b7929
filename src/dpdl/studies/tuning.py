"""Hyper-parameters that do well on records held out of training: by random search, a grid or successive halving.

What is tried is in `dpdl.studies.search`. Successive halving (Jamieson and Talwalkar, Non-stochastic Best Arm
Identification and Hyperparameter Optimization, 2016) with factor 3 runs all trials for a ninth of the rounds, the best
third of them for a third, and the best third of those to the end. A trial is one run with the noise of all its rounds:
a rung stops it and a later one resumes it.

Scores are accuracies on a tenth of the training records, never on the test records. They are not private: see
`WARNING`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpdl import __version__
from dpdl.errors import DpdlError, InputError, RunFailed
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.experiment.shared import SHARED
from dpdl.folder import files, names
from dpdl.folder.lock import claimed, refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.studies.held_out import held_out
from dpdl.studies.pool import (
    Ending,
    News,
    PooledRun,
    PoolWatch,
    RunMany,
    State,
    at_once,
    run_many,
)
from dpdl.studies.schedule import Schedule, schedules
from dpdl.studies.search import FACTOR, Search
from dpdl.training.interrupt import Interrupted

FILE = names.SEARCH
WARNING = (
    "Tuning reads private records, and the epsilon of a run does not account for it: every trial releases messages of "
    "its own, and the scores are computed from the held-out records without any noise."
)
KNOWN = ("epsilon", "epsilon_all_rounds", "error")
BESIDE = ("for_budget", "search", "over", "work", "trials")
"""What is asked for beside the options of the experiment."""

Planner = Callable[[Experiment, float, bool], Sequence[Schedule]]
"""Rounds and batches to choose from: for an experiment, some work, and whether to show progress."""


def tune(
    s: Search,
    out: Path,
    *,
    jobs: int | None,
    watch: PoolWatch,
    progress: bool = False,
    planner: Planner = schedules,
    pool: RunMany = run_many,
) -> dict[str, Any]:
    """Run what is missing, and write and give back the result.

    Nothing is run before all of it was checked. `planner` is asked once, for a new search that has a
    budget; `pool` runs the trials.
    """
    at_once(jobs, 1)
    now = {
        **s.experiment.as_dict(),
        "for_budget": s.work is not None,
        "search": s.search,
        "over": {name: list(one) for name, one in s.ranges.items()},
        **({} if s.work is None else {"work": s.work}),
        **({"trials": s.trials} if s.search == "grid" else {}),
    }
    with claimed(out, FILE) as before:
        if before:
            asked = {"for_budget": False, **before["asked"]}
            refuse_difference(out, _resolved(asked), _resolved(now))
        s = _planned(s, before, planner, progress)
        trials = _Trials(s, out)
        trials.check(progress)
        about = {"format": 1, "version": __version__, "asked": now}
        _write(
            out / FILE,
            about
            if s.work is None
            else {**about, "plan": [one._asdict() for one in s.plan]},
        )
        trials.climb(jobs, watch, pool)
        result = trials.result()
        _write(out / names.SEARCH_RESULT, result)
        _write(out / names.BEST, as_toml(replace(s.experiment, **result["best"])))
        return result


def _resolved(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, with the defaults of the experiment filled in.

    A request that names a default is the same as one that does not.
    """
    beside = {name: asked[name] for name in BESIDE if name in asked}
    e = {name: value for name, value in asked.items() if name not in BESIDE}
    return {**beside, **from_mapping(e).resolved().as_dict()}


def _planned(
    s: Search, before: Mapping[str, Any] | None, planner: Planner, progress: bool
) -> Search:
    """The search with its plan; a folder that was started keeps the one it has, and the accountant is not asked."""
    if s.work is None:
        return s
    if before:
        return replace(s, plan=tuple(Schedule(**row) for row in before["plan"]))
    return replace(s, plan=tuple(planner(s.experiment, s.work, progress)))


class _Trials:
    """All trials, and what is known of them; `trials.jsonl` is written whenever more is."""

    def __init__(self, s: Search, out: Path) -> None:
        self.s = s
        self._file = out / names.TRIALS
        self._out = out
        found = _read_lines(self._file)
        self.rows: list[dict[str, Any]] = [
            {"trial": k, "values": s.values(k), "scores": {}, **dict.fromkeys(KNOWN)}
            for k in range(s.trials)
        ]
        for row, old in zip(self.rows, found, strict=False):
            row.update({name: old[name] for name in ("scores", *KNOWN)})
        self.more = found[
            s.trials :
        ]  # trials of an earlier, longer search are kept in the file

    def experiment(self, k: int) -> Experiment:
        return replace(self.s.experiment, **self.rows[k]["values"]).resolved()

    def check(self, progress: bool) -> None:
        """Look for everything that can be wrong with a trial that has not been started."""
        from dpdl.planning.plan import plan
        from dpdl.tasks import data as datasets

        new = [
            k for k in range(self.s.trials) if not RunFolder(self._folder(k)).started
        ]
        data = held_out(
            datasets.load(self.s.experiment.dataset, progress), self.s.experiment.seed
        )
        for k in new:
            try:
                plan(self.experiment(k), data=data)
            except DpdlError as failure:
                raise type(failure)(f"Trial {k}: {failure}") from failure

    def climb(self, jobs: int | None, watch: PoolWatch, pool: RunMany) -> None:
        """Rung by rung: run the trials that are left, and keep the best of them."""
        left = list(range(self.s.trials))
        for step in range(len(self.s.rungs())):
            rungs = {k: self.s.rungs(k)[step] for k in left}
            missing = [k for k in left if str(rungs[k]) not in self.rows[k]["scores"]]
            runs = {
                k: PooledRun(
                    self._folder(k), self.experiment(k), rungs[k], held_out=True
                )
                for k in missing
            }
            names = {run.name: (k, rungs[k]) for k, run in runs.items()}

            def hear(
                name: str,
                news: News,
                names: Mapping[str, tuple[int, int]] = names,
            ) -> None:
                if isinstance(news, Ending):
                    self._record(*names[name], news)
                watch(name, news)

            endings = pool(list(runs.values()), at_once(jobs, len(runs)), hear)
            self._judge(endings)
            ranked = sorted(left, key=lambda k: self._order(k, rungs[k]))
            left = ranked[: math.ceil(len(left) / FACTOR)]

    def _record(self, k: int, rung: int, ending: Ending) -> None:
        row = self.rows[k]
        row["error"] = ending.error
        if ending.state is State.DIVERGED:
            row["scores"][str(rung)] = None
        elif reached := ending.reached:
            row["scores"][str(rung)] = reached.accuracy
            row["epsilon"] = reached.epsilon
            row["epsilon_all_rounds"] = reached.epsilon_all_rounds
        _write(
            self._file,
            "".join(
                json.dumps(row, allow_nan=False) + "\n"
                for row in [*self.rows, *self.more]
            ),
        )

    def _judge(self, endings: Mapping[str, Ending]) -> None:
        """Without all scores of a rung nobody can say who is best, so the search waits."""
        if any(one.state is State.INTERRUPTED for one in endings.values()):
            raise Interrupted(
                "Interrupted; the state of all trials is saved, continue with the same command."
            )
        for name, ending in endings.items():
            if ending.state is State.FAILED:
                raise RunFailed(
                    f"{name} failed: {ending.error} Continue with the same command."
                )

    def _order(self, k: int, rung: int) -> tuple[float, int]:
        score = self.rows[k]["scores"].get(str(rung))
        return (math.inf if score is None else -score), k

    def result(self) -> dict[str, Any]:
        """The best trial, all trials best first, and what tuning has cost."""
        for row in self.rows:
            reached = max(map(int, row["scores"]), default=0)
            row["rounds"], row["score"] = reached, row["scores"].get(str(reached))
        ranked = sorted(
            self.rows,
            key=lambda row: (
                -len(row["scores"]),
                *self._order(row["trial"], row["rounds"]),
            ),
        )
        best = ranked[0]
        if best["score"] is None:
            raise InputError(
                "All trials diverged; ask for smaller values with --range lr=low:high."
            )
        e = self.s.experiment
        return {
            "best": best["values"],
            "score": best["score"],
            "algorithm": e.algorithm,
            "trials": [
                {k: v for k, v in row.items() if k != "scores"} for row in ranked
            ],
            "search": self.s.search,
            "threat": e.threat,
            "warning": WARNING,
            "composed": composed(e, [row["epsilon_all_rounds"] for row in self.rows]),
            "out": str(self._out),
            **(
                {}
                if self.s.work is None
                else {"plan": [one._asdict() for one in self.s.plan]}
            ),
        }

    def _folder(self, k: int) -> Path:
        return self._out / names.TRIAL_RUNS / names.run_of_trial(k)


def composed(
    e: Experiment, epsilons: Sequence[float | str | None]
) -> dict[str, float] | None:
    """What all trials together give away of a record that they trained on, by basic composition; None: nothing holds.

    The epsilons and the deltas add up if the trials draw independent noise. Each counts with all its rounds, even if it
    was stopped early: which one is stopped depends on what all have released. Seeded runs do not: all trials have the
    same seed, and whoever hears two of them can cancel their noise.
    """
    if e.randomness != "secure" or not all(
        isinstance(value, float) for value in epsilons
    ):
        return None
    total = math.fsum(value for value in epsilons if isinstance(value, float))
    return {"epsilon": total, "delta": len(epsilons) * e.delta}


def as_toml(e: Experiment) -> str:
    """An experiment file with every option that is not at its default."""
    asked = {
        name: getattr(e, name)
        for name, f in SHARED.items()
        if getattr(e, name) != f.default
    }
    own = {name: value for name, value in e.options.items() if value is not None}
    return "".join(f"{name} = {_toml(v)}\n" for name, v in {**asked, **own}.items())


def _toml(value: Any) -> str:
    """A text, a number or a truth value as TOML writes it."""
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _read_lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as failure:
        raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure


def _write(path: Path, value: Any) -> None:
    try:
        files.write(path, value.encode()) if isinstance(
            value, str
        ) else files.write_json(path, value)
    except OSError as failure:
        raise RunFailed(
            f"Writing {str(path)!r} failed: {failure.strerror}. Trials are intact; continue with the same command."
        ) from failure
