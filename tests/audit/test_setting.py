"""What is audited is what the options say, or what a run did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpdl
from dpdl.audit.setting import GameRules, setting_of_options, setting_of_run
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.privacy.threats import EAVESDROPPER

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 3,
    "batch": 60,
    "rounds": 3,
    "algorithm": "gradient-tracking",
    "sigma": 2.0,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tracked"
    dpdl.train(dpdl.Experiment(**OPTIONS), out=folder)
    return folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    for name in ("experiment.json", "ledger.jsonl", "summary.json"):
        (tmp_path / name).write_text((run / name).read_text())
    return tmp_path


def test_a_run_is_audited_with_its_own_records_and_noise(run: Path) -> None:
    setting, sigma = setting_of_run(run, None)
    header = json.loads((run / "ledger.jsonl").read_text().splitlines()[0])
    assert sigma == 2.0 and setting.records == header["records"]
    assert setting.experiment.rounds == 3 and setting.graph.name == "ring"
    assert setting_of_run(run, 2)[0].experiment.rounds == 2


def test_a_run_has_a_proof_for_its_own_model_and_options_have_none(run: Path) -> None:
    setting, sigma = setting_of_run(run, None)
    summary = json.loads((run / "summary.json").read_text())
    proof = setting.proven_of_run(sigma, EAVESDROPPER)
    assert proof is not None and proof.parameters == summary["parameters"]
    assert proof.epsilon.value == pytest.approx(summary["epsilon"]["eavesdropper"])
    options = setting_of_options(dpdl.Experiment(**OPTIONS), 90)
    assert options.proven_of_run(sigma, EAVESDROPPER) is None


@pytest.mark.parametrize("rounds", [0, 4])
def test_a_run_has_no_more_rounds_than_it_played(run: Path, rounds: int) -> None:
    with pytest.raises(InputError, match="from 1 to the 3 of the run"):
        setting_of_run(run, rounds)


def test_an_unfinished_run_is_taken_as_planned(copy: Path) -> None:
    (copy / "summary.json").unlink()
    assert setting_of_run(copy, None)[0].experiment.rounds == 3


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("", "is damaged"),
        ("[1]", "holds no mechanism"),
        ('{"sigma": 2.0}', "holds no mechanism"),
        ('{"sigma": "2", "records": [1]}', "sigma must be a number"),
        ('{"sigma": 2.0, "records": [1.5]}', r"records\[0\] must be a whole number"),
        ('{"sigma": 0.0, "records": [1]}', "adds no noise"),
    ],
)
def test_a_ledger_without_a_mechanism_is_refused(
    copy: Path, line: str, hint: str
) -> None:
    (copy / "ledger.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=hint):
        setting_of_run(copy, None)


def test_every_agent_has_as_many_records_as_are_given() -> None:
    setting = setting_of_options(Experiment(**OPTIONS), 100)
    assert setting.records == [100] * 3
    assert setting.experiment.lr is not None, "nothing is left open"
    with pytest.raises(InputError, match="records must be at least the batch of 60"):
        setting_of_options(Experiment(**OPTIONS), 59)


def test_the_privacy_model_has_the_size_and_the_noise_that_are_given() -> None:
    setting = setting_of_options(Experiment(**OPTIONS), 100)
    model = setting.privacy(30, 1.5)
    assert (model.size, model.sigma, model.batch) == (30, 1.5, 60)
    assert setting.theorem1 is None, "the paper is about dpdl"
    literal = Experiment(**{**OPTIONS, "algorithm": "dpdl"})
    assert setting_of_options(literal, 100).theorem1 is not None


def test_a_trial_attacks_one_record() -> None:
    assert GameRules(50, None, None, 0.95, 0).canaries == 50
    assert GameRules(50, 20, "none", 0.95, 0).canaries == 1
