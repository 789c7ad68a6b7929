"""What `dpdl reproduce` shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


def list_runs(rows: list[tuple[str, float]], jobs: int, what: str, as_json: bool) -> None:
    """What would be run, and how long it should take."""
    runs = [{"name": name, "seconds": round(seconds)} for name, seconds in rows]
    total = sum(seconds for _, seconds in rows) / jobs
    if as_json:
        click.echo(json.dumps({"runs": runs, "minutes": round(total / 60, 1), "jobs": jobs}))
        return
    for run in runs:
        click.echo(f"{run['seconds']:>7} s  {run['name']}")
    at = f"with {jobs} at a time" if what == "runs" else f"with {jobs} processes"
    click.echo(f"{len(runs)} {what}, about {duration(total)} {at}.")


def duration(seconds: float) -> str:
    """In words; of three hours or more in hours."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 3 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def show(facts: dict[str, Any], as_json: bool) -> None:
    """Cells beside the paper's, and what follows from them."""
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    from rich.console import Console

    from dpdl.reproduce.recipes import MODES

    console = Console()
    for mode, about in MODES.items():
        rows = [row for row in facts["cells"] if row["mode"] == mode]
        if rows:
            _show_mode(console, f"{mode}: {about}", rows)
    if not facts["cells"]:
        console.print("None of these cells was measured yet.")
    elif not all(row["within"] for row in facts["cells"]):
        console.print("*: the difference is larger than the paper's spread.", highlight=False)
    if any(row["beyond"] for row in facts["cells"]):
        words = "of dpdl: the algorithm is not in the paper, and stands beside the paper's claim for DPDL."
        console.print(words, highlight=False)
    for ranking in facts["rankings"]:
        word = "agrees" if ranking["agrees"] else "differs"
        place = f"{ranking['mode']}, {_place(ranking)}"
        console.print(f"Ranking {word}, {place}: ours {' > '.join(ranking['ours'])}.", highlight=False)
    for best in facts["proven"]:
        word = "reached" if best["reached"] else "not reached"
        words = f"{best['claimed']:.1f} claimed, {best['ours']:.1f} proven by {best['algorithm']}"
        console.print(f"Claim for DPDL {word}, {_place(best)}: {words}.", highlight=False)
    if "measured" in facts:
        words = ", ".join(f"{mode} {count}" for mode, count in facts["measured"].items())
        attacks = facts["attacks"]
        console.print(f"Cells measured, of {facts['of']}: {words}.", highlight=False)
        console.print(f"Attack cells measured: {attacks['measured']} of {attacks['of']}.", highlight=False)
    for mode, path in facts.get("figures", {}).items():
        words = f"Figure: {path}" if path else f"No figure for mode {mode}: no cell of it has a curve yet."
        console.print(words, highlight=False, soft_wrap=True)
    if count := facts.get("other_recipe"):
        cells = "1 cell was" if count == 1 else f"{count} cells were"
        console.print(f"{cells} measured with other recipes than today's, and drawn as found.", highlight=False)


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
            *(_place(row), row["algorithm"], f"{row['paper']:.1f} ± {row['paper_spread']:.1f}{whose}"),
            *(f"{row['ours']:.1f}{spread}", f"{row['difference']:+.1f}{inside}", str(len(row["seeds"]))),
        )
    console.print(table)


def show_attacks(facts: dict[str, Any], as_json: bool) -> None:
    """Attacks beside the paper's."""
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
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
        numbers = [f"{row[metric][whose]:.{digits}f}" for metric, digits in DIGITS for whose in ("paper", "ours")]
        table.add_row(row["graph"], row["scenario"].upper(), str(row["agents"]), *numbers)
    console.print(table)
    least = min(row["best_trivial_mse"] for row in facts["cells"])
    console.print(
        f"The best that needs no attack has an MSE of {least:.2f} or more: above that, an attack learnt nothing.",
        highlight=False,
    )
    for path in facts["files"]:
        console.print(f"All numbers: {path}", highlight=False, soft_wrap=True)


def _place(row: dict[str, Any]) -> str:
    return f"{row['dataset']} {row['graph']} {row['agents']}, α {row['alpha_d']:g}, ε {row['epsilon']:g}"
