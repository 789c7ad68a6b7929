"""What the files of a run say is read whole, also from other versions, and checked against itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.folder.ledger import recompute
from dpdl.pages.risk_numbers import up
from dpdl.pages.statement_evidence import read
from dpdl.privacy.epsilon import UNBOUNDED
from tests.commands import dpdl as command
from tests.pages.stated import Edit, both, made


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
