"""`dpdl bench`: gradients, noise, rounds, start-up, peers, and two checkouts against each other."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.bench.history import HISTORY, record
from dpdl.bounds import count
from dpdl.cli.common import json_option, path_option, print_json
from dpdl.errors import InputError, unknown
from dpdl.extras import PEER, PLOTS, need

if TYPE_CHECKING:
    from dpdl.bench.checkouts import BenchCommand
    from dpdl.folder.bench_results import (
        CheckoutRatios,
        GradientSpeeds,
        RoundCost,
        RoundCosts,
        Startup,
        Workload,
    )
    from dpdl.peer.bench import PeerCosts

FEWEST = 4
"""Sites: a ring of three is complete, where one process computes equal models only once."""
LONGEST = 10_000
"""Milliseconds of a slow link."""
SHARES = ("gradients", "noise", "secrets", "exchange", "other")


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
    _drawable(plot)
    from dpdl.bench.gradients import measure_gradients
    from dpdl.pages.speed import draw_speeds

    facts = measure_gradients(batch, pairs, repeats)
    record("gradients", facts, save)
    if plot:
        draw_speeds(facts, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        print_json(facts.to_json())
    else:
        _show_gradients(facts)


def _show_gradients(facts: GradientSpeeds) -> None:
    fused = facts.us_per_sample["fused"]
    rows = []
    if fused:
        for name, us in facts.us_per_sample.items():
            numbers = [f"{us:.1f}", f"{us / fused:.2f}"] if us else ["-", "-"]
            rows.append([name, *numbers])
    head = ["way", "us per sample", "times fused"]
    _table("per-sample-clipped gradients, LeNet", head, rows)
    if facts.peak_share is not None:
        click.echo(
            f"fused: {facts.peak_share:.0%} of this machine's matmul peak, "
            f"{facts.peak_gflops:.0f} GFLOP/s"
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
    from dpdl.bench.noise import measure_noise

    facts = measure_noise(entries, repeats)
    record("noise", facts, save)
    if as_json:
        print_json(facts.to_json())
        return
    rows = [
        [name, f"{ns:.2f}", f"{facts.ratio_copy[name]:.1f}"]
        for name, ns in facts.ns_per_number.items()
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
    _drawable(plot)
    from dpdl.bench.workloads import workloads

    cases = workloads(algorithms, graphs, agents, model, batch, repeats)

    from dpdl.bench.rounds import measure_rounds
    from dpdl.pages.speed import draw_costs

    def begin(case: Workload) -> None:
        click.echo(f"{case.algorithm}, {case.graph} of {case.agents} ...", err=True)

    facts = measure_rounds(cases, begin)
    record("rounds", facts, save)
    if plot:
        draw_costs(facts.rows, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        print_json(facts.to_json())
    else:
        _show_rounds(facts, f"rounds, {model}, B = {batch}")


def _show_rounds(facts: RoundCosts, title: str) -> None:
    head = ["algorithm", "graph", "agents", "edges", "s / round", *SHARES, "MB"]
    _table(title, head, [_cells(row) for row in facts.rows])
    if facts.complete_30_over_10 is not None:
        click.echo(
            "dpdl, complete graph: 30 agents cost "
            f"{facts.complete_30_over_10:.2f} times as much as 10"
        )
    if facts.overhead_bipartite_10 is not None:
        click.echo(
            f"dpdl, bipartite, 10 agents: {facts.overhead_bipartite_10:.0%} is "
            "neither gradients nor noise"
        )
    seconds = facts.rows[-1].evaluation_seconds_per_agent
    click.echo(f"testing one agent's model on 10,000 records: {seconds:.3f} s")


def _cells(row: RoundCost) -> list[str]:
    share = row.share
    noise = share.noise, share.secrets
    parts = (share.gradients, *noise, share.exchange, share.other)
    return [
        row.algorithm,
        row.graph,
        str(row.agents),
        str(row.edges),
        f"{row.seconds_per_round:.3f}",
        *("-" if part is None else f"{part:.0%}" for part in parts),
        f"{row.peak_memory_mb:.0f}",
    ]


# ------------------------------------------------------------------ start-up
@bench.command()
@path_option("--old", "the folder of an older checkout, measured in turn with this one")
@click.option(
    "--processor", is_flag=True, help="seconds of the processor, not of the clock"
)
@bench_options
def startup(
    old: Path | None, processor: bool, repeats: int, save: Path | None, as_json: bool
) -> None:
    """Seconds until every command has shown its help, or refused what is wrong."""
    _at_least_one(repeats=repeats)
    from dpdl.bench.startup import measure_startup, processor_seconds

    clock = processor_seconds if processor else time.perf_counter
    facts = measure_startup(repeats, old, clock=clock)
    record("startup", facts, save)
    if as_json:
        print_json(facts.to_json())
    else:
        _show_startup(facts)


def _show_startup(facts: Startup) -> None:
    here, before = facts.seconds or {}, facts.seconds_old or {}
    head = ["dpdl ...", *(["seconds, old"] if before else []), "seconds"]
    rows = [
        [name, *([f"{before[name]:.2f}"] if before else []), f"{here[name]:.2f}"]
        for name in here
    ]
    _table("seconds until a command has answered", head, rows)


# ------------------------------------------------------------------ peers
@bench.command()
@click.option("--members", default=4, show_default=True, help="sites on a ring")
@click.option("--rounds", default=40, show_default=True, help="rounds to measure")
@click.option(
    "--delay", default=25.0, show_default=True, help="milliseconds of a slow link"
)
@click.option(
    "--repeats", default=3, show_default=True, help="repeats; medians are reported"
)
@path_option("--save", f"history file [{HISTORY}, if there]")
@json_option()
def peers(
    members: int,
    rounds: int,
    delay: float,
    save: Path | None,
    repeats: int,
    as_json: bool,
) -> None:
    """Processes of several sites: bytes, processor, fsyncs, delays, beside one process."""
    _at_least_one(rounds=rounds, repeats=repeats)
    if members < FEWEST:
        raise InputError(f"members must be at least {FEWEST}, not {members}.")
    if not 0 < delay <= LONGEST:
        raise InputError(f"delay must be above 0 and at most {LONGEST}, not {delay:g}.")
    need(PEER, "The measurement of peers")
    from dpdl.peer.bench import measure_peers

    # As Ctrl-C does: the sites are ended, and their folders removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def begin(what: str) -> None:
        click.echo(f"{what} ...", err=True)

    facts = measure_peers(members, rounds, delay, repeats, begin)
    record("peers", facts, save)
    if as_json:
        print_json(facts.to_json())
    else:
        _show_peers(facts)


def _show_peers(facts: PeerCosts) -> None:
    head = [
        "model",
        "records",
        "KB sent",
        "over what must be",
        "CPU ms",
        "aim",
        "alone",
    ]
    rows = [
        [
            one.model,
            one.form,
            f"{one.wire_bytes / 1e3:.1f}",
            f"{one.wire_ratio - 1:.2%}",
            f"{one.cpu_ms:.1f}",
            f"{one.allowed_cpu_ms:.1f}",
            f"{one.alone_cpu_ms:.1f}",
        ]
        for one in facts.costs
    ]
    _table(
        f"a peer's round, {facts.members} members, load {facts.load:.1f}", head, rows
    )
    for sync in facts.syncs or ():
        click.echo(f"{sync.algorithm}: {sync.a_round:.2f} fsyncs a round")
    if facts.syncs is None:
        click.echo("fsyncs were not counted: there is no strace here")
    delayed = facts.delayed
    click.echo(
        f"links of {delayed.delay_ms:g} ms: {delayed.round_ms:.0f} ms a round, without "
        f"{delayed.round_ms_without:.0f}: {delayed.one_way_delays:.2f} one-way delays"
    )


# ------------------------------------------------------------------ two checkouts
@bench.command()
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD")
@path_option("--new", "another checkout instead of this one")
@click.option(
    "--benches",
    default="gradients,rounds",
    show_default=True,
    help="names, separated by commas",
)
@click.option("--graphs", default="ring,complete", show_default=True, help="of rounds")
@click.option("--agents", default="10", show_default=True, help="of rounds")
@click.option("--batch", default=216, show_default=True, help="samples of a batch")
@click.option(
    "--inner",
    default=5,
    show_default=True,
    help="repeats within one measurement, of which the median counts",
)
@bench_options
def against(
    old: Path,
    new: Path | None,
    benches: str,
    graphs: str,
    agents: str,
    batch: int,
    inner: int,
    repeats: int,
    save: Path | None,
    as_json: bool,
) -> None:
    """Compare this checkout with an older one: ratios old / new, above 1 is better now.

    OLD is the folder of a checkout, for instance made by `git worktree add ../old TAG`, with its
    kernels compiled by `python setup.py build_ext --inplace`. Both are measured in turn by the same
    Python, `--repeats` times. Ratios of torch_func, opacus and plain_backward, which are not our
    code, show the error of the others.
    """
    _at_least_one(batch=batch, inner=inner, repeats=repeats)
    from dpdl.bench.checkouts import THIS, compare_checkouts, refuse_no_checkout

    commands = _commands(benches, graphs, agents, batch, inner)
    this = new or THIS
    for checkout in (old, this):
        refuse_no_checkout(checkout)

    def begin(repeat: int, whose: str, name: str) -> None:
        click.echo(f"{repeat + 1} of {repeats}: {whose}, {name} ...", err=True)

    facts = compare_checkouts(old, this, commands, repeats, begin)
    record("against", facts, save)
    if as_json:
        print_json(facts.to_json())
    else:
        _show_ratios(facts)


def _commands(
    benches: str, graphs: str, agents: str, batch: int, inner: int
) -> list[BenchCommand]:
    from dpdl.bench.checkouts import READERS, BenchCommand

    common = ("--batch", str(batch), "--repeats", str(inner))
    more = {"rounds": ("--graphs", graphs, "--agents", agents)}
    chosen = benches.split(",")
    for name in chosen:
        if name not in READERS:
            raise unknown("benchmark", name, READERS)
    return [BenchCommand(name, (*common, *more.get(name, ()))) for name in chosen]


def _show_ratios(facts: CheckoutRatios) -> None:
    rows = [
        [
            f"{row.bench}: {row.what}",
            f"{row.old:.3g}",
            f"{row.new:.3g}",
            row.unit,
            f"{row.ratio:.2f}",
        ]
        for row in facts.rows
    ]
    title = f"{facts.old} (old) and {facts.new} (new), medians of {facts.repeats}"
    _table(title, ["what", "old", "new", "unit", "old / new"], rows)


def _drawable(plot: Path | None) -> None:
    if plot:
        need(PLOTS, f"The picture {str(plot)!r}")


def _at_least_one(**values: int) -> None:
    for name, value in values.items():
        count(name, value)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    table = FittingTable(title, head)
    for row in rows:
        table.add(*row)
    table.show(Console())
