"""Planning, budgets and the ledger: what a run may give away, and what it says it gave."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl import graph as graphs
from dpdl.algorithms import DPDL, NAMES, AsyncDPSGD, SoundDPDL
from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.ledger import recompute
from dpdl.net import Gate, Leaving
from dpdl.planning.budget import Budget, allowance, parse
from dpdl.planning.plan import plan
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.clip import PerChunk, PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import (
    DEFAULT_THREATS,
    EAVESDROPPER,
    FINAL_MODEL,
    ONE_NEIGHBOUR,
    threat,
)
from dpdl.tasks.data import Dataset
from dpdl.training.train import launch
from tests.conftest import small_module
from tests.training.links import altered, with_algorithm
from tests.training.small import SMALL, StopAt, changed, planned, train


def question(kind: type = SoundDPDL, graph=None, records=6000, **more) -> PrivacyModel:
    graph = graph or graphs.complete(10)
    sizes = [records] * len(graph) if isinstance(records, int) else records
    settings = {"rounds": 1000, "delta": 1e-5, "size": 44_426} | more
    batch, clip = settings.pop("batch", 216), settings.pop("clip", PerSample(1.0))
    mechanism = Mechanism(clip, Poisson(batch, tuple(sizes)), 0.0)
    algorithm = kind(lr=0.1, momentum=0.7, alpha=1.5)
    return PrivacyModel(algorithm, graph, mechanism, **settings)


# ------------------------------------------------------------------- exposure
@pytest.mark.parametrize(("target", "sigma"), [(0.25, 48.0), (0.5, 25.6), (1.0, 13.8)])
def test_dpdl_sound_on_the_complete_graph(target: float, sigma: float) -> None:
    for listener in DEFAULT_THREATS:
        assert question().needed_sigma(target, listener) == pytest.approx(
            sigma, abs=0.06
        )


@pytest.mark.parametrize(("target", "sigma"), [(0.25, 86.6), (0.5, 46.25), (1.0, 25.0)])
def test_dpdl_against_an_eavesdropper_on_the_complete_graph(
    target: float, sigma: float
) -> None:
    assert question(DPDL).needed_sigma(target, EAVESDROPPER) == pytest.approx(
        sigma, rel=2e-3
    )


def test_theorem_1_overstates_the_protection_many_times() -> None:
    proven = [
        question(DPDL).with_noise(sigma).worst(EAVESDROPPER)
        for sigma in (5.79, 2.89, 1.45)
    ]
    assert 4.8 < proven[0] < 8
    assert 21 < proven[1] < 54
    assert 150 < proven[2] < 520


def test_eavesdropper_formula_written_out_for_an_irregular_graph() -> None:
    """(m - 1) + (1 + alpha N sqrt(w_ii) kappa)^2 for every agent of a star."""
    graph, algorithm = graphs.star(5), DPDL(0.1, 0.7, 1.5)
    for i in range(5):
        expected = (
            graph.sizes[i] - 1 + (1 + 1.5 * 5 * math.sqrt(graph.W[i, i]) * 0.7581) ** 2
        )
        assert algorithm.disclosure.exposure(graph, i, EAVESDROPPER) == pytest.approx(
            expected, rel=1e-12
        )


def test_coalition_formula_written_out_for_a_ring() -> None:
    """Ring of 5, w = 1/3, alpha 2: agent 0 against its neighbour 1, and against somebody who sees models only."""
    graph, algorithm = graphs.ring(5), DPDL(0.1, 0.7, 2.0)
    own = (math.sqrt(3) + 2 * 5 * 0.7581) ** 2
    against_one = (
        1 + own / (3 + 3) + 3 / (3 + 3 + 3)
    )  # agent 4's noise stays whole: its neighbours are 3, 4, 0
    assert algorithm.disclosure.exposure(graph, 0, ONE_NEIGHBOUR) == pytest.approx(
        against_one, rel=1e-12
    )
    models_only = own / 9 + 3 / 9 + 3 / 9
    assert algorithm.disclosure.exposure(graph, 0, FINAL_MODEL) == pytest.approx(
        models_only, rel=1e-12
    )


def test_more_listeners_never_see_less() -> None:
    graph, algorithm = (
        graphs.build("erdos-renyi:0.6", 7, "sinkhorn", 3),
        DPDL(0.1, 0.7, 1.5),
    )
    for i in range(7):
        around = int(graph.degrees[i])
        seen = [
            algorithm.disclosure.exposure(graph, i, threat(f"neighbours:{k}"))
            for k in range(1, around + 1)
        ]
        assert seen == sorted(seen)
        assert algorithm.disclosure.exposure(graph, i, FINAL_MODEL) <= seen[0]
        assert seen[-1] == pytest.approx(
            algorithm.disclosure.exposure(graph, i, EAVESDROPPER)
        )


def test_too_little_noise_for_the_self_gradient_is_unbounded_and_never_planned() -> (
    None
):
    """The noise that a target asks for is far from the edge where the bound ends: there it would cost millions."""
    q = question(DPDL, graphs.ring(10), size=2_000)
    edge = (
        1.5 * 10 * (1 / 3) ** 1.5 * 216 / (4 * math.sqrt(2_000))
    )  # alpha N w^1.5 B / (4 sqrt(d))
    assert math.isinf(q.with_noise(edge).worst(EAVESDROPPER))
    for listener in DEFAULT_THREATS:
        sigma = q.needed_sigma(30.0, listener)
        assert sigma > 2 * edge
        assert q.with_noise(sigma).worst(listener) == pytest.approx(30.0, rel=5e-3)
        assert q.with_noise(sigma).worst(listener) <= 30.0


def test_a_model_with_too_few_parameters_has_no_proof_for_algorithm_1() -> None:
    q = question(DPDL, size=2)
    assert math.isinf(q.with_noise(1e6).worst(EAVESDROPPER))
    assert math.isinf(q.needed_sigma(8.0, EAVESDROPPER))


# -------------------------------------------------------------------- planning
def test_sigma_then_epsilon_is_a_round_trip_for_every_threat_and_odd_sizes() -> None:
    graph = graphs.star(5)
    for kind in (DPDL, SoundDPDL):
        q = question(kind, graph, [900, 1200, 700, 5000, 800], batch=64, rounds=50)
        for listener in (EAVESDROPPER, threat("neighbours:2")):
            sigma = q.needed_sigma(2.0, listener)
            everybody = [q.with_noise(sigma).epsilon(i, listener) for i in range(5)]
            assert max(everybody) == q.with_noise(sigma).worst(listener)
            assert max(everybody) == pytest.approx(2.0, rel=5e-3)
            assert max(everybody) <= 2.0


def test_clipping_anything_but_samples_has_no_guarantee() -> None:
    q = question(clip=PerChunk(1.0, 4))
    assert math.isinf(q.with_noise(100.0).worst(EAVESDROPPER))
    assert math.isinf(q.needed_sigma(8.0, EAVESDROPPER))


def test_noise_split_keeps_the_guarantee_and_lowers_the_noise_of_the_update() -> None:
    graph = graphs.build("star", 6, "sinkhorn", 2)
    algorithm = SoundDPDL(0.1, 0.7, 1.5, noise_split="calibrated")
    factors = algorithm.noise_factors(graph)
    assert factors is not None
    for j in range(6):
        around = graph.neighbours(j)
        assert sum(1 / factors[i, j] ** 2 for i in around) == pytest.approx(
            len(around), rel=1e-12
        )
    # Variance that reaches the updates: sum over edges of (weight of that noise)^2 sigma_ij^2.
    edges = [(i, j) for j in range(6) for i in graph.neighbours(j)]
    weight = {
        (i, j): graph.W[i, j] ** -0.5 + (1.5 * 6 / 2 if i == j else 0) for i, j in edges
    }
    split = sum(weight[edge] ** 2 * factors[edge] ** 2 for edge in edges)
    assert split < sum(value**2 for value in weight.values())
    assert SoundDPDL(0.1, 0.7, 1.5).noise_factors(graph) is None


def test_split_noise_that_leaves_has_the_declared_deviation(blobs: Dataset) -> None:
    options = {
        "algorithm": "dpdl-sound",
        "noise_split": "calibrated",
        "sigma": 2.0,
        "rounds": 1,
    }
    p = plan(changed(**options), data=blobs, model=small_module(), graph=graphs.star(5))
    from dpdl.net import Net

    net = Net(p.graph)
    models = net.send("model", p.task.initial.repeat(5, 1))
    batches = p.batches(net.agents, 1)
    noise = []
    for t in range(1, 100):
        noise.append(p.grad.answers(models, batches, net.visits, t).private)
    measured = torch.stack(noise).std(dim=0).mean(dim=1)
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        assert float(measured[k]) == pytest.approx(
            p.grad.std * p.grad.factors[i, j], rel=0.06
        )


def test_an_agent_without_a_proof_makes_the_whole_graph_unbounded() -> None:
    """Agents differ in w_ii, so a sigma may be enough for some and too little for others."""
    q = question(DPDL, graphs.build("erdos-renyi", 10), rounds=100)
    between = 0.6
    everybody = [q.with_noise(between).epsilon(i, FINAL_MODEL) for i in range(10)]
    assert math.inf in everybody
    assert min(everybody) < math.inf
    assert math.isinf(q.with_noise(between).worst(FINAL_MODEL))


def test_one_cosine_per_tensor_has_no_proof_for_algorithm_1() -> None:
    assert math.isinf(
        DPDL(0.1, 0.7, 1.5, cosine="tensor").disclosure.exposure(
            graphs.ring(5), 0, EAVESDROPPER
        )
    )
    assert (
        SoundDPDL(0.1, 0.7, 1.5, cosine="tensor").disclosure.exposure(
            graphs.ring(5), 0, EAVESDROPPER
        )
        == 3
    )


def test_secure_budgets_count_repeated_rounds(blobs: Dataset, tmp_path: Path) -> None:
    secure = changed(
        **BUDGET | {"budget": "1.6"}, randomness="secure", checkpoint_every=20
    )
    whole = train(blobs, secure, out=tmp_path / "whole")
    assert whole.stopped is None

    class Crash(Exception):
        pass

    def crash(t: int, metrics) -> None:
        if t == 10:
            raise Crash

    with pytest.raises(Crash):
        train(blobs, secure, out=tmp_path / "run", watch=crash)
    again = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert again.stopped
    assert again.summary["epsilon"]["eavesdropper"] <= 1.6
    assert again.summary["rounds"] < 12


# ------------------------------------------------------------- declared or not
PRIVATE = sorted(name for name, algorithm in NAMES.items() if not algorithm.fixed)
NEEDED = {"pdsl": {"validation": 20}}


@pytest.mark.parametrize("name", PRIVATE)
def test_everything_that_left_was_declared_and_everything_declared_left(
    blobs: Dataset, name: str
) -> None:
    p = plan(
        changed(algorithm=name, rounds=2, **NEEDED.get(name, {})),
        data=blobs,
        model=small_module(),
    )
    seen: list[Leaving] = []
    from dpdl.net import Net

    net = Net(p.graph, observers=[seen.append])
    state = p.algorithm.init(p.task.initial.repeat(5, 1))
    for t in (1, 2):
        state, _ = p.algorithm.round(state, p.batches(net.agents, t), net, p.grad, t)
    declared = {release.channel: release for release in p.algorithm.releases(p.grad)}
    assert {leaving.channel for leaving in seen} == set(declared)
    private = [release for release in declared.values() if release.private]
    assert len(private) == 1
    lr = p.experiment.lr
    assert private[0].sensitivity in (
        p.grad.clip.sensitivity,
        lr * p.grad.clip.sensitivity,
    )  # a gradient, or a step
    assert private[0].noise_multiplier == 0.5


def test_a_message_that_was_not_declared_does_not_leave(blobs: Dataset) -> None:
    p = planned(blobs, changed(algorithm="dpdl-sound"))
    honest = p.algorithm.releases
    silent = altered(p.algorithm, releases=lambda self, grad: honest(grad)[:2])
    p = with_algorithm(p, silent)
    with pytest.raises(PrivacyRefused, match="'momentum', which it has not declared"):
        launch(p, out=None, placement="alone", watch=None)
    assert PrivacyRefused.exit_code == 3
    with pytest.raises(PrivacyRefused):
        Gate([])(Leaving("model", torch.zeros(0, 2), torch.zeros(1, 1), torch.zeros(0)))


# -------------------------------------------------------------- accountant in runs
def test_accountant_sets_the_noise_and_the_summary_proves_the_target(
    blobs: Dataset,
) -> None:
    summary = train(
        blobs,
        changed(sigma=None, noise="accountant", epsilon=6.0, algorithm="dpdl-sound"),
    ).summary
    assert summary["epsilon"]["eavesdropper"] == pytest.approx(6.0, rel=5e-3)
    assert summary["epsilon"]["eavesdropper"] <= 6.0
    assert "Proven: (" in summary["privacy_statement"]
    for words in (
        "added or removed",
        "an eavesdropper on all links",
        "poisson sampling",
        "every sample clipped",
        "1e-05",
    ):
        assert words in summary["privacy_statement"]


def test_the_asked_threat_is_reported_too(blobs: Dataset) -> None:
    summary = train(blobs, changed(threat="neighbours:2", rounds=2)).summary
    assert set(summary["epsilon"]) == {
        "claimed_theorem1",
        "eavesdropper",
        "neighbour",
        "final_model",
        "neighbours:2",
    }


def test_chunk_clipping_with_the_accountant_is_refused(blobs: Dataset) -> None:
    with pytest.raises(PrivacyRefused, match="does not bound a record"):
        train(blobs, changed(sigma=None, noise="accountant", clip_unit="chunks"))


def test_fixed_batches_need_replacement(blobs: Dataset) -> None:
    fixed = {
        "sigma": None,
        "noise": "accountant",
        "sampling": "fixed",
        "epsilon": 20.0,
        "rounds": 1,
    }
    fixed |= {"algorithm": "dpdl-sound"}
    with pytest.raises(InputError, match="replace-one"):
        train(blobs, changed(**fixed))
    summary = train(blobs, changed(**fixed, relation="replace-one")).summary
    assert summary["epsilon"]["eavesdropper"] <= 20.0
    assert "loose" in summary["epsilon_note"]
    assert "one record replaced" in summary["privacy_statement"]


def test_fixed_batches_have_one_relation_everywhere(
    blobs: Dataset, tmp_path: Path
) -> None:
    """With a given sigma the relation need not be asked for; it is replacement all the same."""
    given = changed(algorithm="dpdl-sound", sampling="fixed", sigma=9.0, rounds=2)
    result = train(blobs, given, out=tmp_path / "run")
    experiment = json.loads((tmp_path / "run" / "experiment.json").read_text())[
        "experiment"
    ]
    header = json.loads((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[0])
    assert (
        experiment["relation"]
        == header["relation"]
        == result.plan.privacy.relation
        == "replace-one"
    )
    assert "one record replaced" in result.summary["privacy_statement"]


def test_fixed_batches_have_no_proof_for_algorithm_1(blobs: Dataset) -> None:
    fixed = changed(algorithm="dpdl", sampling="fixed", sigma=9.0, rounds=1)
    summary = train(blobs, fixed).summary
    assert summary["epsilon"]["eavesdropper"] == "unbounded"
    assert "fixed size" in summary["epsilon_note"]
    with pytest.raises(PrivacyRefused, match="fixed size"):
        train(
            blobs,
            changed(
                algorithm="dpdl",
                sampling="fixed",
                sigma=None,
                relation="replace-one",
                epsilon=9.0,
            ),
        )


# ------------------------------------------------------------------- budgets
def test_an_allowance_is_the_last_affordable_round() -> None:
    q = question(batch=64, records=[1000] * 9 + [500], rounds=400)
    found = allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(1.0, 1e-5)] * 10)
    assert found.agent == 9
    assert (
        q.with_noise(12.0).epsilon(9, EAVESDROPPER, found.rounds)
        <= 1.0
        < q.with_noise(12.0).epsilon(9, EAVESDROPPER, found.rounds + 1)
    )
    assert (
        allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(1000.0, 1e-5)] * 10).rounds
        == 400
    )


def test_a_budget_below_one_round_is_refused_with_what_would_do() -> None:
    with pytest.raises(
        PrivacyRefused,
        match=r"one round with sigma = 0\.5 costs .* affords all 1000 rounds",
    ):
        allowance(question().with_noise(0.5), EAVESDROPPER, [Budget(0.01, 1e-5)] * 10)


@pytest.mark.parametrize(
    "text", ["x", "1,2", "0", "-1", "nan", "", "1:2", "1:1e-5:3", "1:0"]
)
def test_bad_budgets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="budget"):
        parse(text, 5, 1e-5)


def test_agents_may_have_budgets_of_their_own() -> None:
    assert parse("2", 3, 1e-5) == [Budget(2.0, 1e-5)] * 3
    assert parse("1,2:1e-7,3", 3, 1e-5) == [
        Budget(1, 1e-5),
        Budget(2, 1e-7),
        Budget(3, 1e-5),
    ]
    q = question(batch=64, records=1000, rounds=400)
    strict = allowance(
        q.with_noise(12.0), EAVESDROPPER, [Budget(2.0, 1e-5)] * 9 + [Budget(2.0, 1e-9)]
    )
    assert strict.agent == 9
    assert (
        strict.rounds
        < allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(2.0, 1e-5)] * 10).rounds
    )


BUDGET = {"budget": "1.2", "algorithm": "dpdl-sound", "sigma": 2.0}


def affordable() -> int:
    q = question(SoundDPDL, graphs.ring(5), 120, batch=8, rounds=12, size=77)
    return allowance(q.with_noise(2.0), EAVESDROPPER, [Budget(1.2, 1e-5)] * 5).rounds


@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_a_spent_budget_ends_the_run_before_it_is_exceeded(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    last = affordable()
    assert 1 < last < 12
    result = train(blobs, changed(**BUDGET), out=tmp_path / "run", placement=placement)
    assert result.stopped
    assert f"Stopped after round {last} of 12" in result.stopped
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["rounds"] == last
    assert summary["epsilon"]["eavesdropper"] <= 1.2
    again = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert again.stopped == result.stopped
    rounds = (tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[1:]
    assert len(rounds) == last


# -------------------------------------------------------------------- ledger
def reported(run: Path) -> dict[str, float]:
    summary = json.loads((run / "summary.json").read_text())["epsilon"]
    return {
        name: value for name, value in summary.items() if name != "claimed_theorem1"
    }


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_the_ledger_gives_the_reported_epsilon(
    blobs: Dataset, tmp_path: Path, algorithm: str
) -> None:
    result = train(
        blobs,
        changed(algorithm=algorithm, sigma=9.0, **NEEDED.get(algorithm, {})),
        out=tmp_path / "run",
    )
    assert all(
        isinstance(value, float) for value in reported(tmp_path / "run").values()
    )
    assert recompute(tmp_path / "run" / "ledger.jsonl") == pytest.approx(
        reported(tmp_path / "run"), rel=1e-12
    )
    first = json.loads((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[0])
    assert first["neighbours"][0] == [1, 4]
    assert first["sigma"] == 9.0
    declared = result.plan.algorithm.releases(result.plan.grad)
    assert [release["channel"] for release in first["releases"]] == [
        release.channel for release in declared
    ]


@pytest.mark.parametrize("algorithm", sorted(set(NAMES) - set(PRIVATE)))
def test_a_non_private_original_says_so(
    blobs: Dataset, tmp_path: Path, algorithm: str
) -> None:
    result = train(
        blobs, changed(algorithm=algorithm, sigma=None), out=tmp_path / "run"
    )
    assert set(reported(tmp_path / "run").values()) == {"unbounded"}
    assert recompute(tmp_path / "run" / "ledger.jsonl")["eavesdropper"] == math.inf
    assert (
        result.summary["privacy_statement"]
        == "No privacy: gradients are exchanged without noise."
    )
    assert result.plan.grad.clip.sensitivity is None


def test_secure_randomness_is_refused_where_turns_are_drawn_from_the_seed(
    blobs: Dataset,
) -> None:
    with pytest.raises(InputError, match="'secure' is not for async-dpsgd"):
        train(blobs, changed(algorithm="async-dpsgd", randomness="secure"))


def test_a_reproducible_run_pays_once_and_a_secure_one_twice_for_repeated_rounds(
    blobs: Dataset, tmp_path: Path
) -> None:
    class Crash(Exception):
        pass

    def crash(t: int, metrics) -> None:
        if t == 8:  # the last checkpoint is that of round 6
            raise Crash

    lines = {}
    for mode in ("reproducible", "secure"):
        run = tmp_path / mode
        with pytest.raises(Crash):
            train(blobs, changed(randomness=mode, sigma=9.0), out=run, watch=crash)
        dpdl.resume(run, data=blobs, model=small_module())
        lines[mode] = [
            json.loads(line)["round"]
            for line in (run / "ledger.jsonl").read_text().splitlines()[1:]
        ]
        assert recompute(run / "ledger.jsonl") == pytest.approx(
            reported(run), rel=1e-12
        )
    assert lines["reproducible"] == [*range(1, 9), *range(7, 13)]
    assert lines["secure"] == [*range(1, 9), *range(7, 13)]


def test_a_round_is_on_the_bill_before_it_leaves(
    blobs: Dataset, tmp_path: Path
) -> None:
    run, p, billed = tmp_path / "run", planned(blobs, changed(rounds=3)), []
    honest = p.algorithm

    def round(self, state, batches, net, grad, t):
        billed.append((t, len((run / "ledger.jsonl").read_text().splitlines()) - 1))
        return honest.round(state, batches, net, grad, t)

    p = with_algorithm(p, altered(honest, round=round))
    launch(p, out=run, placement="alone", watch=None)
    assert billed == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("content", ["", "{", '{"sigma_eff": 3}\n'])
def test_a_damaged_ledger_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "ledger.jsonl").write_text(content)
    with pytest.raises(InputError, match="damaged"):
        recompute(tmp_path / "ledger.jsonl")


def test_interrupting_does_not_lose_the_bill(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(dpdl.DpdlError):
        train(blobs, SMALL, out=tmp_path / "run", watch=StopAt(5))
    assert len((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()) == 1 + 5
    step = Step(0.5 / math.sqrt(30), 8, 120)
    assert epsilon([(step, 6)], 1e-5) > 0


# ----------------------------------------------------- agents that are not active in every round
def ticks(records: list[int], rounds: int) -> PrivacyModel:
    mechanism = Mechanism(PerSample(1.0), Poisson(8, tuple(records)), 0.0)
    algorithm = AsyncDPSGD(lr=0.1, seed=0)
    return PrivacyModel(algorithm, graphs.ring(5), mechanism, rounds, 1e-5, 77)


def test_an_agent_that_is_never_active_needs_no_noise() -> None:
    q = ticks([100, 100, 50, 100, 100], 10)
    active = [q.algorithm.disclosure.rounds(q.graph, i, 10) for i in range(5)]
    assert active[2] == 0 and sum(active) == 10
    sigma = q.needed_sigma(1.0, EAVESDROPPER)
    assert q.with_noise(sigma).worst(EAVESDROPPER) == pytest.approx(1.0, rel=0.005)
    assert q.with_noise(sigma).epsilon(2, EAVESDROPPER) == 0


def test_the_worst_agent_so_far_is_looked_for_among_all() -> None:
    q = ticks([100, 90, 100, 80, 100], 60)
    for rounds in (1, 3, 10, 60):
        assert q.with_noise(2.0).worst(EAVESDROPPER, rounds) == max(
            q.with_noise(2.0).epsilon(i, EAVESDROPPER, rounds) for i in range(5)
        )


@pytest.mark.parametrize(("delta", "warned"), [(1e-5, False), (0.1, True)])
def test_a_delta_above_one_over_the_records_is_warned_of(
    blobs: Dataset, delta: float, warned: bool
) -> None:
    summary = train(
        blobs, changed(algorithm="dpdl-sound", sigma=9.0, rounds=1, delta=delta)
    ).summary
    assert ("Warning: delta = 0.1" in summary["privacy_statement"]) == warned
