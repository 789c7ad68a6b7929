"""Several algorithms under one budget: what is run, and the table that comes of it.

A comparison is a folder. `compare.json` says what was asked for, `runs/ALGORITHM-seedS` are ordinary run folders, and
`table.json` and `table.csv` hold the result. The same request finds finished runs finished, continues interrupted ones
and starts missing ones; a request with more algorithms or seeds adds to the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, replace
from pathlib import Path
from typing import Any, final

from dpdl import __version__, algorithms
from dpdl.errors import DpdlError, InputError, RunFailed, unknown
from dpdl.experiment.experiment import Experiment, from_mapping, load, read_toml
from dpdl.experiment.options import FLAT, has, installed, lacking, options_of
from dpdl.experiment.shared import SHARED
from dpdl.folder import files, names
from dpdl.folder.lock import claimed, refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.options import Typed, checked
from dpdl.studies.pool import (
    Ending,
    PooledRun,
    PoolWatch,
    State,
    at_once,
    run_many,
)
from dpdl.studies.table import FinishedRun, as_csv, tabulate
from dpdl.training.interrupt import Interrupted

FILE = names.COMPARISON
EQUAL = ("bytes", "epsilon", "sigma")
COMMON = {
    *(
        "dataset",
        "model",
        "graph",
        "agents",
        "weights",
        "partition",
        "alpha_d",
        "classes_per_agent",
        "algorithm",
    ),
    *(
        "noise",
        "sigma",
        "epsilon",
        "delta",
        "threat",
        "relation",
        "budget",
        "dtype",
        "seed",
    ),
}
"""What cannot be set for one algorithm alone: then there would be nothing to compare."""
ONCE_SHARED = ("lr", "lr_decay", "lr_decay_every", "weight_decay", "noise_split")
"""Options of algorithms that folders count as shared, because they were when the format was made."""


@final
@dataclass(frozen=True)
class Comparison:
    """What is asked for."""

    shared: Mapping[str, Any]  # options of all algorithms, as given
    own: Mapping[str, Mapping[str, Any]]  # algorithm -> options of it alone
    seeds: tuple[int, ...]
    preset: str | None = None
    equal: str = "epsilon"  # what is the same for all: epsilon, sigma or bytes
    megabytes: float | None = (
        None  # that all agents together may send in a run, when bytes are equal
    )

    def experiment(self, algorithm: str) -> Experiment:
        """What is run of an algorithm, with the first seed. Options it does not have are left out."""
        named = algorithms.named(algorithm)
        ruled = {*named.fixed, "sigma"} if "noise" in named.fixed else set(named.fixed)
        kept = {
            name: value
            for name, value in self.shared.items()
            if name not in ruled and has(algorithm, name)
        }
        own = {**self.own[algorithm], "algorithm": algorithm, "seed": self.seeds[0]}
        return load(None, self.preset, {**kept, **own}).resolved()

    def facts(self) -> dict[str, Any]:
        """What must be the same when the folder is used again, apart from the options of single algorithms."""
        common = {
            **{name: f.default for name, f in SHARED.items()},
            **{name: FLAT[name] for name in ONCE_SHARED},
        }
        del common["seed"], common["algorithm"]
        common |= {name: self._given(name) for name in common if name in self.shared}
        return {
            "equal": self.equal,
            "bytes": self.megabytes,
            "preset": self.preset,
            **common,
        }

    def _given(self, name: str) -> Any:
        """What was given for all, as a plain value."""
        value = self.shared[name]
        if type(value) is not Typed:
            return value
        first = next(algorithm for algorithm in self.own if has(algorithm, name))
        return checked(_field(first, name), value)


# ------------------------------------------------------------------------ from words to a comparison
def ask(
    names: str, seeds: int, options: Mapping[str, Any], sets: Iterable[str] = (), *, file: Path | None = None,
    preset: str | None = None, equal: str | None = None, megabytes: float | None = None,
) -> Comparison:  # fmt: skip
    """The comparison that the words of a command line ask for; options win over the file."""
    if seeds < 1:
        raise InputError(f"seeds must be a whole number of at least 1, not {seeds}.")
    chosen = list(filter(None, (name.strip() for name in names.split(","))))
    if not chosen:
        raise InputError("algorithms must be one or more names, separated by commas.")
    for k, name in enumerate(chosen):
        algorithms.named(name)
        if name in chosen[:k]:
            raise InputError(f"algorithms names {name} twice.")
    written = read_toml(file) if file else {}
    in_file = written.pop("preset", None)
    preset = preset or (None if in_file is None else str(in_file))
    shared = {**written, **options}
    for name in ("preset", "algorithm", *(["rounds"] if megabytes is not None else [])):
        shared.pop(name, None)
    first = _first_seed(shared, chosen)
    own = {name: dict[str, Any]() for name in chosen}
    for words in sets:
        name, option, value = own_option(words, chosen)
        own[name][option] = value
    if megabytes is not None and any(
        "rounds" in given for given in (options, *own.values())
    ):
        raise InputError(
            "--bytes sets the rounds of every algorithm; leave out rounds."
        )
    which = _equal(equal, megabytes, shared)
    return Comparison(
        shared, own, tuple(range(first, first + seeds)), preset, which, megabytes
    )


def own_option(words: str, chosen: Sequence[str]) -> tuple[str, str, Any]:
    """`ALGORITHM.option=value`, in parts."""
    left, equals, text = words.partition("=")
    name, dot, option = left.rpartition(".")
    if not equals or not dot:
        raise InputError(f"--set must be ALGORITHM.option=value, not {words!r}.")
    if name not in chosen:
        raise unknown("algorithm of --set", name, chosen)
    option = option.replace("-", "_")
    if option in COMMON:
        raise InputError(
            f"{option} is the same for all algorithms of a comparison; --set cannot change it for {name}."
        )
    return name, option, checked(_field(name, option, " of --set"), Typed(text))


def _field(algorithm: str, option: str, where: str = "") -> Field[Any]:
    """The field of an option, shared or the algorithm's."""
    found = {**SHARED, **options_of(algorithm)}
    if option in found:
        return found[option]
    if option in {*FLAT, *installed()}:
        raise lacking(option, algorithm)
    raise unknown(f"option{where}", option, found)


def _first_seed(given: Mapping[str, Any], chosen: Sequence[str]) -> int:
    """The seed that was given, after everything that was given for all has been checked.

    An option must be a shared one, or one of at least one algorithm.
    """
    shared = {name: value for name, value in given.items() if name in SHARED}
    first = from_mapping(shared).seed
    for name in given.keys() - SHARED.keys():
        having = [algorithm for algorithm in chosen if has(algorithm, name)]
        for algorithm in having:
            checked(_field(algorithm, name), given[name])
        if not having and name in {*FLAT, *installed()}:
            raise InputError(f"{name} is an option of none of {', '.join(chosen)}.")
        if not having:
            raise lacking(name, chosen[0])
    return first


def _equal(
    equal: str | None, megabytes: float | None, shared: Mapping[str, Any]
) -> str:
    """What the algorithms have in common, from what was given."""
    noiseless = shared.get("noise") == "none"
    fixed = shared.get("sigma") is not None or noiseless
    meant = "bytes" if megabytes is not None else "sigma" if fixed else "epsilon"
    if equal is not None and equal not in EQUAL:
        raise unknown("equal", equal, EQUAL)
    if megabytes is not None and not 0 < megabytes < float("inf"):
        raise InputError(
            f"bytes must be a finite number of megabytes above 0, not {megabytes!r}."
        )
    if equal in (None, meant):
        return meant
    if megabytes is not None:
        raise InputError(
            f"--bytes makes the bytes equal; it cannot be given together with --equal {equal}."
        )
    if equal == "bytes":
        raise InputError("--equal bytes needs --bytes MB.")
    if equal == "sigma":
        raise InputError("--equal sigma needs --sigma.")
    raise InputError(
        f"--equal epsilon lets a rule set the noise; leave out {'noise none' if noiseless else '--sigma'}."
    )


# ------------------------------------------------------------------------ the folder
@final
@dataclass(frozen=True)
class Run:
    """One cell of a comparison."""

    algorithm: str
    experiment: Experiment
    folder: Path

    @property
    def finished(self) -> bool:
        """Whether its result is there."""
        return RunFolder(self.folder).finished

    @property
    def started(self) -> bool:
        """Whether there is something to continue."""
        return RunFolder(self.folder).started


def compare(
    c: Comparison,
    out: Path,
    *,
    jobs: int | None,
    watch: PoolWatch,
    progress: bool = False,
) -> dict[str, Any]:
    """Run what is missing, and write and give back the table. Nothing is run before all of it was checked."""
    at_once(jobs, 1)
    wanted = {name: c.experiment(name) for name in c.own}
    with claimed(out, FILE) as before:
        cells = _merged(out, before, c, wanted)
        runs = [
            _run(out, c, name, from_mapping(cell["experiment"]).resolved(), seed)
            for name, cell, seed in _in_order(cells)
        ]
        todo = _checked([run for run in runs if not run.finished], c, progress)
        _write(
            out / FILE,
            {
                "format": 1,
                "version": __version__,
                "asked": c.facts(),
                "algorithms": cells,
            },
        )
        endings = run_many(
            [PooledRun(run.folder, run.experiment) for run in todo],
            at_once(jobs, len(todo)),
            watch,
        )
        if any(one.state is State.INTERRUPTED for one in endings.values()):
            done = sum(run.finished for run in runs)
            raise Interrupted(
                f"Interrupted with {done} of {len(runs)} runs finished; continue with the same command."
            )
        table = _table(out, c, runs, endings)
        _write(out / names.TABLE, table)
        _write(out / names.TABLE_CSV, as_csv(table))
        return table


def curves(table: Mapping[str, Any]) -> dict[str, list[list[dict[str, Any]]]]:
    """The metrics of every finished run of a table: one list per algorithm, in the order of the rows."""
    runs = Path(table["out"]) / names.RUNS
    return {
        row["algorithm"]: [
            _metrics(runs / names.run_of_seed(row["algorithm"], seed))
            for seed in row["seeds"]
        ]
        for row in table["rows"]
        if row["seeds"]
    }


def _metrics(run: Path) -> list[dict[str, Any]]:
    return [metrics.to_json() for metrics in RunFolder(run).metrics()]


def _merged(
    out: Path,
    before: Mapping[str, Any] | None,
    c: Comparison,
    wanted: Mapping[str, Experiment],
) -> dict[str, dict[str, Any]]:
    """The algorithms of the folder and those asked for now, each with its experiment and its seeds."""
    cells: dict[str, dict[str, Any]] = dict(before["algorithms"]) if before else {}
    if before:
        refuse_difference(out, before["asked"], c.facts())
    for name, e in wanted.items():
        now = {**e.as_dict(), "seed": 0}
        seeds = set(c.seeds)
        if name in cells:
            refuse_difference(
                out,
                from_mapping(cells[name]["experiment"]).resolved().as_dict(),
                now,
                f" for {name}",
            )
            seeds |= set(cells[name]["seeds"])
        cells[name] = {"experiment": now, "seeds": sorted(seeds)}
    return cells


def _in_order(
    cells: Mapping[str, Mapping[str, Any]],
) -> list[tuple[str, Mapping[str, Any], int]]:
    """All algorithms with the first seed, then all with the second: what is done early can be compared."""
    all_runs = [
        (name, cell, seed) for name, cell in cells.items() for seed in cell["seeds"]
    ]
    return sorted(all_runs, key=lambda run: run[2])


def _run(out: Path, c: Comparison, name: str, e: Experiment, seed: int) -> Run:
    """A cell; what its folder holds already must be the same experiment."""
    run = Run(
        name,
        replace(e, seed=seed),
        out / names.RUNS / names.run_of_seed(name, seed),
    )
    if not run.started:
        return run
    found, _ = RunFolder(run.folder).read()
    if c.equal == "bytes":  # the rounds were counted when it was started
        run = replace(run, experiment=replace(run.experiment, rounds=found.rounds))
    before, now = found.resolved().as_dict(), run.experiment.as_dict()
    refuse_difference(run.folder, before, now)
    return run


def _checked(todo: Sequence[Run], c: Comparison, progress: bool) -> list[Run]:
    """The runs with their rounds, after everything that can be wrong with them was looked for."""
    if not todo:
        return []
    from dpdl.planning.plan import plan
    from dpdl.planning.traffic import most_rounds
    from dpdl.tasks import data as datasets

    data = datasets.load(
        todo[0].experiment.dataset, progress
    )  # fetched once, before any child needs it
    found, counted = [], dict[tuple[str, bytes], int]()
    for run in todo:
        try:
            if c.megabytes is not None and not run.started:
                e = (
                    run.experiment
                    if run.experiment.noise == "none"
                    else replace(run.experiment, sigma=1.0)
                )
                probe = plan(replace(e, budget=None), data=data)
                key = run.algorithm, probe.graph.W.tobytes()
                if key not in counted:
                    counted[key] = most_rounds(probe.public, c.megabytes)
                run = replace(
                    run, experiment=replace(run.experiment, rounds=counted[key])
                )
            if not run.started:
                plan(run.experiment, data=data)
        except DpdlError as failure:
            raise type(failure)(
                f"{run.algorithm}, seed {run.experiment.seed}: {failure}"
            ) from failure
        found.append(run)
    return found


def _table(
    out: Path, c: Comparison, runs: Sequence[Run], endings: Mapping[str, Ending]
) -> dict[str, Any]:
    results = []
    for run in runs:
        error = (
            None
            if run.finished
            else endings[run.folder.name].error or "It did not finish."
        )
        folder = RunFolder(run.folder)
        summary = folder.summary().to_json() if run.finished else None
        results.append(FinishedRun(run.algorithm, run.experiment, summary, error))
    return {
        **tabulate(results),
        "equal": c.equal,
        "bytes": c.megabytes,
        "out": str(out),
    }


def _write(path: Path, value: Any) -> None:
    try:
        if isinstance(value, str):
            files.write(path, value.encode())
        else:
            files.write_json(path, value)
    except OSError as failure:
        raise RunFailed(
            f"Writing {str(path)!r} failed: {failure.strerror}. Finished runs are intact; continue with the same "
            "command."
        ) from failure
