"""Prints what `dpdl bench` has measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from dpdl.cli.tables import FittingTable
from dpdl.terminal import Console

if TYPE_CHECKING:
    from dpdl.folder.bench_results import (
        CheckoutRatios,
        GradientSpeeds,
        NoiseSpeeds,
        RoundCost,
        RoundCosts,
        Startup,
    )
    from dpdl.peer.bench import PeerCosts

SHARES = ("gradients", "noise", "secrets", "exchange", "other")


def show_gradients(facts: GradientSpeeds) -> None:
    """Every way to compute them, beside the fused one."""
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


def show_noise(facts: NoiseSpeeds) -> None:
    """Both kinds of noise, beside a plain copy."""
    rows = [
        [name, f"{ns:.2f}", f"{facts.ratio_copy[name]:.1f}"]
        for name, ns in facts.ns_per_number.items()
    ]
    head = ["way", "ns per number", "times a copy"]
    _table(f"noise, a row of {facts.entries:,} numbers", head, rows)


def show_rounds(facts: RoundCosts, title: str) -> None:
    """A line for every case, and ratios where they were measured."""
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


def show_startup(facts: Startup) -> None:
    """A line for every command; two numbers where an older checkout was measured."""
    here, before = facts.seconds or {}, facts.seconds_old or {}
    head = ["dpdl ...", *(["seconds, old"] if before else []), "seconds"]
    rows = [
        [name, *([f"{before[name]:.2f}"] if before else []), f"{here[name]:.2f}"]
        for name in here
    ]
    _table("seconds until a command has answered", head, rows)


def show_peers(facts: PeerCosts) -> None:
    """What a peer sends, computes, makes durable and waits for."""
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


def show_ratios(facts: CheckoutRatios) -> None:
    """Old, new, and the ratio of the two."""
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


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = FittingTable(title, head)
    for row in rows:
        table.add(*row)
    table.show(Console())
