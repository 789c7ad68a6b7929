"""The words of an experiment become the objects that privacy depends on, here and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.planning.build import (
    make_algorithm,
    make_clip,
    make_privacy_model,
    make_sampling,
    make_theorem1,
    with_batch,
)
from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.privacy.sampling import FixedSize, Poisson


def resolved(**values: Any) -> Experiment:
    return from_mapping({"dataset": "digits", **values}).resolved()


@pytest.mark.parametrize(
    ("unit", "clip"),
    [
        ("sample", PerSample(1.5)),
        ("chunks", PerChunk(1.5, 3)),
        ("batch", PerChunk(1.5, 1)),
        ("none", Unclipped(1.5)),
    ],
)
def test_a_clip_unit_becomes_a_clip(unit: str, clip: object) -> None:
    e = resolved(clip_unit=unit, clip=1.5, chunks=3, sigma=1.0)
    assert make_clip(e) == clip


def test_a_sampling_becomes_a_sampler_that_knows_batch_and_records() -> None:
    numbers = (40, 50)
    poisson = make_sampling(resolved(batch=8), numbers)
    fixed = make_sampling(resolved(batch=8, sampling="fixed", sigma=1.0), numbers)
    assert (poisson, fixed) == (Poisson(8, numbers), FixedSize(8, numbers))


def test_a_rate_becomes_a_sampler_whose_batch_follows_from_the_records() -> None:
    e = resolved(rate=0.2)
    assert e.batch is None
    sampling = make_sampling(e, (40, 60))
    assert sampling == Poisson(10, (40, 60), 0.2)
    known = with_batch(e, sampling)
    assert known.batch == 10 and with_batch(resolved(batch=8), sampling).batch == 8
    assert make_sampling(known, (40, 60)) == sampling
    with pytest.raises(InputError, match=r"batch is 10 where rate is 0\.2"):
        make_sampling(resolved(rate=0.2, batch=12), (40, 60))


def test_a_rate_beside_batches_of_fixed_size_is_refused() -> None:
    with pytest.raises(InputError, match="rate needs sampling 'poisson'"):
        resolved(rate=0.2, sampling="fixed", relation="replace-one")


def test_an_algorithm_gets_its_own_options_and_the_shared_ones_that_it_names() -> None:
    e = resolved(algorithm="decor", correlation=5.0, seed=7)
    made = make_algorithm(e)
    assert made.correlation == 5.0  # type: ignore[attr-defined]
    assert made.lr == e.lr  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "relation"),
    [
        ({"sigma": 1.0}, "add-remove"),
        ({"sigma": 1.0, "relation": "replace-one"}, "replace-one"),
        ({"sigma": 1.0, "sampling": "fixed"}, "replace-one"),
        ({"noise": "none", "sampling": "fixed"}, "replace-one"),
    ],
)
def test_fixed_batches_are_about_a_record_replaced(
    values: dict[str, Any], relation: str
) -> None:
    e = resolved(algorithm="dp-dpsgd", **values)
    graph = graphs.ring(4)
    model = make_privacy_model(e, make_algorithm(e), graph, [100] * 4, 10, 1.0)
    assert model.relation == relation
    assert model.sigma == 1.0


def test_theorem_1_is_about_the_paper_and_takes_the_fewest_records() -> None:
    graph = graphs.ring(4)
    e = resolved(algorithm="dpdl", sigma=1.0, batch=8, c2=2.0)
    model = make_privacy_model(e, make_algorithm(e), graph, [90, 40, 60, 50], 10)
    theorem = make_theorem1(e, model)
    assert theorem
    assert (theorem.fewest_records, theorem.batch_size, theorem.c2) == (40, 8, 2.0)
    assert (theorem.agents, theorem.fewest_neighbours) == (4, 3)
    other = resolved(algorithm="dp-dpsgd", sigma=1.0)
    model = make_privacy_model(other, make_algorithm(other), graph, [50] * 4, 10)
    assert make_theorem1(other, model) is None
