"""A round is given state, batches, a net and a gradient, and finds nothing else from there.

The walk follows attributes, items, closures, methods, weak references, and the frames of generators.
It does not follow the globals of functions, classes and modules, nor the stack: Python shows these to
any code. Therefore our own algorithms must not use them, which is checked in their source.
"""

from __future__ import annotations

import ast
import functools
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)

import pytest
import torch

from dpdl import algorithms
from dpdl.folder.ledger import Ledger
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.states import States
from dpdl.net.net import Exit
from dpdl.planning.plan import Plan
from dpdl.planning.site import AgentRecords, Site
from dpdl.tasks.data import Dataset
from dpdl.training.control import Control
from dpdl.training.instruments import Experimenter, PublicInstruments
from dpdl.training.launch import launch
from dpdl.training.loop import Loop
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
    """What an algorithm gets at by attributes, items, closures, bound methods and generators."""
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
        yield from (thing.__kwdefaults__ or {}).values()
        yield from vars(thing).values()
    elif isinstance(thing, BuiltinFunctionType):
        yield thing.__self__
    elif isinstance(thing, GeneratorType) and thing.gi_frame is not None:
        yield from thing.gi_frame.f_locals.values()
    elif isinstance(thing, weakref.ref):
        yield thing()
    yield from getattr(thing, "__dict__", {}).values()
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
    plain += (FrameType,)
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


class Unchanged:
    """A codec that changes nothing."""

    def encode(self, answers, visits, numbers):
        return answers

    def decode(self, got, like):
        return got


UNCHANGED = Unchanged()


def looked_around(blobs: Dataset, placement, tmp_path: Path, **options) -> list[object]:
    """What the rounds of a run could get at, in all its processes."""
    p = planned(blobs, changed(rounds=2, **options))
    honest, found, lock = p.algorithm, [], threading.Lock()

    def round(self, state, batches, net, grad, t):
        context = net.replies_as(UNCHANGED)
        with context, lock:
            parts = []
            net.by_part(1, lambda part: parts.append(part) or {})
            given = (state, batches, net, grad, t, net.on(net.graph), context, parts)
            found.extend(reached(*given))
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
    """The check can fail: for everything that may hold another thing."""
    post = Post(Alone())

    class Careless:
        def __init__(self) -> None:
            self._hidden = {"deep": [lambda: post]}

    class Slotted:
        __slots__ = ("_hidden",)

        def __init__(self) -> None:
            self._hidden = post

    def generator() -> Iterator[int]:
        kept = post
        yield 1
        del kept

    def keyword(*, to: Post = post) -> Post:
        return to

    def attribute() -> None: ...

    attribute.kept = post
    waiting = generator()
    next(waiting)
    ways = (
        *(post.swap, Careless(), Slotted(), [post], lambda rows=post: rows, waiting),
        *(keyword, attribute, functools.partial(print, post), weakref.ref(post)),
        *([post].append, functools.cache(lambda: post)),
    )
    for thing in ways:
        assert any(isinstance(one, Alone | Post) for one in reached(thing)), thing


# ------------------------------------------------------------------ our own algorithms
ALGORITHMS = Path(algorithms.__file__).parent
LOOKING = {"gc", "inspect", "sys", "importlib", "ctypes", "threading", "socket"}
"""Modules by which code looks at what it was not given."""
ROUNDS = sorted(
    file
    for file in ALGORITHMS.glob("*.py")
    if "def round(" in file.read_text("utf-8") or file.stem in ("muffliato", "base")
)


def ways_around(source: str) -> list[str]:
    """Private attributes of other objects, special ones, and modules that look around."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            of_itself = isinstance(node.value, ast.Name) and node.value.id == "self"
            special = node.attr.startswith("__")
            if (special or not of_itself) and node.attr not in ("__name__", "_replace"):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in LOOKING]
        elif isinstance(node, ast.ImportFrom):
            private = [a.name for a in node.names if a.name.startswith("_")]
            looking = (node.module or "").split(".")[0] in LOOKING
            found += private + [node.module or ""] * looking
        elif isinstance(node, ast.Name) and node.id in ("globals", "vars", "getattr"):
            found.append(node.id)
    return found


@pytest.mark.parametrize("file", ROUNDS, ids=lambda file: file.stem)
def test_an_algorithm_uses_what_it_is_given_and_nothing_behind_it(file: Path) -> None:
    assert ways_around(file.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "net._whole._net",
        "net.send.__globals__",
        "import gc",
        "from inspect import stack",
        "from dpdl.net.net import _EXITS",
        "vars(net)",
    ],
)
def test_a_way_around_would_be_found(line: str) -> None:
    assert ways_around(line)
