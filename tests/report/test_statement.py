"""The page for a data protection officer says what the files say, and nothing that no epsilon covers."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dpdl import Experiment, train
from dpdl.folder.ledger import recompute
from dpdl.privacy.epsilon import UNBOUNDED
from dpdl.report.document import (
    Alarm,
    Chapter,
    Document,
    Grid,
    Items,
    Words,
    as_html,
    as_text,
)
from dpdl.report.risk_numbers import best_guess, up
from dpdl.report.statement import agents_words, statement
from dpdl.report.statement_evidence import read
from dpdl.report.statement_messages import receivers
from tests.commands import dpdl as command
from tests.report.parsing import parsed
from tests.report.planted import PLANTED, SEED, shown

Edit = Callable[..., Path]


def made(tmp_path_factory, **options) -> Path:
    folder = tmp_path_factory.mktemp("runs") / f"seed{SEED}"
    default = {
        "dataset": "digits",
        "agents": 4,
        "batch": 8,
        "rounds": 3,
        "sigma": 0.5,
        "algorithm": "dpdl-sound",
    }
    train(Experiment(**{**default, "seed": SEED, **options}), out=folder)
    return folder


@pytest.fixture(scope="module")
def secure(tmp_path_factory) -> Path:
    return made(tmp_path_factory, randomness="secure", threat="neighbours:2")


@pytest.fixture
def edited(secure: Path, tmp_path: Path) -> Edit:
    """A copy of the secure run with other values in some of its files."""

    def change(
        summary: dict | None = None, header: dict | None = None, **settings: object
    ) -> Path:
        copy = tmp_path / "copy"
        shutil.copytree(secure, copy)
        s, e = (
            json.loads((copy / name).read_text())
            for name in ("summary.json", "experiment.json")
        )
        (copy / "summary.json").write_text(json.dumps({**s, **(summary or {})}))
        (copy / "experiment.json").write_text(
            json.dumps({**e, "experiment": {**e["experiment"], **settings}})
        )
        first, *rest = (copy / "ledger.jsonl").read_text().splitlines()
        lines = [json.dumps({**json.loads(first), **(header or {})}), *rest]
        (copy / "ledger.jsonl").write_text("\n".join(lines) + "\n")
        return copy

    return change


def both(folder: Path) -> tuple[str, str]:
    document = statement(read(folder), "0.0", "2020-02-02")
    return " ".join(as_text(document).split()), as_html(document)


# ------------------------------------------------------------------ what it says
def test_it_states_what_the_run_proved_and_to_whom_it_sent(secure: Path) -> None:
    text, html = both(secure)
    proven = json.loads((secure / "summary.json").read_text())["epsilon"]
    words = f"2 neighbours that work together {up(proven['neighbours:2'])} 1e-05"
    assert (
        words in text
        and "protects nobody" not in text
        and 'class="said alarm"' not in html
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


def test_agents_are_stated_one_by_one(secure: Path) -> None:
    found = read(secure)
    for listener, values in found.spent.items():
        assert max(values) == pytest.approx(
            recompute(secure / "ledger.jsonl")[listener.key], rel=1e-12
        )
    assert len({up(value) for value in found.spent[found.listeners[0]]}) > 1, (
        "agents with different numbers of records"
    )
    text, _ = both(secure)
    for value in found.spent[found.listeners[0]]:
        assert up(value) in text


@pytest.mark.parametrize("name", ["dpdl", "dp-dpsgd", "muffliato", "dpdl-sound"])
def test_ledger_and_result_agree_whatever_the_proof_rests_on(
    tmp_path_factory, name: str
) -> None:
    """The proof for Algorithm 1 may fail, and its releases depend on each other."""
    found = read(made(tmp_path_factory, algorithm=name, rounds=2, sigma=1.0))
    assert found.disputed() == []
    for listener in found.listeners:
        assert found.proven(listener).bounded


def test_agents_pay_for_their_own_rounds_only(tmp_path_factory) -> None:
    folder = made(tmp_path_factory, algorithm="async-dpsgd", rounds=7, sigma=0.2)
    found = read(folder)
    assert {
        listener.key: max(values) for listener, values in found.spent.items()
    } == recompute(folder / "ledger.jsonl")
    (segment,) = found.segments
    assert sum(segment.counts) == 7 and len(set(segment.counts)) > 1
    assert (
        f"{min(segment.counts)} to {max(segment.counts)}, depending on the agent"
        in both(folder)[0]
    )


def test_seeded_noise_is_said_first(planted: Path) -> None:
    text, html = both(planted)
    first = text.index("!!! This run protects nobody.")
    assert first < text.index("1. What left the agents")
    assert html.index('<p class="said alarm">This run protects nobody') < html.index(
        "<section"
    )


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
    assert 'class="said alarm"' in html


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
def test_several_headers_add_up(secure: Path, edited: Edit) -> None:
    copy = edited()
    lines = (copy / "ledger.jsonl").read_text()
    (copy / "ledger.jsonl").write_text(lines + lines)
    once, twice = read(secure), read(copy)
    for listener in once.listeners:
        assert all(
            b > a
            for a, b in zip(once.spent[listener], twice.spent[listener], strict=True)
        )
    assert twice.disputed() == once.listeners, "the result knows of one half only"
    other = json.dumps({**json.loads(lines.splitlines()[0]), "delta": 1e-9})
    (copy / "ledger.jsonl").write_text(lines + other + "\n")
    proven = read(copy).proven(once.listeners[0])
    assert proven == UNBOUNDED, "two deltas are not added up"


def test_more_keys_and_more_kinds_of_lines_are_tolerated(
    secure: Path, edited: Edit
) -> None:
    copy = edited(header={"ledger": 2, "previous": "abc"})
    header, *rounds = (copy / "ledger.jsonl").read_text().splitlines()
    chained = [json.dumps({**json.loads(line), "hash": "x"}) for line in rounds]
    (copy / "ledger.jsonl").write_text(
        "\n".join([header, json.dumps({"note": 1}), *chained]) + '\n{"rou'
    )
    assert read(copy).spent == read(secure).spent, (
        "the end that a crash cut off was never sent"
    )


def test_the_hash_of_the_settings_does_not_depend_on_what_could_be_guessed(
    secure: Path, edited: Edit
) -> None:
    before = read(secure).hashes
    copy = edited(seed=1)
    facts = json.loads((copy / "experiment.json").read_text())
    others = {"data_sha256": "0", "site_sha256": {"0": "f" * 64}}
    (copy / "experiment.json").write_text(json.dumps({**facts, **others}))
    assert read(copy).hashes["settings"] == before["settings"]
    (copy / "experiment.json").write_text(json.dumps({**facts, "model_shapes": {}}))
    assert read(copy).hashes["settings"] != before["settings"]
    assert set(before) == {"settings", "ledger.jsonl", "state.safetensors"}


# ------------------------------------------------------------------ the command
def test_the_command_writes_the_page_and_prints_the_text(
    edited: Edit, monkeypatch, capsys
) -> None:
    copy = edited()
    code, out, err = command(monkeypatch, capsys, "privacy", "statement", str(copy))
    assert (
        code == 0
        and err == ""
        and out.startswith("Privacy statement: dpdl-sound on digits, ring of 4 agents")
    )
    assert (
        out.endswith(f"Page: {copy / 'statement.html'}\n")
        and "<html" in (copy / "statement.html").read_text()
    )


def test_formats(edited: Edit, tmp_path: Path, monkeypatch, capsys) -> None:
    copy, place = edited(), tmp_path / "x"
    words = ("privacy", "statement", str(copy))
    code, out, _ = command(monkeypatch, capsys, *words, "--format", "text")
    assert (
        code == 0
        and out.startswith("Privacy statement")
        and not (copy / "statement.html").exists()
    )
    assert (
        command(monkeypatch, capsys, *words, "--format", "text", "--out", str(place))[1]
        == f"Page: {place}\n"
    )
    assert place.read_text() == out
    assert (
        command(monkeypatch, capsys, *words, "--format", "html", "--out", str(place))[1]
        == f"Page: {place}\n"
    )
    assert place.read_text().startswith("<!doctype html>")


def test_programs_get_the_same_numbers(
    secure: Path, edited: Edit, monkeypatch, capsys
) -> None:
    code, out, _ = command(
        monkeypatch, capsys, "privacy", "statement", str(edited()), "--json"
    )
    facts, told = (
        json.loads(out),
        json.loads((secure / "summary.json").read_text())["epsilon"],
    )
    assert code == 0 and facts["protects"] is True and facts["alarms"] == []
    assert facts["epsilon"] == pytest.approx(
        {name: value for name, value in told.items() if name in facts["epsilon"]}
    )
    assert max(facts["per_agent"]["eavesdropper"]) == facts["epsilon"]["eavesdropper"]
    assert "records" not in facts and str(SEED) not in out


def test_a_simulation_protects_nobody_for_programs_too(
    planted: Path, monkeypatch, capsys
) -> None:
    _, out, _ = command(
        monkeypatch, capsys, "privacy", "statement", str(planted), "--json"
    )
    assert json.loads(out)["protects"] is False


@pytest.mark.parametrize("name", ["summary.json", "experiment.json", "ledger.jsonl"])
@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[]", "{}", "[1]\n[2]", '{"experiment": {}, "sigma_eff": {}}'],
)
def test_missing_and_damaged_files_are_one_sentence(
    edited: Edit, monkeypatch, capsys, name: str, content
) -> None:
    copy = edited()
    (copy / name).unlink() if content is None else (copy / name).write_text(content)
    code, out, err = command(monkeypatch, capsys, "privacy", "statement", str(copy))
    assert (
        code == 2 and out == "" and err.count("\n") == 1 and err.startswith("error: ")
    ), err
    assert not (copy / "statement.html").exists()


def test_a_ledger_that_is_damaged_in_its_middle_is_refused(
    edited: Edit, monkeypatch, capsys
) -> None:
    copy = edited()
    first, _, *rest = (copy / "ledger.jsonl").read_text().splitlines()
    (copy / "ledger.jsonl").write_text("\n".join([first, '{"round": 1', *rest]))
    code, _, err = command(monkeypatch, capsys, "privacy", "statement", str(copy))
    assert code == 2 and "is damaged" in err


# ------------------------------------------------------------------ numbers, words, layout
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (8.001, "8.01"),
        (0.1, "0.1"),
        (0.10001, "0.101"),
        (0.5, "0.5"),
        (999.1, "1,000"),
        (12345.0, "12,400"),
        (0.0, "0"),
    ],
)
def test_epsilon_is_rounded_up(value: float, text: str) -> None:
    assert up(value) == text and float(text.replace(",", "")) >= value


def test_the_best_guess_is_that_of_the_best_test() -> None:
    """Randomised response tells the truth with probability e^eps / (1 + e^eps): no test of it is better."""
    assert best_guess(0.0, 0.0) == 0.5
    assert best_guess(math.log(3), 0.0) == pytest.approx(0.75, abs=1e-4)
    assert best_guess(0.0, 0.2) == pytest.approx(0.6, abs=1e-4)
    assert best_guess(800.0, 0.0) == 1.0
    for epsilon in (0.1, 1.0, 3.0):
        assert best_guess(epsilon, 1e-5) >= (math.exp(epsilon) + 1e-5) / (
            1 + math.exp(epsilon)
        )


def test_agents_in_words() -> None:
    assert agents_words([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7 to 8"


def test_many_agents_are_not_listed_one_by_one() -> None:
    (words,) = receivers([[1], *[[0, 2]] * 98, [98]])
    assert "1 to 2 of them" in words.text


def test_text_and_page_have_the_same_words() -> None:
    grid = Grid(["a", "long"], [["x", "banana " * 40], ["y", "0" * 64]], "Caption.")
    chapters = [
        Chapter("one", "First", [Words("Some words."), Items(["item " * 30]), grid])
    ]
    document = Document("Title", "About.", [Alarm("Stop & read.")], chapters, "Foot.")
    text, html = as_text(document), as_html(document)
    parsed(html)
    for words in (
        "Title",
        "About.",
        "First",
        "Some words.",
        "Caption.",
        "Foot.",
        "0" * 64,
    ):
        assert words in text and words in html
    assert "!!! Stop & read." in text and "Stop &amp; read." in html
    assert max(map(len, text.splitlines())) <= 96
    assert text.count("banana") == html.count("banana") == 40, (
        "no word is lost in a broken cell"
    )
