"""The command line: parses arguments, calls and prints.

Commands are imported when they are used, so that `dpdl --help` answers at once. Every error that a
user can cause ends as one sentence on standard error, with its exit code.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from dpdl import __version__
from dpdl.errors import DpdlError, InputError, RunFailed, reason
from dpdl.extras import missing, remedy
from dpdl.text import sentence

COMMANDS = {
    "demo": (
        "dpdl.cli.demo:demo",
        "What a neighbour rebuilds, without and with noise: in a minute.",
    ),
    "run": ("dpdl.cli.run:run", "Train; writes a run folder."),
    "resume": ("dpdl.cli.run:resume", "Continue an interrupted run, or extend one."),
    "compare": (
        "dpdl.cli.compare:compare",
        "Several algorithms under one budget: table and curves.",
    ),
    "tune": (
        "dpdl.cli.tune:tune",
        "Search for hyper-parameters on records held out of the training data.",
    ),
    "reproduce": (
        "dpdl.cli.reproduce:reproduce",
        "Cells of the paper's tables, run again, beside its numbers.",
    ),
    "privacy": (
        "dpdl.cli.privacy:privacy",
        "Plan noise and budgets; verify a run's ledger.",
    ),
    "theory": (
        "dpdl.cli.theory:theory",
        "Theorem 2's bound, and whether the step size meets its conditions.",
    ),
    "attack": (
        "dpdl.cli.attack:attack",
        "Rebuild images from what left the agents of a recorded run.",
    ),
    "audit": (
        "dpdl.cli.audit:audit",
        "Attack our own messages; certify a lower bound on epsilon.",
    ),
    "report": (
        "dpdl.cli.report:report",
        "Run folders and attacks as one self-contained HTML page.",
    ),
    "watch": (
        "dpdl.cli.watch:watch",
        "A live page about runs, while they go on or afterwards.",
    ),
    "export": (
        "dpdl.cli.export:export",
        "Metrics of a run as a CSV table or for TensorBoard, or its model.",
    ),
    "graph": (
        "dpdl.cli.graph:graph",
        "Show a graph, its weights and its spectral gap.",
    ),
    "data": (
        "dpdl.cli.data:data",
        "List, fetch and describe data sets; their ledgers.",
    ),
    "peer": (
        "dpdl.cli.peer_run:peer",
        "Organisations train together: one process each, and no server.",
    ),
    "bench": ("dpdl.cli.bench:bench", "Measure speed as ratios in one run."),
}
GROUPS = {
    "Train": ("demo", "run", "resume"),
    "Compare": ("compare", "tune", "reproduce"),
    "Privacy": ("privacy", "theory"),
    "Attack": ("attack", "audit"),
    "Look": ("watch", "report", "export", "graph"),
    "Together": ("peer",),
    "Data": ("data",),
    "Measure": ("bench",),
}
"""The sections of the help; a command that is in none is shown last."""
COMPLETES = "_DPDL_COMPLETE"
"""Set by a shell that asks what completes a line, or how it is to ask."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of a command."""
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Commands and their help come from the table: a shell must not wait for imports."""
        found = [
            CompletionItem(name, help=about)
            for name, (_, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """In groups; help texts come from the table, so no import is needed."""
        grouped = {name for names in GROUPS.values() for name in names}
        rest = tuple(name for name in COMMANDS if name not in grouped)
        width = max(map(len, COMMANDS))  # one column for all groups
        for title, names in {**GROUPS, "More": rest}.items():
            rows = [(name.ljust(width), COMMANDS[name][1]) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown command is answered with the nearest ones."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from dpdl.errors import unknown

            raise unknown("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="dpdl")
def cli() -> None:
    """Differentially private, decentralized learning.

    Agents on a graph train one model without a server.
    """


def main() -> None:
    """Run a command and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name need not be text
            stream.reconfigure(errors="backslashreplace")
    if COMPLETES in os.environ:
        from dpdl.cli.shells import answer

        answer()
    try:
        code = outcome(sys.argv[1:])
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def outcome(arguments: Sequence[str]) -> int:
    """Run a command; its exit code.

    What a person can cause, with options, files or a full disk, ends as one sentence of at most 300
    characters on standard error.
    """
    try:
        code = cli.main(list(arguments), prog_name="dpdl", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as alone:  # a group without a command
        click.echo(alone.format_message())
        return 0
    except click.ClickException as failure:
        return _refuse(failure.format_message(), InputError.exit_code)
    except DpdlError as failure:
        return _refuse(str(failure), failure.exit_code)
    except ModuleNotFoundError as failure:
        library = missing(failure)
        if library is None:
            raise
        return _refuse(f"{remedy(library)}.", InputError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _refuse("Interrupted; what was saved before is intact.", 130)
    except BrokenPipeError:
        raise
    except SystemExit:
        if COMPLETES in os.environ:  # the shell has been answered
            raise
        return _pipe_broke()
    except OSError as failure:
        name = failure.filename
        what = f"File {str(name)!r}" if name else "Reading or writing failed"
        return _refuse(f"{what}: {reason(failure)}.", InputError.exit_code)
    except MemoryError:
        return _refuse(
            "This needs more memory than there is; ask for fewer or smaller things.",
            InputError.exit_code,
        )
    return code if isinstance(code, int) else 0


def _pipe_broke() -> int:
    """The exit code where click leaves, which it does when any pipe or socket breaks."""
    from dpdl.terminal import unread

    if unread():
        return 0
    return _refuse(
        "A process that this one spoke to has gone away; what was saved is intact.",
        RunFailed.exit_code,
    )


def _refuse(message: str, code: int) -> int:
    """Print one sentence; the exit code.

    Under torchrun every process does so, for it may be the only one that knows, and on a machine of
    its own: the file of a site is not there.
    """
    if COMPLETES in os.environ:  # a sentence would stand in the middle of a line
        return code
    rank = os.environ.get("RANK", "0")
    who = "error" if rank == "0" else f"error in process {rank}"
    click.echo(f"{who}: {sentence(message)}", err=True)
    return code
