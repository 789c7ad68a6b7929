"""`dpdl bench peers`: what processes of their own cost, beside the same in one process."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import final

from dpdl.net import Net
from dpdl.parallel import one_thread_per_operation
from dpdl.peer.bench_sites import BenchSites, PeerCase, Seen
from dpdl.peer.outgoing import outgoing
from dpdl.peer.plan import first_view, own_site, public_plan
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.site import AgentRecords, Site
from dpdl.privacy.noise import Secure
from dpdl.records import Record, absent

FIRST = 4
"""The round from which is measured: the first ones fill caches and open connections."""
DPDL, DPSGD = "dpdl-sound", "dp-dpsgd"
WORK = (("digits", "mlp"), ("small", "lenet"), ("mnist", "lenet"))
"""Forms of records, and models: LeNet does not take records as small as digits."""


@final
@dataclass(frozen=True)
class PeerCost(Record):
    """Of a peer in a round: medians of some repeats, each with sites of its own."""

    form: str
    model: str
    parameters: int
    algorithm: str
    rounds: int
    wire_bytes: float  # with TLS, HTTP, headers, and a round's share of the greetings
    needed_bytes: float  # rows that the algorithm sends
    wire_ratio: float
    cpu_ms: float
    alone_cpu_ms: float  # the agent's share of the same round in one process
    cpu_ratio: float  # of what is above 15 ms
    cpu_ms_each: tuple[float, ...] | None = absent()  # of every repeat
    alone_cpu_ms_each: tuple[float, ...] | None = absent()

    @property
    def allowed_cpu_ms(self) -> float:
        """What we aim at."""
        return AIM * self.alone_cpu_ms + ALLOWED_MS


@final
@dataclass(frozen=True)
class SyncCost(Record):
    """fsync and fdatasync of a peer, by strace."""

    algorithm: str
    a_round: float
    others_a_second: float  # status.json, and what else follows the clock


@final
@dataclass(frozen=True)
class DelayCost(Record):
    """Rounds of three exchanges over links that take time, beside the same without; medians."""

    delay_ms: float
    round_ms: float
    round_ms_without: float
    one_way_delays: float
    one_way_delays_each: tuple[float, ...] | None = absent()  # of every repeat


@final
@dataclass(frozen=True)
class PeerCosts(Record):
    """All that is measured; what cannot be here is None."""

    members: int
    load: float  # of the machine, when it began: above 0, others ran
    costs: tuple[PeerCost, ...]
    syncs: tuple[SyncCost, ...] | None  # None: there is no strace
    delayed: DelayCost


Begin = Callable[[str], None]
AIM, ALLOWED_MS = 1.3, 15.0
"""A peer should take so many times the share of an agent, and so much more."""


def measure_peers(
    members: int, rounds: int, delay_ms: float, repeats: int, begin: Begin
) -> PeerCosts:
    """All measurements; `begin` hears what is done next.

    Repeats go through all models before the next one begins: where the machine is slower for a
    while, it is so for all.
    """
    load = os.getloadavg()[0]
    base = PeerCase(DPDL, "digits", "lenet", 60, members, rounds + FIRST + 2)
    found: list[list[PeerCost]] = [[] for _ in WORK]
    for repeat in range(repeats):
        for costs, (form, model) in zip(found, WORK, strict=True):
            begin(f"bytes and processor, {model} on {form}, {repeat + 1} of {repeats}")
            costs.append(peer_cost(replace(base, form=form, model=model)))
    small = replace(base, model="mlp", batch=16)
    syncs = None
    if shutil.which("strace"):
        syncs = tuple(_syncs(small, name, begin) for name in (DPDL, DPSGD))
    begin(f"links of {delay_ms:g} ms")
    delayed = delay_cost(small, delay_ms, repeats)
    return PeerCosts(members, load, tuple(map(medians, found)), syncs, delayed)


def peer_cost(case: PeerCase) -> PeerCost:
    """Bytes and processor of a peer in a round, beside one process."""
    with tempfile.TemporaryDirectory() as folder:
        sites = BenchSites(case, Path(folder))
        first, last, whole = _to_the_end(sites)
        alone = alone_seconds(sites)
        plan = _plan(sites)
    passed = whole / case.rounds
    needed = sum(_needed(plan, k) for k in range(case.members))
    used = sum(last.processor) - sum(first.processor)
    cpu, share = 1e3 * used / _rounds(first, last) / case.members, 1e3 * alone
    return PeerCost(
        form=case.form,
        model=case.model,
        parameters=plan.task.size,
        algorithm=case.algorithm,
        rounds=round(_rounds(first, last)),
        wire_bytes=passed / case.members,
        needed_bytes=needed / case.members,
        wire_ratio=passed / needed,
        cpu_ms=cpu,
        alone_cpu_ms=share,
        cpu_ratio=(cpu - ALLOWED_MS) / share,
        cpu_ms_each=(cpu,),
        alone_cpu_ms_each=(share,),
    )


def medians(costs: Sequence[PeerCost]) -> PeerCost:
    """Several repeats of one measurement as one."""
    cpu = median(one.cpu_ms for one in costs)
    share = median(one.alone_cpu_ms for one in costs)
    return replace(
        costs[0],
        wire_bytes=median(one.wire_bytes for one in costs),
        wire_ratio=median(one.wire_ratio for one in costs),
        cpu_ms=cpu,
        alone_cpu_ms=share,
        cpu_ratio=(cpu - ALLOWED_MS) / share,
        cpu_ms_each=tuple(one.cpu_ms for one in costs),
        alone_cpu_ms_each=tuple(one.alone_cpu_ms for one in costs),
    )


def sync_cost(case: PeerCase) -> SyncCost:
    """What a peer makes durable in a round."""
    with tempfile.TemporaryDirectory() as folder:
        first, last = _window(BenchSites(replace(case, traced=True), Path(folder)))
    each = (last.syncs - first.syncs) / case.members
    others = (last.other_syncs - first.other_syncs) / case.members
    seconds = last.time - first.time
    return SyncCost(case.algorithm, each / _rounds(first, last), others / seconds)


def delay_cost(case: PeerCase, delay_ms: float, repeats: int) -> DelayCost:
    """How many one-way delays a round takes beyond what it takes without."""
    slow = replace(case, delay=delay_ms / 1e3)
    rounds = [
        (1e3 * _round_seconds(case), 1e3 * _round_seconds(slow)) for _ in range(repeats)
    ]
    more = [(delayed - quick) / delay_ms for quick, delayed in rounds]
    return DelayCost(
        delay_ms=delay_ms,
        round_ms=median(delayed for _, delayed in rounds),
        round_ms_without=median(quick for quick, _ in rounds),
        one_way_delays=median(more),
        one_way_delays_each=tuple(more),
    )


def alone_seconds(sites: BenchSites) -> float:
    """Processor seconds of one agent's share of a round, all agents in this process."""
    plan, view = _plan(sites), first_view(sites.runs[0].manifest())
    randomness = Secure()
    records: dict[int, AgentRecords] = {}
    manifest = sites.runs[0].manifest()
    for home in sites.homes:
        file = str(home.data_file("random"))
        found = own_site(manifest, view, plan, home.name, file, randomness)
        records |= found.records
    site = Site(plan, records, {}, False, randomness)
    net = Net(view.graph)
    state = plan.algorithm.init(plan.task.initial.repeat(len(records), 1))
    began, rounds = 0.0, sites.case.rounds
    with one_thread_per_operation():
        for t in range(1, rounds + 1):
            if t == FIRST:
                began = time.process_time()
            batches = site.batches(net.agents, t)
            state, _ = plan.algorithm.round(state, batches, net, site.grad, t)
    return (time.process_time() - began) / (rounds - FIRST + 1) / len(records)


def _syncs(case: PeerCase, algorithm: str, begin: Begin) -> SyncCost:
    begin(f"fsyncs, {algorithm}")
    return sync_cost(replace(case, algorithm=algorithm))


def _window(sites: BenchSites) -> tuple[Seen, Seen]:
    """Two moments, with the rounds to be measured between them."""
    try:
        sites.start()
        return sites.wait_for(FIRST), sites.wait_for(sites.case.rounds - 1)
    finally:
        sites.close()


def _to_the_end(sites: BenchSites) -> tuple[Seen, Seen, int]:
    """The same moments, and the bytes of the whole run.

    Peers are never at the same place of a round, so bytes between two moments would be wrong by up
    to a round. Those of a whole run are exact; greetings and handshakes are among them.
    """
    try:
        sites.start()
        first, last = sites.wait_for(FIRST), sites.wait_for(sites.case.rounds - 1)
        return first, last, sites.finish()
    finally:
        sites.close()


def _round_seconds(case: PeerCase) -> float:
    with tempfile.TemporaryDirectory() as folder:
        first, last = _window(BenchSites(case, Path(folder)))
    return (last.time - first.time) / _rounds(first, last)


def _rounds(first: Seen, last: Seen) -> float:
    """Rounds between two moments, the mean of all peers."""
    return (sum(last.rounds) - sum(first.rounds)) / len(first.rounds)


def _plan(sites: BenchSites) -> PublicPlan:
    run = sites.runs[0]
    manifest = run.manifest()
    return public_plan(manifest, first_view(manifest), run.initial())


def _needed(plan: PublicPlan, number: int) -> float:
    return sum(one.bytes for one in outgoing(plan, number)) / plan.algorithm.period
