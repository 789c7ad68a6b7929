"""A centre of features leaves once, with its own noise, and everybody counts it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import dpdl
from dpdl.cli import cli
from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.ledger import recompute
from dpdl.folder.ledger_content import read
from dpdl.folder.states import States
from dpdl.net import Net
from dpdl.pages import statement_evidence
from dpdl.planning.plan import plan
from dpdl.planning.public_plan import CENTRE
from dpdl.planning.site import AgentRecords
from dpdl.privacy.accounting import epsilon
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset
from dpdl.training.centre import released_centre
from dpdl.training.extend import price
from dpdl.training.interrupt import Interrupted
from dpdl.training.train import replan
from tests.folder.ledgers import Crash, crash_at
from tests.training.paid import balance, new_ledger, spent
from tests.training.small import StopAt, without_time

ALGORITHM = "tests.training.agreeing:Agreeing"
OPTIONS = {
    "model": "scatter-linear",
    "algorithm": ALGORITHM,
    "graph": "complete",
    "agents": 3,
    "partition": "iid",
    "rounds": 6,
    "rate": 0.3,
    "lr": 0.2,
    "clip": 1.0,
    "epsilon": 4.0,
    "eval_every": 3,
    "checkpoint_every": 2,
    "centre": "private",
    "centre_noise": 3.0,
    "records": "exact",
}


def experiment(**options) -> dpdl.Experiment:
    return dpdl.Experiment(**{**OPTIONS, **options})


@pytest.fixture(scope="module")
def images() -> Dataset:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (90, 1, 8, 8), generator=draw, dtype=torch.uint8)
    y = torch.arange(90) % 3
    for k in range(3):
        x[y == k, :, k : k + 4] //= 8
    return Dataset("own", x, y, x[:30].clone(), y[:30].clone(), 3, (0.5,), (0.5,))


@pytest.fixture(scope="module")
def run(images: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("centre") / "run"
    dpdl.train(experiment(), data=images, out=path)
    return path


# ------------------------------------------------------------------ what it is
def test_it_is_the_mean_of_features_of_length_one_with_its_own_noise(
    images: Dataset,
) -> None:
    made = plan(experiment(sigma=1.0, centre_noise=1e-6), data=images)
    site = made.everybody
    rows = released_centre(site, Net(made.graph))
    features = made.data.x.double().flatten(1)
    wanted = (features / features.norm(dim=1, keepdim=True)).mean(dim=0)
    assert rows.shape == (3, len(wanted))
    torch.testing.assert_close(rows[0].double(), wanted, rtol=1e-4, atol=1e-7)

    noisy = plan(experiment(sigma=1.0, centre_noise=30.0), data=images)
    off = released_centre(noisy.everybody, Net(noisy.graph))[0].double() - wanted
    # Three agents' noise, each of deviation 30 / 30, in a mean of three.
    assert float(off.std()) == pytest.approx(30 / 30 / 3**0.5, rel=0.15)
    assert noisy.privacy.centre.std == pytest.approx(30 / 30)


def test_one_record_more_moves_the_sum_by_at_most_one(images: Dataset) -> None:
    """However long its features are: those of every record have length 1."""
    made = plan(experiment(sigma=1.0, centre_noise=1e-6), data=images)
    site = made.everybody
    own = site.records[1]
    less = AgentRecords(own.x, own.y, own.rows[1:])
    short = replace(site, records={**site.records, 1: less})
    with_it, without = (
        released_centre(one, Net(made.graph))[0].double() for one in (site, short)
    )
    moved = float((with_it - without).norm()) * 3 * made.privacy.centre.batch_size
    assert moved == pytest.approx(1.0, rel=1e-3)
    assert made.privacy.centre.sensitivity == 1 / made.privacy.centre.batch_size


def test_features_that_are_not_finite_count_as_nothing(images: Dataset) -> None:
    made = plan(experiment(sigma=1.0, centre_noise=1e-6), data=images)
    site = made.everybody
    x = made.data.x.clone()
    x[site.records[0].rows[0]] = float("inf")
    broken = {a: AgentRecords(x, own.y, own.rows) for a, own in site.records.items()}
    rows = released_centre(replace(site, records=broken), Net(made.graph))
    assert rows.isfinite().all()


# ------------------------------------------------------------------ what it costs
def test_it_is_counted_with_the_rounds_and_the_target_holds(run: Path) -> None:
    found = json.loads((run / "summary.json").read_text())
    proven = found["epsilon"]["eavesdropper"]
    assert 3.9 < proven <= 4.0
    assert recompute(run / "ledger.jsonl")["eavesdropper"] == pytest.approx(proven)
    assert "noise multiplier 3 at every agent" in found["privacy_statement"]
    evidence = statement_evidence.read(run)
    assert max(evidence.spent[EAVESDROPPER]) == pytest.approx(proven)
    assert evidence.disputed() == []


def test_it_costs_what_a_gaussian_release_of_all_records_costs(
    images: Dataset,
) -> None:
    both = plan(experiment(sigma=2.0, epsilon=None), data=images).privacy
    alone = replace(both, centre=None)
    (step, count), (centre, once) = (
        (both.step(0, EAVESDROPPER), 6),
        both.beside(0, EAVESDROPPER)[0],
    )
    assert (centre.sigma, centre.rate, once) == (3.0, 1.0, 1)
    total = epsilon([(step, count), (centre, 1)], 1e-5)
    assert both.worst(EAVESDROPPER) == total > alone.worst(EAVESDROPPER)
    assert both.worst(EAVESDROPPER, 0) == epsilon([(centre, 1)], 1e-5)
    again = replace(both, centres=2)
    assert again.worst(EAVESDROPPER) > total


def test_a_budget_that_the_centre_alone_exceeds_is_refused(images: Dataset) -> None:
    with pytest.raises(PrivacyRefused, match="that of the centre alone is"):
        plan(experiment(centre_noise=0.5, epsilon=1.0), data=images)
    with pytest.raises(
        PrivacyRefused, match="budget of epsilon = 1, but that of the centre"
    ):
        plan(experiment(centre_noise=0.5, sigma=50.0, budget="1"), data=images)


# ------------------------------------------------------------------ in the folder
def test_the_ledger_has_it_before_the_first_round(run: Path) -> None:
    lines = [json.loads(one) for one in (run / "ledger.jsonl").read_text().splitlines()]
    assert lines[1]["centre"] == 1 and lines[2]["round"] == 1
    assert read(run / "ledger.jsonl").centre_lines == 1
    assert [one["channel"] for one in lines[0]["releases"]] == ["gradient", CENTRE]
    assert lines[0]["releases"][1]["noise_multiplier"] == 3.0


def test_verify_agrees_and_misses_a_centre_that_is_gone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def verify() -> dict:
        cli.main(["privacy", "verify", str(run), "--json"], standalone_mode=False)
        return json.loads(capsys.readouterr().out)

    assert verify()["agrees"]
    ledger = run / "ledger.jsonl"
    before = ledger.read_bytes()
    lines = before.splitlines(keepends=True)
    try:
        ledger.write_bytes(b"".join([lines[0], *lines[2:]]))
        checks = {one["name"]: one["agrees"] for one in verify()["checks"]}
        assert checks["centre in the ledger"] is False and checks["chain"] is False
    finally:
        ledger.write_bytes(before)


def test_a_run_goes_on_with_the_centre_it_has(
    images: Dataset, run: Path, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    with pytest.raises(Interrupted):
        dpdl.train(experiment(), data=images, out=part, callbacks=[StopAt(3)])
    dpdl.resume(part, data=images)
    assert read(part / "ledger.jsonl").centre_lines == 1
    whole, again = (States(one).load(6, [0, 1, 2]).state for one in (run, part))
    assert torch.equal(whole["x"], again["x"])
    assert torch.equal(whole[CENTRE], again[CENTRE])
    first, second = (
        json.loads((one / "summary.json").read_text()) for one in (run, part)
    )
    assert without_time(first) == without_time(second)


def test_threads_give_the_same_bits(images: Dataset, run: Path) -> None:
    threads = dpdl.train(experiment(), data=images, placement="threads:3")
    assert torch.equal(threads.models, States(run).load(6, [0, 1, 2]).state["x"])


def test_with_secure_randomness_a_centre_that_leaves_again_is_charged_again(
    images: Dataset, tmp_path: Path
) -> None:
    secure = experiment(randomness="secure")
    with pytest.raises(Interrupted):
        dpdl.train(secure, data=images, out=tmp_path, callbacks=[StopAt(1)])
    for state in tmp_path.glob("state*"):
        state.unlink()  # as if it had crashed before its first checkpoint
    found = dpdl.resume(tmp_path, data=images)
    content = read(tmp_path / "ledger.jsonl")
    assert content.centre_lines == content.centres == 2
    assert "left 2 times" in found.summary.privacy_statement
    proven = found.summary.epsilon.proven["eavesdropper"].value
    assert recompute(tmp_path / "ledger.jsonl")["eavesdropper"] == proven
    assert proven > 4.0


def test_the_price_of_more_rounds_counts_every_centre(
    images: Dataset, tmp_path: Path
) -> None:
    """One before a crash, one before the rounds there are, and one that is still to leave."""
    e = experiment(randomness="secure", sigma=9.0)
    for crashes, centres in ((1, 3), (0, 2)):
        run = tmp_path / str(crashes)
        with pytest.raises(Crash):
            dpdl.train(e, data=images, out=run, callbacks=[crash_at(1)])
        if crashes:
            with pytest.raises(Crash):
                dpdl.resume(run, data=images, callbacks=[crash_at(1)])
        p = replan(run, data=images, rounds=9)
        model = replace(p.privacy, centres=centres - 1)
        now = model.worst(EAVESDROPPER, crashes + 1)
        then = replace(model, centres=centres).worst(EAVESDROPPER, crashes + 10)
        assert f"from {now:.4g} to {then:.4g}" in price(p, run)
        found = dpdl.resume(run, data=images, rounds=9).summary.epsilon
        assert found.proven["eavesdropper"].value == then
    p = replan(run, data=images, rounds=12)
    then = replace(model, centres=2).worst(EAVESDROPPER, 13)
    assert f"to {then:.4g}," in price(p, run)


def test_the_ledger_of_the_data_pays_for_it_before_the_rounds(
    images: Dataset, tmp_path: Path
) -> None:
    ledger = new_ledger(tmp_path)
    secure = experiment(randomness="secure")
    found = dpdl.train(secure, data=images, ledger=ledger)
    proven = found.summary.epsilon.proven["eavesdropper"].value
    assert spent(ledger) == pytest.approx(proven, rel=1e-9)
    balanced = balance(ledger)
    assert (balanced.rounds_spent, balanced.rounds_left) == (7, 0)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(PrivacyRefused):
        dpdl.train(secure, data=images, ledger=new_ledger(other, 3.9))


def test_a_ledger_that_lacks_one_round_is_older_though_it_has_the_centre(
    images: Dataset, tmp_path: Path
) -> None:
    ledger, run, copy = new_ledger(tmp_path), tmp_path / "run", tmp_path / "copy"

    def keep(t: int, metrics: object) -> None:
        if t == 1:
            shutil.copytree(ledger, copy)
        if t == 2:
            raise Crash

    secure = experiment(randomness="secure")
    with pytest.raises(Crash):
        dpdl.train(secure, data=images, out=run, ledger=ledger, callbacks=[keep])
    assert balance(copy).rounds_spent == 2  # the centre and a round, of two rounds
    with pytest.raises(InputError, match="older than run"):
        dpdl.resume(run, data=images, ledger=copy)


def test_a_budget_holds_however_often_a_centre_leaves(
    images: Dataset, tmp_path: Path
) -> None:
    """Every crash before the first checkpoint pays for one more, until none is affordable."""
    one = experiment(randomness="secure", sigma=9.0, centre_noise=8.0, budget="1.5")
    with pytest.raises(Interrupted):
        dpdl.train(one, data=images, out=tmp_path, callbacks=[StopAt(1)])
    for _ in range(30):
        before = (tmp_path / "ledger.jsonl").read_bytes()
        for file in tmp_path.glob("state*"):
            file.unlink()
        try:
            dpdl.resume(tmp_path, data=images, callbacks=[StopAt(1)])
        except PrivacyRefused:
            break
        except Interrupted:
            continue
    assert (tmp_path / "ledger.jsonl").read_bytes() == before, "something left"
    assert read(tmp_path / "ledger.jsonl").centre_lines > 2
    assert recompute(tmp_path / "ledger.jsonl")["eavesdropper"] <= 1.5


# ------------------------------------------------------------------ the model
def test_the_model_is_given_back_with_its_centre(
    images: Dataset, run: Path, tmp_path: Path
) -> None:
    trained = dpdl.load(run)
    right = (trained(images.x_test).argmax(1) == images.y_test).double().mean()
    found = json.loads((run / "summary.json").read_text())["accuracy"]
    assert float(right) == pytest.approx(found["average_model"])
    assert "Centred(" in repr(trained.module)


def test_what_a_model_sees_has_one_length(images: Dataset) -> None:
    made = plan(experiment(sigma=1.0), data=images)
    net = Net(made.graph)
    site = made.everybody.with_centres(net.agents, released_centre(made.everybody, net))
    for batch in site.batches(net.agents, 1):
        norms = batch.x.flatten(1).norm(dim=1)
        torch.testing.assert_close(norms, torch.full_like(norms, 3.0))
    assert np.isfinite(norms.numpy()).all()


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"centre": None}, "add centre 'private'"),
        ({"centre": "public"}, "Unknown centre 'public'"),
        ({"centre_noise": 0.0}, "centre_noise must be a finite number above 0"),
    ],
)
def test_what_cannot_have_a_centre_is_refused(options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        experiment(**options)


def test_a_centre_of_what_is_no_feature_is_refused(images: Dataset) -> None:
    with pytest.raises(InputError, match="linear in fixed features"):
        plan(experiment(model="lenet"), data=images)
    with pytest.raises(InputError, match="linear in fixed features"):
        plan(experiment(), data=images, model=torch.nn.Linear(64, 3))


def test_an_algorithm_without_agreement_is_refused(images: Dataset) -> None:
    with pytest.raises(InputError, match="agents agree on a mean"):
        plan(experiment(algorithm="dp-dpsgd"), data=images)


def test_a_centre_is_not_recorded(images: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="with a centre cannot be recorded"):
        dpdl.train(experiment(), data=images, out=tmp_path / "run", record="1")


# ------------------------------------------------------------------ with noise that cancels
@pytest.mark.parametrize("graph", ["ring", "complete"])
def test_noise_of_pairs_cancels_in_a_centre_and_little_is_enough(
    images: Dataset, graph: str
) -> None:
    made = plan(
        experiment(algorithm="concord", agents=5, graph=graph, centre_noise=20.0),
        data=images,
    )
    own = made.privacy.centre.noise_multiplier
    assert own == pytest.approx(20.0 / 5**0.5, rel=0.02)
    (step, _) = made.privacy.beside(2, EAVESDROPPER)[0]
    assert step.sigma == pytest.approx(20.0)
    rows = released_centre(made.everybody, Net(made.graph))
    features = made.data.x.double().flatten(1)
    wanted = (features / features.norm(dim=1, keepdim=True)).mean(dim=0)
    off = rows.double() - wanted
    # All together: 20 in the sum of 90 records, whatever the graph.
    assert float(off[0].std()) == pytest.approx(20 / 90, rel=0.15)
    assert float((rows - rows[0]).abs().max()) < 1e-4 * float(off.std())


def test_concord_trains_around_it_on_a_ring(images: Dataset) -> None:
    found = dpdl.train(
        experiment(
            algorithm="concord", agents=5, graph="ring", rounds=20, epsilon=50.0
        ),
        data=images,
    )
    assert found.summary["accuracy"]["average_model"] > 0.9
    assert found.summary.consensus_distance < 1e-4
