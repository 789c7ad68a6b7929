"""`dpdl theory`, and the numbers that the documentation has from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dpdl.cli.theory import theory
from dpdl.errors import InputError
from tests.theory.values import RHO


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


PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text("utf-8")


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
    assert rf"{loud['bound'] / 1e9:.2f} \cdot 10^9" in PAGE
    assert f"Without noise it is {quiet['bound']:.0f}," in PAGE
