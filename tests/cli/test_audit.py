"""`dpdl audit`, from options and on a run folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpdl
from dpdl.algorithms import GradientTracking, name_of
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.graph import Graph
from dpdl.privacy.threats import Threat
from tests.commands import dpdl as dpdl_command

SMALL = [
    "--graph",
    "complete",
    "--agents",
    "4",
    "--records",
    "400",
    "--canaries",
    "400",
    "--rounds",
    "4",
]


def command(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    return dpdl_command(monkeypatch, capsys, "audit", *words)


def test_json_has_the_promised_keys(monkeypatch, capsys) -> None:
    words = ["--algorithm", "dpdl-sound", "--rate", "1", "--sigma", "3", "--json"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    facts = json.loads(out)
    assert code == 0
    assert {"claimed", "proven", "certified_lower_bound", "threat"} <= set(facts)
    assert set(facts["certified_lower_bound"]) == {"clopper_pearson", "gdp"}
    assert facts["threat"] == "eavesdropper"
    assert (
        facts["certified"]
        == facts["certified_lower_bound"]["clopper_pearson"]
        <= facts["proven"]
    )
    assert "gdp is an estimate" in facts["certified_lower_bound_note"]
    assert (
        facts["sigma_eff"]["interval"][0]
        < facts["sigma_eff"]["measured"]
        < facts["sigma_eff"]["interval"][1]
    )


def test_nothing_is_proven_for_literal_dpdl_with_little_noise(
    monkeypatch, capsys
) -> None:
    code, out, _ = command(
        monkeypatch, capsys, *SMALL, "--rate", "1", "--sigma", "0.5", "--json"
    )
    facts = json.loads(out)
    assert code == 0
    assert facts["proven"] == facts["sigma_eff"]["proven"] == "unbounded"
    assert not facts["refutes_proof"]
    assert "proves nothing here" in facts["verdict"]


@dataclass(frozen=True)
class TooSmall(OwnGradients):
    """A wrong proof: a hundredth of what leaves, as if there were ten times as much noise."""

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        return super().exposure(graph, agent, threat) / 100


@dataclass(frozen=True)
class Wrong(GradientTracking):
    """The algorithm with the wrong proof."""

    disclosure = TooSmall()


def test_a_refuted_proof_is_said_and_has_its_exit_code(monkeypatch, capsys) -> None:
    words = ["--algorithm", name_of(Wrong), "--rate", "1", "--sigma", "1"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    assert code == 3
    assert "the proof or the code is wrong" in out


def test_a_person_gets_a_table_and_a_sentence(monkeypatch, capsys) -> None:
    words = [
        "--batch",
        "40",
        "--epsilon",
        "0.5",
        "--algorithm",
        "dpdl-sound",
        "--threat",
        "neighbours:1",
    ]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    assert code == 0
    rows = (
        "claimed by Theorem 1",
        "certified lower bound, by counting errors",
        "estimate, if the trade-off is Gaussian",
    )
    for part in (
        *rows,
        "proven upper bound",
        "neighbours:1",
        "400 canaries, 4 rounds",
        "Theorem 1",
    ):
        assert part in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--confidence", "1"], "confidence"),
        (["--rate", "2"], "rate"),
        (["--rate", "0.5", "--batch", "4"], "exclude"),
        (["--noise", "teorem1"], "theorem1"),
        (["--batch", "401"], "records"),
        (["--canaries", "401"], "canaries"),
        (["--threat", "neighbours:0"], "neighbours:K"),
        (["--algorithm", "dpld"], "dpdl"),
        (["--crowd", "along"], "crowd is for trials"),
        (["--trials", "20", "--crowd", "alone"], "Did you mean 'along'"),
        (["--trials", "3"], "trials must be at least 20"),
        (["--algorithm", "gut", "--alpha", "2"], "alpha is not an option of gut"),
    ],
)
def test_wrong_input_is_one_sentence(
    monkeypatch, capsys, words: list[str], said: str
) -> None:
    code, out, err = command(monkeypatch, capsys, *SMALL, "--sigma", "3", *words)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_theorem_1_sets_no_noise_for_other_algorithms(monkeypatch, capsys) -> None:
    code, _, err = command(
        monkeypatch, capsys, *SMALL, "--algorithm", "gut", "--noise", "theorem1"
    )
    assert code == 2 and "Theorem 1 says nothing about gut" in err


def test_another_algorithm_has_no_claim_and_gets_the_noise_of_the_accountant(
    monkeypatch, capsys
) -> None:
    words = ["--algorithm", "muffliato", "--rate", "1", "--epsilon", "2"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words, "--json")
    facts = json.loads(out)
    assert code == 0 and facts["claimed"] is None and not facts["refutes_claim"]
    assert facts["proven"] == pytest.approx(2, rel=1e-3)
    assert facts["sigma_eff"]["attack"] == pytest.approx(
        facts["sigma_eff"]["proven"], rel=0.05
    )
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    assert (
        code == 0 and "claimed" not in out and "The attack certifies epsilon >= " in out
    )


def test_trials_are_one_record_in_many_runs(monkeypatch, capsys) -> None:
    words = [
        "--graph",
        "ring",
        "--agents",
        "2",
        "--records",
        "40",
        "--rate",
        "1",
        "--rounds",
        "1",
        "--canaries",
        "20",
    ]
    words += [
        "--algorithm",
        "muffliato",
        "--sigma",
        "0.2",
        "--trials",
        "30",
        "--crowd",
        "along",
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--json")
    facts = json.loads(out)
    assert code == 0
    assert (
        facts["trials"],
        facts["crowd"],
        facts["canaries"],
        facts["parameters"],
    ) == (30, "along", 1, 20)
    assert 0 < facts["certified"] <= facts["proven"]
    code, out, _ = command(monkeypatch, capsys, *words)
    assert "30 trials with the record and without it" in out


# ---------------------------------------------------------------- a run
def trained(folder: Path, **options: object) -> Path:
    """A short run."""
    experiment = dpdl.Experiment(
        dataset="digits",
        graph="ring",
        agents=3,
        batch=60,
        rounds=6,
        eval_every=6,
        seed=3,
        **options,
    )
    dpdl.train(experiment, out=folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tracked"
    return trained(folder, algorithm="gradient-tracking", sigma=2.0)


def test_a_run_is_audited_with_its_own_settings(run: Path, monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, str(run), "--json")
    facts, summary = json.loads(out), json.loads((run / "summary.json").read_text())
    assert code == 0 and json.loads((run / "audit.json").read_text()) == facts
    assert facts["proven"] == pytest.approx(summary["epsilon"]["eavesdropper"])
    assert facts["proven_of_run"] == facts["proven"]
    wanted = {
        "algorithm": "gradient-tracking",
        "graph": "ring",
        "agents": 3,
        "batch": 60,
        "rounds": 6,
        "sigma": 2.0,
    }
    assert {name: facts[name] for name in wanted} == wanted
    assert facts["records"] == summary["records"]["fewest"] == facts["canaries"]
    assert facts["sigma_eff"]["attack"] == pytest.approx(2.0, rel=0.05)
    assert facts["certified"] <= facts["proven"] and facts["run"] == str(run)


def test_what_is_proven_of_the_run_stands_beside_what_is_proven_of_a_smaller_model(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    """A proof for `dpdl` needs many parameters; a game has as many as there are canaries."""
    run = trained(tmp_path / "run", algorithm="dpdl", sigma=2.0)
    code, out, _ = command(monkeypatch, capsys, str(run), "--canaries", "60")
    facts = json.loads((run / "audit.json").read_text())
    proven = json.loads((run / "summary.json").read_text())["epsilon"]["eavesdropper"]
    assert code == 0
    assert facts["proven"] == "unbounded" and facts["parameters"] == 60
    assert facts["proven_of_run"] == pytest.approx(proven)
    assert "proven for this game's model of 60 parameters" in out
    assert f"the accountant proves {proven:.4g} for the run's model" in out
    assert "proves nothing here" not in out


def test_fewer_rounds_of_a_run_have_the_proof_of_so_many(
    run: Path, monkeypatch, capsys
) -> None:
    code, out, _ = command(
        monkeypatch, capsys, str(run), "--rounds", "2", "--threat", "final-model"
    )
    facts = json.loads((run / "audit.json").read_text())
    assert (
        code == 0
        and "ring of 3 agents, against final-model" in out
        and "2 rounds" in out
    )
    whole = json.loads((run / "summary.json").read_text())["epsilon"]["final_model"]
    assert facts["rounds"] == 2 and 0 < facts["proven"] < whole


def test_a_refuted_run_has_its_exit_code(tmp_path: Path, monkeypatch, capsys) -> None:
    run = trained(tmp_path / "run", algorithm=name_of(Wrong), sigma=0.2)
    code, out, _ = command(monkeypatch, capsys, str(run), "--rounds", "1")
    assert code == 3 and "the proof or the code is wrong" in out
    assert json.loads((run / "audit.json").read_text())["refutes_proof"]


def test_another_seed_is_another_game_of_the_same_run(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    """Whose turn it was in `async-dpsgd` depends on the run's seed, and so does what is proven."""
    words = {
        "dataset": "digits",
        "graph": "ring",
        "agents": 3,
        "batch": 60,
        "rounds": 9,
        "eval_every": 9,
    }
    dpdl.train(
        dpdl.Experiment(**words, algorithm="async-dpsgd", sigma=1.0, seed=5),
        out=tmp_path / "run",
    )
    facts = []
    for seed in ("5", "6"):
        code, out, _ = command(
            monkeypatch, capsys, str(tmp_path / "run"), "--seed", seed, "--json"
        )
        facts.append(json.loads(out))
        assert code == 0 and facts[-1]["seed"] == int(seed)
    assert facts[0]["proven"] == facts[1]["proven"]
    assert facts[0]["errors"] != facts[1]["errors"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--algorithm", "gut"], "algorithm is an option of the run"),
        (["--records", "100"], "records is an option of the run"),
        (["--noise", "accountant"], "noise is an option of the run"),
        (["--rounds", "7"], "rounds must be from 1 to the 6 of the run"),
        (["--rounds", "0"], "rounds must be from 1 to the 6 of the run"),
        (["--threat", "neighbours"], "neighbours:K"),
        (["--canaries", "100000"], "canaries must be"),
    ],
)
def test_what_does_not_fit_a_run_is_one_sentence(
    run: Path, monkeypatch, capsys, words: list[str], said: str
) -> None:
    code, out, err = command(monkeypatch, capsys, str(run), *words)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_folders_that_hold_no_run_to_audit_are_refused(
    run: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    def refused(ledger: str) -> str:
        (tmp_path / "ledger.jsonl").write_text(ledger)
        code, out, err = command(monkeypatch, capsys, str(tmp_path))
        assert (code, out) == (2, "") and err.count("\n") == 1
        return err

    assert "holds no run" in refused("")
    (tmp_path / "experiment.json").write_text((run / "experiment.json").read_text())
    header = json.loads((run / "ledger.jsonl").read_text().splitlines()[0])
    assert "is damaged" in refused("")
    assert "holds no mechanism" in refused("{}")
    assert "adds no noise" in refused(json.dumps({**header, "sigma": 0.0}))
    (tmp_path / "ledger.jsonl").unlink()
    code, _, err = command(monkeypatch, capsys, str(tmp_path))
    assert code == 2 and "cannot be read" in err
    summary = json.loads((run / "summary.json").read_text())
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "rounds": 4}))
    (tmp_path / "ledger.jsonl").write_text(json.dumps(header))
    code, _, err = command(monkeypatch, capsys, str(tmp_path), "--rounds", "5")
    assert code == 2 and "from 1 to the 4 of the run" in err  # a budget had ended it
    facts = json.loads((run / "experiment.json").read_text())
    (tmp_path / "experiment.json").write_text(
        json.dumps({**facts, "graph_sha256": "that of another W"})
    )
    assert "a graph of its own" in refused(json.dumps(header))


@pytest.mark.slow
def test_theorem_1_claims_too_little_on_a_complete_graph(monkeypatch, capsys) -> None:
    words = [
        "--graph",
        "complete",
        "--agents",
        "10",
        "--records",
        "6000",
        "--batch",
        "216",
        "--rounds",
        "1000",
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--epsilon", "0.5", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["claimed"] == pytest.approx(0.5)
    assert facts["proven"] > facts["certified_lower_bound"]["clopper_pearson"] > 2
    assert facts["proven"] > facts["certified_lower_bound"]["gdp"] > 5
