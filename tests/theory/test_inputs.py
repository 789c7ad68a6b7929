"""The theorem is applied to options, or to the files of a run."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dpdl.cli.theory import theory
from dpdl.errors import InputError
from dpdl.graph import build
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.theory import (
    MEANING,
    Letters,
    bound,
    explain,
)
from dpdl.theory.inputs import LENET
from tests.folder.measured import summary


def call(*words: str) -> Result:
    return CliRunner().invoke(theory, list(words))


def result(*words: str) -> dict:
    called = call(*words, "--json")
    assert called.exit_code == 0, called.exception
    return json.loads(called.stdout)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    graph = build("ring", 6)
    experiment = {
        "graph": "ring", "agents": 6, "weights": "metropolis", "seed": 0, "rounds": 50, "batch": 16, "lr": 0.02,
        "momentum": 0.5, "alpha": 1.0, "clip": 1.5, "algorithm": "dpdl", "lr_decay": 1.0, "weight_decay": 0.0,
        "clip_unit": "sample",
    }  # fmt: skip
    header = {
        "format": 1,
        "experiment": experiment,
        "graph_sha256": hashlib.sha256(graph.W.tobytes()).hexdigest(),
    }
    claimed = Epsilons(Epsilon(0.25))
    found = summary(sigma=0.7, parameters=123, epsilon=claimed)
    (tmp_path / "experiment.json").write_text(json.dumps(header))
    (tmp_path / "summary.json").write_text(json.dumps(found.to_json()))
    return tmp_path


def change(path: Path, **values: object) -> None:
    content = json.loads(path.read_text())
    (content["experiment"] if path.name == "experiment.json" else content).update(
        values
    )
    path.write_text(json.dumps(content))


def test_a_run_gives_its_own_values(run: Path):
    found = result(str(run), "--smoothness", "0.5", "--xi", "0.1")
    graph = build("ring", 6)
    expected = Letters(
        eta=0.02, beta=0.5, rho=graph.rho, L=0.5, N=6, T=50, C=1.5, sigma=0.7, d=123, w_min=graph.w_min, B=16,
        alpha=1.0, xi=0.1, kappa=1.0, gap=math.log(10), epsilon=0.25,
    )  # fmt: skip
    assert found["bound"] == bound(expected).total
    assert {name: found["inputs"][name] for name in MEANING} == explain(
        expected
    ).inputs.to_json()
    assert found["inputs"]["run"] == str(run)


def test_a_run_that_is_not_what_the_theorem_is_about_is_noted(run: Path):
    change(
        run / "experiment.json",
        algorithm="dpdl-sound",
        lr_decay=0.9,
        weight_decay=0.1,
        clip_unit="chunks",
    )
    change(run / "summary.json", epsilon={"claimed_theorem1": "unbounded"})
    found = result(str(run))
    notes = " ".join(found["notes"])
    for words in (
        "dpdl-sound",
        "smaller over time",
        "weight decay",
        "chunks",
        "Without an epsilon",
    ):
        assert words in notes
    assert found["corollary"] is None


def refused(*words: str) -> str:
    failure = call(*words).exception
    assert isinstance(failure, InputError)
    return str(failure)


def test_runs_that_cannot_be_judged_are_refused(run: Path):
    assert "exclude each other" in refused(str(run), "--lr", "0.1")
    change(run / "experiment.json", weights="uniform", graph="path")
    assert "another graph" in refused(str(run))
    (run / "experiment.json").write_text('{"format": 1, "experiment": {}}')
    assert "damaged" in refused(str(run))
    (run / "experiment.json").write_text("[]")
    assert "no JSON object" in refused(str(run))
    (run / "summary.json").write_text("{")
    (run / "experiment.json").write_text("{}")
    assert "damaged" in refused(str(run))
    (run / "summary.json").unlink()
    (run / "experiment.json").write_text('{"experiment": {}}')
    assert "no finished run" in refused(str(run))


def test_a_run_is_judged_without_torch(run: Path):
    code = (
        "import sys; from dpdl.cli.theory import theory; "
        f"theory.main([{str(run)!r}, '--json'], standalone_mode=False); sys.exit('torch' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], check=False, capture_output=True
        ).returncode
        == 0
    )


def test_the_default_number_of_parameters_is_that_of_lenet():
    from dpdl.tasks import models

    assert (
        sum(p.numel() for p in models.build("lenet", (1, 28, 28), 10, 0).parameters())
        == LENET
    )
