"""A round is given state, batches, a net and a gradient, and finds nothing else from there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

import pytest
import torch

from dpdl.folder.ledger import Ledger
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.states import States
from dpdl.net.net import Exit
from dpdl.planning.plan import Plan
from dpdl.planning.site import AgentRecords, Site
from dpdl.tasks.data import Dataset
from dpdl.training.control import Control
from dpdl.training.instruments import Experimenter, PublicInstruments
from dpdl.training.loop import Loop
from dpdl.training.train import launch
from dpdl.transport import Alone, Gloo, Post, Threads
from tests.training.links import altered, apart, with_algorithm
from tests.training.small import changed, planned

OUT_OF_REACH = (
    *(Alone, Threads, Gloo, Post, Exit, Control, Experimenter, PublicInstruments),
    *(Loop, Ledger, RunFolder, States, Site, Plan, AgentRecords, Dataset, Path),
)
VERBS = ("collect", "share", "agree", "swap", "gather", "digests", "save", "debit")
"""What only processes and experimenters do to each other."""
NEIGHBOURS = 50_000


def inside(thing: object) -> Iterator[object]:
    """What an algorithm gets at by attributes, items, closures and bound methods."""
    if isinstance(thing, dict):
        yield from thing.values()
        yield from thing.keys()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, MethodType):
        yield thing.__self__
        yield thing.__func__
    elif isinstance(thing, FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())
        yield from thing.__defaults__ or ()
    for name in dir(thing):
        if name.startswith("__"):
            continue
        try:
            yield getattr(thing, name)
        except Exception:
            continue


def reached(*start: object) -> list[object]:
    """Everything that can be got at; modules, classes and plain values are not entered."""
    plain = (ModuleType, type, str, bytes, int, float, complex, bool, type(None))
    seen: dict[int, object] = {}
    left = list(start)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, plain):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, torch.Tensor) or type(thing).__module__ == "numpy":
            continue
        left += inside(thing)
        assert len(seen) < NEIGHBOURS, "the walk does not end"
    return list(seen.values())


def looked_around(blobs: Dataset, placement, tmp_path: Path, **options) -> list[object]:
    """What the rounds of a run could get at, in all its processes."""
    p = planned(blobs, changed(rounds=2, **options))
    honest, found, lock = p.algorithm, [], threading.Lock()

    def round(self, state, batches, net, grad, t):
        with lock:
            found.extend(reached(state, batches, net, grad, t))
        return honest.round(state, batches, net, grad, t)

    curious = with_algorithm(p, altered(honest, round=round))
    launch(curious, out=tmp_path / "run", placement=placement, watch=None)
    return found


@pytest.mark.parametrize("options", [{}, {"randomness": "secure"}], ids=str)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_round_reaches_neither_transport_nor_instruments(
    blobs: Dataset, tmp_path: Path, processes: int, options: dict
) -> None:
    placement = "alone" if processes == 1 else apart(2)
    found = looked_around(blobs, placement, tmp_path, **options)
    assert len(found) > 100
    strangers = [one for one in found if isinstance(one, OUT_OF_REACH)]
    assert strangers == []
    doers = [one for one in found if any(hasattr(one, verb) for verb in VERBS)]
    assert [one for one in doers if not isinstance(one, torch.Tensor)] == []


def test_a_round_sees_the_batches_of_the_agents_hosted_here_and_no_other_record(
    blobs: Dataset, tmp_path: Path
) -> None:
    """No tensor within reach has as many rows as an agent has records, or the whole data set."""
    found = looked_around(blobs, apart(2), tmp_path, batch=4)
    tensors = [one for one in found if isinstance(one, torch.Tensor)]
    images = [one for one in tensors if one.shape[1:] == (1, 5, 5)]
    assert images
    assert max(map(len, images)) < 40


def test_the_walk_would_find_a_transport() -> None:
    """The check can fail: through an attribute, a closure, a bound method or a list."""
    post = Post(Alone())

    class Careless:
        def __init__(self) -> None:
            self._hidden = {"deep": [lambda: post]}

    for thing in (post.swap, Careless(), [post], lambda rows=post: rows):
        assert any(isinstance(one, Alone | Post) for one in reached(thing))
