"""No command waits for torch, or for another large library, before it needs one.

The answers are given in one fresh process, one after the other; after each, none of the libraries
may have been imported. That says which one was the first to import something, and takes seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dpdl.bench import startup
from dpdl.cli import cli

LARGE = (
    "torch",
    "scipy",
    "matplotlib",
    "sklearn",
    "dp_accounting",
    "networkx",
    "sympy",
)
ANSWERS = """
import contextlib, io, json, sys
from dpdl.cli import main

given, large = json.loads(sys.argv[1]), set(json.loads(sys.argv[2]))
found = {}
for words in given:
    sys.argv = ["dpdl", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
    imported = sorted(large & set(sys.modules))
    found[" ".join(words)] = [code, imported, out.getvalue(), err.getvalue()]
print(json.dumps(found))
"""


def answers(
    given: list[list[str]], folder: Path, large: tuple[str, ...] = LARGE
) -> dict[str, tuple[int, list[str], str, str]]:
    """Exit code, large libraries imported so far, and what was printed, by command."""
    command = [sys.executable, "-c", ANSWERS, json.dumps(given), json.dumps(large)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def every(command: click.Command = cli, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of all commands and groups."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from every(inner, *words, name)


def test_every_help_that_is_timed_is_a_commands() -> None:
    assert set(startup.HELPS) <= {" ".join([*words, "--help"]) for words in every()}


def test_help_and_unknown_options_are_answered_before_torch(tmp_path: Path) -> None:
    helps = [[*words, "--help"] for words in every()]
    wrong = [[*words, "--no-such-option"] for words in every()]
    found = answers([*helps, *wrong], tmp_path)
    for command, (code, imported, out, err) in found.items():
        assert imported == [], command
        assert code == (0 if "--help" in command else 2), command
        assert out if code == 0 else err, command


def test_what_is_wrong_is_refused_before_torch(tmp_path: Path) -> None:
    found = answers([words.split() for words in startup.REFUSALS], tmp_path)
    for command, (code, imported, out, err) in found.items():
        assert imported == [], command
        assert code == 2, f"{command}: {err}"
        assert not out, command
        assert err.startswith("error: ") and err.count("\n") == 1, command
    assert list(tmp_path.iterdir()) == []


def test_lists_are_answered_before_torch(tmp_path: Path) -> None:
    for command, (code, imported, _, _) in answers(
        [words.split() for words in startup.LISTS], tmp_path
    ).items():
        assert (code, imported) == (0, []), command


def test_cards_are_made_shown_and_admitted_before_torch(tmp_path: Path) -> None:
    given = [
        "peer init a --url https://127.0.0.1:18443 --home a",
        "peer init b --home b",
        "peer rotate --home a",
        "peer show a/card.toml",
        "peer admit a/card.toml --digits 00000000 --home b",
    ]
    found = answers([words.split() for words in given], tmp_path)
    assert [code for code, *_ in found.values()] == [0, 0, 0, 0, 2]
    for command, (_, imported, _, _) in found.items():
        assert imported == [], command
    assert "not the last 8 digits" in found[given[-1]][3]


@pytest.mark.parametrize("words", [["--help"], [], ["bench", "--help"], ["nothing"]])
def test_what_needs_no_arrays_does_not_import_numpy(
    tmp_path: Path, words: list[str]
) -> None:
    ((code, imported, _, _),) = answers([words], tmp_path, ("numpy",)).values()
    assert imported == []
    assert code == (2 if words == ["nothing"] else 0)


def test_a_large_library_would_be_seen(tmp_path: Path) -> None:
    words = ["run", "--dataset", "digits", "--agents", "5000"]
    ((code, imported, _, _),) = answers([words], tmp_path).values()
    assert code == 2
    assert "torch" in imported
