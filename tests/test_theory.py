"""Theorem 2 and Corollary 1 by hand, what follows from them, and the command that shows them."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.cli.theory import theory
from dpdl.errors import InputError
from dpdl.graph import build
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.theory import (
    MEANING,
    TERMS,
    Letters,
    applies,
    bound,
    conditions,
    corollary,
    explain,
    largest_smoothness,
    notes,
    step_sizes,
    verdict,
)
from dpdl.theory.inputs import LENET
from tests.folder.measured import summary

# 1 - beta = 1/2, sqrt(rho) = 1/2: everything below is a fraction.
SMALL = Letters(
    eta=0.1, beta=0.5, rho=0.25, L=0.25, N=4, T=100, C=1.0, sigma=2.0, d=10, w_min=0.25, B=5, alpha=2.0,
    xi=2.0, kappa=1.0, gap=2.0, epsilon=0.5,
)  # fmt: skip
# The paper's MNIST and CIFAR-10 settings on its three graphs.
RHO = {
    "complete": 0.0,
    "bipartite": 4 / 9,
    "ring": ((1 + 2 * math.cos(2 * math.pi / 10)) / 3) ** 2,
}
MNIST = replace(SMALL, eta=0.005, beta=0.7, N=10, L=1.0)
CIFAR = replace(MNIST, eta=0.03)

positive = st.floats(1e-3, 10)
any_setting = st.builds(
    Letters, eta=st.floats(1e-4, 1), beta=st.just(0.0) | st.floats(0.01, 0.95),
    rho=st.just(0.0) | st.floats(0.01, 0.99), L=positive, N=st.integers(1, 50), T=st.integers(1, 1000),
    C=positive, sigma=st.floats(0, 5), d=st.integers(1, 10**6), w_min=st.floats(0.01, 1),
    B=st.integers(1, 500), alpha=st.floats(0, 3), xi=positive, kappa=positive, gap=positive, epsilon=positive,
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ by hand
def test_constants_by_hand():
    # C_1 = 0.1 / 1 - 0.5 / 32 = 27/320, so 1 / C_1 = 320/27.
    # C_2 = 0.5 * 0.25 / (2 C_1 0.5) = 0.125 * 320/27         C_3 = 0.25 * 0.01 / (2 C_1 0.125) = 0.01 * 320/27
    # C_4 = 0.1 / (2 C_1 0.5) = 0.1 * 320/27                  C_5 = 8 * 0.01 / (2 C_1 0.125) = 0.32 * 320/27
    # C_6 = 0.0625 * 0.1 / (2 C_1 0.5) = 0.00625 * 320/27
    expected = {
        "C_1": 27 / 320,
        "C_2": 40 / 27,
        "C_3": 3.2 / 27,
        "C_4": 32 / 27,
        "C_5": 102.4 / 27,
        "C_6": 2 / 27,
    }
    assert bound(SMALL).constants == pytest.approx(expected, rel=1e-12)


def test_terms_by_hand():
    # eta^2 / ((1 - beta)^2 (1 - sqrt(rho))^2) = 0.01 / (0.25 * 0.25) = 0.16; C^2 sigma^2 d = 40; w_min^2 = 1/16.
    # C_2 eta^2 beta^2 / (1 - beta)^4 + C_3 + 2 C_5 = (40 * 0.04 + 3.2 + 204.8) / 27 = 209.6 / 27.
    expected = {
        "start": 2 / 100 * 320 / 27,
        "agents": 60 * 0.16 * 2 / 27 * 1,
        "sampling": (4 * 102.4 / 4 + 60 * 0.16 * 2) / 27 * 4,
        "noise": 209.6 / 27 * (3 * 40) / (25 * 16 / 16),
        "noise_consensus": 24 * 0.16 * 2 / 27 * 40 / (25 * 4 / 16) * 40,
        "gradient": 209.6 / 27 * (48 + 27 / 16 * 4 * 4) / (16 * 4 / 16),
        "gradient_consensus": (48 * 25 + 27 / 16 * 2 * 4)
        * 0.16
        * 2
        / 27
        / (25 * 4 / 16),
    }
    found = bound(SMALL)
    assert list(found.terms) == list(TERMS) == list(expected)
    assert found.terms == pytest.approx(expected, rel=1e-12)
    assert found.total == pytest.approx(7476.2912 / 27, rel=1e-12)


def test_conditions_by_hand():
    lower, consensus, descent, c1, *_ = conditions(SMALL)
    assert lower.limit == 0.25 / 256
    assert consensus.limit == pytest.approx(
        0.5 * 0.75 / (2 * math.sqrt(30) * 0.25), rel=1e-12
    )
    # 15 * 0.25 * 0.0625 * 16 = 3.75 under the root; 30 * 0.0625 * 4 = 7.5 below.
    assert descent.limit == pytest.approx(
        0.5 * (math.sqrt(65536 + 3.75) - 128) / 7.5, rel=1e-12
    )
    assert (c1.name, c1.limit) == ("C_1 > 0", 0.0)
    assert c1.value == pytest.approx(27 / 320)
    assert all(c.holds for c in conditions(SMALL))
    assert applies(SMALL)
    assert (
        verdict(SMALL)
        == "Theorem 2 applies: the mean squared gradient norm over 100 rounds is at most 276.9."
    )


def test_corollary_by_hand():
    found = corollary(SMALL)
    assert found.first == pytest.approx(
        2 * math.sqrt(30) * 4 * 0.25 * 0.5 / (0.5 * 0.75), rel=1e-12
    )  # 14.6
    # 30 / 0.5 * 16 * 0.0625 * 0.5 = 30 above; 15 * 0.5 * 0.0625 * 16 = 7.5 under the root.
    assert found.second == pytest.approx(30 / (math.sqrt(263.5) - 8), rel=1e-12)
    assert (found.required, found.met) == (15, True)
    assert not corollary(replace(SMALL, T=14)).met
    assert found.c == pytest.approx(0.1 * 100 / (4 * 0.5))
    assert found.below == pytest.approx(256 * 2 / 0.25)
    assert corollary(replace(SMALL, epsilon=None)) is None


def test_corollary_is_undefined_when_its_denominator_vanishes():
    lost = replace(
        SMALL, rho=0.0, L=1e-12
    )  # sqrt(256 + 1e-22) - 16 is 0 in floating point
    assert corollary(lost).second is None
    assert corollary(lost).required is None
    assert any("undefined" in note for note in notes(lost))


# -------------------------------------------------------------------------------------------- what follows
def test_the_first_condition_does_not_make_c1_positive():
    """The theorem allows every step size above a^2 / 256; C_1 > 0 needs sixteen times as much."""
    a2 = (1 - 0.7) ** 2
    for eta in (1.01 * a2 / 256, 0.005, 0.99 * a2 / 16):
        lower, _, _, c1, *_ = conditions(replace(MNIST, eta=eta))
        assert lower.holds
        assert not c1.holds
    assert conditions(replace(MNIST, eta=1.01 * a2 / 16))[3].holds


def test_without_a_positive_c1_there_is_no_bound():
    found = bound(MNIST)
    assert found.total is None
    assert set(found.terms.values()) == {None}
    assert found.constants["C_1"] == pytest.approx(0.005 / 0.6 - 0.3 / 32)
    assert any("there is no bound" in note for note in notes(MNIST))


@pytest.mark.parametrize("graph", RHO)
def test_the_papers_settings_do_not_meet_its_conditions(graph):
    mnist, cifar = replace(MNIST, rho=RHO[graph]), replace(CIFAR, rho=RHO[graph])
    assert not applies(mnist)  # C_1 < 0
    assert not applies(cifar)  # the second condition, for L = 1
    for setting in (mnist, cifar):
        assert (largest_smoothness(setting) is None) == (graph == "complete")


def test_on_a_complete_graph_no_step_size_works_for_64_agents_or_fewer():
    """For rho = 0 the third limit is at most a^2 N / 1024, whatever L is, and C_1 > 0 asks for a^2 / 16."""
    for L in (1e-4, 1e-2, 1.0, 100.0):
        assert step_sizes(replace(MNIST, rho=0.0, L=L, N=64)).useless
    assert not step_sizes(replace(MNIST, rho=0.0, L=1e-4, N=65)).useless


@pytest.mark.parametrize("hard", [{"rho": 0.9999}, {"L": 1e3}, {"rho": 0.0, "N": 4}])
def test_an_empty_interval_is_said_plainly(hard):
    setting = replace(MNIST, **hard)
    assert step_sizes(setting).empty
    assert not conditions(setting)[4].holds
    assert verdict(setting).startswith(
        "No step size can satisfy the conditions on this graph"
    )


def test_an_interval_without_a_positive_c1_is_said_plainly():
    setting = replace(MNIST, rho=RHO["ring"], L=2.0)
    assert not step_sizes(setting).empty
    assert step_sizes(setting).useless
    assert "C_1 > 0 needs it above 0.005625" in verdict(setting)


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_every_step_size_of_the_interval_and_no_other_meets_the_conditions(q: Letters):
    sizes = step_sizes(q)
    assert (q.eta > sizes.above and q.eta <= sizes.up_to) == all(
        c.holds for c in conditions(q)[:3]
    )
    if not sizes.useless:
        assert applies(replace(q, eta=sizes.up_to))
    assert not applies(replace(q, eta=sizes.up_to * 1.001))


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_upper_conditions_hold_up_to_the_largest_smoothness(q: Letters):
    largest = largest_smoothness(q)
    if largest is None:
        largest = 1e-3
    else:
        assert all(c.holds for c in conditions(replace(q, L=largest * 0.999))[1:3])
    assert not all(c.holds for c in conditions(replace(q, L=largest * 1.001))[1:3])


@settings(max_examples=60, deadline=None)
@given(
    q=any_setting,
    name=st.sampled_from(
        ["C", "sigma", "d", "alpha", "xi", "kappa", "gap", "L", "rho"]
    ),
)
def test_the_bound_grows_with_what_the_paper_says_it_grows_with(q: Letters, name: str):
    more = (1 + q.rho) / 2 if name == "rho" else 2 * getattr(q, name)
    before, after = bound(q), bound(replace(q, **{name: more}))
    assert (before.total is None) == (after.total is None)
    if before.total is not None:
        assert after.total >= before.total
        assert all(after.terms[term] >= before.terms[term] for term in TERMS)


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_more_rounds_make_only_the_first_term_smaller(q: Letters):
    before, after = bound(q).terms, bound(replace(q, T=2 * q.T)).terms
    assert {term for term in TERMS if before[term] != after[term]} <= {"start"}


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_result_is_json_without_nan(q: Letters):
    text = json.dumps(explain(q).to_json(), allow_nan=False)
    assert json.loads(text)["applies"] == applies(q)


def test_the_third_limit_keeps_its_digits_for_a_small_l():
    """For rho = 0 and L -> 0 it tends to a^2 N / 1024; the plain difference would be 0."""
    assert conditions(replace(MNIST, rho=0.0, L=1e-9))[2].limit == pytest.approx(
        0.09 * 10 / 1024
    )


def test_without_momentum_only_c2_is_missing():
    plain, tiny = bound(replace(SMALL, beta=0.0)), bound(replace(SMALL, beta=1e-12))
    assert plain.constants["C_2"] is None
    assert plain.terms == pytest.approx(tiny.terms)


@pytest.mark.parametrize("name", MEANING)
@pytest.mark.parametrize("value", [math.nan, -1, "x", True])
def test_what_cannot_be_right_does_not_construct(name, value):
    with pytest.raises(InputError, match="must be"):
        replace(SMALL, **{name: value})


def test_numbers_beyond_a_float_are_refused():
    for wrong in (
        {"L": 1e-200},
        {"L": 1e200},
        {"C": 1e200},
        {"C": 1e90, "sigma": 1e90},
    ):
        with pytest.raises(InputError, match="too large or too small"):
            explain(replace(SMALL, **wrong))


# ------------------------------------------------------------------------------------------------ command
def call(*words: str) -> Result:
    return CliRunner().invoke(theory, list(words))


def result(*words: str) -> dict:
    called = call(*words, "--json")
    assert called.exit_code == 0, called.exception
    return json.loads(called.stdout)


def test_json_has_the_keys_others_rely_on():
    found = result(
        "--graph", "ring", "--agents", "10", "--lr", "0.006", "--smoothness", "0.5"
    )
    assert {
        "bound",
        "terms",
        "conditions",
        "constants",
        "corollary",
        "notes",
        "inputs",
    } <= set(found)
    assert found["bound"] == pytest.approx(sum(found["terms"].values()))
    for condition in found["conditions"]:
        assert {"name", "holds", "value", "limit"} <= set(condition)
        assert isinstance(condition["holds"], bool)
    assert found["inputs"]["rho"] == pytest.approx(RHO["ring"])
    assert found["inputs"]["w_min"] == pytest.approx(1 / 3)


def test_json_has_a_null_bound_when_c1_is_not_positive():
    found = result("--graph", "bipartite", "--lr", "0.005")
    assert found["bound"] is None
    assert found["applies"] is False
    assert any("C_1" in note for note in found["notes"])


def test_a_person_sees_conditions_terms_and_a_verdict():
    called = call("--graph", "complete", "--smoothness", "1")
    assert called.exit_code == 0
    for words in (
        "does not hold",
        "holds",
        "C_1 > 0",
        "noise_consensus",
        "No step size on this graph gives a bound",
    ):
        assert words in called.stdout
    assert "for every L" in called.stdout
    largest_first = [
        called.stdout.index(f"│ {term} ")
        for term in ("noise_consensus", "gradient", "start")
    ]
    assert largest_first == sorted(largest_first)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["--smoothness", "0"],
            "smoothness L must be a finite number above 0, not 0.0",
        ),
        (["--smoothness", "nan"], "smoothness L"),
        (["--gap", "-1"], "gap"),
        (["--kappa", "inf"], "kappa"),
        (["--momentum", "1"], "momentum beta"),
        (["--rounds", "0"], "rounds T"),
        (["--graph", "rong"], "ring"),
        (["nowhere"], "holds no run"),
    ],
)
def test_wrong_input_is_one_sentence(words, hint):
    failure = call(*words).exception
    assert isinstance(failure, InputError)
    assert hint in str(failure)
    assert "\n" not in str(failure)


# --------------------------------------------------------------------------------------------- run folder
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


def test_the_usual_number_of_parameters_is_that_of_lenet():
    from dpdl.tasks import models

    assert (
        sum(p.numel() for p in models.build("lenet", (1, 28, 28), 10, 0).parameters())
        == LENET
    )


# ------------------------------------------------------------------------------------------ documentation
PAGE = (Path(__file__).parents[1] / "docs" / "theory.md").read_text("utf-8")
ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.count("|") == 9
]
ROWS = [row for row in ROWS if row[0] in ("MNIST", "CIFAR-10")]


def test_the_table_of_the_papers_settings_is_complete():
    assert len(ROWS) == 2 * 3 * 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:3]))
def test_the_table_of_the_papers_settings_is_computed(row):
    data, graph, agents, rho, consensus, descent, largest, c1 = row
    lr = {"MNIST": "0.005", "CIFAR-10": "0.03"}[data]
    found = result(
        "--graph", graph, "--agents", agents, "--lr", lr, "--smoothness", "1"
    )
    shown = [
        f"{c['limit']:.4g}" + " ✗" * (not c["holds"]) for c in found["conditions"][1:3]
    ]
    assert [consensus, descent] == shown
    assert rho == f"{found['inputs']['rho']:.4f}"
    assert c1 == f"{found['constants']['C_1']:.4g}"
    assert largest == (
        "none"
        if found["largest_smoothness"] is None
        else f"{found['largest_smoothness']:.3g}"
    )


def test_the_bounds_in_the_documentation_are_computed():
    words = [
        "--graph",
        "bipartite",
        "--lr",
        "0.03",
        "--clip",
        "3",
        "--rounds",
        "1000",
        "--smoothness",
        "0.5",
    ]
    words += ["--parameters", "1059306"]
    loud, quiet = result(*words), result(*words, "--sigma", "0")
    assert loud["applies"]
    assert f"{loud['bound'] / 1e9:.2f} · 10⁹" in PAGE
    assert f"Without noise it is {quiet['bound']:.0f}," in PAGE


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_gradient_term_has_a_floor_that_no_step_size_and_no_patience_lowers(
    q: Letters,
):
    floor = 12 * q.C**2 / (q.w_min**2 * q.N) + 6.75 * q.alpha**2 * q.C**2
    term = bound(q).terms["gradient"]
    assert term is None or term >= floor * (1 - 1e-9)


def test_the_floors_in_the_documentation_are_computed():
    for graph, alpha in (("complete", 1.5), ("bipartite", 1.5), ("ring", 2.0)):
        w_min = build(graph, 10).w_min
        assert f"{12 * 4 / (w_min**2 * 10) + 6.75 * alpha**2 * 4:.0f} ({graph})" in PAGE


def test_the_inequality_behind_the_third_condition_can_fail_where_the_condition_holds():
    q = replace(MNIST, rho=RHO["ring"])
    assert conditions(q)[2].holds
    assert (
        f"{16 * q.eta / q.N + 30 * (q.L * q.eta / q.s) ** 2:.4f} and the right side"
        in PAGE
    )
    assert 16 * q.eta / q.N + 30 * (q.L * q.eta / q.s) ** 2 > q.a**2 / 2
