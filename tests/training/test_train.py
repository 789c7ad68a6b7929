"""Training from end to end on a small problem: learning, placements, checkpoints, interruption."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import InputError
from dpdl.folder.checkpoint import Checkpoint, restore, store
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from tests.conftest import small_module
from tests.training.small import StopAt, changed, train, without_time


def test_training_learns_and_reports_itself(blobs: Dataset, tmp_path: Path) -> None:
    result = train(blobs, changed(rounds=60, sigma=0.2), out=tmp_path / "run")
    first, last = result.metrics[0], result.metrics[-1]
    assert first["round"] == 1
    assert last["round"] == 60
    assert last["train_loss"]["mean"] < 0.6 * first["train_loss"]["mean"]
    assert last["accuracy"]["worst"] > 0.8
    s = result.summary
    assert s.to_json() == json.loads((tmp_path / "run" / "summary.json").read_text())
    timing = json.loads((tmp_path / "run" / "timing.json").read_text())
    assert timing == result.timing.to_json()
    assert 0 < timing["evaluation"] < timing["seconds"]
    assert {"algorithm", "dataset", "graph", "agents", "rounds", "seed", "parameters", "sigma", "delta", "accuracy",
            "train_loss", "consensus_distance", "epsilon", "privacy_statement", "bytes_sent", "seconds", "run_dir",
            "versions"} <= set(s.to_json())  # fmt: skip
    assert set(s["epsilon"]) == {
        "claimed_theorem1",
        "eavesdropper",
        "neighbour",
        "final_model",
    }
    assert s["parameters"] == 77 == result.models.shape[1]
    # three messages of 77 float32 per round and directed edge, 5 agents with 2 neighbours each
    assert s["bytes_sent"] == 3 * 77 * 4 * 60 * 10
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        metrics.to_json() for metrics in result.metrics
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("algorithm", ["dpdl", "dpdl-sound"])
def test_numbers_are_the_same_on_any_placement(
    blobs: Dataset, dtype: str, algorithm: str
) -> None:
    experiment = changed(dtype=dtype, algorithm=algorithm)
    alone = train(blobs, experiment)
    for placement in ("threads:1", "threads:2", "threads:5"):
        spread = train(blobs, experiment, placement=placement)
        assert torch.equal(alone.models, spread.models)
        assert without_time(spread.summary) == without_time(alone.summary)
        assert without_time(spread.metrics) == without_time(alone.metrics)


def test_a_seed_repeats_a_run_and_another_seed_does_not(blobs: Dataset) -> None:
    assert torch.equal(train(blobs).models, train(blobs).models)
    assert not torch.equal(train(blobs).models, train(blobs, changed(seed=1)).models)


def test_secure_randomness_does_not_repeat(blobs: Dataset) -> None:
    secure = changed(randomness="secure", rounds=2)
    first, second = train(blobs, secure), train(blobs, secure)
    assert not torch.equal(first.models, second.models)
    assert "the seed is known" not in first.summary["privacy_statement"]
    assert "the seed is known" in train(blobs).summary["privacy_statement"]


@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_ctrl_c_saves_and_resume_is_bit_identical(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    before = signal.getsignal(signal.SIGINT)
    whole = train(blobs, out=tmp_path / "whole")
    with pytest.raises(Interrupted, match="dpdl resume"):
        train(blobs, out=tmp_path / "cut", watch=StopAt(5), placement=placement)
    assert not (tmp_path / "cut" / "summary.json").exists()
    assert restore(tmp_path / "cut" / "state.safetensors").round == 5
    resumed = dpdl.resume(tmp_path / "cut", data=blobs, model=small_module())
    assert torch.equal(resumed.models, whole.models)
    assert without_time(resumed.summary) == without_time(whole.summary)
    assert without_time(resumed.metrics) == without_time(whole.metrics)
    assert signal.getsignal(signal.SIGINT) is before


def test_resume_redoes_rounds_that_a_crash_lost_and_forgets_half_a_line(
    blobs: Dataset, tmp_path: Path
) -> None:
    whole = train(blobs, out=tmp_path / "whole")

    class Crash(Exception):
        pass

    def crash(t: int, metrics) -> None:
        if t == 8:
            raise Crash

    with pytest.raises(Crash):
        train(blobs, out=tmp_path / "cut", watch=crash)
    with (tmp_path / "cut" / "metrics.jsonl").open("a") as file:
        file.write('{"round": 9, "train_lo')
    resumed = dpdl.resume(tmp_path / "cut", data=blobs, model=small_module())
    assert torch.equal(resumed.models, whole.models)
    assert without_time(resumed.metrics) == without_time(whole.metrics)


def test_resume_before_the_first_checkpoint_starts_again(
    blobs: Dataset, tmp_path: Path
) -> None:
    whole = train(blobs)
    with pytest.raises(Interrupted):
        train(blobs, out=tmp_path / "cut", watch=StopAt(1))
    (tmp_path / "cut" / "state.safetensors").unlink()
    assert torch.equal(
        dpdl.resume(tmp_path / "cut", data=blobs, model=small_module()).models,
        whole.models,
    )


def test_a_finished_run_is_resumed_by_reading_it(
    blobs: Dataset, tmp_path: Path
) -> None:
    whole = train(blobs, out=tmp_path / "run")
    seen = []
    again = dpdl.resume(
        tmp_path / "run",
        data=blobs,
        model=small_module(),
        watch=lambda t, m: seen.append(t),
    )
    assert not seen
    assert torch.equal(again.models, whole.models)
    assert again.summary == whole.summary


def spoil(run: Path, what: str) -> None:
    state, header = run / "state.safetensors", run / "experiment.json"
    content = bytearray(state.read_bytes())
    match what:
        case "one bit":
            content[-100] ^= 1
            state.write_bytes(content)
        case "truncated":
            state.write_bytes(content[: len(content) // 2])
        case "round":
            last = restore(state)
            store(state, last._replace(round=5))
            text = state.read_bytes().replace(b'"round":"5"', b'"round":"9"')
            state.write_bytes(text)
        case "version":
            facts = json.loads(header.read_text())
            header.write_text(json.dumps({**facts, "format": 99, "version": "7.0"}))
        case "no json":
            header.write_text("{")
        case "gone":
            header.unlink()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("one bit", "damaged"),
        ("truncated", "cannot be read"),
        ("round", "damaged"),
        ("version", r"another version.*7\.0"),
        ("no json", "damaged"),
        ("gone", "holds no run"),
    ],
)
def test_a_damaged_run_is_refused_and_left_as_it_is(
    blobs: Dataset, tmp_path: Path, what: str, words: str
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, out=run, watch=StopAt(5))
    spoil(run, what)
    before = {p.name: p.read_bytes() for p in run.iterdir()}
    with pytest.raises(InputError, match=words):
        dpdl.resume(run, data=blobs, model=small_module())
    assert {p.name: p.read_bytes() for p in run.iterdir()} == before


def test_a_finished_run_without_metrics_is_refused_and_left_as_it_is(
    blobs: Dataset, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(blobs, out=run)
    (run / "metrics.jsonl").write_text('{"round": 1, "tra')
    before = {p.name: p.read_bytes() for p in run.iterdir()}
    with pytest.raises(InputError, match="no evaluated round is left"):
        dpdl.resume(run, data=blobs, model=small_module())
    assert {p.name: p.read_bytes() for p in run.iterdir()} == before


def test_resume_with_other_data_model_or_graph_is_refused(
    blobs: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train(blobs, out=tmp_path / "run", watch=StopAt(5))
    with pytest.raises(InputError, match="another graph_sha256"):
        dpdl.resume(
            tmp_path / "run", data=blobs, model=small_module(), graph=dpdl.graph.path(5)
        )
    with pytest.raises(InputError, match="another model_shapes"):
        dpdl.resume(tmp_path / "run", data=blobs)
    other = Dataset(
        "other",
        blobs.x + 1,
        blobs.y,
        blobs.x_test,
        blobs.y_test,
        3,
        mean=(0.0,),
        std=(1.0,),
    )
    with pytest.raises(InputError, match="another data_sha256"):
        dpdl.resume(tmp_path / "run", data=other, model=small_module())


def test_tiny_batches_that_are_often_empty_train_without_nan(blobs: Dataset) -> None:
    result = train(blobs, changed(batch=1, rounds=6, eval_every=1))
    assert result.models.isfinite().all()
    for metrics in result.metrics:
        json.dumps(metrics.to_json(), allow_nan=False)


def test_noise_none_has_no_epsilon(blobs: Dataset) -> None:
    summary = train(blobs, changed(noise="none", sigma=None, rounds=1)).summary
    assert summary["sigma"] == 0
    assert set(summary["epsilon"].values()) == {"unbounded"}


def test_chunk_clipping_has_no_guarantee(blobs: Dataset) -> None:
    summary = train(blobs, changed(clip_unit="chunks", rounds=1)).summary
    assert summary["epsilon"]["eavesdropper"] == "unbounded"
    assert "no guarantee" in summary["epsilon_note"]


def test_a_checkpoint_survives_the_round_trip(tmp_path: Path) -> None:
    state = {"x": torch.randn(3, 4), "v": torch.randn(3, 4, dtype=torch.float64)}
    before = Checkpoint(7, 1.25, state, torch.tensor([[1, 2], [3, 4], [5, 6]]))
    store(tmp_path / "state.safetensors", before)
    after = restore(tmp_path / "state.safetensors")
    assert (after.round, after.seconds) == (7, 1.25)
    assert all(torch.equal(after.state[k], state[k]) for k in state)
    assert torch.equal(after.totals, before.totals)
