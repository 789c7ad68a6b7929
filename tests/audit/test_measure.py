"""The measured distinguishability is what the proof says, and honest code stays below the proven epsilon."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, SoundDPDL
from dpdl.audit import attack, audit, clopper_pearson, gdp, honest_game, listen
from dpdl.audit.measure import rehearse
from dpdl.cli import COMMANDS, main
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat, threat
from dpdl.run.planner import Question
from tests.audit.worlds import EAVESDROPPER, FINAL, ONE, game, question

RING, UNEVEN, COMPLETE = graphs.ring(5), graphs.build("erdos-renyi:0.6", 6, "sinkhorn", 3), graphs.complete(5)


def attainable(q: Question, sigma: float, listener: Threat) -> float:
    """sigma_eff that an attack can reach: exactly the proven one, or that with kappa = 1/2."""
    algorithm = q.algorithm
    if isinstance(algorithm, DPDL):
        return sigma / math.sqrt(replace(algorithm.disclosure, kappa=0.5).exposure(q.graph, 0, listener))
    return sigma / math.sqrt(algorithm.disclosure.exposure(q.graph, 0, listener))


def theorem1(q: Question) -> Theorem1:
    g = q.graph
    return Theorem1(len(g), int(g.sizes.min()), g.w_min, g.w_max, min(q.records), q.batch, q.rounds, q.delta, 1.5)


MATCHES = [
    ("dpdl-sound", RING, EAVESDROPPER),
    ("dpdl-sound", COMPLETE, EAVESDROPPER),
    ("dpdl-sound", UNEVEN, EAVESDROPPER),
    ("dpdl", RING, EAVESDROPPER),
    ("dpdl", COMPLETE, EAVESDROPPER),
    ("dpdl", UNEVEN, EAVESDROPPER),
    ("dpdl", COMPLETE, ONE),
    ("dpdl", COMPLETE, threat("neighbours:3")),
    ("dpdl", RING, threat("neighbours:2")),
    ("dpdl", RING, FINAL),  # W can be inverted: models show all that momenta show
]


@pytest.mark.parametrize(("name", "graph", "listener"), MATCHES, ids=str)
def test_measured_distinguishability_is_one_over_sigma_eff(name: str, graph: Graph, listener: Threat) -> None:
    sigma = 12.0
    q = question(name, graph, canaries=1600, rounds=30)
    scores = attack(game(q, sigma), listener, seed=3)
    expected = attainable(q, sigma, listener)
    assert 1 / scores.mu == pytest.approx(expected, rel=0.03)
    measured = scores.sigma_eff(0.99)
    assert measured.low < expected < measured.high
    assert measured.high / measured.low < 1.6


HONEST = [
    ("dpdl-sound", COMPLETE, EAVESDROPPER, 1.0),
    ("dpdl-sound", RING, FINAL, 1.0),
    ("dpdl", COMPLETE, EAVESDROPPER, 1.0),
    ("dpdl", COMPLETE, ONE, 1.0),
    ("dpdl-sound", COMPLETE, EAVESDROPPER, 0.2),
    ("dpdl", COMPLETE, EAVESDROPPER, 0.2),
]


@pytest.mark.parametrize(("name", "graph", "listener", "rate"), HONEST, ids=str)
def test_honest_code_is_not_refuted(name: str, graph: Graph, listener: Threat, rate: float) -> None:
    q = question(name, graph, canaries=1000, batch=int(1000 * rate), rounds=20 if rate < 1 else 4, delta=1e-3)
    result = audit(q, theorem1(q), 6.0, listener, canaries=1000, seed=3)
    assert math.isfinite(result.proven)
    assert max(result.by_counting.epsilon, result.by_gdp.epsilon) <= result.proven
    assert not result.refutes_proof
    assert (result.sigma_eff_measured is None) == (rate < 1)
    if listener == EAVESDROPPER and rate == 1:
        assert result.by_gdp.epsilon > 0.25 * result.proven


def test_secure_noise_passes_too() -> None:
    q = question("dpdl-sound", COMPLETE, canaries=1000)
    result = audit(q, theorem1(q), 4.0, EAVESDROPPER, canaries=1000, randomness=Secure())
    assert 0 < result.certified <= result.proven


def test_calibrated_noise_gives_away_what_equal_noise_does() -> None:
    q = question("dpdl-sound", COMPLETE, canaries=1200, rounds=12)
    other = replace(q, algorithm=SoundDPDL(lr=0.05, momentum=0.7, alpha=1.5, noise_split="calibrated"))
    mu = rehearse(game(other, 12.0), EAVESDROPPER).mu
    assert 1 / mu == pytest.approx(attainable(q, 12.0, EAVESDROPPER), rel=0.03)


@pytest.mark.parametrize("certify", [clopper_pearson, gdp])
def test_a_null_audit_certifies_nothing(certify) -> None:
    """Coins say who is in, but nobody is: the adversary hears noise."""
    q = question("dpdl", COMPLETE, canaries=500)
    played = game(q, 2.0)
    coins = generator(5, "coins").random(500) < 0.5
    scores, _ = listen(played, np.zeros(500, np.bool_), EAVESDROPPER, rehearse(played, EAVESDROPPER))
    assert certify(scores[coins], scores[~coins], 1e-5, 0.95).epsilon == 0


def test_the_same_seed_gives_the_same_scores() -> None:
    played = game(question("dpdl", RING, canaries=100, batch=30), 1.0)
    one, two = (attack(played, EAVESDROPPER, seed=4) for _ in range(2))
    assert np.array_equal(one.inside, two.inside) and np.array_equal(one.outside, two.outside)


def test_what_cannot_be_audited_is_refused() -> None:
    q = question("dpdl", RING, canaries=100)
    with pytest.raises(InputError, match="sigma"):
        honest_game(q, 0.0, 100, 0, Reproducible(0))
    with pytest.raises(InputError, match="100 parameters"):
        honest_game(q, 1.0, 99, 0, Reproducible(0))
    with pytest.raises(InputError, match="at least 20"):
        honest_game(q, 1.0, 3, 0, Reproducible(0))
    with pytest.raises(InputError, match="canaries must be"):
        game(question("dpdl", RING, canaries=100, records=50), 1.0)
    with pytest.raises(InputError, match="add-remove"):
        game(replace(q, fixed=True), 1.0)


# ---------------------------------------------------------------- the command
SMALL = ["--graph", "complete", "--agents", "4", "--records", "400", "--canaries", "400", "--rounds", "4"]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setitem(COMMANDS, "audit", ("dpdl.cli.audit:audit", ""))
    monkeypatch.setattr(sys, "argv", ["dpdl", "audit", *words])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0), *capsys.readouterr()


def test_json_has_the_promised_keys(monkeypatch, capsys) -> None:
    words = ["--algorithm", "dpdl-sound", "--rate", "1", "--sigma", "3", "--json"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    facts = json.loads(out)
    assert code == 0
    assert {"claimed", "proven", "certified_lower_bound", "threat"} <= set(facts)
    assert set(facts["certified_lower_bound"]) == {"clopper_pearson", "gdp"}
    assert facts["threat"] == "eavesdropper"
    assert facts["certified_lower_bound"]["gdp"] <= facts["proven"]
    assert facts["sigma_eff"]["interval"][0] < facts["sigma_eff"]["measured"] < facts["sigma_eff"]["interval"][1]


def test_nothing_is_proven_for_literal_dpdl_with_little_noise(monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, *SMALL, "--rate", "1", "--sigma", "0.5", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["proven"] == facts["sigma_eff"]["proven"] == "unbounded"
    assert facts["refutes_claim"]
    assert "proves nothing here" in facts["verdict"]


def test_a_refuted_proof_is_said_and_has_its_exit_code(monkeypatch, capsys) -> None:
    monkeypatch.setattr(Question, "epsilon", lambda *_: 0.01)
    words = ["--algorithm", "dpdl-sound", "--rate", "1", "--sigma", "1"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    assert code == 3
    assert "the proof or the code is wrong" in out


def test_a_person_gets_a_table_and_a_sentence(monkeypatch, capsys) -> None:
    words = ["--batch", "40", "--epsilon", "0.5", "--algorithm", "dpdl-sound", "--threat", "neighbours:1"]
    code, out, _ = command(monkeypatch, capsys, *SMALL, *words)
    assert code == 0
    for part in ("claimed by Theorem 1", "certified lower bound", "proven upper bound", "neighbours:1", "Theorem 1"):
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
    ],
)
def test_wrong_input_is_one_sentence(monkeypatch, capsys, words: list[str], said: str) -> None:
    code, out, err = command(monkeypatch, capsys, *SMALL, "--sigma", "3", *words)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.slow
def test_theorem_1_claims_too_little_on_a_complete_graph(monkeypatch, capsys) -> None:
    words = ["--graph", "complete", "--agents", "10", "--records", "6000", "--batch", "216", "--rounds", "1000"]
    code, out, _ = command(monkeypatch, capsys, *words, "--epsilon", "0.5", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["claimed"] == pytest.approx(0.5)
    assert facts["proven"] > facts["certified_lower_bound"]["clopper_pearson"] > 2
    assert facts["proven"] > facts["certified_lower_bound"]["gdp"] > 5
