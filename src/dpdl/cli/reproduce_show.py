"""What `dpdl reproduce` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import click

from dpdl.cli.common import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from dpdl.studies.reproduce.forecast import Beginning, Forecast


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
        runs = [{"name": name, "seconds": round(s)} for name, s in seconds.items()]
        minutes = round(forecast.total / 60, 1)
        print_json({"runs": runs, "minutes": minutes, "jobs": jobs})
        return
    for name, of_run in seconds.items():
        click.echo(f"{round(of_run):>7} s  {name}")
    at = f"with {jobs} at a time" if what == "runs" else f"with {jobs} processes"
    click.echo(f"{len(seconds)} {what}, about {duration(forecast.total)} {at}.")


def duration(seconds: float) -> str:
    """In words; of three hours or more in hours."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 3 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def show(facts: dict[str, Any]) -> None:
    """Cells beside the paper's, and what follows from them."""
    from rich.console import Console

    from dpdl.studies.reproduce.recipes import MODES

    console = Console()
    for mode, about in MODES.items():
        rows = [row for row in facts["cells"] if row["mode"] == mode]
        if rows:
            _show_mode(console, f"{mode}: {about}", rows)
    lines = [*_about_cells(facts["cells"]), *_orders(facts), *_counts(facts)]
    for line in lines:
        console.print(line, highlight=False)
    for line in _figures(facts):
        console.print(line, highlight=False, soft_wrap=True)


def _about_cells(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "None of these cells was measured yet."
    elif not all(row["within"] for row in rows):
        yield "*: the difference is larger than the paper's spread."
    if any(row["beyond"] for row in rows):
        yield (
            "of dpdl: the algorithm is not in the paper, and stands beside the paper's "
            "claim for DPDL."
        )


def _orders(facts: dict[str, Any]) -> Iterator[str]:
    """Rankings, and claims that were reached or not."""
    for ranking in facts["rankings"]:
        agrees = "agrees" if ranking["agrees"] else "differs"
        place, ours = _place(ranking), " > ".join(ranking["ours"])
        yield f"Ranking {agrees}, {ranking['mode']}, {place}: ours {ours}."
    for best in facts["proven"]:
        reached = "reached" if best["reached"] else "not reached"
        numbers = f"{best['claimed']:.1f} claimed, {best['ours']:.1f} proven"
        by = f"by {best['algorithm']}"
        yield f"Claim for DPDL {reached}, {_place(best)}: {numbers} {by}."


def _counts(facts: dict[str, Any]) -> Iterator[str]:
    if "measured" not in facts:
        return
    counts = ", ".join(f"{mode} {count}" for mode, count in facts["measured"].items())
    attacks = facts["attacks"]
    yield f"Cells measured, of {facts['of']}: {counts}."
    yield f"Attack cells measured: {attacks['measured']} of {attacks['of']}."


def _figures(facts: dict[str, Any]) -> Iterator[str]:
    for mode, path in facts.get("figures", {}).items():
        if path:
            yield f"Figure: {path}"
        else:
            yield f"No figure for mode {mode}: no cell of it has a curve yet."
    if count := facts.get("other_recipe"):
        cells = "1 cell was" if count == 1 else f"{count} cells were"
        yield f"{cells} measured with other recipes than today's, and drawn as found."


def _show_mode(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(title=title)
    for name in ("cell", "algorithm"):
        table.add_column(name)
    for name in ("paper", "ours", "differs", "seeds"):
        table.add_column(name, justify="right")
    for row in rows:
        spread = "" if row["spread"] is None else f" ± {row['spread']:.1f}"
        inside = "" if row["within"] else " *"
        whose = " of dpdl" if row["beyond"] else ""
        table.add_row(
            *(
                _place(row),
                row["algorithm"],
                f"{row['paper']:.1f} ± {row['paper_spread']:.1f}{whose}",
            ),
            *(
                f"{row['ours']:.1f}{spread}",
                f"{row['difference']:+.1f}{inside}",
                str(len(row["seeds"])),
            ),
        )
    console.print(table)


def show_attacks(facts: dict[str, Any]) -> None:
    """Attacks beside the paper's."""
    from rich.console import Console
    from rich.table import Table

    from dpdl.cli.attack_show import DIGITS

    console = Console()
    if not facts["cells"]:
        console.print("None of these attacks was measured yet.")
        return
    table = Table(title="Round 800: the paper's attack and ours")
    for name in ("graph", "scenario"):
        table.add_column(name)
    for name in ("N", "MSE paper", "ours", "PSNR paper", "ours", "SSIM paper", "ours"):
        table.add_column(name, justify="right")
    for row in facts["cells"]:
        numbers = [
            f"{row[metric][whose]:.{digits}f}"
            for metric, digits in DIGITS
            for whose in ("paper", "ours")
        ]
        table.add_row(
            row["graph"], row["scenario"].upper(), str(row["agents"]), *numbers
        )
    console.print(table)
    least = min(row["best_trivial_mse"] for row in facts["cells"])
    console.print(
        f"The best that needs no attack has an MSE of {least:.2f} or more: above that, "
        "an attack learnt nothing.",
        highlight=False,
    )
    for path in facts["files"]:
        console.print(f"All numbers: {path}", highlight=False, soft_wrap=True)


def _place(row: dict[str, Any]) -> str:
    setting = f"{row['dataset']} {row['graph']} {row['agents']}"
    return f"{setting}, α {row['alpha_d']:g}, ε {row['epsilon']:g}"
