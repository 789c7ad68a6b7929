"""One page that needs nobody else, and says what the numbers say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpdl import Experiment, InputError, train
from dpdl.report.figures import BLUE, INK, PAPER, SOFT
from dpdl.report.look import BLUSH, RUST, SHADES
from dpdl.report.page import (
    Number,
    Section,
    bullets,
    facts,
    heading,
    live_table,
    page,
    paragraphs,
    private,
    public,
    said,
    small_picture,
    table,
    wide_picture,
)
from dpdl.report.rebuilt import limits, outcome, rebuilt, verdict
from dpdl.report.run import calibration_figure, of_run
from dpdl.run.train import replan
from tests.test_cli import dpdl as command

PNG = b"\x89PNG\r\n\x1a\n"


def row(who: str, scenario: str, ssim: float, p: float, **more) -> dict:
    numbers = {"mse": 0.1, "psnr": 20.0, "ssim": ssim, "p_better_than_trivial": p, "label_recovery": 1.0, "images": 10}
    return {"who": who, "scenario": scenario, "round": 5, "batch": 1, "own_batch": 216, **numbers, **more}


OPEN, HALF, SHUT = row("ND", "cg", 0.92, 0.001), row("ND", "mm", 0.3, 0.01), row("DPDL", "cg", 0.6, 0.4)
TRIVIAL = [{"name": "mean", "mse": 0.26, "psnr": 12.0, "ssim": 0.2}]


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order; pictures have words; no level of headings is left out."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.links += [str(facts[name]) for name in ("src", "href") if name in facts]
        self.ids += [str(facts["id"])] if "id" in facts else []
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "img":
            assert facts["alt"]
        if re.fullmatch("h[1-6]", tag):
            assert int(tag[1]) <= self.level + 1
            self.level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    found = Balanced()
    found.feed(text)
    assert found.open == []
    return found


def test_what_is_written_is_escaped_and_nothing_is_asked_of_others() -> None:
    evil = "<script>alert('x')</script> & \"y\""
    parts = [paragraphs(evil), said(evil), bullets([evil]), heading(evil), facts({evil: evil})]
    parts += [table([evil], [[evil]], evil)]
    text = page(
        evil, evil, [Section("one", evil, [public(*parts), private(evil, *parts)]), Section("two", "Two", [])], evil
    )
    assert "<script" not in text
    found = parsed(text)
    assert found.links == ["#one", "#two"] and found.ids == ["one", "two"]
    assert "default-src 'none'" in text and '<html lang="en">' in text
    live = page(
        "x", "x", [Section("one", "One", [public(live_table([evil, "n"], [[evil, Number(evil, 1.0)]], evil))])], "x"
    )
    assert live.count("<script") == 1 and "alert('x')</script>" not in live
    parsed(live)


def test_sections_of_the_same_name_have_links_of_their_own() -> None:
    found = parsed(page("x", "x", [Section("one", "One", [])] * 3, "x"))
    assert found.links == ["#one", "#one.2", "#one.3"] and found.ids == ["one", "one.2", "one.3"]


def test_a_live_table_is_complete_without_its_script() -> None:
    rows = [["ring", Number("+1.50", 1.5, "above-1")], ["a" * 31, Number("unbounded", float("inf"))]]
    html = live_table(["graph", "difference"], rows, "Cells.")
    assert '<th scope="col" class="word">graph</th><th scope="col">difference</th>' in html
    assert '<td class="word">ring</td><td class="above-1" data-value="1.5">+1.50</td>' in html
    assert f'<td class="word long">{"a" * 31}</td><td data-value="Infinity">unbounded</td>' in html
    assert 'data-value="-Infinity"' in live_table(["n"], [[Number("unknown", float("-inf"))]], "Cells.")
    assert "<button" not in html and "<input" not in html, "what does nothing without the script comes with it"


def test_only_what_may_scroll_can_be_focused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    wide, small = (draw(tmp_path / "x.png", "words", "Caption.") for draw in (wide_picture, small_picture))
    assert 'tabindex="0"' in wide and "tabindex" not in small
    for html in (wide, small):
        assert 'alt="words"' in html and "<figcaption>Caption." in html


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        (INK, PAPER),
        (INK, BLUSH),
        (SOFT, "#FFFFFF"),
        (BLUE, "#FFFFFF"),
        (RUST, "#FFFFFF"),
        *((INK, colour) for colour in SHADES.values()),
    ],
)
def test_text_stands_out(text: str, ground: str) -> None:
    dark, light = sorted((luminance(text), luminance(ground)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_words_follow_the_numbers() -> None:
    assert "recognisable" in outcome(OPEN)
    assert "shadow" in outcome(HALF)
    assert outcome(SHUT).startswith("nothing"), "similar pictures are nothing when the guess is no worse"
    both = verdict([OPEN, HALF, SHUT])
    assert re.search(r"Without protection \(ND\): a neighbour sees your records", both)
    assert re.search(r"With the noise of DPDL: a neighbour sees nothing", both)
    assert "Without protection (ND ring)" in verdict([row("ND ring", "cg", 0.9, 0.001)])
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


SUMMARY = {
    **{"algorithm": "dpdl", "dataset": "mnist", "graph": "ring", "agents": 10, "rounds": 5, "seconds": 3.2},
    **{"bytes_sent": 2_000_000, "privacy_statement": "Proven: so much.", "versions": {"torch": "2.x"}},
    "accuracy": {"mean": 0.9, "worst": 0.8, "best": 0.95, "average_model": 0.91},
    "epsilon": {"claimed_theorem1": None, "eavesdropper": 3.5437, "final_model": "unbounded"},
}
SETTINGS = {"dataset": "nothing.npz", "lr": 0.05, "delta": 1e-05, "margin": None, "rounds": 5}


def test_a_run_is_shown_with_its_privacy_statement(tmp_path: Path) -> None:
    section = of_run(SUMMARY, SETTINGS, tmp_path)
    for words in ("Proven: so much.", "90.00%", "3.544", "unbounded", "2 MB"):
        assert words in section.html
    assert "Theorem 1" not in section.html and "<img" not in section.html
    line = {"round": 5, "accuracy": {"mean": 0.9, "worst": 0.8, "best": 0.95}, "train_loss": {"mean": 0.7312}}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line))
    accuracy, loss = images(of_run(SUMMARY, SETTINGS, tmp_path).html)
    assert "the last one is 90.0%" in accuracy and "the last one is 0.7312" in loss


def test_all_settings_and_versions_are_shown(tmp_path: Path) -> None:
    html = of_run(SUMMARY, SETTINGS, tmp_path).html
    for name, value in {"lr": "0.05", "delta": "1e-05", "margin": "none", "rounds": "5", "torch": "2.x"}.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in html


def test_coefficients_are_drawn_in_the_range_that_can_occur() -> None:
    metrics = [{"round": t, "coefficient": 0.5, "cosine": t / 10} for t in (1, 2)]
    broken = {"round": 3, "coefficient": None, "cosine": 0.1}
    coefficient, cosine = calibration_figure([*metrics, broken, {"round": 4}]).axes
    assert coefficient.get_ylim() == (0.25, 0.75) and cosine.get_ylim() == (-1, 1)
    assert cosine.lines[0].get_xydata().tolist() == [[1, 0.1], [2, 0.2]]
    with pytest.raises(InputError, match="no coefficients"):
        calibration_figure([broken])


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(Experiment(dataset="digits", agents=3, batch=8, rounds=2, sigma=0.5, eval_every=1), out=folder)
    return folder


def images(html: str) -> list[str]:
    return re.findall('<img alt="([^"]*)"', html)


def test_a_run_shows_its_coefficients_its_partition_and_its_graph(trained: Path, monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, "report", str(trained), "--json")
    assert code == 0 and json.loads(out)["sections"] == ["dpdl on digits, ring of 3 agents"]
    text = (trained / "report.html").read_text("utf-8")
    parsed(text)
    _, loss, calibration, graph, partition = images(text)
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    assert f"{last['coefficient']:.3f} in round 2" in calibration
    assert f"{last['train_loss']['mean']:.4g}" in loss
    sizes = [len(part) for part in replan(trained).parts]
    assert f"10 classes each of 3 agents holds; the agents hold from {min(sizes)} to {max(sizes)}" in partition
    assert "ring: 3 agents and 3 edges" in graph
    assert "<dt>eval_every</dt><dd>1</dd>" in text


def test_a_page_goes_on_without_the_data(trained: Path, tmp_path: Path, monkeypatch) -> None:
    def no_network(*_) -> None:
        raise AssertionError("a page must not fetch data")

    monkeypatch.setenv("DPDL_DATA", str(tmp_path))
    monkeypatch.setattr("dpdl.tasks.data.fetch_entry", no_network)
    html = of_run(SUMMARY, {**SETTINGS, "dataset": "mnist"}, trained).html
    assert "Not shown: the data set is not here; get it with dpdl data fetch mnist." in html
    assert [words.split(" ")[0] for words in images(html)] == ["Test", "Training", "Mean"], "no graph, no partition"
    assert "Not shown: Folder" in of_run(SUMMARY, SETTINGS, tmp_path).html, "what a run says of itself"


def test_two_runs_are_two_sections_of_one_page(trained: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    place = tmp_path / "both.html"
    code, out, _ = command(monkeypatch, capsys, "report", str(trained), str(trained), "--out", str(place))
    assert code == 0 and out == f"Page: {place}\n"
    assert parsed(place.read_text("utf-8")).ids == ["run-run", "run-run.2", "not-covered"]


@pytest.mark.parametrize("content", [None, "{"])
def test_folders_without_results_are_refused(tmp_path: Path, monkeypatch, capsys, content: str | None) -> None:
    if content:
        (tmp_path / "summary.json").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and ("cannot be read" if content else "neither a finished run") in err and err.count("\n") == 1


DAMAGED = [
    {"summary.json": "{}"},
    {"summary.json": "{}", "experiment.json": "[]"},
    {"summary.json": "[]", "experiment.json": '{"experiment": {}}'},
    {"summary.json": "{}", "experiment.json": '{"experiment": {}}'},
    {"attack.json": '{"rows": []}'},
    {"attack.json": "[]"},
]


@pytest.mark.parametrize("files", DAMAGED)
def test_damaged_folders_are_refused_in_one_sentence(tmp_path: Path, monkeypatch, capsys, files: dict) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, out, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "cannot be read" in err or "is damaged or was written by another version" in err
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_told(attacked: Path, monkeypatch, capsys) -> None:
    code, _, err = command(monkeypatch, capsys, "report", str(attacked), "--out", str(attacked / "no" / "page.html"))
    assert code == 2 and "cannot be written: No such file or directory." in err and err.count("\n") == 1
