"""Who stops reading what a command prints does not stop the command."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path

import dpdl
from dpdl.terminal import Console, unread

SOURCE = Path(dpdl.__file__).parent


def test_a_command_goes_on_when_nobody_reads_what_it_prints() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as file:
        console = Console(file=file)
        console.print("round 1")
        assert os.read(read, 100) == b"round 1\n"
        os.close(read)
        for t in (2, 3):
            console.print(f"round {t}")
        file.write("and without rich, too")


def test_a_reader_that_has_gone_is_noticed() -> None:
    read, write = os.pipe()
    assert not unread([write])
    os.close(read)
    assert unread([write])
    os.close(write)


def test_what_a_terminal_would_act_upon_is_an_escape() -> None:
    file = io.StringIO()
    Console(file=file, width=80).print("Folder: a\x1b[31mb\u202ec\x9b\nend")
    assert file.getvalue() == "Folder: a\\x1b[31mb\\u202ec\\x9b\nend\n"


def test_there_is_no_other_console() -> None:
    others = [
        file
        for file in SOURCE.rglob("*.py")
        for entry in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(entry, ast.ImportFrom)
        and entry.module == "rich.console"
        and "Console" in {alias.name for alias in entry.names}
    ]
    assert not others, "from dpdl.terminal import Console"
