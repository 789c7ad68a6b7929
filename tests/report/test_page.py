"""One page that needs nobody else, and says what the numbers say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpdl.report.page import Section, bullets, page, paragraphs, said, table
from dpdl.report.rebuilt import limits, outcome, rebuilt, verdict
from dpdl.report.run import of_run
from tests.test_cli import dpdl as command

PNG = b"\x89PNG\r\n\x1a\n"


def row(who: str, scenario: str, ssim: float, p: float, **more) -> dict:
    numbers = {"mse": 0.1, "psnr": 20.0, "ssim": ssim, "p_better_than_trivial": p, "label_recovery": 1.0, "images": 10}
    return {"who": who, "scenario": scenario, "round": 5, "batch": 1, "own_batch": 216, **numbers, **more}


OPEN, HALF, SHUT = row("ND", "cg", 0.92, 0.001), row("ND", "mm", 0.3, 0.01), row("DPDL", "cg", 0.6, 0.4)
TRIVIAL = [{"name": "mean", "mse": 0.26, "psnr": 12.0, "ssim": 0.2}]


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.links += [str(facts[name]) for name in ("src", "href") if name in facts]
        self.ids += [str(facts["id"])] if "id" in facts else []
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "img":
            assert facts["alt"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    found = Balanced()
    found.feed(text)
    assert found.open == []
    return found


def test_what_is_written_is_escaped_and_nothing_is_asked_of_others() -> None:
    evil = "<script>alert('x')</script> & \"y\""
    parts = [paragraphs(evil), said(evil), bullets([evil]), table([evil], [[evil]], evil)]
    text = page(evil, evil, [Section("one", evil, "\n".join(parts)), Section("two", "Two", "")], evil)
    assert "<script" not in text
    found = parsed(text)
    assert found.links == ["#one", "#two"] and found.ids == ["one", "two"]


def test_words_follow_the_numbers() -> None:
    assert "recognisable" in outcome(OPEN)
    assert "shadow" in outcome(HALF)
    assert outcome(SHUT).startswith("nothing"), "similar pictures are nothing when the guess is no worse"
    both = verdict([OPEN, HALF, SHUT])
    assert re.search(r"Without protection \(ND\): a neighbour sees your records", both)
    assert re.search(r"With the noise of DPDL: a neighbour sees nothing", both)
    assert "sees nothing" not in verdict([OPEN, row("ND", "self", 0.0, 1.0)]), "one way in is enough"


def test_an_attack_that_fails_is_not_called_a_proof() -> None:
    told = limits({"ND": "unbounded", "DPDL": 2.0})
    assert "proves nothing" in told[0]
    assert "nothing is promised" in told[1]
    assert "at most 2 over" in told[2] and "(7.39)" in told[2]


@pytest.fixture
def attacked(tmp_path: Path) -> Path:
    for name in ("gallery.png", "agents.png"):
        (tmp_path / name).write_bytes(PNG)
    facts = {"rows": [OPEN, SHUT, row("ND", "cg", 0.99, 0.001, round=800)], "trivial": TRIVIAL}
    (tmp_path / "attack.json").write_text(json.dumps({**facts, "epsilon": {"ND": "unbounded", "DPDL": 3.5}}))
    return tmp_path


def test_the_verdict_is_about_the_round_that_is_shown(attacked: Path) -> None:
    section = rebuilt(json.loads((attacked / "attack.json").read_text()), attacked)
    assert "similarity 0.92" in section.html and "similarity 0.99" not in section.html
    assert "0.99" in section.html  # in the table
    assert "about 216 records at a time" in section.html


def test_the_command_writes_a_page(attacked: Path, monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, "report", str(attacked), "--json")
    facts = json.loads(out)
    assert code == 0 and facts["sections"] == ["What your neighbour could rebuild"]
    found = parsed(Path(facts["page"]).read_text("utf-8"))
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)


def test_a_run_is_shown_with_its_privacy_statement(tmp_path: Path) -> None:
    summary = {
        **{"algorithm": "dpdl", "dataset": "mnist", "graph": "ring", "agents": 10, "rounds": 5, "seconds": 3.2},
        **{"bytes_sent": 2_000_000, "privacy_statement": "Proven: so much."},
        "accuracy": {"mean": 0.9, "worst": 0.8, "best": 0.95, "average_model": 0.91},
        "epsilon": {"claimed_theorem1": None, "eavesdropper": 3.5437, "final_model": "unbounded"},
    }
    section = of_run(summary, tmp_path)
    for words in ("Proven: so much.", "90.00%", "3.544", "unbounded", "2 MB"):
        assert words in section.html
    assert "Theorem 1" not in section.html and "<img" not in section.html
    (tmp_path / "training.png").write_bytes(PNG)
    assert "<img" in of_run(summary, tmp_path).html


@pytest.mark.parametrize("content", [None, "{"])
def test_folders_without_results_are_refused(tmp_path: Path, monkeypatch, capsys, content: str | None) -> None:
    if content:
        (tmp_path / "summary.json").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and ("cannot be read" if content else "neither a finished run") in err and err.count("\n") == 1
