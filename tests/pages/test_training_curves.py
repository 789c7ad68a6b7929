"""The curves of a run hold what was measured, and skip what was not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.pages.captions import Words
from dpdl.pages.lines import LOOKS
from dpdl.pages.training_curves import (
    RunWords,
    draw_training,
    loss_figure,
    score_figure,
    title_of,
    training_figure,
    words_of,
)
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.privacy.threats import EAVESDROPPER
from tests.folder.measured import metrics, summary

METRICS = [
    metrics(1, 0.1),
    metrics(10, 0.4, loss=1.5),
    metrics(20, 0.6, loss=1.0),
    metrics(30, 0.8, loss=0.5),
]


ABOUT = RunWords(Words("cost $5_ $"), "dpdl")


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    ("suffix", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")]
)
def test_the_picture_is_written_in_every_format(
    tmp_path: Path, suffix: str, head: bytes
) -> None:
    path = draw_training(METRICS, tmp_path / f"training.{suffix}", ABOUT)
    assert path.read_bytes().startswith(head)


def test_a_loss_that_was_not_measured_is_skipped() -> None:
    loss, score = training_figure(METRICS, ABOUT).axes
    assert loss.lines[0].get_xydata().tolist() == [[10, 1.5], [20, 1.0], [30, 0.5]]
    mean, average = score.lines
    rounds = [1, 10, 20, 30]
    assert mean.get_xdata().tolist() == average.get_xdata().tolist() == rounds
    assert mean.get_ydata().tolist() == [0.1, 0.4, 0.6, 0.8]
    assert mean.get_linestyle() == "-" and average.is_dashed()


def test_the_band_reaches_from_the_worst_to_the_best() -> None:
    loss, score = training_figure(METRICS, ABOUT).axes
    band = score.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.0, 0.9))
    band = loss.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.4, 1.7))


def test_a_picture_alone_has_one_of_the_two() -> None:
    (loss,), (score,) = (
        loss_figure(METRICS, ABOUT).axes,
        score_figure(METRICS, ABOUT).axes,
    )
    assert loss.get_title("left") == "training loss"
    assert score.get_title("left") == "test accuracy"
    assert len(score.lines) == 2


def test_an_error_is_named_and_has_no_percent() -> None:
    (axes,) = score_figure([metrics(1, 0.5, name="squared_error")], ABOUT).axes
    assert axes.get_title("left") == "test squared error"
    (of_accuracy,) = score_figure(METRICS, ABOUT).axes
    assert of_accuracy.yaxis.get_major_formatter()(0.5).endswith("%")
    assert not axes.yaxis.get_major_formatter()(0.5).endswith("%")


def test_a_run_without_losses_says_so() -> None:
    assert "not measured" in texts(training_figure([metrics(1)], ABOUT).axes[0])
    with pytest.raises(InputError, match="no evaluated rounds"):
        training_figure([], ABOUT)


def test_one_round_is_visible() -> None:
    loss, _ = training_figure([METRICS[1]], ABOUT).axes
    assert loss.lines[0].get_marker() == "o"
    assert loss.get_xlim() == (9, 11)


def test_the_lines_have_the_look_of_the_algorithm_and_names_at_their_ends() -> None:
    about = RunWords(Words("a run"), "muffliato")
    loss, score = training_figure(METRICS, about).axes
    for line in (loss.lines[0], score.lines[0]):
        assert line.get_color() == LOOKS["muffliato"].colour
        assert line.get_marker() == LOOKS["muffliato"].letter
    assert texts(loss) == ["mean of agents"]
    assert texts(score) == ["mean of agents", "average model"]
    assert loss.get_legend() is score.get_legend() is None


@pytest.mark.parametrize(("count", "markers"), [(5, 5), (12, 12), (100, 12)])
def test_markers_stand_at_measured_rounds(count: int, markers: int) -> None:
    many = [metrics(t, 0.5, loss=1.0) for t in range(1, count + 1)]
    loss, _ = training_figure(many, ABOUT).axes
    every = loss.lines[0].get_markevery()
    assert len(range(0, count, every)) == markers


def test_the_title_names_the_agents_and_what_is_proven() -> None:
    epsilons = Epsilons(Epsilon(0.5), {"eavesdropper": Epsilon(3.0)})
    found = summary(
        algorithm="dpdl", dataset="a/b.npz", graph="ring", agents=7, epsilon=epsilons
    )
    assert title_of(found) == "dpdl on b.npz, ring of 7 agents"
    assert words_of(found, EAVESDROPPER) == RunWords(
        Words(
            "dpdl on b.npz, ring of 7 agents",
            "Epsilon 3, proven against an eavesdropper on all links; 0.5 claimed by "
            "Theorem 1.",
        ),
        "dpdl",
    )
