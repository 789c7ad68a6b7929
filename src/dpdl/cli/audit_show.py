"""What `dpdl audit` shows: a table and a sentence."""

from __future__ import annotations

from typing import Any


def show(facts: dict[str, Any]) -> None:
    """The table, what was measured, and the verdict."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    place = f"{facts['graph']} of {facts['agents']} agents"
    table = Table(
        title=f"{facts['algorithm']}, {place}, against {facts['threat']}", min_width=70
    )
    table.add_column(
        f"epsilon at delta = {facts['delta']:g}, sigma = {facts['sigma']:.4g}"
    )
    table.add_column("value", justify="right")
    if facts["claimed"] is not None:
        table.add_row("claimed by Theorem 1", _number(facts["claimed"]))
    lower = facts["certified_lower_bound"]
    table.add_row(
        "certified lower bound, by counting errors", _number(lower["clopper_pearson"])
    )
    table.add_row("estimate, if the trade-off is Gaussian", _number(lower["gdp"]))
    table.add_row("proven upper bound, by the accountant", _number(facts["proven"]))
    console.print(table)
    effective = facts["sigma_eff"]
    proven, attack = _number(effective["proven"]), _number(effective["attack"])
    words = f"sigma_eff: proven {proven}, attack {attack}"
    if effective["interval"]:
        low, high = map(_number, effective["interval"])
        words += (
            f", measured {_number(effective['measured'])} (between {low} and {high})"
        )
    console.print(words, highlight=False)
    alone = f"{facts['trials']} trials with the record and without it"
    words = alone if facts["trials"] else f"{facts['canaries']} canaries"
    words += f", {facts['rounds']} rounds, confidence {facts['confidence']:.0%}"
    console.print(f"{words}, {facts['seconds']:.0f} s", highlight=False)
    console.print(facts["verdict"], highlight=False, soft_wrap=True)


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
