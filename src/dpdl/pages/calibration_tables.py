"""The tables of docs/cross-gradients.md.

    python -m dpdl.pages.calibration_tables results/study

prints them, and the sentences of the page that have numbers in them.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from dpdl.folder.calibration_study import (
    SORTED,
    CosineLine,
    StudySetting,
    cosine_lines,
    study_lines,
)
from dpdl.pages.calibration_facts import facts
from dpdl.pages.calibration_leads import (
    OURS,
    Lead,
    Study,
    departure,
    leads,
    named,
    noise,
    points,
    predicted,
    ratio,
    same_step,
    spread,
)
from dpdl.theory.noisy_cosine import (
    hiding_sigma,
    price_in_variance,
    weights_of_answers,
)

OTHERS = ("blind", "dp-dmsgd", "dp-dpsgd", "dp-cga", "muffliato")
ALPHA = 1.5
"""The weight of the calibration in the study."""
SWEEP, COSINES = "cross-gradients.jsonl", "cosines.jsonl"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counted(found: Sequence[Lead]) -> list[str]:
    """How many are ahead, behind, undecided; median, least and largest lead."""
    if not found:
        return ["0", "-", "-", "-", "-", "-"]
    sure = [one.sure for one in found]
    return [
        str(len(found)),
        *(str(sure.count(which)) for which in (1, 0, -1)),
        points(median(one.mean for one in found)),
        spread(found),
    ]


COLUMNS = ("settings", "ahead", "undecided", "behind", "median lead", "range")


def covered(study: Study) -> str:
    """What was measured: for every task its graphs, divisions and epsilons."""
    rows = []
    for task in sorted({s.task for s in study}):
        some = [s for s in study if s.task == task]
        graphs = sorted({(s.graph, s.agents) for s in some})
        epsilons = sorted({s.epsilon or math.inf for s in some})
        cells = (
            [f"{graph} of {agents}" for graph, agents in graphs],
            [named(alpha_d) for alpha_d in sorted({s.alpha_d for s in some})],
            [noise(e if math.isfinite(e) else None) for e in epsilons],
        )
        rows.append([task, str(len(some)), *map(", ".join, cells)])
    return table(["task", "settings", "graphs", "$\\alpha_d$", "epsilon"], rows)


def overall(study: Study) -> str:
    """Against every other algorithm, by the agents' own models and by their average."""
    rows = []
    for other in OTHERS:
        for average in (False, True):
            what = "average model" if average else "agents"
            found = leads(study, other, average=average)
            rows.append([f"`{other}`", what, *counted(found)])
    return table(["`dpdl-sound` against", "scored by", *COLUMNS], rows)


def by_epsilon(study: Study, other: str) -> str:
    """Against one algorithm, for every epsilon."""
    ranked = sorted(study.items(), key=lambda pair: pair[0].epsilon or math.inf)
    return _grouped(dict(ranked), other, "epsilon", lambda s: noise(s.epsilon))


def by_region(study: Study, other: str, average: bool = False) -> str:
    """Against one algorithm, for every kind of graph and division, with and without noise."""

    def order(s: StudySetting) -> tuple[bool, str, float]:
        return s.epsilon is None, s.graph, s.alpha_d

    def name(s: StudySetting) -> str:
        return f"{s.graph}, {named(s.alpha_d)}, {_with(s)}"

    ranked = dict(sorted(study.items(), key=lambda pair: order(pair[0])))
    what = "graph, $\\alpha_d$, noise" + (" (average model)" if average else "")
    return _grouped(ranked, other, what, name, average)


def by_task(study: Study, other: str) -> str:
    """Against one algorithm, for every data set and model, with and without noise."""
    ranked = sorted(
        study.items(), key=lambda pair: (pair[0].epsilon is None, pair[0].task)
    )
    return _grouped(
        dict(ranked), other, "task, noise", lambda s: f"{s.task}, {_with(s)}"
    )


DEPARTURES = (0.0, 0.002, 0.01, 0.03, math.inf)
"""Mean departures of the coefficient from 1/2 are told apart by these."""


def by_departure(study: Study, other: str) -> str:
    """Against one algorithm, by how much of the cosines its coefficients have seen."""
    names = {
        low: f"{low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
        for low, high in itertools.pairwise(DEPARTURES)
    }

    def start(s: StudySetting) -> float:
        return max(low for low in names if low <= departure(study[s]))

    def name(s: StudySetting) -> str:
        return f"{names[start(s)]}, {_with(s)}"

    ranked = sorted(study, key=lambda s: (s.epsilon is None, start(s)))
    what = "departure of the coefficient from 1/2, noise"
    return _grouped({s: study[s] for s in ranked}, other, what, name)


def by_step(study: Study, other: str) -> str:
    """Against one algorithm, by whether both chose the same step."""

    def name(s: StudySetting) -> str:
        step = "the same step" if same_step(study[s], other) else "another step"
        return f"{step}, {_with(s)}"

    some = [s for s, lines in study.items() if other in lines]
    some.sort(key=lambda s: (s.epsilon is None, not same_step(study[s], other)))
    return _grouped({s: study[s] for s in some}, other, "chosen step, noise", name)


def _with(s: StudySetting) -> str:
    return "no noise" if s.epsilon is None else "noise"


def _grouped(
    study: Study,
    other: str,
    what: str,
    of: Callable[[StudySetting], str],
    average: bool = False,
) -> str:
    groups: dict[str, list[Lead]] = {}
    for one in leads(study, other, average=average):
        groups.setdefault(of(one.setting), []).append(one)
    rows = [[name, *counted(some)] for name, some in groups.items()]
    return table([what, *COLUMNS], rows)


def sure_ahead(study: Study, other: str) -> str:
    """The settings in which it is surely ahead, the largest lead first."""
    some = sorted(
        (one for one in leads(study, other) if one.sure > 0), key=lambda one: -one.mean
    )
    rows = []
    for one in some:
        s, lines = one.setting, study[one.setting]
        seen = [seed for seed in lines[OURS].seeds if seed.cosine is not None]
        cosine = fmean(seed.cosine or 0.0 for seed in seen) if seen else float("nan")
        rows.append(
            [
                s.task,
                f"{s.graph} of {s.agents}",
                named(s.alpha_d),
                noise(s.epsilon),
                points(one.mean),
                ", ".join(map(points, one.points)),
                f"{cosine:+.3f}",
            ]
        )
    head = ["task", "graph", "$\\alpha_d$", "epsilon", "lead", "by seed", "cosine"]
    return table(head, rows)


def prices(alpha: float) -> str:
    """What unequal weights of answers cost in noise, by graph."""
    places = [("ring", 5, 3), ("ring", 10, 3), ("ring", 20, 3)]
    places += [("complete", n, n) for n in (3, 5, 10, 20)]
    rows = []
    for graph, agents, m in places:
        price = price_in_variance(weights_of_answers(agents, m, alpha, 0.0))
        rows.append([f"{graph} of {agents}", str(m), f"{m**0.5:.2f}", f"{price:.2f}"])
    head = ["graph", "answers $m$", "noise of an answer", "variance of the average"]
    return table(head, rows)


EDGES = (0.0, 0.01, 0.1, 1.0, 10.0, math.inf)
"""Signals to noise are told apart by these."""


def agreement(lines: Sequence[CosineLine]) -> str:
    """The measured cosine beside the predicted one, by signal to noise; means of sizes."""
    rows = []
    for low, high in itertools.pairwise(EDGES):
        some = [line for line in lines if low <= ratio(line) < high]
        seen = [predicted(line) for line in some]
        error = max(
            abs(line.noisy_cosine - mean) for line, mean in zip(some, seen, strict=True)
        )
        cells = (
            fmean(abs(line.clean_cosine) for line in some),
            fmean(map(abs, seen)),
            fmean(abs(line.noisy_cosine) for line in some),
            error,
            max(abs(line.noisy_coefficient - 0.5) for line in some),
        )
        name = f"{low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
        rows.append([name, str(len(some)), *(f"{value:.3f}" for value in cells)])
    head = ["$s$", "rounds", "without noise", "predicted", "measured"]
    return table([*head, "largest error", "largest departure of C"], rows)


def hidden(lines: Sequence[CosineLine], study: Study) -> str:
    """The sigma at which noise is as long as a gradient, and what epsilon needs on a ring of 10."""
    rows = []
    for task, batch in sorted({(line.task, line.batch) for line in lines}):
        some = [line for line in lines if (line.task, line.batch) == (task, batch)]
        long = math.sqrt(fmean(line.clean_square for line in some))
        sigma = hiding_sigma(long, 1.0, batch, some[0].size)
        needed = {
            s.epsilon: algorithms[OURS].seeds[0].sigma
            for s, algorithms in study.items()
            if (s.task, s.batch, s.graph, s.agents) == (task, batch, "ring", 10)
            and s.epsilon is not None
            and s.alpha_d != SORTED  # there agents have nearly equal numbers of records
        }
        words = [f"{needed[e]:.2f} at {e:g}" for e in sorted(needed)]
        start = [task, f"{some[0].size:,}", str(batch), f"{long:.2f}", f"{sigma:.2f}"]
        rows.append([*start, ", ".join(words) or "-"])
    head = ["task", "$d$", "$B$", "length", "sigma with $s = 1$"]
    return table([*head, "sigma that epsilon needs"], rows)


def looked_at(study: Study) -> str:
    """The cosines and coefficients that `dpdl-sound` saw in the sweep, by epsilon."""
    groups: dict[float, list[tuple[float, float]]] = {}
    for s, lines in study.items():
        for seed in lines[OURS].seeds:
            if seed.cosine is not None and seed.coefficient is not None:
                pair = seed.cosine, seed.coefficient
                groups.setdefault(s.epsilon or math.inf, []).append(pair)
    rows = []
    for epsilon, pairs in sorted(groups.items()):
        cosines, used = zip(*pairs, strict=True)
        name = noise(epsilon if math.isfinite(epsilon) else None)
        spread = [f"{min(one):.3f} to {max(one):.3f}" for one in (cosines, used)]
        rows.append([name, str(len(pairs)), f"{fmean(map(abs, cosines)):.3f}", *spread])
    head = ["epsilon", "runs", "mean size of the cosine", "cosine", "coefficient"]
    return table(head, rows)


def tables(folder: Path) -> list[str]:
    """All tables of docs/cross-gradients.md in their order, then the sentences."""
    study, lines = study_lines(folder / SWEEP), cosine_lines(folder / COSINES)
    return [
        agreement(lines),
        hidden(lines, study),
        prices(ALPHA),
        covered(study),
        overall(study),
        looked_at(study),
        by_epsilon(study, "blind"),
        by_departure(study, "blind"),
        by_step(study, "blind"),
        by_task(study, "blind"),
        sure_ahead(study, "blind"),
        by_epsilon(study, "dp-dmsgd"),
        by_region(study, "dp-dmsgd"),
        by_region(study, "dp-dmsgd", average=True),
        by_region(study, "muffliato"),
        *facts(study),
    ]


if __name__ == "__main__":
    print("\n\n".join(tables(Path(sys.argv[1]))))
