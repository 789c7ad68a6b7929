"""What `dpdl bench` prints of what it has measured."""

from __future__ import annotations

import pytest

from dpdl.cli.bench_show import (
    show_gradients,
    show_noise,
    show_peers,
    show_ratios,
    show_rounds,
    show_startup,
)
from dpdl.folder.bench_results import (
    CheckoutRatios,
    GradientSpeeds,
    NoiseSpeeds,
    RoundCost,
    RoundCosts,
    SpeedRatio,
    Startup,
    TimeShares,
)
from dpdl.peer.bench import DelayCost, PeerCost, PeerCosts, SyncCost


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The words of the one line that has all of these."""
    lines = capsys.readouterr().out.splitlines()
    (found,) = [one for one in lines if all(word in one for word in words)]
    return found.replace("│", " ").replace("|", " ").split()


def speeds(**us: float | None) -> GradientSpeeds:
    return GradientSpeeds(us, None, None, None, 0.5, 80.4, {}, 1, 216, 8, 7, 2)


def test_ways_are_shown_beside_the_fused_one_and_what_is_not_there_as_a_dash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = speeds(fused=20.0, opacus=50.0, torch_func=None)
    show_gradients(facts)
    out = capsys.readouterr().out
    rows = [line.replace("│", " ").split() for line in out.splitlines()]
    assert ["fused", "20.0", "1.00"] in rows and ["opacus", "50.0", "2.50"] in rows
    assert ["torch_func", "-", "-"] in rows
    assert "50% of this machine's matmul peak, 80 GFLOP/s" in out


def test_noise_is_shown_beside_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    facts = NoiseSpeeds({"secure": 1.234}, {"secure": 12.34}, 2.0, 2, 5000, 7)
    show_noise(facts)
    assert printed(capsys, "secure") == ["secure", "1.23", "12.3"]


def test_a_share_that_was_not_measured_is_a_dash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cost = RoundCost(
        algorithm="dpdl",
        graph="ring",
        agents=10,
        seconds_per_round=0.25,
        share=TimeShares(0.5, 0.2, 0.2, 0.1),
        evaluation_seconds_per_agent=0.5,
        peak_memory_mb=300.4,
        gradient_path="fused",
        edges=30,
    )
    show_rounds(RoundCosts((cost,), complete_30_over_10=3.0), "rounds")
    out = capsys.readouterr().out
    assert "30 agents cost 3.00 times as much as 10" in out
    assert "records: 0.500 s" in out and "neither gradients" not in out
    (row,) = [line for line in out.splitlines() if "ring" in line]
    numbers = ["10", "30", "0.250", "50%", "20%", "-", "20%", "10%", "300"]
    assert row.replace("│", " ").split() == ["dpdl", "ring", *numbers]


@pytest.mark.parametrize(
    ("old", "expected"),
    [(None, ["--help", "0.04"]), ({"--help": 1.5}, ["--help", "1.50", "0.04"])],
)
def test_an_older_checkout_has_a_column(
    capsys: pytest.CaptureFixture[str], old: dict[str, float] | None, expected: list
) -> None:
    show_startup(Startup(0.04, 0.2, {"--help": 0.04}, old))
    assert printed(capsys, "--help") == expected


@pytest.mark.parametrize("strace", [True, False])
def test_peers_are_shown_with_what_is_aimed_at(
    capsys: pytest.CaptureFixture[str], strace: bool
) -> None:
    cost = PeerCost(
        "mnist", "lenet", 44426, "dpdl-sound", 41, 1010e3, 1000e3, 1.01, 17, 2, 1
    )
    syncs = (SyncCost("dp-dpsgd", 2.97, 0.1),) if strace else None
    show_peers(PeerCosts(4, 0.1, (cost,), syncs, DelayCost(25, 100, 30, 2.8)))
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if "lenet" in line]
    numbers = ["1010.0", "1.00%", "17.0", "17.6", "2.0"]
    assert row.replace("│", " ").split() == ["lenet", "mnist", *numbers]
    assert ("dp-dpsgd: 2.97 fsyncs a round" in out) == strace
    assert ("no strace" in out) != strace
    assert "100 ms a round, without 30: 2.80 one-way delays" in out


def test_ratios_have_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    row = SpeedRatio("gradients", "fused", "us", 30.0, 20.0, 1.5)
    show_ratios(CheckoutRatios("before", "after", 3, (row,)))
    numbers = ["30", "20", "us", "1.50"]
    assert printed(capsys, "gradients: fused") == ["gradients:", "fused", *numbers]
