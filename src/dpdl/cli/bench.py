"""`dpdl bench gradients`, `dpdl bench noise`, `dpdl bench rounds`, `dpdl bench startup`."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpdl import __version__
from dpdl.errors import InputError

HISTORY = Path("benchmarks/history.jsonl")


def bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What all benchmarks share."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output"),
        click.option(
            "--save", type=click.Path(path_type=Path), default=None, help=f"history file [{HISTORY}, if there]"
        ),
        click.option("--repeats", default=7, show_default=True, help="repeats; medians are reported"),
    ):
        command = decorate(command)
    return command


@click.group()
def bench() -> None:
    """Measure speed as ratios in one run. Let nothing else run on the machine."""


@bench.command()
@click.option("--batch", default=216, show_default=True, help="samples of a batch")
@click.option("--pairs", default=8, show_default=True, help="pairs of a model and a batch")
@click.option("--plot", type=click.Path(path_type=Path), default=None, help="picture: speeds against the matmul peak")
@bench_options
def gradients(batch: int, pairs: int, plot: Path | None, repeats: int, save: Path | None, as_json: bool) -> None:
    """Sums of clipped per-sample gradients of LeNet: ours, torch.func, Opacus, and no privacy at all."""
    _at_least_one(batch=batch, pairs=pairs, repeats=repeats)
    from dpdl.bench.gradients import measure

    facts = measure(batch, pairs, repeats)
    _record("gradients", facts, save)
    if plot:
        from dpdl.report.bench import draw_speeds

        draw_speeds(facts, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    rows = [
        [name, "-" if us is None else f"{us:.1f}", "-" if not us else f"{us / facts['us_per_sample']['fused']:.2f}"]
        for name, us in facts["us_per_sample"].items()
        if facts["us_per_sample"]["fused"]
    ]
    _table("per-sample-clipped gradients, LeNet", ["way", "us per sample", "times fused"], rows)
    if facts["peak_share"] is not None:
        click.echo(
            f"fused: {facts['peak_share']:.0%} of this machine's matmul peak, {facts['peak_gflops']:.0f} GFLOP/s"
        )


@bench.command()
@click.option("--entries", default=1_000_000, show_default=True, help="numbers of a row")
@bench_options
def noise(entries: int, repeats: int, save: Path | None, as_json: bool) -> None:
    """Nanoseconds a number of secure and of reproducible noise, beside a plain copy; one thread."""
    _at_least_one(entries=entries, repeats=repeats)
    from dpdl.bench.noise import measure

    facts = measure(entries, repeats)
    _record("noise", facts, save)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    rows = [[name, f"{ns:.2f}", f"{facts['ratio_copy'][name]:.1f}"] for name, ns in facts["ns_per_number"].items()]
    _table(f"noise, a row of {entries:,} numbers", ["way", "ns per number", "times a copy"], rows)


@bench.command()
@click.option("--algorithms", default="dpdl", show_default=True, help="names, separated by commas, or 'all'")
@click.option("--graphs", default="ring,bipartite,complete", show_default=True, help="names, separated by commas")
@click.option("--agents", default="10,20,30,100", show_default=True, help="numbers, separated by commas")
@click.option("--model", default="lenet", show_default=True, help="lenet or cnn")
@click.option("--batch", default=216, show_default=True, help="samples of a batch")
@click.option("--plot", type=click.Path(path_type=Path), default=None, help="picture: cost against agents and edges")
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
    from dpdl.algorithms import named, names
    from dpdl.bench.rounds import SHAPES, Case, measure, ratios

    if model not in SHAPES:
        raise InputError(f"model must be one of {', '.join(SHAPES)}, not {model!r}.")
    try:
        counts = [int(part) for part in agents.split(",")]
    except ValueError:
        raise InputError(f"agents must be whole numbers separated by commas, not {agents!r}.") from None
    cases = [
        Case(algorithm, graph, count, model, batch, repeats)
        for algorithm in (names() if algorithms == "all" else algorithms.split(","))
        for graph in graphs.split(",")
        for count in counts
    ]
    for case in cases:
        named(case.algorithm)
    rows = []
    for case in cases:
        click.echo(f"{case.algorithm}, {case.graph} of {case.agents} ...", err=True)
        rows.append(measure(case))
    facts = {"rows": rows, **ratios(rows)}
    _record("rounds", facts, save)
    if plot:
        from dpdl.report.bench import draw_costs

        draw_costs(rows, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    head = ["algorithm", "graph", "agents", "edges", "s / round", "gradients", "noise", "exchange", "other", "MB"]
    _table(f"rounds, {model}, B = {batch}", head, [_words(row) for row in rows])
    if "complete_30_over_10" in facts:
        click.echo(f"dpdl, complete graph: 30 agents cost {facts['complete_30_over_10']:.2f} times as much as 10")
    if "overhead_bipartite_10" in facts:
        click.echo(f"dpdl, bipartite, 10 agents: {facts['overhead_bipartite_10']:.0%} is neither gradients nor noise")
    click.echo(f"testing one agent's model on 10,000 records: {rows[-1]['evaluation_seconds_per_agent']:.3f} s")


@bench.command()
@bench_options
def startup(repeats: int, save: Path | None, as_json: bool) -> None:
    """Seconds until `dpdl --help` and `dpdl privacy sigma` have answered."""
    _at_least_one(repeats=repeats)
    import subprocess
    import sys

    from dpdl.bench.clock import interleaved

    def start(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-m", "dpdl", *words], capture_output=True, check=True)

    facts = interleaved({"help": start("--help"), "plan": start("privacy", "sigma", "--epsilon", "1")}, repeats)
    _record("startup", facts, save)
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
    else:
        _table("start-up", ["command", "seconds"], [[name, f"{value:.2f}"] for name, value in facts.items()])


def _at_least_one(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value}.")


def _record(kind: str, facts: dict[str, Any], save: Path | None) -> None:
    """One more line of the history; where none was asked for, only if this is a checkout that has one."""
    path = save or (HISTORY if HISTORY.parent.is_dir() else None)
    if path is None:
        return
    import torch

    line = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "bench": kind,
        "processor": _processor(),
        "versions": {"dpdl": __version__, "python": platform.python_version(), "torch": torch.__version__},
        **facts,
    }
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
    except OSError as failure:
        raise InputError(f"History {str(path)!r} cannot be written: {failure.strerror}.") from failure


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _words(row: dict[str, Any]) -> list[str]:
    shares = [f"{row['share'][name]:.0%}" for name in ("gradients", "noise", "exchange", "other")]
    seconds, memory = f"{row['seconds_per_round']:.3f}", f"{row['peak_memory_mb']:.0f}"
    return [row["algorithm"], row["graph"], str(row["agents"]), str(row["edges"]), seconds, *shares, memory]


def _table(title: str, head: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for k, name in enumerate(head):
        table.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
