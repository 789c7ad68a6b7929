"""Curves that a page brings to life: values under the pointer, zoom, lines to hide.

The numbers stand in the page beside the still picture. Without the script, and on paper, the
picture is seen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

from dpdl.folder.metrics import Metrics
from dpdl.pages.lines import AVERAGE, Look, look_of
from dpdl.records import JsonObject
from dpdl.text import plain

MOST = 2_000
"""Rounds of one figure; of more, evenly chosen ones are in the page."""
FIGURE = '<figure class="curves-figure">'

Value = Callable[[Metrics], float | None]
Band = tuple[Value, Value]


class LiveCurve(NamedTuple):
    """A line, and the band around it if there is one."""

    name: str
    value: Value
    look: Look
    band: Band | None = None


class LiveFigure(NamedTuple):
    """Lines over rounds."""

    label: str
    curves: Sequence[LiveCurve]
    percent: bool = False

    def to_json(self, metrics: Sequence[Metrics]) -> JsonObject:
        """As `curves.js` takes it."""
        rounds = chosen(metrics)
        return {
            "options": {
                "label": plain(self.label),
                "percent": self.percent,
                "x": "round",
            },
            "lines": [_line(curve, rounds) for curve in self.curves],
        }


def score_curves(metrics: Sequence[Metrics], algorithm: str) -> LiveFigure:
    """The score on the test records, in the look of the algorithm."""
    score = metrics[-1].score
    band = (lambda m: m.score.worst), (lambda m: m.score.best)
    return LiveFigure(
        f"test {score.label}",
        (
            LiveCurve(
                "mean of agents", lambda m: m.score.mean, look_of(algorithm), band
            ),
            LiveCurve("average model", lambda m: m.score.average_model, AVERAGE),
        ),
        score.percent,
    )


def loss_curves(algorithm: str) -> LiveFigure:
    """The training loss, which no epsilon covers, in the look of the algorithm."""
    band = (lambda m: m.train_loss.min), (lambda m: m.train_loss.max)
    look = look_of(algorithm)
    mean = LiveCurve("mean of agents", lambda m: m.train_loss.mean, look, band)
    return LiveFigure("training loss", (mean,))


def enlivened(picture: str, figure: LiveFigure, metrics: Sequence[Metrics]) -> str:
    """The HTML of a still picture, with the numbers that a script draws in its place."""
    text = json.dumps(figure.to_json(metrics), allow_nan=False, separators=(",", ":"))
    # No text in it may end the element that holds it.
    data = text.replace("<", "\\u003c")
    inside = picture.removeprefix("<figure>").removesuffix("</figure>")
    end = inside.rindex("<figcaption>")
    still, caption = inside[:end], inside[end:]
    return (
        f'{FIGURE}<div class="curves-here"></div><div class="curves-still">{still}</div>'
        f'<script type="application/json" class="curves-data">{data}</script>'
        f"{caption}</figure>"
    )


def style() -> str:
    """What a page with such figures needs beside its own style."""
    return files("dpdl.pages").joinpath("curves.css").read_text("utf-8")


def script() -> str:
    """What draws them."""
    code = files("dpdl.pages").joinpath("curves.js").read_text("utf-8")
    return f'{code}\ndocument.querySelectorAll(".curves-figure").forEach(curves.enliven);\n'


def chosen(metrics: Sequence[Metrics], most: int = MOST) -> list[Metrics]:
    """All rounds, or so many, the first and the last among them."""
    if len(metrics) <= most:
        return list(metrics)
    last = len(metrics) - 1
    return [metrics[round(k * last / (most - 1))] for k in range(most)]


def _line(curve: LiveCurve, metrics: Sequence[Metrics]) -> JsonObject:
    found: JsonObject = {
        "name": curve.name,
        **curve.look.plain(),
        "x": [m.round for m in metrics],
        "y": [_short(curve.value(m)) for m in metrics],
    }
    if curve.band:
        low, high = curve.band
        found["low"] = [_short(low(m)) for m in metrics]
        found["high"] = [_short(high(m)) for m in metrics]
    return found


def _short(value: float | None) -> float | None:
    """Five digits, as a reader sees them."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")
