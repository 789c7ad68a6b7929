"""The curves of a result, with matplotlib and without it."""

from __future__ import annotations

import subprocess
import sys

import dpdl
from dpdl.training.plot import plot
from tests.folder.measured import metrics
from tests.training.small import changed, train

PNG = b"\x89PNG"


def test_a_result_is_drawn_and_shows_itself(blobs) -> None:
    result = train(blobs, changed(algorithm="dp-dpsgd"))
    figure = result.plot()
    assert figure._repr_png_().startswith(PNG)
    score, loss, epsilon = figure.axes
    rounds = [m.round for m in result.metrics]
    assert [int(x) for x in score.lines[0].get_xdata()] == rounds
    assert list(score.lines[0].get_ydata()) == [m.score.mean for m in result.metrics]
    assert list(loss.lines[0].get_ydata()) == [
        m.train_loss.mean for m in result.metrics
    ]
    assert list(epsilon.lines[0].get_ydata()) == [
        m.epsilon.finite for m in result.metrics
    ]


def test_what_was_not_measured_has_no_line() -> None:
    figure = plot([metrics(1), metrics(3)], "a title with $ in it")
    _, loss, epsilon = figure.axes
    assert not loss.lines and epsilon.lines
    assert [one.get_text() for one in loss.texts] == ["not measured"]
    assert figure._repr_png_().startswith(PNG)


def test_one_round_is_a_point() -> None:
    score = plot([metrics(1, loss=0.5)], "one")._repr_png_()
    assert score.startswith(PNG)


def test_without_matplotlib_one_sentence_is_raised() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None\n"
        "from dpdl import InputError\n"
        "from dpdl.training.plot import plot\n"
        "from tests.folder.measured import metrics\n"
        "try: plot([metrics(1)], 'x')\n"
        "except InputError as failure: print(failure)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("A plot needs matplotlib, which is not installed")
    assert done.stdout.count("\n") == 1
    assert dpdl.Result.plot.__doc__
