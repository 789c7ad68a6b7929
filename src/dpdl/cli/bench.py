"""`dpdl bench`: gradients, noise, rounds, start-up, peers, and two checkouts against each other."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
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
    from dpdl.folder.bench_results import Workload

FEWEST = 4
"""Sites: a ring of three is complete, where one process computes equal models only once."""
LONGEST = 10_000
"""Milliseconds of a slow link."""


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
    from dpdl.cli.bench_show import show_gradients
    from dpdl.pages.speed import draw_speeds

    facts = measure_gradients(batch, pairs, repeats)
    record("gradients", facts, save)
    if plot:
        draw_speeds(facts, plot)
        click.echo(f"picture: {plot}", err=True)
    if as_json:
        print_json(facts.to_json())
    else:
        show_gradients(facts)


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
    from dpdl.cli.bench_show import show_noise

    facts = measure_noise(entries, repeats)
    record("noise", facts, save)
    if as_json:
        print_json(facts.to_json())
    else:
        show_noise(facts)


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
    from dpdl.cli.bench_show import show_rounds
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
        show_rounds(facts, f"rounds, {model}, B = {batch}")


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
    from dpdl.cli.bench_show import show_startup

    clock = processor_seconds if processor else time.perf_counter
    facts = measure_startup(repeats, old, clock=clock)
    record("startup", facts, save)
    if as_json:
        print_json(facts.to_json())
    else:
        show_startup(facts)


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
    from dpdl.cli.bench_show import show_peers
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
        show_peers(facts)


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
    from dpdl.cli.bench_show import show_ratios

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
        show_ratios(facts)


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


def _drawable(plot: Path | None) -> None:
    if plot:
        need(PLOTS, f"The picture {str(plot)!r}")


def _at_least_one(**values: int) -> None:
    for name, value in values.items():
        count(name, value)
