"""The mean of the last models: what it is, that it survives a resume, and that training does not notice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.training.interrupt import Interrupted

OPTIONS = {
    "dataset": "digits",
    "agents": 4,
    "rounds": 7,
    "batch": 16,
    "sigma": 1.0,
    "checkpoint_every": 1,
}


def models_after(rounds: int) -> torch.Tensor:
    """Noise, batches and steps of a round do not depend on how many follow."""
    return dpdl.train(dpdl.Experiment(**{**OPTIONS, "rounds": rounds})).models


def test_the_result_is_the_mean_of_the_last_models() -> None:
    found = dpdl.train(dpdl.Experiment(**OPTIONS, average=0.5)).models  # 3 of 7 rounds
    expected = torch.stack([models_after(t) for t in (5, 6, 7)]).mean(0)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found, models_after(7), atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_share_of_less_than_a_round_averages_nothing(share: float) -> None:
    assert torch.equal(
        dpdl.train(dpdl.Experiment(**OPTIONS, average=share)).models, models_after(7)
    )


def test_all_rounds_can_be_averaged() -> None:
    found = dpdl.train(dpdl.Experiment(**{**OPTIONS, "rounds": 2}, average=1.0)).models
    torch.testing.assert_close(
        found, (models_after(1) + models_after(2)) / 2, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("stop", [3, 5, 6])
def test_a_resumed_run_goes_on_averaging(tmp_path: Path, stop: int) -> None:
    e = dpdl.Experiment(**OPTIONS, average=0.5)

    def watch(t: int, metrics) -> None:
        if t == stop:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        dpdl.train(e, out=tmp_path / "run", watch=watch)
    assert torch.equal(dpdl.resume(tmp_path / "run").models, dpdl.train(e).models)


def test_placements_agree() -> None:
    e = dpdl.Experiment(**OPTIONS, average=0.5)
    assert torch.equal(
        dpdl.train(e, placement="threads:2").models, dpdl.train(e).models
    )


def test_accuracy_is_that_of_the_mean() -> None:
    result = dpdl.train(dpdl.Experiment(**OPTIONS, average=0.5))
    with torch.no_grad():
        module, data = result.module(), result.plan.data
        right = module(data.inputs(data.x_test, torch.float32)).argmax(1) == data.y_test
    assert result.summary["accuracy"]["average_model"] == pytest.approx(
        float(right.float().mean())
    )
