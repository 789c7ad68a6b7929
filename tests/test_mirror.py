"""Every module has a test file of its name, or stands in a list with the reason.

The tests of `room/module.py` are in `tests/room/test_module.py`, those of `room/inner/module.py` in
`tests/room/test_inner_module.py` or `tests/room/inner/test_module.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dpdl

SOURCE = Path(dpdl.__file__).parent
TESTS = Path(__file__).parent
NOT_YET = "not yet"
ELSEWHERE: dict[str, str] = {
    # algorithms
    "algorithms/base.py": NOT_YET,
    "algorithms/disclosure.py": NOT_YET,
    # audit
    "audit/examine.py": NOT_YET,
    "audit/game.py": NOT_YET,
    "audit/records.py": NOT_YET,
    # bench
    "bench/clock.py": NOT_YET,
    "bench/gradients.py": NOT_YET,
    "bench/history.py": NOT_YET,
    "bench/noise.py": NOT_YET,
    "bench/rounds.py": NOT_YET,
    "bench/startup.py": NOT_YET,
    # cli
    "cli/attack_show.py": NOT_YET,
    "cli/audit_show.py": NOT_YET,
    "cli/bench.py": NOT_YET,
    "cli/common.py": NOT_YET,
    "cli/data.py": NOT_YET,
    "cli/export.py": NOT_YET,
    "cli/graph.py": NOT_YET,
    "cli/privacy.py": NOT_YET,
    "cli/report.py": NOT_YET,
    "cli/reproduce.py": NOT_YET,
    "cli/reproduce_show.py": NOT_YET,
    "cli/run.py": NOT_YET,
    "cli/show.py": NOT_YET,
    "cli/statement.py": NOT_YET,
    "cli/theory.py": NOT_YET,
    "cli/verify.py": NOT_YET,
    # the bottom
    "errors.py": NOT_YET,
    # experiment
    "experiment/names.py": NOT_YET,
    "experiment/options.py": NOT_YET,
    "experiment/presets.py": NOT_YET,
    "experiment/shared.py": NOT_YET,
    # folder
    "folder/bill.py": NOT_YET,
    "folder/book.py": NOT_YET,
    "folder/checkpoint.py": NOT_YET,
    "folder/files.py": NOT_YET,
    "folder/run_folder.py": NOT_YET,
    "folder/states.py": NOT_YET,
    # graph
    "graph/check.py": NOT_YET,
    "graph/facts.py": NOT_YET,
    "graph/patterns.py": NOT_YET,
    "graph/weights.py": NOT_YET,
    # the bottom
    "keys.py": NOT_YET,
    # native
    "native/grid.py": NOT_YET,
    "native/network.py": NOT_YET,
    "native/noise.py": NOT_YET,
    "native/rows.py": NOT_YET,
    # net
    "net/messages.py": NOT_YET,
    "net/observers.py": NOT_YET,
    # the bottom
    "objects.py": NOT_YET,
    "options.py": NOT_YET,
    # paper
    "paper/cells.py": NOT_YET,
    # the bottom
    "parallel.py": NOT_YET,
    # report
    "report/coverage.py": NOT_YET,
    "report/document.py": NOT_YET,
    "report/epsilon_curves.py": NOT_YET,
    "report/frontier.py": NOT_YET,
    "report/look.py": NOT_YET,
    "report/options.py": NOT_YET,
    "report/public_page.py": NOT_YET,
    "report/risk_numbers.py": NOT_YET,
    "report/run_section.py": NOT_YET,
    "report/speed.py": NOT_YET,
    "report/statement_evidence.py": NOT_YET,
    "report/statement_messages.py": NOT_YET,
    "report/statement_page.py": NOT_YET,
    # studies
    "studies/attack.py": NOT_YET,
    "studies/attack_paper.py": NOT_YET,
    "studies/attack_watch.py": NOT_YET,
    "studies/describe.py": NOT_YET,
    "studies/membership.py": NOT_YET,
    "studies/noise_plan.py": NOT_YET,
    "studies/one_run.py": NOT_YET,
    "studies/pages.py": NOT_YET,
    "studies/pictures.py": NOT_YET,
    "studies/reproduce/attack_store.py": NOT_YET,
    "studies/reproduce/beside_paper.py": NOT_YET,
    "studies/reproduce/clock.py": NOT_YET,
    "studies/reproduce/forecast.py": NOT_YET,
    "studies/reproduce/measure_attacks.py": NOT_YET,
    "studies/reproduce/measure_cells.py": NOT_YET,
    "studies/reproduce/recipes.py": NOT_YET,
    "studies/reproduce/request.py": NOT_YET,
    "studies/reproduce/store.py": NOT_YET,
    # theory
    "theory/explained.py": NOT_YET,
    "theory/formulas.py": NOT_YET,
    "theory/inputs.py": NOT_YET,
    # training
    "training/summary.py": NOT_YET,
    # transport
    "transport/base.py": NOT_YET,
    "transport/gloo.py": NOT_YET,
    "transport/post.py": NOT_YET,
    "transport/threads.py": NOT_YET,
    # the bottom
    "types.py": NOT_YET,
}
"""Modules without a test file of their name, and where and why they are tested instead."""


def places(module: Path) -> list[Path]:
    """The places where the tests of a module may be."""
    *rooms, name = module.with_suffix("").parts
    joined = "_".join([*rooms[1:], name])
    return [
        TESTS.joinpath(*rooms[:1], f"test_{joined}.py"),
        TESTS.joinpath(*rooms, f"test_{name}.py"),
    ]


MODULES = sorted(
    file.relative_to(SOURCE)
    for file in SOURCE.rglob("*.py")
    if file.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_has_tests_of_its_name(module: Path) -> None:
    found = any(file.is_file() for file in places(module))
    listed = ELSEWHERE.get(module.as_posix())
    assert found != (listed is not None), "write its tests, or say where they are"


def test_reasons_are_about_modules_that_exist() -> None:
    assert set(ELSEWHERE) <= {module.as_posix() for module in MODULES}
