"""The page for a data protection officer says what the files say, and nothing that no epsilon covers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.pages.document import (
    as_html,
    as_text,
)
from dpdl.pages.risk_numbers import up
from dpdl.pages.statement import agents_words, statement
from dpdl.pages.statement_evidence import read
from tests.pages.parsing import parsed
from tests.pages.planted import PLANTED, shown
from tests.pages.stated import Edit, both


# ------------------------------------------------------------------ what it says
def test_it_states_what_the_run_proved_and_to_whom_it_sent(secure: Path) -> None:
    text, html = both(secure)
    proven = json.loads((secure / "summary.json").read_text())["epsilon"]
    words = f"2 neighbours that work together {up(proven['neighbours:2'])} 1e-05"
    assert (
        words in text and "protects nobody" not in text and 'class="alarm"' not in html
    )
    for channel in ("model", "gradient", "momentum"):
        assert channel in text and f"<td>{channel}</td>" in html
    assert "0 1, 3 1 0, 2 2 1, 3 3 0, 2" in text, "neighbours on a ring of four"
    parameters = json.loads((secure / "summary.json").read_text())["parameters"]
    assert f"{4 * parameters:,}" in text
    assert f"{3 * 3 * 4 * 2} messages" in text, "rounds, channels, agents, neighbours"
    assert "Rounds charged to an agent: 3." in text
    assert (
        "one record of one agent more or less" in text and "clipped to norm 1" in text
    )
    assert "dpdl privacy verify RUN" in text and "2020-02-02" in text
    assert parsed(html).ids == [
        "left",
        "receivers",
        "proven",
        "meaning",
        "claimed",
        "not-covered",
        "check",
    ]


def test_seeded_noise_is_said_first(planted: Path) -> None:
    text, html = both(planted)
    first = text.index("!!! This run protects nobody.")
    assert first < text.index("1. What left the agents")
    assert html.index("<p>This run protects nobody") < html.index("<section")


def test_a_claim_is_kept_apart_from_proofs(planted: Path) -> None:
    claim = json.loads((planted / "summary.json").read_text())["epsilon"][
        "claimed_theorem1"
    ]
    text, _ = both(planted)
    assert text.count(f"{claim:.4g}") == 1
    assert (
        f"claims epsilon = {claim:.4g} for this noise. That is a claim, not a guarantee."
        in text
    )


def test_nothing_private_is_in_it(planted: Path) -> None:
    records = json.loads((planted / "ledger.jsonl").read_text().splitlines()[0])[
        "records"
    ]
    document = statement(read(planted), "0.0", "2020-02-02")
    for text in (as_text(document), as_html(document)):
        for name, value in PLANTED.items():
            assert not [way for way in shown(value) if way in text], name
        assert not [
            count
            for count in records
            if str(count) in text.split("</style>")[-1].split("SHA-256")[0]
        ]
        assert planted.name not in text


# ------------------------------------------------------------------ what it refuses to say
def test_unbounded_is_never_called_proven(edited: Edit) -> None:
    told = {
        "neighbours:2": "unbounded",
        "eavesdropper": "unbounded",
        "neighbour": 1.0,
        "final_model": 1.0,
    }
    zero = {
        "eavesdropper": [0.0] * 4,
        "neighbours:1": [0.0] * 4,
        "final-model": [0.0] * 4,
        "neighbours:2": [0.0] * 4,
    }
    text, html = both(edited({"epsilon": told}, {"sigma_eff": zero}))
    assert (
        text.count("nothing is proven") >= 4
        and "Nothing is proven against 2 neighbours" in text
    )
    assert "epsilon at most" in text and "1e-05" not in text, (
        "no number stands beside a listener"
    )
    assert "so nothing can be said about what somebody may find out" in text
    assert 'class="alarm"' in html


@pytest.mark.parametrize("reported", [0.001, "unbounded", None])
def test_a_result_that_differs_from_its_ledger_is_no_proof(
    edited: Edit, secure: Path, reported: object
) -> None:
    told = json.loads((secure / "summary.json").read_text())["epsilon"]
    text, _ = both(edited({"epsilon": {**told, "eavesdropper": reported}}))
    assert (
        "disagree about an eavesdropper on all links: nothing is proven there" in text
    )
    assert "an eavesdropper on all links nothing is proven -" in text
    assert f"2 neighbours that work together {up(told['neighbours:2'])}" in text, (
        "the others stay"
    )


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({}, False),
        ({"algorithm": "dpdl"}, False),
        ({"algorithm": "dpdl", "ledger": 1}, True),
    ],
)
def test_leading_order_is_said_of_old_runs_of_algorithm_1(
    edited: Edit, header: dict, said: bool
) -> None:
    """The first version had no other bound, and its results did not say so."""
    assert ("to leading order" in both(edited({}, header))[0]) == said


def test_leading_order_is_taken_from_the_result(edited: Edit) -> None:
    text, _ = both(
        edited({"epsilon_note": "The bound holds to leading order in 1/sqrt(d)."})
    )
    assert text.count(", to leading order") >= 4 and "it leaves out terms" in text


def test_replacement_is_said_in_words(edited: Edit) -> None:
    copy = edited(header={"relation": "replace-one"})
    text, _ = both(copy)
    assert "one record of one agent replaced by any other" in text
    assert "disagree" in text, "the epsilons of another relation are other numbers"


def test_validation_records_are_named_as_unprotected(edited: Edit) -> None:
    assert (
        "100 validation records were taken as public: nothing protects them."
        in both(edited(algorithm="pdsl", validation=100))[0]
    )


# ------------------------------------------------------------------ ledgers of other versions


# ------------------------------------------------------------------ the command


# ------------------------------------------------------------------ numbers, words, layout


def test_agents_in_words() -> None:
    assert agents_words([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7 to 8"


def test_a_lost_name_of_the_algorithm_is_in_the_ledger(edited: Edit) -> None:
    """That `experiment.json` does not have it once ended in a traceback."""
    folder = edited()
    content = json.loads((folder / "experiment.json").read_text())
    del content["experiment"]["algorithm"]
    (folder / "experiment.json").write_text(json.dumps(content))
    assert "Not covered" in both(folder)[0]
