"""`dpdl attack`: rebuild images from what was recorded."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.attacks.harness import Effort
    from dpdl.attacks.tables import Attacked
    from dpdl.attacks.targets import Case
    from dpdl.attacks.view import View
    from dpdl.paper.cells import Place
    from dpdl.run.experiment import Experiment
    from dpdl.run.record import Wish

PAPER = ("mnist", "cifar10")


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--scenario", default=None, help="cg, mm, self, step, separated by commas, or all [all]")
@click.option("--rounds", default="all", show_default=True, help="recorded rounds, separated by commas")
@click.option("--batch", default=None, metavar="SIZES", help="recorded sizes of batches, or 'own' [the smallest]")
@click.option("--whose", default="all", show_default=True, help="agents whose records to rebuild, by their numbers")
@click.option("--labels", type=click.Choice(["known", "recovered"]), default="known", show_default=True)
@click.option("--method", default="auto", show_default=True, help="auto, peel, inverting, dlg, idlg")
@click.option("--iterations", type=int, default=None, help="steps of every optimisation [1000; peel 300]")
@click.option("--restarts", type=int, default=None, help="starts of it, of which the best is kept [4; peel 16]")
@click.option("--membership", "members", is_flag=True, help="also ask of records whether they were in the batch")
@click.option("--paper", type=click.Choice(PAPER), default=None, help="train and attack what the paper did; no RUN")
@click.option("--graph", default=None, help="with --paper: ring, bipartite or complete [bipartite]")
@click.option("--agents", type=int, default=None, help="with --paper: 10, 20 or 30 [10]")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="with --paper: where runs go [runs/NAME]")
@click.option("--seed", default=0, show_default=True)
@click.option("--gallery", type=click.Path(path_type=Path), default=None, help="picture [RUN/attack/gallery.png]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def attack(
    runs: tuple[Path, ...],
    scenario: str | None,
    rounds: str,
    batch: str | None,
    whose: str,
    labels: str,
    method: str,
    iterations: int | None,
    restarts: int | None,
    members: bool,
    paper: str | None,
    graph: str | None,
    agents: int | None,
    out: Path | None,
    seed: int,
    gallery: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rebuild images from what left the agents of recorded runs, and say how well.

    Attacks read only RUN/recording. What was done before is not done again.
    """
    from dpdl.attacks.harness import Effort
    from dpdl.cli.attack_show import show
    from dpdl.paper.cells import Place

    if bool(runs) == bool(paper):
        raise InputError("Name recorded runs to attack, or --paper mnist or --paper cifar10, and not both.")
    if not paper and (graph or agents or out):
        raise InputError("The options --graph, --agents and --out belong to --paper.")
    effort, asked = Effort(method, iterations, restarts, seed), Asked(scenario, rounds, batch, whose, labels)
    how = How(gallery, members, quiet)
    if paper:
        place = Place(paper, graph or "bipartite", 10 if agents is None else agents)
        facts = attack_paper(place, out or Path("runs") / folder_of(place, seed), asked, effort, how)
    else:
        facts = _attack_runs(runs, runs[0] / "attack", asked, effort, how)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
    else:
        show(facts)


@final
@dataclass(frozen=True)
class Asked:
    """What to attack of every recording, in the words of the options."""

    scenario: str | None = None
    rounds: str = "all"
    batch: str | None = None
    whose: str = "all"
    labels: str = "known"


@final
@dataclass(frozen=True)
class How:
    """What else to make of it, and on how many processes."""

    gallery: Path | None = None
    members: bool = False
    quiet: bool = False
    jobs: int | None = None


def folder_of(place: Place, seed: int) -> str:
    """The name of the folder for the runs of the paper's attack."""
    return f"attack-{place.name}-seed{seed}"


def attack_paper(place: Place, folder: Path, asked: Asked, effort: Effort, how: How) -> dict[str, Any]:
    """Train in `folder` what the paper attacked, as far as it is not there yet, attack it, and compare."""
    from dpdl.attacks.paper import SCENARIOS

    batch = asked.batch or "1"
    runs = _train(place, folder, batch, effort.seed, how.quiet)
    whose = "0,1,2,3,4,5,6,7,8,9" if asked.whose == "all" else asked.whose
    asked = replace(asked, scenario=asked.scenario or SCENARIOS, batch=batch, whose=whose)
    return _attack_runs(runs, folder, asked, effort, how, place)


def _attack_runs(
    runs: tuple[Path, ...], folder: Path, asked: Asked, effort: Effort, how: How, place: Place | None = None
) -> dict[str, Any]:
    """All facts, beside the paper's if it attacked that place; they and the pictures are written into `folder`."""
    from dpdl.attacks.paper import compared
    from dpdl.run.files import write_json

    found = _attack(runs, asked, effort, how)
    facts = _facts(found, folder, how.gallery)
    if how.members:
        facts |= _membership(found, asked.whose, effort.seed, folder, how.quiet)
    if place:
        facts["paper"] = compared(facts["rows"], *place)
    write_json(folder / "attack.json", facts)
    return facts


def _train(place: Place, folder: Path, batch: str, seed: int, quiet: bool) -> tuple[Path, ...]:
    """The runs of the paper's attack, as far as they are not there yet."""
    from dpdl.attacks.paper import experiments, wish

    found = []
    for name, e in experiments(*place, seed).items():
        sizes = [size for size in _sizes(batch, 216) if size is not None]
        _make(e, wish(e, sizes), folder / name, quiet)
        found.append(folder / name)
    return tuple(found)


def _make(e: Experiment, wish: Wish, folder: Path, quiet: bool) -> None:
    from dpdl.cli.show import Progress
    from dpdl.run.plan import plan
    from dpdl.run.train import launch, replan

    again = (folder / "experiment.json").exists()
    if again:
        _refuse_other(e, wish, folder)
    if (folder / "summary.json").exists():
        return
    p = replan(folder, progress=not quiet) if again else plan(e, progress=not quiet)
    with Progress(p, hidden=quiet) as progress:
        launch(p, out=folder, placement="alone", watch=progress, again=again, record=wish)


def _refuse_other(e: Experiment, wish: Wish, folder: Path) -> None:
    """What is in the folder must be what is asked for now."""
    from dpdl.run.claim import refuse_difference
    from dpdl.run.record import wish_in
    from dpdl.run.store import RunFolder

    found, recorded = RunFolder(folder).read()[0], wish_in(folder)
    refuse_difference(folder, found.as_dict(), e.resolved().as_dict())
    missing = set(wish.batches) - set(recorded.batches if recorded else ())
    if missing:
        sizes = ", ".join(map(str, sorted(missing)))
        raise InputError(f"Run {str(folder)!r} did not record batches of {sizes}; choose another --out.")


def _attack(runs: tuple[Path, ...], asked: Asked, effort: Effort, how: How) -> list[Attacked]:
    from dpdl.attacks import harness
    from dpdl.attacks.tables import Attacked
    from dpdl.attacks.view import View
    from dpdl.attacks.workers import Workers
    from dpdl.cli.attack_show import Bar
    from dpdl.parallel import cores
    from dpdl.run.record import FOLDER

    chosen = None if asked.whose == "all" else _numbers(asked.whose, "Agents")
    found = []
    with Workers(how.jobs or cores()) as workers:
        for run in runs:
            cases = _cases(View(run / FOLDER), asked)
            with Bar(len(cases), hidden=how.quiet) as bar:
                outcomes, plan = harness.attack(run, cases, effort, chosen, workers=workers, watch=bar.watch)
            found.append(Attacked(run, outcomes, plan))
    names = [a.who for a in found]
    return [replace(a, suffix=f" {a.run.name}") if names.count(a.who) > 1 else a for a in found]


def _cases(view: View, asked: Asked) -> list[Case]:
    from dpdl.attacks.targets import Case, offered

    chosen = tuple(view.rounds) if asked.rounds == "all" else _numbers(asked.rounds, "Rounds")
    sizes = _sizes(asked.batch or str(min(view.batches, default="own")), view.options["batch"])
    scenario, cases = asked.scenario or "all", []
    for t in chosen:
        for size in sizes:
            names = offered(view, t, size) if scenario == "all" else scenario.split(",")
            cases += [Case(name, t, size, asked.labels) for name in names]
    return cases


def _sizes(words: str, own: int) -> list[int | None]:
    """Sizes of batches; None stands for the run's own."""
    found: list[int | None] = []
    for word in words.split(","):
        found += [None] if word in ("own", str(own)) else _numbers(word, "Batches")
    return found


def _numbers(words: str, what: str) -> tuple[int, ...]:
    from dpdl.run.record import numbers_of

    return numbers_of(words, what)


def _facts(attacked: list[Attacked], folder: Path, gallery: Path | None) -> dict[str, Any]:
    from dpdl.attacks.pictures import by_agent, by_round
    from dpdl.report.gallery import draw_gallery

    path = gallery or folder / "gallery.png"
    for picture in {folder / "gallery.png", path}:  # a page is made of what is in the folder
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw_gallery(*by_round(attacked), picture)
    agents = draw_gallery(*by_agent(attacked), folder / "agents.png")
    rows = [row for a in attacked for row in a.rows()]
    trivial, epsilon = attacked[0].trivial_rows(), {a.who: a.epsilon for a in attacked}
    return {"rows": rows, "trivial": trivial, "epsilon": epsilon, "gallery": str(path), "by_agent": str(agents)}


def _membership(attacked: list[Attacked], whose: str, seed: int, folder: Path, quiet: bool) -> dict[str, Any]:
    from dpdl.attacks.membership import membership
    from dpdl.cli.attack_audit import certified
    from dpdl.report.roc import draw_roc

    chosen = None if whose == "all" else _numbers(whose, "Agents")
    found, curves = [], {}
    for a in attacked:
        epsilons = certified(a, quiet)
        for outcome in a.outcomes:
            case = outcome.case
            facts = membership(a.run, case.scenario, case.round, case.batch, chosen, seed)
            found.append({"run": str(a.run), "who": a.who, **facts, "epsilon": epsilons})
            told = facts["scores"]["gradient"]
            curves[f"{a.who}-{case.scenario.upper()}, round {case.round}"] = (told["fpr"], told["tpr"])
    roc = draw_roc(curves, "Was this record in the batch?", folder / "membership.png")
    return {"membership": found, "roc": str(roc)}
