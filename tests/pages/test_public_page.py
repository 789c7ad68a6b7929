"""A page to give away has nothing that epsilon does not cover, because such parts cannot reach it."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

import pytest

import dpdl
from dpdl import InputError
from dpdl.pages.page import PagePart, Section, private, public
from dpdl.pages.paper_tables import of_mode
from dpdl.pages.public_page import not_covered, public_page, whole_page
from tests.commands import dpdl as command
from tests.pages.cells import cell, curve
from tests.pages.parsing import PNG, images, parsed, pictures
from tests.pages.planted import PLANTED, SEED, shown


@pytest.fixture(scope="module")
def pages(planted: Path) -> tuple[str, str]:
    """The page of the planted run, and its public version."""
    whole, open_ = (
        Path(dpdl.report(planted, public=public).page).read_text("utf-8")
        for public in (False, True)
    )
    return whole, open_


def test_nothing_private_is_in_the_public_page(pages: tuple[str, str]) -> None:
    whole, open_ = pages
    for name, value in PLANTED.items():
        assert not [way for way in shown(value) if way in open_], name
    for name in (
        "training loss",
        "clip fraction",
        "gradients that were not finite",
        "fewest records",
        "records that an agent holds",
        "seed",
    ):
        assert [way for way in shown(PLANTED[name]) if way in whole], name
    assert "0.420" in whole and "0.420" not in open_


def test_pictures_of_records_and_losses_are_left_out(pages: tuple[str, str]) -> None:
    whole, open_ = pages
    (heat_map,) = (
        picture for words, picture in pictures(whole).items() if "Heat map" in words
    )
    assert heat_map not in open_
    assert [words.split(" ")[0] for words in images(whole)] == [
        "Test",
        "Training",
        "Mean",
        "The",
        "Heat",
    ]
    accuracy, graph = images(open_)
    assert accuracy.startswith("Test accuracy over the rounds; ") and graph.startswith(
        "The graph ring: 3 agents"
    )


def test_the_accuracies_of_the_public_page_are_in_no_picture_with_losses(
    pages: tuple[str, str],
) -> None:
    """Pictures are kept or left out as a whole, so none may hold both."""
    whole, open_ = (re.findall('base64,([^"]+)', text) for text in pages)
    assert set(open_) < set(whole) and len(open_) == 2


def test_the_hash_of_the_data_is_left_out(
    planted: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    """Why a picture cannot be drawn is told to the owner; the sentence has the hash and the folder in it."""
    copy = tmp_path / planted.name
    shutil.copytree(planted, copy)
    (copy / "partition.json").unlink()  # as an older version left it
    facts = json.loads((copy / "experiment.json").read_text())
    (copy / "experiment.json").write_text(
        json.dumps({**facts, "data_sha256": "c0ffee" * 10})
    )
    for words, there in ((["--public"], False), ([], True)):
        code, out, _ = command(
            monkeypatch, capsys, "report", str(copy), *words, "--json"
        )
        text = Path(json.loads(out)["page"]).read_text("utf-8")
        assert (
            code == 0
            and ("c0ffee" in text)
            == ("Not shown: Run" in text)
            == (str(SEED) in text)
            == there
        )


def test_the_public_page_says_what_it_is(pages: tuple[str, str]) -> None:
    whole, open_ = pages
    top = open_[open_.index("<main>") :]
    assert top.startswith('<main>\n<p class="said">Public version.')
    told = re.search(r"Left out: ([^<]*)\.</p>", top)[1]
    for words in (
        "training loss",
        "seed",
        "records of each class",
        "cosines",
        "seconds of the run",
    ):
        assert words in told, words
    assert "Public version" not in whole and "For you, not for others" in whole
    assert (
        parsed(open_).ids == ["part-1", "not-covered"]
        and "digits, ring of 3 agents" in open_
    )


def test_every_page_has_a_box_of_what_is_not_covered(pages: tuple[str, str]) -> None:
    for text in pages:
        box = re.search(r'<section id="not-covered">.*?</section>', text, re.DOTALL)[0]
        assert "<h2>Not covered by epsilon</h2>" in box
        for words in (
            "metrics.jsonl",
            "partition.json",
            "state.safetensors",
            "seed",
            "test records",
            "Other runs on the same records",
        ):
            assert words in box, words
    assert "Training loss over the rounds (curve)." in pages[0]


def test_what_nobody_marked_is_left_out_and_told() -> None:
    section = Section(
        "run-x",
        "A run",
        [
            PagePart("forgotten 12345"),
            public("open"),
            private("a secret", "closed 54321"),
        ],
    )
    open_ = public_page([section], "foot")
    assert (
        "forgotten 12345" not in open_
        and "closed 54321" not in open_
        and "run-x" not in open_
    )
    assert not_covered([section]) == [
        "something that nobody marked as covered",
        "a secret",
    ]
    assert "a secret" in open_ and "something that nobody marked" in open_
    whole = whole_page("names", [section], "foot")
    assert "forgotten 12345" in whole and whole.count("Not covered by epsilon</p>") == 2


def test_a_page_without_anything_for_everybody_is_refused(
    attacked: Path, monkeypatch, capsys
) -> None:
    code, out, err = command(monkeypatch, capsys, "report", str(attacked), "--public")
    assert (
        code == 2
        and out == ""
        and err.count("\n") == 1
        and "an attack shows private records" in err
    )
    assert not (attacked / "public.html").exists()
    with pytest.raises(InputError, match="Nothing in these folders"):
        public_page([], "foot")


def test_a_recorded_attack_does_not_come_along(
    attacked: Path, planted: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    place = tmp_path / "page.html"
    words = ("report", str(planted), str(attacked), "--public", "--out", str(place))
    assert command(monkeypatch, capsys, *words)[0] == 0
    text = place.read_text("utf-8")
    assert (
        base64.b64encode(PNG).decode() not in text
        and "similarity" not in text
        and "an attack: records" in text
    )


def test_curves_of_losses_of_reproduced_cells_are_left_out() -> None:
    measured = cell(curve(2.3, 1.0), note="Seed 3 was 12.34.")
    section = of_mode("sound", "proven", 540, [measured], [])
    open_, whole = (
        public_page([section], "foot"),
        whole_page("results", [section], "foot"),
    )
    for words in (
        "Convergence, sound",
        "Training loss over rounds",
        "Seed 3 was 12.34.",
    ):
        assert words in whole and words not in open_, words
    assert "90.50" in open_, "accuracies stay"


def test_a_public_page_of_a_simulation_says_so_at_its_top(
    pages: tuple[str, str],
) -> None:
    _, open_ = pages
    top = open_[open_.index("<main>") : open_.index("<section")]
    assert 'class="alarm"' in top
    assert "A simulation: it protects nobody</p>" in top
    assert "<p>Nothing here is covered if somebody knows the seed" in top
    assert 'class="alarm"' not in open_[open_.index("<section") :], "said once"
