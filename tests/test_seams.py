"""Above `algorithms`, an algorithm is asked, never recognised by its class, its name or its options.

So one that another package adds is treated as ours are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpdl
from dpdl.algorithms import NAMES
from dpdl.experiment.options import installed

SOURCE = Path(dpdl.__file__).parent
ABOVE = (
    "experiment",
    "planning",
    "folder",
    "training",
    "studies",
    "pages",
    "audit",
    "attacks",
    "bench",
    "theory",
    "cli",
)
FILES = sorted(file for part in ABOVE for file in (SOURCE / part).rglob("*.py"))
ALLOWED = {
    ("studies/reproduce/recipes.py", "name"): "the paper's tables name algorithms",
    (
        "bench/rounds.py",
        "name",
    ): "the targets for speed are about the paper's algorithm",
    (
        "pages/calibration_facts.py",
        "option",
    ): "how large each measured cosine was, a word that is an option, too",
    (
        "pages/calibration_tables.py",
        "option",
    ): "a page on what was measured for each cosine, a word that is an option, too",
    ("audit/learnt.py", "import"): "a listener decodes what it hears",
}
"""What is allowed, and why."""
SEAMS = {"base", "disclosure"}
"""The modules of `algorithms` that are about all of them."""
KINDS = {"Algorithm", "Calibration", "Info", "Named", "State", "StepShown", "Tuned"}
FUNCTIONS = {"NAMES", "make", "name_of", "named", "names", "usable"}
OPTIONS = set(installed())


def from_algorithms(tree: ast.AST) -> dict[str, str]:
    """What a file imports from there: its name in the file -> where it is from."""
    found = {}
    for entry in ast.walk(tree):
        if isinstance(entry, ast.ImportFrom) and entry.module:
            if entry.module.startswith("dpdl.algorithms"):
                for alias in entry.names:
                    found[alias.asname or alias.name] = f"{entry.module}.{alias.name}"
        elif isinstance(entry, ast.Import):
            for alias in entry.names:
                if alias.name.startswith("dpdl.algorithms."):
                    found[alias.asname or alias.name] = f"{alias.name}.*"
    return found


def of_algorithms(entry: ast.expr, imported: dict[str, str]) -> bool:
    """Whether an expression is a class of `algorithms`, or has one in it."""
    for part in ast.walk(entry):
        if isinstance(part, ast.Name) and part.id in imported:
            return imported[part.id].rpartition(".")[2] not in FUNCTIONS
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "algorithms":
            return part.attr not in FUNCTIONS
    return False


def names_in(entry: ast.expr) -> bool:
    """Whether an expression is the name of an algorithm, or a collection of literals with one."""
    if isinstance(entry, ast.Tuple | ast.List | ast.Set):
        return any(names_in(part) for part in entry.elts)
    return isinstance(entry, ast.Constant) and entry.value in NAMES


def is_option(entry: ast.expr) -> bool:
    """`e.alpha`, `values["alpha"]`, `values.get("alpha")`."""
    if isinstance(entry, ast.Attribute):
        return entry.attr in OPTIONS
    if isinstance(entry, ast.Subscript):
        return isinstance(entry.slice, ast.Constant) and entry.slice.value in OPTIONS
    if isinstance(entry, ast.Call) and isinstance(entry.func, ast.Attribute):
        first = entry.args[0] if entry.args else None
        key = isinstance(first, ast.Constant) and first.value in OPTIONS
        return entry.func.attr == "get" and key
    return False


def deciding(tree: ast.AST) -> Iterator[ast.expr]:
    """Everything that decides what is done."""
    for entry in ast.walk(tree):
        if isinstance(entry, ast.Compare):
            yield from [entry.left, *entry.comparators]
        elif isinstance(entry, ast.BoolOp):
            yield from entry.values
        elif isinstance(entry, ast.UnaryOp) and isinstance(entry.op, ast.Not):
            yield entry.operand
        elif isinstance(entry, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield entry.test
        elif isinstance(entry, ast.comprehension):
            yield from entry.ifs
        elif isinstance(entry, ast.Match):
            yield entry.subject


def line_of_import(tree: ast.AST, name: str) -> int:
    return next(
        entry.lineno
        for entry in ast.walk(tree)
        if isinstance(entry, ast.ImportFrom | ast.Import)
        and name in {alias.asname or alias.name for alias in entry.names}
    )


def switches(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """What the house forbids, with its line."""
    imported = from_algorithms(tree)
    for name, home in imported.items():
        part = home.split(".")[2]
        if part not in SEAMS | KINDS | FUNCTIONS:
            yield "import", line_of_import(tree, name)
    for entry in ast.walk(tree):
        if isinstance(entry, ast.Call) and isinstance(entry.func, ast.Name):
            asks = entry.func.id in ("isinstance", "issubclass")
            if asks and of_algorithms(entry.args[1], imported):
                yield "class", entry.lineno
        elif isinstance(entry, ast.Compare):
            sides = [entry.left, *entry.comparators]
            if any(map(names_in, sides)):
                yield "name", entry.lineno
            if isinstance(entry.ops[0], ast.Is | ast.IsNot) and any(
                of_algorithms(side, imported) for side in sides
            ):
                yield "class", entry.lineno
        elif isinstance(entry, ast.MatchValue) and names_in(entry.value):
            yield "name", entry.lineno
        elif isinstance(entry, ast.MatchClass) and of_algorithms(entry.cls, imported):
            yield "class", entry.lineno
    for entry in deciding(tree):
        if is_option(entry):
            yield "option", entry.lineno


@pytest.mark.parametrize("file", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_an_algorithm_is_asked_not_recognised(file: Path) -> None:
    place = file.relative_to(SOURCE).as_posix()
    found = [
        (kind, line)
        for kind, line in switches(ast.parse(file.read_text("utf-8")))
        if (place, kind) not in ALLOWED
    ]
    assert not found


def test_nothing_is_allowed_that_is_not_there() -> None:
    for place, kind in ALLOWED:
        tree = ast.parse((SOURCE / place).read_text("utf-8"))
        assert kind in {found for found, _ in switches(tree)}, place


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("from dpdl.algorithms import Algorithm\nisinstance(a, Algorithm)", "class"),
        ("from dpdl.algorithms.disclosure import Activated\nisinstance(a, (int, Activated))", "class"),
        ("from dpdl import algorithms\nisinstance(a, algorithms.DPDL)", "class"),
        ("from dpdl.algorithms import DPDL\ntype(a) is DPDL", "class"),
        ("e.algorithm == 'dpdl'", "name"),
        ("e.algorithm != 'decor'", "name"),
        ("name in ('cga', 'dp-cga')", "name"),
        ("match name:\n case 'pdsl': pass", "name"),
        ("e.alpha is None", "option"),
        ("x = 1 if e.momentum else 2", "option"),
        ("values['alpha'] is None", "option"),
        ("not e.options.get('validation')", "option"),
        ("from dpdl.algorithms import DPDL", "import"),
        ("from dpdl.algorithms.dpdl import DPDL", "import"),
        ("import dpdl.algorithms.dpdl", "import"),
    ],
)  # fmt: skip
def test_a_switch_is_found(code: str, kind: str) -> None:
    assert kind in {found for found, _ in switches(ast.parse(code))}


@pytest.mark.parametrize(
    "code",
    [
        "from dpdl.algorithms import Algorithm, make, named",
        "from dpdl.algorithms.base import Stepped",
        "from dpdl import algorithms\nalgorithms.named(name).kind.calibrates",
        "isinstance(value, float)",
        "e.options['lr'] * 2",
        "e.alpha_d == 1",
        "mode == 'sound'",
    ],
)
def test_a_question_is_none(code: str) -> None:
    assert not list(switches(ast.parse(code)))
