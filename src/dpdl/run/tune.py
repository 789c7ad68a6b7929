"""Hyper-parameters that do well on records held out of the training data, by random search or successive halving.

Trial 0 has the usual values. Trial k draws each option from the key (seed, "tune", k), log-uniformly where orders of
magnitude matter, so more trials or more options leave the earlier draws as they are. Successive halving (Jamieson and
Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016) with factor 3 runs all trials
for a ninth of the rounds, the best third of them for a third, and the best third of those to the end. A trial is one
run with the noise of all its rounds: a rung stops it and a later one resumes it.

For a budget (`dpdl.run.schedule`) trials also draw their rounds and their batch from a few candidates.

Scores are accuracies on a tenth of the training records, never on the test records. They are not private: see
`WARNING`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, final

from dpdl import __version__, algorithms
from dpdl.errors import DpdlError, InputError, RunFailed, unknown
from dpdl.keys import generator
from dpdl.run import files
from dpdl.run.claim import claimed, refuse_difference
from dpdl.run.experiment import SOME, Experiment
from dpdl.run.interrupt import Interrupted
from dpdl.run.many import Errand, Outcome, Watch, at_once, held_out, run_many
from dpdl.run.options import checked, kind
from dpdl.run.schedule import Schedule, check_budget, draw, schedules

FILE = "tune.json"
SEARCHES = ("halving", "random")
FACTOR = 3
WARNING = (
    "Tuning reads private records, and the epsilon of a run does not account for it: every trial releases messages of "
    "its own, and the scores are computed from the held-out records without any noise."
)
KNOWN = ("epsilon", "epsilon_all_rounds", "error")
FIELDS = {f.name: f for f in fields(Experiment)}


class Range(NamedTuple):
    """Where values of an option are drawn from."""

    low: float
    high: float
    log: bool = False


# The order is that of the draws: new ones go to the end.
RANGES = {
    "lr": Range(0.01, 1, log=True),
    "clip": Range(0.1, 10, log=True),
    "momentum": Range(0, 0.95),
    "alpha": Range(0, 4),
    "weight_decay": Range(1e-6, 1e-2, log=True),
    "lr_decay": Range(0.8, 1),
    "local_steps": Range(1, 8),
    "gossip_steps": Range(1, 10),
    "margin": Range(0, 1),
    "data_share": Range(0, 1),
    "tracking": Range(0, 1),
    "sam_radius": Range(1e-3, 0.1, log=True),
}


@final
@dataclass(frozen=True)
class Search:
    """What is asked for."""

    experiment: Experiment
    ranges: Mapping[str, Range]  # in the order of RANGES
    trials: int
    search: str = "random"
    work: float | None = None  # None: rounds and batch are those of the experiment
    plan: tuple[Schedule, ...] = ()  # that rounds and batches are drawn from

    def values(self, k: int) -> dict[str, float | int]:
        """The options of trial k; trial 0 has the usual ones."""
        if k == 0:
            e = self.experiment.resolved()
            values = {name: getattr(e, name) for name in self.ranges}
        else:
            draws = dict(zip(RANGES, generator(self.experiment.seed, "tune", k).random(len(RANGES)), strict=True))
            values = {name: _at(name, one, float(draws[name])) for name, one in self.ranges.items()}
        return values if self.work is None else {**values, **self._scheduled(k, values)}

    def _scheduled(self, k: int, values: Mapping[str, float | int]) -> dict[str, float | int]:
        """Rounds, batch and step size of trial k: lr T is what the drawn (or usual) lr makes of the experiment's T."""
        e = self.experiment.resolved()
        assert e.batch and e.lr
        lr, rounds, batch = values.get("lr", e.lr), e.rounds, e.batch
        if k:
            rounds, batch, *_ = draw(self.plan, e.seed, k)
        if rounds != e.rounds:
            lr = float(f"{lr * e.rounds / rounds:.4g}")
        return {"lr": lr, "rounds": rounds, "batch": batch}

    def rungs(self, k: int = 0) -> list[int]:
        """The rounds after which trial k is compared with the others; the last is its end."""
        rounds = self.experiment.rounds if self.work is None else int(self.values(k)["rounds"])
        if self.search == "random":
            return [rounds]
        return sorted({math.ceil(rounds / FACTOR**k) for k in (2, 1, 0)})


def _at(name: str, r: Range, share: float) -> float | int:
    """The value at a share of the range, with four digits."""
    if kind(FIELDS[name]) is int:
        return int(r.low) + int(share * (int(r.high) - int(r.low) + 1))
    value = r.low * (r.high / r.low) ** share if r.log else r.low + share * (r.high - r.low)
    return min(max(float(f"{value:.4g}"), r.low), r.high)


# ------------------------------------------------------------------------ from words to a search
def ask(
    e: Experiment, over: str, trials: int, search: str = "random", ranges: Iterable[str] = (),
    work: float | None = None,
) -> Search:  # fmt: skip
    """The search that the words of a command line ask for; with `work`, one for a budget."""
    if trials < 1:
        raise InputError(f"trials must be a whole number of at least 1, not {trials}.")
    if search not in SEARCHES:
        raise unknown("search", search, SEARCHES)
    if work is not None:
        check_budget(e, work)
        if search == "halving":
            raise InputError("--for-budget needs search 'random': 'halving' compares trials after equal rounds.")
    chosen = [_option(name, "--over") for name in filter(None, (name.strip() for name in over.split(",")))]
    if not chosen:
        raise InputError("over must be one or more options, separated by commas.")
    has = algorithms.named(e.algorithm)
    for name in chosen:
        if (name in SOME and name not in has.options) or name in has.fixed:
            raise InputError(f"{name} is not an option of {e.algorithm}.")
    own = dict(_range(words) for words in ranges)
    for name in own:
        if name not in chosen:
            raise InputError(f"--range is about {name}, which --over does not name.")
    drawn = {name: own.get(name, usual) for name, usual in RANGES.items() if name in chosen}
    return Search(e, drawn, trials, search, work)


def _option(name: str, where: str) -> str:
    name = name.replace("-", "_")
    if name not in RANGES:
        raise unknown(f"option of {where}", name, RANGES)
    return name


def _range(words: str) -> tuple[str, Range]:
    """`option=low:high`."""
    name, _, ends = words.partition("=")
    option = _option(name, "--range")
    of = kind(FIELDS[option])
    try:
        low, high = (checked(FIELDS[option], of(end)) for end in ends.split(":"))
    except ValueError:
        raise InputError(f"--range must be option=low:high with two numbers, not {words!r}.") from None
    if low >= high:
        raise InputError(f"--range {words}: low must be below high.")
    if RANGES[option].log and low <= 0:
        raise InputError(f"--range {words}: low must be above 0, because {option} is drawn by orders of magnitude.")
    return option, Range(low, high, RANGES[option].log)


# ------------------------------------------------------------------------ the folder
def tune(s: Search, out: Path, *, jobs: int | None, watch: Watch, progress: bool = False) -> dict[str, Any]:
    """Run what is missing, and write and give back the result. Nothing is run before all of it was checked."""
    at_once(jobs, 1)
    now = {
        "for_budget": s.work is not None,
        "search": s.search,
        **s.experiment.as_dict(),
        "over": {name: list(one) for name, one in s.ranges.items()},
        **({} if s.work is None else {"work": s.work}),
    }
    with claimed(out, FILE) as before:
        if before:
            refuse_difference(out, {"for_budget": False, **before["asked"]}, now)
        s = _planned(s, before, progress)
        trials = _Trials(s, out)
        trials.check(progress)
        about = {"format": 1, "version": __version__, "asked": now}
        _write(out / FILE, about if s.work is None else {**about, "plan": [one._asdict() for one in s.plan]})
        trials.climb(jobs, watch)
        result = trials.result()
        _write(out / "result.json", result)
        _write(out / "best.toml", as_toml(replace(s.experiment, **result["best"])))
        return result


def _planned(s: Search, before: Mapping[str, Any] | None, progress: bool) -> Search:
    """The search with its plan; a folder that was started keeps the one it has, and the accountant is not asked."""
    if s.work is None:
        return s
    rows = (Schedule(**row) for row in before["plan"]) if before else schedules(s.experiment, s.work, progress)
    return replace(s, plan=tuple(rows))


class _Trials:
    """All trials, and what is known of them; `trials.jsonl` is written whenever more is."""

    def __init__(self, s: Search, out: Path) -> None:
        self.s = s
        self._file = out / "trials.jsonl"
        self._out = out
        found = _read_lines(self._file)
        self.rows: list[dict[str, Any]] = [
            {"trial": k, "values": s.values(k), "scores": {}, **dict.fromkeys(KNOWN)} for k in range(s.trials)
        ]
        for row, old in zip(self.rows, found, strict=False):
            row.update({name: old[name] for name in ("scores", *KNOWN)})
        self.more = found[s.trials :]  # trials of an earlier, longer search are kept in the file

    def experiment(self, k: int) -> Experiment:
        return replace(self.s.experiment, **self.rows[k]["values"]).resolved()

    def check(self, progress: bool) -> None:
        """Look for everything that can be wrong with a trial that has not been started."""
        from dpdl.run.plan import plan
        from dpdl.tasks import data as datasets

        new = [k for k in range(self.s.trials) if not (self._folder(k) / "experiment.json").exists()]
        data = held_out(datasets.load(self.s.experiment.dataset, progress), self.s.experiment.seed)
        for k in new:
            try:
                plan(self.experiment(k), data=data)
            except DpdlError as failure:
                raise type(failure)(f"Trial {k}: {failure}") from failure

    def climb(self, jobs: int | None, watch: Watch) -> None:
        """Rung by rung: run the trials that are left, and keep the best of them."""
        left = list(range(self.s.trials))
        for step in range(len(self.s.rungs())):
            rungs = {k: self.s.rungs(k)[step] for k in left}
            missing = [k for k in left if str(rungs[k]) not in self.rows[k]["scores"]]
            errands = [Errand(self._folder(k), self.experiment(k), rungs[k], held_out=True) for k in missing]
            names = {errand.name: (k, rungs[k]) for errand, k in zip(errands, missing, strict=True)}

            def hear(name: str, news: dict[str, Any], names: Mapping[str, tuple[int, int]] = names) -> None:
                if "state" in news:
                    self._record(*names[name], news)
                watch(name, news)

            self._judge(run_many(errands, at_once(jobs, len(errands)), hear))
            ranked = sorted(left, key=lambda k: self._order(k, rungs[k]))
            left = ranked[: math.ceil(len(left) / FACTOR)]

    def _record(self, k: int, rung: int, news: Mapping[str, Any]) -> None:
        row = self.rows[k]
        row["error"] = news.get("error")
        if news["state"] == "diverged":
            row["scores"][str(rung)] = None
        elif news["state"] in ("done", "paused"):
            row["scores"][str(rung)] = news["accuracy"]
            row |= {name: news[name] for name in ("epsilon", "epsilon_all_rounds")}
        _write(self._file, "".join(json.dumps(row, allow_nan=False) + "\n" for row in [*self.rows, *self.more]))

    def _judge(self, outcomes: Mapping[str, Outcome]) -> None:
        """Without all scores of a rung nobody can say who is best, so the search waits."""
        if any(outcome.state == "interrupted" for outcome in outcomes.values()):
            raise Interrupted("Interrupted; the state of all trials is saved, continue with the same command.")
        for name, outcome in outcomes.items():
            if outcome.state == "failed":
                raise RunFailed(f"{name} failed: {outcome.facts['error']} Continue with the same command.")

    def _order(self, k: int, rung: int) -> tuple[float, int]:
        score = self.rows[k]["scores"].get(str(rung))
        return (math.inf if score is None else -score), k

    def result(self) -> dict[str, Any]:
        """The best trial, all trials best first, and what tuning has cost."""
        for row in self.rows:
            reached = max(map(int, row["scores"]), default=0)
            row["rounds"], row["score"] = reached, row["scores"].get(str(reached))
        ranked = sorted(self.rows, key=lambda row: (-len(row["scores"]), *self._order(row["trial"], row["rounds"])))
        best = ranked[0]
        if best["score"] is None:
            raise InputError("All trials diverged; ask for smaller values with --range lr=low:high.")
        e = self.s.experiment
        return {
            "best": best["values"],
            "score": best["score"],
            "algorithm": e.algorithm,
            "trials": [{k: v for k, v in row.items() if k != "scores"} for row in ranked],
            "search": self.s.search,
            "threat": e.threat,
            "warning": WARNING,
            "composed": composed(e, [row["epsilon_all_rounds"] for row in self.rows]),
            "out": str(self._out),
            **({} if self.s.work is None else {"plan": [one._asdict() for one in self.s.plan]}),
        }

    def _folder(self, k: int) -> Path:
        return self._out / "trials" / f"trial{k}"


def composed(e: Experiment, epsilons: Sequence[float | str | None]) -> dict[str, float] | None:
    """What all trials together give away of a record that they trained on, by basic composition; None: nothing holds.

    The epsilons and the deltas add up if the trials draw independent noise. Each counts with all its rounds, even if it
    was stopped early: which one is stopped depends on what all have released. Seeded runs do not: all trials have the
    same seed, and whoever hears two of them can cancel their noise.
    """
    if e.randomness != "secure" or not all(isinstance(value, float) for value in epsilons):
        return None
    total = math.fsum(value for value in epsilons if isinstance(value, float))
    return {"epsilon": total, "delta": len(epsilons) * e.delta}


def as_toml(e: Experiment) -> str:
    """An experiment file with every option that is not at its usual value."""
    asked = {name: getattr(e, name) for name, f in FIELDS.items() if getattr(e, name) != f.default}
    lines = [f"{k} = {json.dumps(v, ensure_ascii=False) if isinstance(v, str) else repr(v)}" for k, v in asked.items()]
    return "".join(f"{line}\n" for line in lines)


def _read_lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as failure:
        raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure


def _write(path: Path, value: Any) -> None:
    try:
        files.write(path, value.encode()) if isinstance(value, str) else files.write_json(path, value)
    except OSError as failure:
        raise RunFailed(
            f"Writing {str(path)!r} failed: {failure.strerror}. Trials are intact; continue with the same command."
        ) from failure
