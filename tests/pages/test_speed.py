"""Pictures of speed show every way and every workload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dpdl.folder.bench_results import GradientSpeeds, RoundCost, TimeShares
from dpdl.pages.speed import NAMES, cost_lines, draw_costs, draw_speeds, measured_ways

SPEEDS = GradientSpeeds(
    us_per_sample={
        "fused": 20.0,
        "plain": 100.0,
        "torch_func": 100.0,
        "opacus": None,
        "plain_backward": 40.0,
    },
    ratio_opacus=None,
    ratio_plain_backward=2.0,
    ratio_torch_func=5.0,
    peak_share=0.24,
    peak_gflops=330.0,
    by_way={},
    multiply_adds=758520,
    batch=216,
    pairs=8,
    repeats=7,
    cores=2,
)


def cost(graph: str, agents: int, algorithm: str = "dpdl") -> RoundCost:
    return RoundCost(
        algorithm=algorithm,
        graph=graph,
        agents=agents,
        seconds_per_round=0.01 * agents,
        share=TimeShares(0.7, 0.1, 0.1, 0.1),
        peak_memory_mb=300.0,
        gradient_path="fused",
        edges=3 * agents,
    )


def height(path: Path) -> int:
    with Image.open(path) as image:
        assert image.format == "PNG" and np.asarray(image.convert("L")).std() > 5
        return image.size[1]


def test_every_way_that_was_measured_has_a_place(tmp_path: Path) -> None:
    """A way more makes the picture taller; one that is not installed is left out."""
    four = height(draw_speeds(SPEEDS, tmp_path / "x.png"))
    few = {"fused": 20.0, "plain": 100.0, "opacus": None}
    fewer = GradientSpeeds(**{**vars(SPEEDS), "us_per_sample": few})
    assert height(draw_speeds(fewer, tmp_path / "y.png")) < four
    assert set(SPEEDS.us_per_sample) == set(NAMES)


def test_speeds_are_operations_over_time() -> None:
    found = measured_ways(SPEEDS)
    assert [(way.name, way.us) for way in found] == [
        ("dpdl, fused", 20.0),
        ("dpdl, plain", 100.0),
        ("torch.func", 100.0),
        ("no privacy: plain backward", 40.0),
    ]
    assert found[0].speed == pytest.approx(2 * 758520 / 20e-6 / 1e9)


def test_costs_have_a_line_for_every_graph() -> None:
    rows = [cost("ring", 30), cost("complete", 10), cost("ring", 10)]
    lines = cost_lines(rows)
    assert list(lines) == ["ring", "complete"], "in the order in which they were asked"
    assert [row.agents for row in lines["ring"]] == [10, 30]


def test_several_algorithms_are_named() -> None:
    lines = cost_lines([cost("ring", 10), cost("ring", 10, "muffliato")])
    assert list(lines) == ["dpdl, ring", "muffliato, ring"]


@pytest.mark.parametrize("agents", [[10], [10, 100]])
def test_costs_are_drawn(agents: list[int], tmp_path: Path) -> None:
    rows = [cost(graph, n) for graph in ("ring", "complete") for n in agents]
    assert height(draw_costs(rows, tmp_path / "x.png")) > 300
