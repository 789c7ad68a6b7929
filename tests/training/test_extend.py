"""`dpdl resume RUN --rounds N`: more rounds with the noise that the others had, and the price of all of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.cli import cli
from dpdl.errors import InputError
from dpdl.folder.export import export
from dpdl.folder.verify import verify
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset
from dpdl.training.extend import price
from dpdl.training.interrupt import Interrupted
from dpdl.training.train import replan
from tests.conftest import small_module
from tests.folder.ledgers import PLANNED, Crash, crash_at, lines, resume
from tests.training.small import StopAt, changed, train, without_time


def test_a_finished_run_is_extended_with_the_sigma_it_has(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    short = train(blobs, changed(**PLANNED, rounds=4), out=run)
    sigma = short.summary["sigma"]
    before = (run / "ledger.jsonl").read_bytes()
    longer = resume(run, blobs, rounds=10)
    assert longer.summary["sigma"] == sigma
    assert longer.summary["rounds"] == 10
    expected = longer.plan.privacy.with_noise(sigma).worst(EAVESDROPPER, 10)
    assert (
        short.summary["epsilon"]["eavesdropper"]
        <= 8
        < expected
        == longer.summary["epsilon"]["eavesdropper"]
    )
    assert f"Proven: ({expected:.4g}, 1e-05)" in longer.summary["privacy_statement"]
    assert "over 10 rounds" in longer.summary["privacy_statement"]
    assert (run / "ledger.jsonl").read_bytes().startswith(before)
    assert [line.get("rounds") for line in lines(run) if "rounds" in line] == [4, 10]
    assert verify(run).agrees
    written = json.loads((run / "experiment.json").read_text())["experiment"]
    assert (written["rounds"], written["sigma"], written["noise"]) == (
        10,
        sigma,
        "accountant",
    )
    same = train(blobs, changed(**{**PLANNED, "sigma": sigma}, rounds=10))
    assert torch.equal(longer.models, same.models)
    assert resume(run, blobs).summary == longer.summary


def test_the_price_is_said_before(blobs: Dataset, tmp_path: Path) -> None:
    run = tmp_path / "run"
    short = train(blobs, changed(**PLANNED, rounds=4), out=run)
    p = replan(run, data=blobs, model=small_module(), rounds=10)
    sentence = price(p, run)
    now, then = (
        short.summary["epsilon"]["eavesdropper"],
        p.privacy.with_noise(short.summary["sigma"]).worst(EAVESDROPPER, 10),
    )
    assert (
        f"From round 4 to round 10 with sigma = {short.summary['sigma']:.4g}"
        in sentence
    )
    assert (
        f"epsilon goes from {now:.4g} to {then:.4g}, delta = 1e-05, against an eavesdropper on all links"
        in sentence
    )
    assert (
        json.loads((run / "experiment.json").read_text())["experiment"]["rounds"] == 4
    )


def test_the_price_counts_what_secure_randomness_repeats(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Crash):
        train(
            blobs,
            changed(randomness="secure", sigma=9.0, algorithm="dpdl-sound"),
            out=run,
            watch=crash_at(8),
        )
    p = replan(run, data=blobs, model=small_module(), rounds=14)
    now, then = (
        p.privacy.with_noise(9.0).worst(EAVESDROPPER, rounds) for rounds in (8, 16)
    )  # 7 and 8 leave twice
    assert f"from {now:.4g} to {then:.4g}" in price(p, run)
    assert resume(run, blobs, rounds=14).summary["epsilon"]["eavesdropper"] == then


def test_an_interrupted_run_is_extended_or_shortened(
    blobs: Dataset, tmp_path: Path
) -> None:
    for rounds in (8, 15):
        run = tmp_path / str(rounds)
        with pytest.raises(Interrupted):
            train(blobs, out=run, watch=StopAt(5))
        assert torch.equal(
            resume(run, blobs, rounds=rounds).models,
            train(blobs, changed(rounds=rounds)).models,
        )
        assert verify(run).agrees


def test_an_extension_that_is_interrupted_is_resumed_as_one(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(blobs, changed(**PLANNED, rounds=4), out=run)
    with pytest.raises(Interrupted):
        resume(run, blobs, rounds=10, watch=StopAt(6))
    assert not (run / "summary.json").exists()
    assert resume(run, blobs).summary["rounds"] == 10
    assert verify(run).agrees


@pytest.mark.parametrize(("rounds", "ran"), [(0, 12), (-1, 12), (11, 12)])
def test_what_has_left_cannot_be_taken_back(
    blobs: Dataset, tmp_path: Path, rounds: int, ran: int
) -> None:
    run = tmp_path / "run"
    train(blobs, out=run)
    with pytest.raises(
        InputError,
        match=f"has run {ran} rounds: rounds must be at least {ran}, not {rounds}",
    ):
        resume(run, blobs, rounds=rounds)


def test_a_round_that_left_before_a_crash_counts_as_run(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Crash):
        train(blobs, out=run, watch=crash_at(8))
    with pytest.raises(InputError, match="has run 8 rounds"):
        resume(run, blobs, rounds=7)


def test_a_budget_ends_an_extension(blobs: Dataset, tmp_path: Path) -> None:
    run = tmp_path / "run"
    tight = changed(algorithm="dpdl-sound", sigma=2.0, budget="1.2", rounds=2)
    assert train(blobs, tight, out=run).stopped is None
    longer = resume(run, blobs, rounds=40)
    assert (
        longer.stopped and "of 40: one more would exceed the budget" in longer.stopped
    )
    assert longer.summary["epsilon"]["eavesdropper"] <= 1.2
    assert 2 < longer.summary["rounds"] < 40
    assert verify(run).agrees


def test_without_noise_there_is_nothing_to_keep(blobs: Dataset, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(blobs, changed(algorithm="d-psgd", sigma=None, rounds=4), out=run)
    longer = resume(run, blobs, rounds=6)
    assert torch.equal(
        longer.models,
        train(blobs, changed(algorithm="d-psgd", sigma=None, rounds=6)).models,
    )
    assert (
        json.loads((run / "experiment.json").read_text())["experiment"]["sigma"] is None
    )


def test_an_average_that_needs_models_which_are_gone_is_refused(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(blobs, changed(average=0.5, rounds=4, eval_every=1), out=run)
    with pytest.raises(InputError, match="begins with round 4, whose models are gone"):
        resume(run, blobs, rounds=6)
    longer = resume(run, blobs, rounds=9)  # rounds 6 to 9
    whole = train(blobs, changed(average=0.5, rounds=9, eval_every=1))
    assert torch.equal(longer.models, whole.models)
    assert without_time(longer.metrics[4]) == without_time(
        whole.metrics[4]
    )  # before the average begins


def test_an_average_of_all_rounds_goes_on(blobs: Dataset, tmp_path: Path) -> None:
    train(blobs, changed(average=1.0, rounds=4), out=tmp_path / "run")
    longer = resume(tmp_path / "run", blobs, rounds=6)
    assert torch.equal(
        longer.models, train(blobs, changed(average=1.0, rounds=6)).models
    )


def test_other_programs_still_count_from_the_beginning(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(blobs, changed(rounds=4), out=run)
    os.utime(run / "experiment.json", (1_000_000_000, 1_000_000_000))
    resume(run, blobs, rounds=6)
    assert (run / "experiment.json").stat().st_mtime == 1_000_000_000
    assert export(run, "csv").read_text().count("\n") == 1 + 3  # rounds 1, 4 and 6


def test_the_command_says_the_price_and_pays_it(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    e = dpdl.Experiment(dataset="digits", agents=4, rounds=2, sigma=9.0, eval_every=2)
    short = dpdl.train(e, out="r").summary["epsilon"]["eavesdropper"]
    cli.main(
        ["resume", "r", "--rounds", "4", "--json", "--quiet"], standalone_mode=False
    )
    out, err = capsys.readouterr()
    longer = json.loads(out)["epsilon"]["eavesdropper"]
    assert f"epsilon goes from {short:.4g} to {longer:.4g}" in err
