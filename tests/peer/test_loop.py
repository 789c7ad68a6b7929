from __future__ import annotations

import pytest
import torch

from dpdl import algorithms
from dpdl.peer.loop import MEAN, first_state, model_of, packed, unpacked
from dpdl.peer.plan import first_view, public_plan
from dpdl.peer.store_reader import StoreReader


def test_a_state_is_read_as_it_was_written():
    state = {"x": torch.randn(1, 5), "v": torch.zeros(1, 5, dtype=torch.float64)}
    found = unpacked(packed(state))
    assert set(found) == {"x", "v"}
    assert all(torch.equal(found[name], state[name]) for name in state)


SERVED = sorted(
    name
    for name, entry in algorithms.NAMES.items()
    if not entry.fixed and name not in ("async-dpsgd", "epidemic", "pdsl")
)


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("state", ["init", "rejoined"])
def test_every_algorithm_begins_with_a_state_that_can_be_stored(name, state):
    kind = algorithms.NAMES[name].kind
    begun = getattr(kind(**kind.example), state)(torch.ones(1, 5))
    found = unpacked(packed(begun))
    assert set(found) == set(begun)
    assert all(torch.equal(found[part], begun[part]) for part in begun)


def test_the_model_is_the_mean_where_there_is_one():
    x, mean = torch.ones(1, 3), torch.zeros(1, 3)
    assert model_of({"x": x}) is x
    assert model_of({"x": x, MEAN: mean}) is mean


def test_the_first_state_is_that_of_the_agreed_model(ended):
    manifest = ended.manifest
    plan = public_plan(manifest, first_view(manifest), ended.run(0).initial())
    state = unpacked(first_state(plan))
    assert torch.equal(state["x"][0], plan.task.initial)


def test_after_the_last_round_the_state_is_durable_and_paid_for(ended):
    for k in range(3):
        with StoreReader(ended.run(k).path) as store:
            assert store.here.done == 4
            model = model_of(unpacked(store.state()))[0]
        assert (model.numpy() == ended.models()[k]).all()


def test_averages_of_late_rounds_have_the_bits_of_one_process(group):
    sites = group(2, graph="complete", average=0.5, rounds=4)
    sites.start_all()
    assert set(sites.wait().values()) == {0}
    with StoreReader(sites.run(0).path) as store:
        state = unpacked(store.state())
    assert not torch.equal(state[MEAN], state["x"])
    assert (sites.models() == sites.reference()).all()


def test_a_pause_comes_between_rounds_and_the_run_goes_on(group):
    sites = group(2, graph="complete", rounds=6)
    sites.run(0).pause_file.touch()
    sites.start_all()
    assert sites.ended(0) == 4
    assert "Paused before round 1" in sites.log(0)
    sites.run(0).pause_file.unlink()
    sites.start(0)
    assert set(sites.wait().values()) == {0}
    assert (sites.models() == sites.reference()).all()
