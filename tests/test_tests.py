"""The shape of the tests: what is ours is not patched, and no test module imports another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = sorted(file for file in HERE.rglob("*.py") if file != Path(__file__))
SETTERS = {"setattr", "delattr", "setitem", "delitem"}
IMPORT = re.compile(r"\b(?:from|import)\s+(?:\w+\.)*test_\w+")
"""An import of a test module, also in a program that a test starts."""


# ------------------------------------------------------------------ what is patched
def root(expression: ast.expr) -> str | None:
    """The name that `name` and `name.a.b` begin with."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else None


def parts(expression: ast.expr) -> list[ast.expr]:
    """The elements of a tuple or a list; otherwise the expression itself."""
    if isinstance(expression, ast.Tuple | ast.List):
        return expression.elts
    return [expression]


def imported(tree: ast.Module) -> set[str]:
    """The names that are imported from dpdl."""
    names: set[str] = set()
    for found in ast.walk(tree):
        if isinstance(found, ast.Import):
            of_us = [one for one in found.names if is_dpdl(one.name)]
            names |= {one.asname or "dpdl" for one in of_us}
        elif isinstance(found, ast.ImportFrom) and is_dpdl(found.module):
            names |= {one.asname or one.name for one in found.names}
    return names


def is_dpdl(name: object) -> bool:
    return str(name).split(".")[0] == "dpdl"


def bindings(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with what they are bound to, by assignments and by loops."""
    for found in ast.walk(tree):
        if isinstance(found, ast.Assign):
            for target in found.targets:
                yield target, found.value
        elif isinstance(found, ast.For | ast.comprehension):
            yield found.target, found.iter


def renamed(tree: ast.Module, names: set[str]) -> set[str]:
    """The names that are given to what is imported, or to a part of it."""
    found: set[str] = set()
    for target, value in bindings(tree):
        if any(root(part) in names for part in parts(value)):
            found |= {part.id for part in parts(target) if isinstance(part, ast.Name)}
    return found


def function(call: ast.Call) -> str | None:
    """The last name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return root(call.func)


def patches(source: str) -> list[int]:
    """The lines that set an attribute or an item of something of ours, or delete one."""
    tree = ast.parse(source)
    names = imported(tree)
    ours = names | renamed(tree, names)
    lines = []
    for found in ast.walk(tree):
        if isinstance(found, ast.Call) and function(found) in SETTERS:
            target, *_ = found.args
            by_name = isinstance(target, ast.Constant) and is_dpdl(target.value)
            if by_name or root(target) in ours:
                lines.append(found.lineno)
        elif isinstance(found, ast.Assign):
            attributes = [
                one for one in found.targets if isinstance(one, ast.Attribute)
            ]
            if any(root(one) in names for one in attributes):
                lines.append(found.lineno)
    return lines


# ------------------------------------------------------------------ the tests
def offences(file: Path) -> list[str]:
    source = file.read_text("utf-8")
    name = file.relative_to(HERE)
    found = [f"{name}:{line} patches something of ours" for line in patches(source)]
    return found + [f"{name}: {match[0]}" for match in IMPORT.finditer(source)]


def test_nothing_of_ours_is_patched_and_no_test_module_is_imported() -> None:
    assert [line for file in FILES for line in offences(file)] == []


PATCHING = {
    "an entry of a table": "from dpdl.algorithms import NAMES\n"
    'monkeypatch.setitem(NAMES, "more", 1)',
    "a target by name": 'monkeypatch.setattr("dpdl.net.net.ENTRIES", 1)',
    "an imported module": "from dpdl.tasks import features\n"
    'monkeypatch.setattr(features, "PIECE", 5)',
    "an imported class": "from dpdl.net import Gate\n"
    'monkeypatch.setattr(Gate, "__call__", f)',
    "under another name": "from dpdl import rows as arithmetic\n"
    'with monkeypatch.context() as p:\n    p.setattr(arithmetic.kernels, "x", 1)',
    "one of several": "from dpdl.privacy.noise import Reproducible, Secure\n"
    'for kind in (Secure, Reproducible):\n    monkeypatch.setattr(kind, "perturb", f)',
    "by an assignment": "from dpdl.net import net\nnet.ENTRIES = 1",
    "by the built-in": "import dpdl.net.net\nsetattr(dpdl.net.net, name, 1)",
}
FINE = {
    "of the interpreter": 'import sys\nmonkeypatch.setattr(sys, "argv", [])',
    "of another package": 'monkeypatch.setattr("os.urandom", bytes)',
    "an environment variable": 'monkeypatch.setenv("DPDL_DATA", "x")',
    "an object of the test": "from dpdl.net import Net\nnet = Net(graph)\nself.net = net",
}


@pytest.mark.parametrize("source", PATCHING.values(), ids=PATCHING)
def test_a_patch_is_seen(source: str) -> None:
    assert patches(source)


@pytest.mark.parametrize("source", FINE.values(), ids=FINE)
def test_what_is_not_ours_may_be_patched(source: str) -> None:
    assert patches(source) == []


@pytest.mark.parametrize(
    "line", ["from tests.net.test_net import x", "import test_data_fetch as t"]
)
def test_an_import_of_a_test_module_is_seen(line: str) -> None:
    assert IMPORT.search(f'"{line}"')
    assert not IMPORT.search("from tests.algorithms.twins import play")
