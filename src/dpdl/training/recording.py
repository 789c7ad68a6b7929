"""Recording what leaves: what an adversary on the wire sees, what everybody knows, and no more.

`recording/public.json` has what is public: the algorithm's options without the seed, the graph, the
model's name, how pixels become numbers. `recording/ROUND.safetensors` has the messages of a round,
`recording/ROUND-bB.safetensors` those of the same round played with batches of B records each,
`recording/ROUND-bB-after.safetensors` those of the round after
it, played so too, and `recording/index.json` lists them.

The rounds before and after each requested one are recorded too: an adversary compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import final

import torch
from safetensors.torch import save
from torch import Tensor

from dpdl.algorithms import State
from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.files import read_record, write, write_json
from dpdl.folder.recording_facts import PublicFacts, RecordingIndex
from dpdl.keys import digest
from dpdl.net import Gate, Leaving, Net
from dpdl.planning.plan import Plan
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.site import Site
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.sampling import FixedSize
from dpdl.training.recording_request import RecordingRequest

FOLDER = names.RECORDING
MEGABYTE = 10**6


def check(request: RecordingRequest, plan: Plan) -> None:
    """Refuse what cannot be recorded."""
    if plan.privacy.centre is not None:
        raise InputError(
            "A run with a centre cannot be recorded: attacks do not know centres of features."
        )
    last = plan.experiment.rounds
    for t in request.rounds:
        if not 1 <= t <= last:
            raise InputError(
                f"Round {t} cannot be recorded: the run has rounds 1 to {last}."
            )
    fewest = min(map(len, plan.everybody.records.values()))
    for size in request.batches:
        if not 1 <= size <= fewest:
            raise InputError(
                f"A recorded batch must have 1 to {fewest} records (some agent has no more), not "
                f"{size}."
            )
    if request.batches and not plan.randomness.repeatable:
        raise InputError(
            "Batches of other sizes are extra releases: with secure randomness only the run itself "
            "is recorded."
        )
    present = {(int(i), int(j)) for i, j in plan.graph.edges if i != j}
    for i, j in sorted((request.links or set()) - present):
        raise InputError(
            f"Link {i}-{j} cannot be recorded: the graph has no such edge."
        )


def with_batches_of(site: Site, size: int) -> Site:
    """The same site with batches of another size, from streams of their own."""
    seed = site.plan.experiment.seed
    randomness = Reproducible(digest(seed, "batches of another size", size) % 2**62)
    mechanism = site.plan.mechanism
    exact = FixedSize(size, mechanism.declared)
    return site.altered(replace(mechanism, sampling=exact), randomness)


def play_aside(site: Site, state: State, recorder: Recorder, size: int, t: int) -> None:
    """Play rounds t and t + 1 with batches of another size; then forget them.

    They begin with the state before round t.
    """
    aside = with_batches_of(site, size)
    plan = aside.plan
    net = Net(plan.graph, observers=[Gate(plan.releases), recorder])
    for later in (False, True):
        now = t + later
        with recorder.round(t, size, later):
            batches = aside.batches(net.agents, now)
            state, _ = plan.algorithm.round(state, batches, net, aside.grad, now)


@final
@dataclass
class Recorder:
    """An observer at the exit that writes what passes while a round is open."""

    folder: Path
    request: RecordingRequest
    _parts: dict[str, list[Leaving]] | None = None  # of the open round, while it fits
    _held: int = 0  # bytes of it
    _sizes: dict[str, int] = field(
        default_factory=dict
    )  # bytes of the files that were written
    _full: str | None = None  # the first file that did not fit

    def start(self, plan: PublicPlan) -> None:
        """Write what is public, or go on with a recording that is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        index = self.folder / names.RECORDED_ROUNDS
        if index.exists():  # a run that is resumed
            known = read_record(RecordingIndex, index)
            self._sizes = dict(zip(known.files, known.sizes, strict=True))
            self._full = known.full
        else:
            write_json(self.folder / names.PUBLIC_FACTS, public(plan).to_json())
            self._list()

    def __call__(self, leaving: Leaving) -> None:
        """Keep messages of the chosen links, each row once, as long as there is room for them."""
        if self._parts is None:
            return
        links = self.request.links
        kept = [
            k
            for k, (i, j) in enumerate(leaving.edges.tolist())
            if links is None or (i, j) in links
        ]
        used, at = leaving.at[kept].unique(return_inverse=True)
        self._held += len(used) * leaving.rows[0].nbytes
        if self._room() < self._held:
            self._parts = None
        else:
            again = Leaving(
                leaving.channel, leaving.edges[kept], leaving.rows[used].clone(), at
            )
            self._parts.setdefault(leaving.channel, []).append(again)

    def _room(self) -> int:
        return (
            0
            if self._full
            else self.request.megabytes * MEGABYTE - sum(self._sizes.values())
        )

    @contextmanager
    def round(
        self, t: int, batch: int | None = None, later: bool = False
    ) -> Iterator[None]:
        """Record what passes; afterwards it is on the disk."""
        name = names.recorded_round(t, batch, later)
        self._sizes.pop(name, None)  # a round that is played again after a crash
        self._parts, self._held = {}, 0
        try:
            yield
            self._write(name)
        finally:
            self._parts = None

    def _write(self, name: str) -> None:
        content = None if self._parts is None else save(_tensors(self._parts))
        if content is not None and len(content) <= self._room():
            write(self.folder / name, content)
            self._sizes[name] = len(content)
        else:
            self._full = self._full or name
        self._list()

    def _list(self) -> None:
        request = self.request
        links = None if request.links is None else tuple(sorted(request.links))
        index = RecordingIndex(
            request.rounds,
            request.batches,
            links,
            request.megabytes,
            tuple(self._sizes),
            tuple(self._sizes.values()),
            self._full,
        )
        write_json(self.folder / names.RECORDED_ROUNDS, index.to_json())


def _tensors(parts: dict[str, list[Leaving]]) -> dict[str, Tensor]:
    """Of every channel: edges, rows, and which row went over which edge."""
    found: dict[str, Tensor] = {}
    for channel, pieces in parts.items():
        before = accumulate((len(piece.rows) for piece in pieces), initial=0)
        found[f"{channel}.edges"] = torch.cat([piece.edges for piece in pieces])
        found[f"{channel}.rows"] = torch.cat([piece.rows for piece in pieces])
        found[f"{channel}.at"] = torch.cat(
            [piece.at + n for piece, n in zip(pieces, before, strict=False)]
        )
    return found


def public(plan: PublicPlan) -> PublicFacts:
    """What everybody knows. The seed is not in it: it would tell batches and noise."""
    e, form = plan.experiment.to_json(), plan.form
    rows: list[list[float]] = plan.graph.W.tolist()
    return PublicFacts(
        experiment={name: value for name, value in e.items() if name != "seed"},
        sigma=plan.mechanism.noise_multiplier,
        W=tuple(map(tuple, rows)),
        graph=plan.graph.name,
        shape=tuple(form.shape),
        classes=form.outputs,
        mean=tuple(form.mean),
        std=tuple(form.std),
        parameters={name: tuple(of) for name, of in plan.task.shapes.items()},
    )
