"""What a notebook shows by itself holds no record, no number of one, no count of them, and no seed."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.algorithms import PDSL, AsyncDPSGD, Info
from dpdl.algorithms.disclosure import Activated
from dpdl.attacks.candidates import Candidates
from dpdl.attacks.harness import AttackCase, Reconstructions
from dpdl.folder.checkpoint import restore
from dpdl.net import Net
from dpdl.privacy.clipping import Clipped
from dpdl.training.result import Result
from dpdl.types import ClippedSum
from tests.conftest import small_module
from tests.training.small import changed, train

SEED = 987_654_321
MOST = 300
SOURCE = Path(dpdl.__file__).parent
PUBLIC = {
    *("Visits", "Graph", "Leaving", "Target", "Layer", "Problem", "Found"),
    "Score",  # a function of tensors
}
"""Classes with tensors whose generated repr may stay: the graph, and what was heard on the wire."""


@pytest.fixture(scope="module")
def result(blobs, tmp_path_factory) -> Result:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return train(
        blobs,
        changed(
            seed=SEED, rounds=3, partition="dirichlet-class", algorithm="dpdl-sound"
        ),
        out=folder,
    )


@pytest.fixture(scope="module")
def shown(result: Result) -> dict[str, object]:
    """Everything that holds records, or what was computed from them, or the seed."""
    p = result.plan
    net = Net(p.graph)
    batches = p.batches(net.agents, 1)
    sent = net.send("model", p.task.initial.repeat(len(p.graph), 1))
    answers = p.grad.answers(sent, batches, net.visits, 1)
    images = torch.rand(1, 1, 1, 5, 5)
    numbers = torch.zeros(1, 1)
    return {
        "result": result,
        "plan": p,
        "data": p.data,
        "task": p.task,
        "gradient": p.grad,
        "randomness": p.grad.randomness,
        "privacy": p.privacy,
        "public": p.public,
        "site": p.everybody,
        "records": p.everybody.records,
        "mechanism": p.public.mechanism,
        "stated": p.stated,
        "batch": batches[0],
        "sent": sent,
        "answers": answers,
        "clipped": answers.about[0],
        "full": Clipped(torch.rand(9), 1.5, 8, 3, 8, 0),
        "sum": ClippedSum(torch.rand(9), 1.5, 3, 0),
        "info": Info({"train_loss": torch.rand(5)}),
        "checkpoint": restore(Path(result.summary["run_dir"]) / "state.safetensors"),
        "async": AsyncDPSGD(0.1, SEED),
        "pdsl": PDSL(0.1, 0.5, 8, 100, SEED),
        "activated": Activated(SEED),
        "candidates": Candidates(images[0], numbers[0]),
        "reconstructions": Reconstructions(
            AttackCase("cg", 1, 1), "method", images, images, numbers, numbers, numbers
        ),
    }


def test_no_repr_holds_a_record_a_count_or_the_seed(
    result: Result, shown: dict[str, object]
) -> None:
    counts = [len(part) for part in result.plan.parts]
    assert len({*counts, 600, 150}) > 4, "numbers that can be told apart"
    for name, one in shown.items():
        text = repr(one)
        assert len(text) < MOST, (name, len(text))
        assert "tensor(" not in text and "array(" not in text, (name, text)
        assert str(SEED) not in text, (name, text)
        for count in {*counts, 600}:
            assert str(count) not in text, (name, count, text)


def test_what_holds_them_shows_no_more(shown: dict[str, object]) -> None:
    for nested in (list(shown.values()), shown, {"inside": [shown]}):
        text = repr(nested)
        assert "tensor(" not in text and str(SEED) not in text
        assert len(text) < MOST * len(shown)


def test_the_size_of_a_batch_is_not_shown(shown: dict[str, object]) -> None:
    assert repr(shown["batch"]) == "Batch(private records of shape (1, 5, 5))"


def test_a_result_says_what_it_is(result: Result) -> None:
    accuracy = result.summary["accuracy"]["mean"]
    epsilon = result.summary["epsilon"]["eavesdropper"]
    assert repr(result) == (
        f"Result(dpdl-sound on blobs, ring of 5 agents, 3 rounds, test accuracy {accuracy:.1%}, epsilon {epsilon:.4g} "
        "against eavesdropper; simulation, which protects nobody)"
    )
    assert repr(result.plan) == (
        "Plan(dpdl-sound on blobs, ring of 5 agents, 3 rounds, sigma 0.5; simulation, which protects nobody)"
    )


def test_a_result_without_a_proof_says_so(blobs) -> None:
    secure = train(blobs, changed(rounds=1, clip_unit="batch", randomness="secure"))
    assert "nothing proven against eavesdropper; secure randomness)" in repr(secure)
    assert "simulation" not in repr(secure.plan)


def test_long_names_do_not_make_it_long(blobs) -> None:
    data = dataclasses.replace(blobs, name="folder/" * 50 + "hospital.npz")
    graph = dpdl.graph.Graph(dpdl.graph.ring(5).W, "link/" * 60 + "hospitals.edges")
    made = dpdl.train(changed(rounds=1), data=data, model=small_module(), graph=graph)
    for one in (made, made.plan, data):
        assert len(repr(one)) < MOST
    assert "hospital.npz, " in repr(made) and "hospitals.edges of 5" in repr(made)


def classes() -> list[type]:
    found = []
    for entry in pkgutil.walk_packages([str(SOURCE)], "dpdl."):
        if not entry.name.endswith(("__main__", "kernels")):
            module = importlib.import_module(entry.name)
            found += [
                c
                for c in vars(module).values()
                if inspect.isclass(c) and c.__module__ == module.__name__
            ]
    return found


def fields_of(kind: type) -> dict[str, str]:
    """The fields that a generated repr shows, and their types."""
    if dataclasses.is_dataclass(kind):
        return {f.name: str(f.type) for f in dataclasses.fields(kind) if f.repr}
    return (
        {name: str(value) for name, value in kind.__annotations__.items()}
        if hasattr(kind, "_fields")
        else {}
    )


def test_no_class_with_tensors_has_the_repr_that_python_generates() -> None:
    """A new class that forgets is found here."""
    words = ("Tensor", "ndarray", "Matrix")
    having = [
        c
        for c in classes()
        if any(w in f for f in fields_of(c).values() for w in words)
    ]
    assert {"Result", "Dataset", "Batch", "Answers"} <= {c.__name__ for c in having}
    generated = {
        c.__name__
        for c in having
        if not inspect.getfile(c.__repr__).startswith(str(SOURCE))
    }
    assert generated <= PUBLIC
