"""What `dpdl reproduce` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import click

from dpdl.cli.common import print_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpdl.folder.attack_facts import PaperRow
    from dpdl.pages.compared_cells import ComparedCell, Ranking
    from dpdl.studies.reproduce.forecast import Beginning, Forecast
    from dpdl.studies.reproduce.printed import (
        BestProven,
        PrintedAttacks,
        PrintedCells,
        PrintedStatus,
    )
    from dpdl.terminal import Console


@final
class Announcer:
    """Says on standard error what is about to be run, and how long it should take."""

    def __init__(self, what: str, quiet: bool) -> None:
        self._what, self._quiet = what, quiet

    def __call__(self, beginning: Beginning) -> None:
        """Before the first run."""
        forecast, count = beginning.forecast, len(beginning.forecast.seconds)
        at = f", {forecast.jobs} at a time" if self._what == "runs" else ""
        if not self._quiet:
            about = f"about {duration(forecast.total)}"
            click.echo(f"{count} {self._what}, {about}{at}.", err=True)
        if beginning.untuned:
            click.echo(
                f"No step size was searched for {beginning.untuned} of them: expect "
                "less than is possible.",
                err=True,
            )


def list_runs(forecast: Forecast, what: str, as_json: bool) -> None:
    """What would be run, and how long it should take."""
    seconds, jobs = forecast.seconds, forecast.jobs
    if as_json:
        print_json(forecast.printed().to_json())
        return
    for name, of_run in seconds.items():
        click.echo(f"{round(of_run):>7} s  {name}")
    at = f"with {jobs} at a time" if what == "runs" else f"with {jobs} processes"
    click.echo(f"{len(seconds)} {what}, about {duration(forecast.total)} {at}.")


def duration(seconds: float) -> str:
    """In seconds, minutes or hours: the largest unit of which there are at least three."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 3 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


# ------------------------------------------------------------------ cells
def show_status(status: PrintedStatus) -> None:
    """The selected cells beside the paper's, and how many there are of all."""
    lines = _conclusions(status.rankings, status.proven)
    _show(status.cells, [*lines, *_counts(status)])


def show_cells(found: PrintedCells) -> None:
    """Cells beside the paper's, what follows from them, and which figures were drawn."""
    lines = _conclusions(found.rankings, found.proven)
    _show(found.cells, lines, _figures(found))


def _show(
    rows: Sequence[ComparedCell], lines: Iterable[str], figures: Iterable[str] = ()
) -> None:
    from dpdl.studies.reproduce.recipes import MODES
    from dpdl.terminal import Console

    console = Console()
    for mode, about in MODES.items():
        of_mode = [row for row in rows if row.mode == mode]
        if of_mode:
            _show_mode(console, f"{mode}: {about}", of_mode)
    for line in (*_about_cells(rows), *lines):
        console.print(line, highlight=False)
    for line in figures:  # paths are not broken into lines
        console.print(line, highlight=False, soft_wrap=True)


def _about_cells(rows: Sequence[ComparedCell]) -> Iterator[str]:
    if not rows:
        yield "None of these cells was measured yet."
    elif not all(row.within for row in rows):
        yield "*: the difference is larger than the paper's spread."
    if any(row.beyond for row in rows):
        yield (
            "of dpdl: the algorithm is not in the paper, and stands beside the paper's "
            "claim for DPDL."
        )


def _conclusions(
    rankings: Iterable[Ranking], proven: Iterable[BestProven]
) -> list[str]:
    """Rankings, and claims that were reached or not."""
    return [*map(_about_ranking, rankings), *map(_about_claim, proven)]


def _about_ranking(ranking: Ranking) -> str:
    agrees = "agrees" if ranking.agrees else "differs"
    ours = " > ".join(ranking.ours)
    return f"Ranking {agrees}, {ranking.mode}, {_place(ranking)}: ours {ours}."


def _about_claim(best: BestProven) -> str:
    reached = "reached" if best.reached else "not reached"
    numbers = f"{best.claimed:.1f} claimed, {best.ours:.1f} proven"
    return f"Claim for DPDL {reached}, {_place(best)}: {numbers} by {best.algorithm}."


def _counts(status: PrintedStatus) -> Iterator[str]:
    counts = ", ".join(f"{mode} {count}" for mode, count in status.measured.items())
    attacks = status.attacks
    yield f"Cells measured, of {status.of}: {counts}."
    yield f"Attack cells measured: {attacks.measured} of {attacks.of}."
    yield status.claims.sentence


def _figures(found: PrintedCells) -> Iterator[str]:
    for mode, path in (found.figures or {}).items():
        if path:
            yield f"Figure: {path}"
        else:
            yield f"No figure for mode {mode}: no cell of it has a curve yet."
    if found.other_recipe:
        count = found.other_recipe
        cells = "1 cell was" if count == 1 else f"{count} cells were"
        yield f"{cells} measured with other recipes than today's, and drawn as found."


def _show_mode(console: Console, title: str, rows: Sequence[ComparedCell]) -> None:
    from dpdl.cli.tables import FittingTable

    head = ["cell", "algorithm", "paper", "ours", "differs", "seeds"]
    table = FittingTable(title, head, keys=2)
    for row in rows:
        spread = "" if row.spread is None else f" ± {row.spread:.1f}"
        inside = "" if row.within else " *"
        whose = " of dpdl" if row.beyond else ""
        table.add(
            _place(row),
            row.algorithm,
            f"{row.paper:.1f} ± {row.paper_spread:.1f}{whose}",
            f"{row.ours:.1f}{spread}",
            f"{row.difference:+.1f}{inside}",
            str(len(row.seeds)),
        )
    table.show(console)


def _place(row: ComparedCell | Ranking | BestProven) -> str:
    setting = f"{row.dataset} {row.graph} {row.agents}"
    return f"{setting}, α {row.alpha_d:g}, ε {row.epsilon:g}"


# ------------------------------------------------------------------ attacks
def show_attacks(found: PrintedAttacks) -> None:
    """Attacks beside the paper's."""
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    console = Console()
    if not found.cells:
        console.print("None of these attacks was measured yet.")
        return
    numbers = ("N", "MSE paper", "ours", "PSNR paper", "ours", "SSIM paper", "ours")
    title = "Round 800: the paper's attack and ours"
    table = FittingTable(title, ["graph", "scenario", *numbers], keys=2)
    for row in found.cells:
        scenario, agents = row.scenario.upper(), str(row.agents)
        table.add(row.graph, scenario, agents, *_numbers(row))
    table.show(console)
    least = min(row.best_trivial_mse for row in found.cells)
    console.print(
        f"The best that needs no attack has an MSE of {least:.2f} or more: above that, "
        "an attack learnt nothing.",
        highlight=False,
    )
    for path in found.files:
        console.print(f"All numbers: {path}", highlight=False, soft_wrap=True)


def _numbers(row: PaperRow) -> list[str]:
    """Every metric of the paper and of ours; a dash where nothing was measured."""
    from dpdl.cli.attack_show import DIGITS

    found = []
    for metric, digits in DIGITS:
        both = row.metrics[metric]
        found.append(f"{both.paper:.{digits}f}")
        found.append("-" if both.ours is None else f"{both.ours:.{digits}f}")
    return found
