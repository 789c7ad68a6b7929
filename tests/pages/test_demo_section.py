"""The story on a page says what was rebuilt, claimed, certified and proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.pages.demo_section import cells, claimed_by, limits, meaning, proven, told
from dpdl.privacy.epsilon import Epsilon
from tests.told import facts, part


def test_rows_have_a_cell_for_everything_and_a_dash_for_what_is_not_claimed() -> None:
    open_, paper, last = facts().parts
    assert cells(open_) == [
        "no noise",
        "91.2%",
        "-",
        "unbounded",
        "unbounded",
        "unbounded",
        "the records, SSIM 0.91",
    ]
    assert cells(paper)[2:4] == ["0.5, refuted", "2509"]
    assert (claimed_by(last), proven(last)) == ("-", ["0.4999"] * 3)


def test_a_claim_below_what_an_audit_certifies_is_refuted() -> None:
    sentences = meaning(facts())
    assert "Nothing is proven." in sentences[0]
    assert "certifies at least 2.6 with 95% confidence" in sentences[1]
    assert "the claim is refuted" in sentences[1]
    assert "0.4999 / 0.4999 / 0.4999" in sentences[2]
    assert "a shadow" in sentences[3]
    assert "labels read off 3 of 6" in sentences[0]


def test_a_claim_above_what_is_certified_is_not() -> None:
    held = part("held", 0.0, 1.0, Epsilon(4.0), Epsilon(9.0), certified=1.0)
    (sentence,) = meaning(replace(facts(), parts=(held,), control=None))
    assert "that refutes nothing" in sentence


def test_the_easiest_case_and_the_notes_are_said() -> None:
    said = limits(facts(notes=("On digits.",)))
    assert "64 records" in said[0]
    assert "proves nothing" in said[1]
    assert said[-1] == "On digits."


def test_pictures_and_scores_of_records_are_marked_as_not_covered(
    tmp_path: Path,
) -> None:
    (tmp_path / "rebuilt.png").write_bytes(b"\x89PNG")
    section = told(facts("elsewhere/rebuilt.png"), tmp_path)
    hidden = [one.what for one in section.parts if not one.public]
    assert hidden == [
        "records, and what was rebuilt of them (picture)",
        "similarities of rebuilt records (numbers)",
        "how well records were rebuilt (sentences)",
        "where files are",
    ]
    shown = "".join(one.html for one in section.parts if one.public)
    assert "data:image" not in shown
    assert "SSIM" not in shown
    assert "similarity" not in shown
    assert "runs/demo" not in shown, "the name of a folder may tell"
    assert "data:image/png" in section.html


def test_without_a_picture_a_sentence_stands_in_its_place(tmp_path: Path) -> None:
    section = told(facts(None), tmp_path)
    assert "matplotlib was not installed" in section.html
    assert "<img" not in section.html
