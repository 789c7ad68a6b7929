from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, DPSGD, SoundDPDL, State
from dpdl.algorithms.base import Algorithm
from dpdl.algorithms.cga import CGA
from dpdl.algorithms.compression import Compressed, Signs, decode, encode, slots, width
from dpdl.algorithms.disclosure import Setting
from dpdl.algorithms.ngm import NGM
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.net import Gate, Leaving, Meter, Net
from dpdl.net.net import ENTRIES
from dpdl.planning.build import make_algorithm
from dpdl.privacy.clip import Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import DEFAULT_THREATS, EAVESDROPPER
from dpdl.tasks.task import Task
from dpdl.transport import Post
from dpdl.types import Batch
from tests.algorithms.crosses import (
    GRAD,
    SETTINGS,
    SMALL,
    batches_of,
    play,
    seeded_noise,
)
from tests.conftest import small_module
from tests.mechanisms import private_gradient
from tests.places import on_threads
from tests.reference.cga import Aggregation
from tests.reference.compression import Feedback
from tests.reference.ngm import Mean

SOUND = SoundDPDL(lr=0.1, momentum=0.7, alpha=1.5)
PLAIN = DPDL(lr=0.1, momentum=0.7, alpha=1.5)


@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
@pytest.mark.parametrize("kind", ["ngm", "cga"])
def test_product_equals_plain_loops(kind: str, name: str) -> None:
    graph = graphs.build(name, 5, "sinkhorn", 1)
    feedback = Feedback(SMALL.sizes)
    shared = {**SETTINGS, "noise": seeded_noise, "sent": feedback}
    if kind == "ngm":
        reference, algorithm = (
            Mean(graph.W, small_module(), **shared, a=0.3),
            NGM(0.1, momentum=0.7, data_share=0.3),
        )
    else:
        reference, algorithm = (
            Aggregation(graph.W, small_module(), **shared),
            CGA(0.1, momentum=0.7, margin=0.0),
        )
    reference.start(SMALL.initial)
    for t in range(1, 5):
        reference.round(t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(5, t)])
    state = play(Compressed(algorithm), graph, 4)
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert state["error"].shape == (5, int(graph.degrees.max()), SMALL.size)
    for j in range(5):
        askers = [i for i in range(5) if i != j and graph.W[i, j] > 0]
        for slot, i in enumerate(askers):
            assert (state["error"][j, slot] - feedback.error[i, j]).abs().max() < 1e-10
        assert not state["error"][j, len(askers) :].any()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=4),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_a_message_is_a_bit_per_entry_and_a_size_per_tensor(
    sizes: list[int], seed: int, zero: bool
) -> None:
    row = torch.from_numpy(
        np.random.default_rng(seed).standard_normal(sum(sizes))
    ).float()
    if zero:
        row[: sizes[0]] = 0
    message = encode(row, tuple(sizes))
    assert message.dtype == np.uint8
    assert (
        len(message)
        == width(tuple(sizes))
        == math.ceil(sum(sizes) / 8) + 4 * len(sizes)
    )
    found = decode(torch.from_numpy(message), tuple(sizes), row)
    assert found.dtype == row.dtype
    for part, back in zip(row.split(sizes), found.split(sizes), strict=True):
        assert torch.allclose(back.abs(), part.abs().mean().expand(len(part)))
        assert bool((back * part >= 0).all())
        assert (part - back).norm() <= part.norm() * (1 + 1e-6)


def test_what_was_left_out_is_sent_later() -> None:
    """Over many replies the sum of what arrives differs from the sum of what was answered by the last error only."""
    graph = graphs.ring(4)
    net, sizes = Net(graph), (60, 1, 39)
    error = torch.zeros(4, 2, 100, dtype=torch.float64)
    draw = torch.Generator().manual_seed(0)
    total = torch.zeros(len(net.visits.edges), 100, dtype=torch.float64)
    largest = 0.0
    for _ in range(50):
        answers = torch.randn(len(total), 100, dtype=torch.float64, generator=draw)
        signs = Signs(error, sizes, slots(net))
        with net.replies_as(signs):
            received = net.reply("gradient", answers)
        for k, at in slots(net).items():
            wanted = answers[k] + error[at]
            assert torch.equal(signs.error[at], wanted - received[k])
        error = signs.error
        total += answers - received
        largest = max(largest, float(answers.norm(dim=1).max()))
    for k, at in slots(net).items():
        assert (total[k] - error[at]).abs().max() < 1e-12
        assert 0 < float(error[at].norm()) < 2 * largest
    assert not total[
        net.own
    ].any()  # what an agent answers to itself does not leave, and is exact


def test_the_bytes_counted_at_the_exit_are_those_of_the_signs() -> None:
    graph, seen = graphs.ring(5), []

    def count(algorithm: Algorithm) -> dict[str, int]:
        seen.clear()
        meter = Meter(5)
        play(
            algorithm,
            graph,
            1,
            seen=[Gate(algorithm.releases(GRAD)), meter, seen.append],
        )
        assert int(meter.bytes.sum()) == sum(leaving.bytes for leaving in seen)
        return {leaving.channel: leaving.bytes for leaving in seen}

    plain, signs = count(SOUND), count(Compressed(SOUND))
    assert plain["model"] == signs["model"] == plain["gradient"] == 10 * 8 * SMALL.size
    assert signs["momentum"] == plain["momentum"]
    assert signs["gradient"] == 10 * (math.ceil(SMALL.size / 8) + 4 * len(SMALL.sizes))


def test_a_large_model_in_float32_needs_a_32nd() -> None:
    lenet = (150, 6, 2400, 16, 30720, 120, 10080, 84, 840, 10)
    assert 31 < 4 * sum(lenet) / width(lenet) < 32


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize(
    "algorithm", [SOUND, CGA(0.1, momentum=0.7)], ids=["dpdl-sound", "cga"]
)
def test_bits_do_not_depend_on_the_placement(
    processes: int, algorithm: Algorithm
) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    alone = play(Compressed(algorithm), graph, 3)

    def work(post: Post) -> State:
        return play(Compressed(algorithm), graph, 3, post)

    together = on_threads(processes, work)[0]
    assert set(together) == set(alone) == {*algorithm.init(torch.zeros(1, 1)), "error"}
    assert all(torch.equal(together[key], alone[key]) for key in alone)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("entries", [1, 9 * SMALL.size])
@pytest.mark.parametrize(
    "algorithm", [SOUND, CGA(0.1, momentum=0.7)], ids=["dpdl-sound", "cga"]
)
def test_parts_send_the_same_signs(
    algorithm: Algorithm, entries: int, processes: int
) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    seen: dict[bool, list[bytes]] = {}

    def played(parts: bool, post: Post | None = None, most: int = ENTRIES) -> State:
        heard = seen.setdefault(parts, [])

        def hear(leaving: Leaving) -> None:
            heard.extend(
                leaving.channel.encode() + bytes(row)
                for row in leaving.rows[leaving.at].numpy()
            )

        return play(Compressed(algorithm), graph, 3, post, [hear], most)

    whole = played(False)
    found = on_threads(processes, lambda post: played(True, post, entries))[0]
    assert set(found) == set(whole)
    assert all(torch.equal(found[key], whole[key]) for key in whole)
    assert sorted(seen[True]) == sorted(seen[False])


def test_a_reply_is_compressed_once_a_round() -> None:
    net = Net(graphs.ring(3))
    signs = Signs(torch.zeros(3, 2, 4), (4,), slots(net))
    with net.replies_as(signs):
        net.reply("gradient", torch.ones(9, 4))
        with pytest.raises(KeyError):
            net.reply("gradient", torch.ones(9, 4))


def test_replies_leave_as_they_are_outside_of_a_compressed_round() -> None:
    net, seen = Net(graphs.ring(3)), torch.ones(9, 4)
    signs = Signs(torch.zeros(3, 2, 4), (4,), slots(net))
    with pytest.raises(ValueError, match="on purpose"), net.replies_as(signs):
        raise ValueError("on purpose")
    assert net.reply("gradient", seen) is seen


def test_a_round_does_not_change_the_state_it_is_given() -> None:
    algorithm, net = Compressed(SOUND), Net(graphs.ring(4))
    first, _ = algorithm.round(
        algorithm.init(SMALL.initial.repeat(4, 1)), batches_of(4, 1), net, GRAD, 1
    )
    before = {name: rows.clone() for name, rows in first.items()}
    second, _ = algorithm.round(first, batches_of(4, 2), net, GRAD, 2)
    assert all(torch.equal(first[name], before[name]) for name in first)
    assert not torch.equal(second["error"], first["error"])
    forgotten, _ = algorithm.round(
        {**first, "error": first["error"] * 0}, batches_of(4, 2), net, GRAD, 2
    )
    assert not torch.equal(forgotten["x"], second["x"])


AT = Setting(8.0, 70, 44_426, 1e-12)


@pytest.mark.parametrize(
    "inner", [SOUND, PLAIN, NGM(0.1, momentum=0.7)], ids=["dpdl-sound", "dpdl", "ngm"]
)
def test_every_listener_counts_as_an_eavesdropper(inner: Algorithm) -> None:
    graph = graphs.build("star", 5, "metropolis", 0)
    found, plain = Compressed(inner).disclosure, inner.disclosure
    for i in range(5):
        heard = plain.exposure(graph, i, EAVESDROPPER)
        for threat in DEFAULT_THREATS:
            assert (
                found.exposure(graph, i, threat)
                == heard
                >= plain.exposure(graph, i, threat)
            )
            assert found.effect(graph, i, threat, AT) == plain.effect(
                graph, i, EAVESDROPPER, AT
            )
            assert found.sigma(graph, i, threat, AT, 2.0) == plain.sigma(
                graph, i, EAVESDROPPER, AT, 2.0
            )
        assert found.rounds(graph, i, 7) == 7
        assert found.active(graph, i, 3)
    tensors = Compressed(DPDL(0.1, momentum=0.7, alpha=1.5, cosine="tensor"))
    assert tensors.disclosure.exposure(graph, 0, EAVESDROPPER) == math.inf


def test_only_the_private_channel_is_declared_as_signs() -> None:
    declared = {
        release.channel: release for release in Compressed(SOUND).releases(GRAD)
    }
    assert declared["gradient"].carries.startswith("signs")
    assert declared["gradient"].private
    assert [declared[name] for name in ("model", "momentum")] == [
        release for release in SOUND.releases(GRAD) if not release.private
    ]


def test_algorithms_without_replies_are_refused() -> None:
    with pytest.raises(InputError, match="DPSGD sends none"):
        Compressed(DPSGD(0.1, momentum=0.7))
    with pytest.raises(InputError, match="NGM sends none"):
        Compressed(NGM(0.1, momentum=0.7, data_share=0.0))


def test_an_experiment_asks_for_it() -> None:
    def made(**options) -> Algorithm:
        return make_algorithm(Experiment(dataset="digits", **options).resolved())

    assert isinstance(
        made(algorithm="dpdl-sound", compress="sign").algorithm, SoundDPDL
    )
    assert isinstance(made(algorithm="dpdl-sound"), SoundDPDL)
    split = made(algorithm="dpdl-sound", compress="sign", noise_split="calibrated")
    with pytest.raises(InputError, match="the same noise on all edges"):
        split.check(graphs.ring(4))


def test_one_agent_alone_has_nothing_to_compress() -> None:
    plain, signs = (
        play(SOUND, graphs.complete(1), 2),
        play(Compressed(SOUND), graphs.complete(1), 2),
    )
    assert torch.equal(plain["x"], signs["x"])
    assert signs["error"].shape == (1, 0, SMALL.size)


def test_dpdl_sound_still_learns() -> None:
    """Least squares whose agents disagree, no noise: the models come near the common optimum."""

    class Line(nn.Linear):
        def __init__(self) -> None:
            super().__init__(3, 1, bias=False)
            nn.init.zeros_(self.weight)

    draw = torch.Generator().manual_seed(0)
    x = torch.randn(4, 6, 3, generator=draw, dtype=torch.float64)
    y = x @ torch.randn(4, 3, 1, generator=draw, dtype=torch.float64)
    optimum = torch.linalg.lstsq(x.flatten(0, 1), y.flatten(0, 1)).solution.flatten()
    task = Task(Line(), loss=nn.functional.mse_loss, dtype=torch.float64)
    grad = private_gradient(task, Unclipped(), 0.0, 6, Reproducible(0))
    algorithm, net = (
        Compressed(SoundDPDL(lr=0.02, momentum=0.7, alpha=1.5)),
        Net(graphs.complete(4)),
    )
    batches = [Batch(x[k], y[k], torch.arange(6)) for k in range(4)]
    state = algorithm.init(task.initial.repeat(4, 1))
    first = float((state["x"] - optimum).norm(dim=1).mean())
    for t in range(1, 201):
        state, _ = algorithm.round(state, batches, net, grad, t)
    assert float((state["x"] - optimum).norm(dim=1).mean()) < 0.1 * first
