"""Two checkouts are measured in turn; ratios are old over new, within each repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.bench.checkouts import (
    NEW,
    OLD,
    READERS,
    THIS,
    BenchCommand,
    Quantity,
    commit_of,
    compare_checkouts,
    in_turn,
    measure_checkout,
    ratios,
    refuse_no_checkout,
)
from dpdl.errors import InputError, RunFailed

FUSED = Quantity("gradients", "fused", "us per sample")
ROUNDS = {
    "rows": [
        {
            "algorithm": "dpdl",
            "graph": "ring",
            "agents": 10,
            "model": "lenet",
            "batch": 216,
            "rounds": 5,
            "seconds_per_round": 0.2,
            "share": {"gradients": 0.7, "noise": 0.1, "exchange": 0.1, "other": 0.1},
            "peak_memory_mb": 300.0,
            "gradient_path": "fused",
            "edges": 30,
        }
    ]
}


def gradients(fused: float | None, backward: float = 40.0) -> dict:
    """What `dpdl bench gradients --json` prints."""
    return {
        "us_per_sample": {"fused": fused, "opacus": None, "plain_backward": backward},
        "ratio_opacus": None,
        "ratio_plain_backward": None,
        "ratio_torch_func": None,
        "peak_share": 0.5,
        "peak_gflops": 300.0,
        "by_way": {},
        "multiply_adds": 1,
        "batch": 216,
        "pairs": 8,
        "repeats": 5,
        "cores": 2,
    }


# ------------------------------------------------------------------ numbers
def test_numbers_are_read_from_what_older_versions_print() -> None:
    found = READERS["gradients"](gradients(20.0))
    assert {quantity.what: value for quantity, value in found.items()} == {
        "fused": 20.0,
        "plain_backward": 40.0,
    }
    found = READERS["rounds"](ROUNDS)
    assert found == {
        Quantity("rounds", "dpdl, ring of 10", "s per round"): 0.2,
        Quantity("rounds", "dpdl, ring of 10", "MB"): 300.0,
    }


def test_ratios_are_medians_within_the_repeats() -> None:
    """The machine was slower in the third repeat, for both: the ratio does not feel it."""
    old = [{FUSED: value} for value in (20.0, 22.0, 60.0)]
    new = [{FUSED: value} for value in (10.0, 11.0, 40.0)]
    (row,) = ratios(old, new)
    assert (row.bench, row.what, row.unit) == FUSED
    assert (row.old, row.new, row.ratio) == (22.0, 11.0, 2.0)


@pytest.mark.parametrize(("old", "new", "who"), [(None, 1.0, OLD), (1.0, None, NEW)])
def test_what_one_of_them_does_not_measure_is_named(old, new, who: str) -> None:
    read = READERS["gradients"]
    hint = f"The {who} checkout does not measure 'fused' .*build_ext --inplace"
    with pytest.raises(InputError, match=hint):
        ratios([read(gradients(old))], [read(gradients(new))])


# ------------------------------------------------------------------ in turn
def test_who_is_first_changes_with_every_repeat() -> None:
    assert [in_turn(k) for k in range(3)] == [(OLD, NEW), (NEW, OLD), (OLD, NEW)]


def test_checkouts_are_measured_interleaved(tmp_path: Path) -> None:
    order: list[str] = []
    commands = [BenchCommand("gradients", ("--batch", "4")), BenchCommand("rounds")]

    def measure(checkout: Path, command: BenchCommand) -> dict:
        order.append(f"{checkout.name} {command.bench}")
        fused = 30.0 if checkout.name == "before" else 20.0
        return gradients(fused) if command.bench == "gradients" else ROUNDS

    begun: list[tuple[int, str, str]] = []

    def begin(repeat: int, whose: str, bench: str) -> None:
        begun.append((repeat, whose, bench))

    before, after = tmp_path / "before", tmp_path / "after"
    found = compare_checkouts(before, after, commands, 2, begin, measure)
    assert order == [
        *("before gradients", "after gradients", "before rounds", "after rounds"),
        *("after gradients", "before gradients", "after rounds", "before rounds"),
    ]
    assert begun[0] == (0, OLD, "gradients") and begun[-1] == (1, OLD, "rounds")
    assert (found.old, found.new, found.repeats) == ("before", "after", 2)
    assert [(row.what, row.ratio) for row in found.rows] == [
        ("fused", 1.5),
        ("plain_backward", 1.0),
        ("dpdl, ring of 10", 1.0),
        ("dpdl, ring of 10", 1.0),
    ]


# ------------------------------------------------------------------ checkouts
def test_this_checkout_is_one() -> None:
    refuse_no_checkout(THIS)
    assert (THIS / "src" / "dpdl").is_dir() and commit_of(THIS)


def test_a_folder_without_dpdl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no checkout of dpdl"):
        refuse_no_checkout(tmp_path)
    assert commit_of(tmp_path) == tmp_path.name


def planted(folder: Path, program: str) -> Path:
    """A checkout whose `python -m dpdl` is this program."""
    package = folder / "src" / "dpdl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(program)
    return folder


def test_a_checkout_runs_its_own_code_in_a_folder_of_its_own(tmp_path: Path) -> None:
    program = "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.getcwd()]))"
    checkout = planted(tmp_path, program)
    refuse_no_checkout(checkout)
    words, folder = measure_checkout(checkout, BenchCommand("rounds", ("--batch", "4")))
    assert words == ["bench", "rounds", "--batch", "4", "--json"]
    assert Path(folder) not in (tmp_path, Path.cwd()), "so that no history is written"


def test_a_benchmark_that_fails_is_named(tmp_path: Path) -> None:
    checkout = planted(tmp_path, "import sys; sys.exit('error: no such option')")
    with pytest.raises(RunFailed, match=r"bench rounds of .*: error: no such option"):
        measure_checkout(checkout, BenchCommand("rounds"))


def test_a_benchmark_that_prints_something_else_is_named(tmp_path: Path) -> None:
    checkout = planted(tmp_path, "print('measured: 3 ms')")
    with pytest.raises(RunFailed, match=r"bench rounds of .* printed no JSON"):
        measure_checkout(checkout, BenchCommand("rounds"))
