"""`dpdl bench gradients`, `dpdl bench noise`, `dpdl bench rounds`, `dpdl bench startup`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from dpdl.bench.history import HISTORY, record
from dpdl.cli.common import json_option, path_option, print_json
from dpdl.errors import InputError

SHARES = ("gradients", "noise", "exchange", "other")


def bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What all benchmarks share."""
    for decorate in (
        json_option(),
        path_option("--save", f"history file [{HISTORY}, if there]"),
        click.option(
            "--repeats",
            default=7,
            show_default=True,
            help="repeats; medians are reported",
        ),
    ):
        command = decorate(command)
    return command


@click.group()
def bench() -> None:
    """Measure speed as ratios in one run. Let nothing else run on the machine."""


# ------------------------------------------------------------------ gradients
@bench.command()
@click.option("--batch", default=216, show_default=True, help="samples of a batch")
@click.option(
    "--pairs", default=8, show_default=True, help="pairs of a model and a batch"
)
@path_option("--plot", "picture: speeds against the matmul peak")
@bench_options
def gradients(
    batch: int,
    pairs: int,
    plot: Path | None,
    repeats: int,
    save: Path | None,
    as_json: bool,
) -> None:
    """Sums of clipped per-sample gradients of LeNet: ours, torch.func, Opacus, and no privacy."""
    _at_least_one(batch=batch, pairs=pairs, repeats=repeats)
    from dpdl.bench.gradients import measure
    from dpdl.report.speed import draw_speeds

    facts = measure(batch, pairs, repeats)
    record("gradients", facts, save)
    if plot:
        draw_speeds(facts, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        print_json(facts)
    else:
        _show_gradients(facts)


def _show_gradients(facts: Mapping[str, Any]) -> None:
    fused = facts["us_per_sample"]["fused"]
    rows = [
        [
            name,
            "-" if us is None else f"{us:.1f}",
            "-" if not us else f"{us / fused:.2f}",
        ]
        for name, us in facts["us_per_sample"].items()
        if fused
    ]
    _table(
        "per-sample-clipped gradients, LeNet",
        ["way", "us per sample", "times fused"],
        rows,
    )
    if facts["peak_share"] is not None:
        click.echo(
            f"fused: {facts['peak_share']:.0%} of this machine's matmul peak, "
            f"{facts['peak_gflops']:.0f} GFLOP/s"
        )


# ------------------------------------------------------------------ noise
@bench.command()
@click.option(
    "--entries", default=1_000_000, show_default=True, help="numbers of a row"
)
@bench_options
def noise(entries: int, repeats: int, save: Path | None, as_json: bool) -> None:
    """Nanoseconds a number of secure and reproducible noise, beside a plain copy; one thread."""
    _at_least_one(entries=entries, repeats=repeats)
    from dpdl.bench.noise import measure

    facts = measure(entries, repeats)
    record("noise", facts, save)
    if as_json:
        print_json(facts)
        return
    rows = [
        [name, f"{ns:.2f}", f"{facts['ratio_copy'][name]:.1f}"]
        for name, ns in facts["ns_per_number"].items()
    ]
    _table(
        f"noise, a row of {entries:,} numbers",
        ["way", "ns per number", "times a copy"],
        rows,
    )


# ------------------------------------------------------------------ rounds
@bench.command()
@click.option(
    "--algorithms",
    default="dpdl",
    show_default=True,
    help="names, separated by commas, or 'all'",
)
@click.option(
    "--graphs",
    default="ring,bipartite,complete",
    show_default=True,
    help="names, separated by commas",
)
@click.option(
    "--agents",
    default="10,20,30,100",
    show_default=True,
    help="numbers, separated by commas",
)
@click.option("--model", default="lenet", show_default=True, help="lenet or cnn")
@click.option("--batch", default=216, show_default=True, help="samples of a batch")
@path_option("--plot", "picture: cost against agents and edges")
@bench_options
def rounds(
    algorithms: str,
    graphs: str,
    agents: str,
    model: str,
    batch: int,
    plot: Path | None,
    repeats: int,
    save: Path | None,
    as_json: bool,
) -> None:
    """Whole rounds: seconds, where they go, peak memory. Every case is a process of its own."""
    _at_least_one(batch=batch, repeats=repeats)
    from dpdl.bench.rounds import Workload, measure_all, workloads
    from dpdl.report.speed import draw_costs

    def begin(case: Workload) -> None:
        click.echo(f"{case.algorithm}, {case.graph} of {case.agents} ...", err=True)

    cases = workloads(algorithms, graphs, agents, model, batch, repeats)
    facts = measure_all(cases, begin)
    record("rounds", facts, save)
    if plot:
        draw_costs(facts["rows"], plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        print_json(facts)
    else:
        _show_rounds(facts, f"rounds, {model}, B = {batch}")


def _show_rounds(facts: Mapping[str, Any], title: str) -> None:
    rows = facts["rows"]
    head = ["algorithm", "graph", "agents", "edges", "s / round", *SHARES, "MB"]
    _table(title, head, [_cells(row) for row in rows])
    if "complete_30_over_10" in facts:
        click.echo(
            "dpdl, complete graph: 30 agents cost "
            f"{facts['complete_30_over_10']:.2f} times as much as 10"
        )
    if "overhead_bipartite_10" in facts:
        click.echo(
            f"dpdl, bipartite, 10 agents: {facts['overhead_bipartite_10']:.0%} is "
            "neither gradients nor noise"
        )
    seconds = rows[-1]["evaluation_seconds_per_agent"]
    click.echo(f"testing one agent's model on 10,000 records: {seconds:.3f} s")


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        row["algorithm"],
        row["graph"],
        str(row["agents"]),
        str(row["edges"]),
        f"{row['seconds_per_round']:.3f}",
        *(f"{row['share'][name]:.0%}" for name in SHARES),
        f"{row['peak_memory_mb']:.0f}",
    ]


# ------------------------------------------------------------------ start-up
@bench.command()
@bench_options
def startup(repeats: int, save: Path | None, as_json: bool) -> None:
    """Seconds until `dpdl --help` and `dpdl privacy sigma` have answered."""
    _at_least_one(repeats=repeats)
    from dpdl.bench.startup import measure

    facts = measure(repeats)
    record("startup", facts, save)
    if as_json:
        print_json(facts)
    else:
        rows = [[name, f"{value:.2f}"] for name, value in facts.items()]
        _table("start-up", ["command", "seconds"], rows)


def _at_least_one(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise InputError(
                f"{name} must be a whole number of at least 1, not {value}."
            )


def _table(title: str, head: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for k, name in enumerate(head):
        table.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
