"""The ledger only grows, and what it says of rounds that have left cannot be priced anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from dpdl.errors import InputError
from dpdl.folder.ledger import recompute
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from tests.folder.ledgers import (
    PLANNED,
    Crash,
    as_format_1,
    crash_at,
    edit,
    lines,
    resume,
)
from tests.training.small import StopAt, changed, train, without_time

SOUND = changed(algorithm="dpdl-sound")


# ----------------------------------------------------------------- only growing
@pytest.mark.parametrize("mode", ["reproducible", "secure"])
def test_a_crash_and_its_repair_only_add_lines(
    blobs: Dataset, tmp_path: Path, mode: str
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Crash):
        train(blobs, changed(randomness=mode, sigma=9.0), out=run, watch=crash_at(8))
    before = (run / "ledger.jsonl").read_bytes()
    resumed = resume(run, blobs)
    assert (run / "ledger.jsonl").read_bytes().startswith(before)
    assert [line["round"] for line in lines(run) if line.get("again")] == [7, 8]
    paid = 12 if mode == "reproducible" else 14
    expected = resumed.plan.privacy.with_noise(9.0).worst(EAVESDROPPER, paid)
    assert resumed.summary["epsilon"]["eavesdropper"] == expected
    assert recompute(run / "ledger.jsonl")["eavesdropper"] == expected


def test_rounds_that_leave_again_do_not_change_what_a_simulation_reports(
    blobs: Dataset, tmp_path: Path
) -> None:
    whole, run = train(blobs, out=tmp_path / "whole"), tmp_path / "run"
    with pytest.raises(Crash):
        train(blobs, out=run, watch=crash_at(8))
    with pytest.raises(Crash):
        resume(run, blobs, watch=crash_at(10))
    resumed = resume(run, blobs)
    assert without_time(resumed.metrics) == without_time(whole.metrics)
    assert without_time(resumed.summary) == without_time(whole.summary)


def test_every_line_has_the_hash_of_the_line_before(
    blobs: Dataset, tmp_path: Path
) -> None:
    import hashlib

    result = train(blobs, out=tmp_path / "run")
    content = (tmp_path / "run" / "ledger.jsonl").read_bytes().splitlines()
    hashes = [hashlib.sha256(line).hexdigest()[:32] for line in content]
    assert [json.loads(line)["prev"] for line in content] == ["0" * 32, *hashes[:-1]]
    assert result.summary["ledger_head"] == hashes[-1]


# ---------------------------------------------------------------- what is damaged
@pytest.mark.parametrize("rest", ['{"round": 6, "pre', '{"round": 6', "\0\0\0\0", "{"])
def test_a_line_that_a_crash_cut_off_is_dropped_and_nothing_else(
    blobs: Dataset, tmp_path: Path, rest: str
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, SOUND, out=run, watch=StopAt(5))
    path = run / "ledger.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + rest.encode())
    spent = recompute(path)
    resume(run, blobs)
    assert path.read_bytes().startswith(before)
    assert [line["round"] for line in lines(run)[1:]] == list(range(1, 13))
    assert recompute(path)["eavesdropper"] > spent["eavesdropper"]


def test_a_whole_line_that_lost_its_end_is_still_on_the_bill(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, changed(sigma=9.0), out=run, watch=StopAt(5))
    path = run / "ledger.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    resumed = resume(run, blobs)
    assert [line["round"] for line in lines(run)[1:]] == list(range(1, 13))
    assert recompute(path)["eavesdropper"] == resumed.summary["epsilon"]["eavesdropper"]


@pytest.mark.parametrize("line", [1, 3, 6])
def test_a_damaged_line_is_named_and_never_dropped(
    blobs: Dataset, tmp_path: Path, line: int
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, out=run, watch=StopAt(5))
    path = run / "ledger.jsonl"
    content = path.read_text().splitlines()
    content[line - 1] = content[line - 1][:7]
    path.write_text("\n".join(content) + "\n")
    before = {p.name: p.read_bytes() for p in run.iterdir()}
    for work in (lambda: recompute(path), lambda: resume(run, blobs)):
        with pytest.raises(InputError, match=f"damaged in line {line}"):
            work()
    assert {p.name: p.read_bytes() for p in run.iterdir()} == before


def test_a_run_does_not_go_on_with_a_ledger_that_was_changed(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, out=run, watch=StopAt(5))
    content = (run / "ledger.jsonl").read_text().splitlines()
    del content[2]
    (run / "ledger.jsonl").write_text("\n".join(content) + "\n")
    with pytest.raises(InputError, match=r"was changed: line 3 does not follow"):
        resume(run, blobs)


# -------------------------------------------------------------- another mechanism
def test_rounds_that_have_left_are_not_priced_anew(
    blobs: Dataset, tmp_path: Path
) -> None:
    """Under the accountant more rounds mean more noise: the first ones did not have it."""
    run = tmp_path / "run"
    sigma = train(blobs, changed(**PLANNED, rounds=4), out=run).summary["sigma"]
    before = {
        p.name: p.read_bytes() for p in run.iterdir() if p.name != "experiment.json"
    }
    edit(run, rounds=40)
    with pytest.raises(
        InputError, match=rf"started with sigma = {sigma}.*dpdl resume .*run --rounds N"
    ):
        resume(run, blobs)
    assert {
        p.name: p.read_bytes() for p in run.iterdir() if p.name != "experiment.json"
    } == before


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"sigma": 2.0}, "sigma"),
        ({"batch": 9}, "batch"),
        ({"clip": 2.0}, "clip"),
        ({"clip_unit": "batch"}, "clip_unit"),
        ({"sampling": "fixed"}, "sampling|relation"),
        ({"algorithm": "dpdl-sound"}, "algorithm"),
        ({"relation": "replace-one"}, "relation"),
        ({"delta": 1e-6}, "delta"),
        ({"randomness": "secure"}, "randomness"),
        ({"threat": "final-model"}, "threat"),
        ({"alpha": 1.0}, "alpha"),
        ({"seed": 3}, "records|seed"),
        ({"lr": 0.01}, "lr"),
    ],
)
def test_another_mechanism_is_refused_by_name(
    blobs: Dataset, tmp_path: Path, options: dict, field: str
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, changed(randomness="reproducible"), out=run, watch=StopAt(5))
    edit(run, **options)
    with pytest.raises(InputError, match=rf"was started with (another )?({field})\b"):
        resume(run, blobs)


def test_what_changes_no_round_may_be_edited(blobs: Dataset, tmp_path: Path) -> None:
    whole, run = train(blobs, SOUND), tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, SOUND, out=run, watch=StopAt(5))
    edit(run, eval_every=3, checkpoint_every=2, budget="1e9")
    assert torch.equal(resume(run, blobs).models, whole.models)


def test_a_sigma_that_another_version_computed_stays(
    blobs: Dataset, tmp_path: Path
) -> None:
    """The run has the rule of `PLANNED`, and a sigma that this version would not compute by it."""
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, changed(**PLANNED | {"sigma": 7.0}), out=run, watch=StopAt(5))
    edit(run, sigma=None)
    with pytest.raises(InputError, match="sigma"):
        resume(run, blobs)
    content = json.loads((run / "experiment.json").read_text())
    (run / "experiment.json").write_text(json.dumps({**content, "version": "0.0.9"}))
    resumed = resume(run, blobs)
    assert resumed.summary["sigma"] == lines(run)[0]["sigma"] == 7.0


def test_a_second_header_cannot_price_the_rounds_above_it(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    head = train(blobs, changed(sigma=9.0), out=run).summary["ledger_head"]
    with (run / "ledger.jsonl").open("a") as file:
        file.write(json.dumps({**lines(run)[0], "sigma": 90.0, "prev": head}) + "\n")
    with pytest.raises(
        InputError,
        match="damaged in line 14: It has another sigma than the header above it",
    ):
        recompute(run / "ledger.jsonl")


# ------------------------------------------------------------------- format 1
@pytest.mark.parametrize("mode", ["reproducible", "secure"])
def test_a_run_with_an_old_ledger_goes_on_and_loses_nothing(
    blobs: Dataset, tmp_path: Path, mode: str
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Crash):
        train(
            blobs,
            changed(algorithm="dpdl-sound", randomness=mode, sigma=9.0),
            out=run,
            watch=crash_at(8),
        )
    as_format_1(run)
    path = run / "ledger.jsonl"
    before, spent = path.read_bytes(), recompute(path)
    resumed = resume(run, blobs)
    assert path.read_bytes().startswith(before)
    assert lines(run)[9]["ledger"] == 2
    paid = 12 if mode == "reproducible" else 14
    assert recompute(path)["eavesdropper"] == resumed.plan.privacy.with_noise(
        9.0
    ).worst(EAVESDROPPER, paid)
    assert spent["eavesdropper"] == pytest.approx(
        resumed.plan.privacy.with_noise(9.0).worst(EAVESDROPPER, 8), rel=1e-12
    )
    path.write_bytes(path.read_bytes().replace(b'{"round": 3}', b'{"round": 4}', 1))
    with pytest.raises(InputError, match="line 10 does not follow"):
        resume(run, blobs)


def test_an_old_ledger_of_another_mechanism_is_refused(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(blobs, changed(**PLANNED, rounds=4), out=run)
    as_format_1(run)
    edit(run, rounds=40)
    with pytest.raises(InputError, match="was started with sigma"):
        resume(run, blobs)
