"""One page that needs nobody else, and says what the numbers say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpdl import Experiment, InputError, train
from dpdl.folder import class_counts
from dpdl.folder.class_counts import ClassCounts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.scored import AgentScores
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
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
from dpdl.report.run_section import calibration_figure, of_run
from dpdl.studies.pages import make_class_counts
from dpdl.training.train import replan
from tests.commands import dpdl as command
from tests.folder.measured import metrics, summary
from tests.report.parsing import PNG, images, parsed


def test_what_is_written_is_escaped_and_nothing_is_asked_of_others() -> None:
    evil = "<script>alert('x')</script> & \"y\""
    parts = [
        paragraphs(evil),
        said(evil),
        bullets([evil]),
        heading(evil),
        facts({evil: evil}),
    ]
    parts += [table([evil], [[evil]], evil)]
    text = page(
        evil,
        evil,
        [
            Section("one", evil, [public(*parts), private(evil, *parts)]),
            Section("two", "Two", []),
        ],
        evil,
    )
    assert "<script" not in text
    found = parsed(text)
    assert found.links == ["#one", "#two"] and found.ids == ["one", "two"]
    assert "default-src 'none'" in text and '<html lang="en">' in text
    live = page(
        "x",
        "x",
        [
            Section(
                "one",
                "One",
                [public(live_table([evil, "n"], [[evil, Number(evil, 1.0)]], evil))],
            )
        ],
        "x",
    )
    assert live.count("<script") == 1 and "alert('x')</script>" not in live
    parsed(live)


def test_sections_of_the_same_name_have_links_of_their_own() -> None:
    found = parsed(page("x", "x", [Section("one", "One", [])] * 3, "x"))
    assert found.links == ["#one", "#one.2", "#one.3"] and found.ids == [
        "one",
        "one.2",
        "one.3",
    ]


def test_a_live_table_is_complete_without_its_script() -> None:
    rows = [
        ["ring", Number("+1.50", 1.5, "above-1")],
        ["a" * 31, Number("unbounded", float("inf"))],
    ]
    html = live_table(["graph", "difference"], rows, "Cells.")
    assert (
        '<th scope="col" class="word">graph</th><th scope="col">difference</th>' in html
    )
    assert (
        '<td class="word">ring</td><td class="above-1" data-value="1.5">+1.50</td>'
        in html
    )
    assert (
        f'<td class="word long">{"a" * 31}</td><td data-value="Infinity">unbounded</td>'
        in html
    )
    assert 'data-value="-Infinity"' in live_table(
        ["n"], [[Number("unknown", float("-inf"))]], "Cells."
    )
    assert "<button" not in html and "<input" not in html, (
        "what does nothing without the script comes with it"
    )


def test_only_what_may_scroll_can_be_focused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    wide, small = (
        draw(tmp_path / "x.png", "words", "Caption.")
        for draw in (wide_picture, small_picture)
    )
    assert 'tabindex="0"' in wide and "tabindex" not in small
    for html in (wide, small):
        assert 'alt="words"' in html and "<figcaption>Caption." in html


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    )
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


def test_the_command_writes_a_page(attacked: Path, monkeypatch, capsys) -> None:
    code, out, _ = command(monkeypatch, capsys, "report", str(attacked), "--json")
    facts = json.loads(out)
    assert code == 0 and facts["sections"] == ["What your neighbour could rebuild"]
    found = parsed(Path(facts["page"]).read_text("utf-8"))
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)


SUMMARY = summary(
    bytes_sent=2_000_000,
    privacy_statement="Proven: so much.",
    versions={"torch": "2.x"},
    score=AgentScores("accuracy", 0.9, 0.8, 0.95, 0.91),
    epsilon=Epsilons(
        UNKNOWN, {"eavesdropper": Epsilon(3.5437), "final_model": UNBOUNDED}
    ),
)
SETTINGS = {
    "dataset": "nothing.npz",
    "lr": 0.05,
    "delta": 1e-05,
    "margin": None,
    "rounds": 5,
}


def test_a_run_is_shown_with_its_privacy_statement(tmp_path: Path) -> None:
    section = of_run(SUMMARY, SETTINGS, tmp_path)
    for words in ("Proven: so much.", "90.00%", "3.544", "unbounded", "2 MB"):
        assert words in section.html
    assert "Theorem 1" not in section.html and "<img" not in section.html
    RunFolder(tmp_path).append(metrics(5, 0.9, loss=0.7312))
    accuracy, loss = images(of_run(SUMMARY, SETTINGS, tmp_path).html)
    assert "the last one is 90.0%" in accuracy and "the last one is 0.7312" in loss


def test_all_settings_and_versions_are_shown(tmp_path: Path) -> None:
    html = of_run(SUMMARY, SETTINGS, tmp_path).html
    for name, value in {
        "lr": "0.05",
        "delta": "1e-05",
        "margin": "none",
        "rounds": "5",
        "torch": "2.x",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in html


def test_coefficients_are_drawn_in_the_range_that_can_occur() -> None:
    rounds = [metrics(t, coefficient=0.5, cosine=t / 10) for t in (1, 2)]
    broken = metrics(3, coefficient=None, cosine=0.1)
    coefficient, cosine = calibration_figure([*rounds, broken, metrics(4)]).axes
    assert coefficient.get_ylim() == (0.25, 0.75) and cosine.get_ylim() == (-1, 1)
    assert cosine.lines[0].get_xydata().tolist() == [[1, 0.1], [2, 0.2]]
    with pytest.raises(InputError, match="no coefficients"):
        calibration_figure([broken])


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(
        Experiment(
            dataset="digits", agents=3, batch=8, rounds=2, sigma=0.5, eval_every=1
        ),
        out=folder,
    )
    return folder


def test_a_run_shows_its_coefficients_its_partition_and_its_graph(
    trained: Path, monkeypatch, capsys
) -> None:
    code, out, _ = command(monkeypatch, capsys, "report", str(trained), "--json")
    assert code == 0 and json.loads(out)["sections"] == [
        "dpdl on digits, ring of 3 agents"
    ]
    text = (trained / "report.html").read_text("utf-8")
    parsed(text)
    _, loss, calibration, graph, partition = images(text)
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    assert f"{last['coefficient']:.3f} in round 2" in calibration
    assert f"{last['train_loss']['mean']:.4g}" in loss
    sizes = [len(part) for part in replan(trained).parts]
    assert (
        f"10 classes each of 3 agents holds; the agents hold from {min(sizes)} to {max(sizes)}"
        in partition
    )
    assert "ring: 3 agents and 3 edges" in graph
    assert "<dt>eval_every</dt><dd>1</dd>" in text


@pytest.fixture
def older(trained: Path, tmp_path: Path) -> RunFolder:
    """The run as a version left it that did not count the records of classes."""
    copy = tmp_path / "older"
    shutil.copytree(trained, copy)
    run = RunFolder(copy)
    run.partition_path.unlink()
    return run


def test_a_run_counts_the_records_of_classes_when_it_starts(trained: Path) -> None:
    plan = replan(trained)
    found = class_counts.read(RunFolder(trained))
    assert found == ClassCounts.of_plan(plan)
    assert [sum(row) for row in found.counts] == [len(part) for part in plan.parts]


def test_a_page_reads_files_only(trained: Path, older: RunFolder) -> None:
    section = of_run(SUMMARY, SETTINGS, older.path)
    assert "Not shown: the run folder has no partition.json." in section.html
    assert not older.partition_path.exists()
    assert [words.split(" ")[0] for words in images(section.html)][-1] == "The"


def test_the_command_counts_for_an_older_run(
    older: RunFolder, trained: Path, monkeypatch, capsys
) -> None:
    assert command(monkeypatch, capsys, "report", str(older.path))[0] == 0
    assert class_counts.read(older) == class_counts.read(RunFolder(trained))
    text = (older.path / "report.html").read_text("utf-8")
    assert "Heat map" in images(text)[-1]


def test_nothing_is_fetched_for_a_page(
    older: RunFolder, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "empty"))
    facts = older.facts().with_options(dataset="mnist")
    older.experiment_path.write_text(json.dumps(facts.to_json()))
    why = make_class_counts(older)
    assert why == "the data set is not here; get it with dpdl data fetch mnist."
    html = of_run(SUMMARY, SETTINGS, older.path, why).html
    assert f"Not shown: {why}" in html
    assert not (tmp_path / "empty").exists() and not older.partition_path.exists()


def test_why_a_graph_is_not_shown_is_said(tmp_path: Path) -> None:
    assert "Not shown: Folder" in of_run(SUMMARY, SETTINGS, tmp_path).html


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"format": 0}', '{"format": 1, "counts": [[1], [1, 2]]}']
)
def test_damaged_counts_are_refused(
    older: RunFolder, monkeypatch, capsys, content: str
) -> None:
    older.partition_path.write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(older.path))
    assert code == 2 and "partition.json' is damaged" in err and err.count("\n") == 1


def test_two_runs_are_two_sections_of_one_page(
    trained: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    place = tmp_path / "both.html"
    code, out, _ = command(
        monkeypatch, capsys, "report", str(trained), str(trained), "--out", str(place)
    )
    assert code == 0 and out == f"Page: {place}\n"
    assert parsed(place.read_text("utf-8")).ids == [
        "run-run",
        "run-run.2",
        "not-covered",
    ]


@pytest.mark.parametrize("content", [None, "{"])
def test_folders_without_results_are_refused(
    tmp_path: Path, monkeypatch, capsys, content: str | None
) -> None:
    if content:
        (tmp_path / "summary.json").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert (
        code == 2
        and ("is damaged" if content else "neither a finished run") in err
        and err.count("\n") == 1
    )


DAMAGED = [
    {"summary.json": "{}"},
    {"summary.json": "{}", "experiment.json": "[]"},
    {"summary.json": "[]", "experiment.json": '{"experiment": {}}'},
    {"summary.json": "{}", "experiment.json": '{"experiment": {}}'},
    {"attack.json": '{"rows": []}'},
    {"attack.json": "[]"},
]


@pytest.mark.parametrize("files", DAMAGED)
def test_damaged_folders_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch, capsys, files: dict
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, out, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "is damaged" in err or "holds no run" in err
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_told(
    attacked: Path, monkeypatch, capsys
) -> None:
    code, _, err = command(
        monkeypatch,
        capsys,
        "report",
        str(attacked),
        "--out",
        str(attacked / "no" / "page.html"),
    )
    assert (
        code == 2
        and "cannot be written: No such file or directory." in err
        and err.count("\n") == 1
    )
