"""`dpdl attack`: rebuild images from what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.attacks.harness import Case, Outcome
    from dpdl.attacks.view import View


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--scenario", default="all", show_default=True, help="cg, mm, self, step, separated by commas, or all")
@click.option("--rounds", default="all", show_default=True, help="recorded rounds, separated by commas")
@click.option("--batch", default=None, metavar="SIZES", help="recorded sizes of batches, or 'own' [the smallest]")
@click.option("--agents", default="all", show_default=True, help="whose records to rebuild, separated by commas")
@click.option("--labels", type=click.Choice(["known", "recovered"]), default="known", show_default=True)
@click.option("--method", default="auto", show_default=True, help="auto, peel, inverting, dlg, idlg")
@click.option("--iterations", default=1000, show_default=True, help="steps of every optimisation")
@click.option("--restarts", default=4, show_default=True, help="starts of every optimisation; the best is kept")
@click.option("--membership", "members", is_flag=True, help="also ask of records whether they were in the batch")
@click.option("--seed", default=0, show_default=True)
@click.option("--gallery", type=click.Path(path_type=Path), default=None, help="picture [RUN/attack/gallery.png]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def attack(
    runs: tuple[Path, ...],
    scenario: str,
    rounds: str,
    batch: str | None,
    agents: str,
    labels: str,
    method: str,
    iterations: int,
    restarts: int,
    members: bool,
    seed: int,
    gallery: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rebuild images from what left the agents of recorded runs, and say how well.

    Attacks read only RUN/recording. What was done before is not done again.
    """
    from dpdl.attacks import harness
    from dpdl.attacks.inverting import Settings
    from dpdl.attacks.membership import membership
    from dpdl.attacks.metrics import pixels_of
    from dpdl.attacks.view import View
    from dpdl.run.record import FOLDER

    for name, value in (("iterations", iterations), ("restarts", restarts)):
        if value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value}.")
    settings = Settings(method, iterations, restarts, seed=seed)
    whose = None if agents == "all" else _numbers(agents, "Agents")
    rows: list[dict[str, Any]] = []
    outcomes: list[tuple[str, Outcome]] = []
    trivial: list[dict[str, Any]] = []
    inferred: list[dict[str, Any]] = []
    for run in runs:
        view = View(run / FOLDER)
        cases = _cases(view, scenario, rounds, batch, labels)
        with Bar(len(cases), hidden=quiet) as bar:
            found, plan = harness.attack(run, cases, settings, whose, watch=bar.watch)
        pixels, mean = pixels_of(plan.data), harness.mean_image_of(plan.data)
        who = "ND" if plan.grad.noise_multiplier == 0 else plan.experiment.algorithm.upper()
        rows += [{"run": str(run), "who": who, **harness.row_of(outcome, pixels, mean)} for outcome in found]
        outcomes += [(f"{who}-{outcome.case.scenario.upper()}", outcome) for outcome in found]
        trivial = trivial or harness.trivial_rows(found[0], pixels, mean)
        for case in cases if members else []:
            facts = membership(run, case.scenario, case.round, case.batch, whose, seed)
            inferred.append({"run": str(run), "who": who, **facts})
    path = gallery or runs[0] / "attack" / "gallery.png"
    _draw(outcomes, pixels, path)
    facts = {"rows": rows, "trivial": trivial, "gallery": str(path)}
    if members:
        facts |= {"membership": inferred, "roc": str(_draw_roc(inferred, path.with_name("membership.png")))}
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    _show(rows, trivial, path)
    if members:
        _show_members(inferred)


def _cases(view: View, scenario: str, rounds: str, batch: str | None, labels: str) -> list[Case]:
    from dpdl.attacks.harness import Case
    from dpdl.attacks.targets import offered

    chosen = tuple(view.rounds) if rounds == "all" else _numbers(rounds, "Rounds")
    sizes: list[int | None] = []
    for word in (batch or str(min(view.batches, default="own"))).split(","):
        sizes.append(None if word == "own" or word == str(view.options["batch"]) else _numbers(word, "Batches")[0])
    cases = []
    for t in chosen:
        for size in sizes:
            names = offered(view, t, size) if scenario == "all" else scenario.split(",")
            cases += [Case(name, t, size, labels) for name in names]
    return cases


def _numbers(words: str, what: str) -> tuple[int, ...]:
    from dpdl.run.record import numbers_of

    return numbers_of(words, what)


class Bar:
    """Progress of all cases of a run."""

    def __init__(self, cases: int, hidden: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=hidden or not console.is_terminal,
        )
        self._task = self._bar.add_task("attack", total=cases)
        self._begun = 0

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def watch(self, case: Case) -> Any:
        """What a case calls as it goes on."""
        self._begun += 1
        before = self._begun - 1
        self._bar.update(self._task, description=f"{case.scenario}, round {case.round}")

        def step(done: int, total: int) -> None:
            self._bar.update(self._task, completed=before + done / total)

        return step


def _draw(outcomes: list[tuple[str, Outcome]], pixels: Any, path: Path) -> None:
    """One image of the first agent: rounds as columns, what was sent as rows."""
    from dpdl.attacks.metrics import score
    from dpdl.report.gallery import draw_gallery

    rounds = sorted({outcome.case.round for _, outcome in outcomes})
    size = min(int(outcome.truth.shape[1]) for _, outcome in outcomes)
    rows: dict[str, list[Any]] = {"truth": [None] * len(rounds)}
    captions: dict[str, list[str]] = {}
    for name, outcome in outcomes:
        if outcome.truth.shape[1] != size:
            continue
        k = rounds.index(outcome.case.round)
        one = score(outcome.found[0], outcome.truth[0], pixels)[0]
        rows["truth"][k] = pixels.to_unit(outcome.truth[0, 0])
        rows.setdefault(name, [None] * len(rounds))[k] = pixels.to_unit(outcome.found[0, 0])
        words = f"MSE {one.mse:.2f} PSNR {one.psnr:.1f} SSIM {one.ssim:.2f}"
        captions.setdefault(name, [""] * len(rounds))[k] = words
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"What was rebuilt from what was sent, batches of {size}"
    draw_gallery([f"round {t}" for t in rounds], rows, captions, title, path)


def _show(rows: list[dict[str, Any]], trivial: list[dict[str, Any]], path: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Reconstructions, medians over images")
    for name in ("who", "scenario"):
        table.add_column(name)
    for name in ("round", "batch", "MSE", "PSNR", "SSIM", "labels", "p"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *(row["who"], row["scenario"], str(row["round"]), str(row["batch"]), f"{row['mse']:.3f}"),
            *(f"{row['psnr']:.1f}", f"{row['ssim']:.2f}", f"{row['label_recovery']:.0%}"),
            f"{row['p_better_than_trivial']:.2g}",
        )
    for row in trivial:
        numbers = (f"{row['mse']:.3f}", f"{row['psnr']:.1f}", f"{row['ssim']:.2f}")
        table.add_row("nobody", row["name"], "", "", *numbers, "", "", style="dim")
    console = Console()
    console.print(table)
    console.print(
        "p: of a paired test that images are no better than the best one that needs no attack.", highlight=False
    )
    console.print(f"Pictures: {path}", highlight=False, soft_wrap=True)


def _draw_roc(inferred: list[dict[str, Any]], path: Path) -> Path:
    from dpdl.report.roc import draw_roc

    curves = {}
    for facts in inferred:
        found = facts["scores"]["gradient"]
        curves[f"{facts['who']}-{facts['scenario'].upper()}, round {facts['round']}"] = (found["fpr"], found["tpr"])
    return draw_roc(curves, "Was this record in the batch?", path)


def _show_members(inferred: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Was this record in the batch?")
    for name in ("who", "scenario", "round", "batch", "AUC", "95 %", "true positives at 1 % false ones"):
        table.add_column(name, justify="left" if name in ("who", "scenario") else "right")
    for facts in inferred:
        found = facts["scores"]["gradient"]
        low, high = found["auc_interval"]
        at = found["tpr_at_1_percent"]
        table.add_row(
            *(facts["who"], facts["scenario"], str(facts["round"]), str(facts["batch"] or "own")),
            *(f"{found['auc']:.3f}", f"{low:.2f} to {high:.2f}", "too few records" if at is None else f"{at:.1%}"),
        )
    Console().print(table)
