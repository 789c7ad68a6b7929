"""How bash and zsh are answered after TAB, where click's own answer would spoil the line.

To zsh `--graph=ri` is one word, and an answer replaces it; to bash it is three. A space within a
name ends a word of bash, unless a backslash is before it.
"""

from __future__ import annotations

from typing import Any

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ZshComplete,
    add_completion_class,
)

QUOTED = " \t\"'\\()&;|<>$`*?[]!#~"
"""Characters that bash acts upon."""


class Bash(BashComplete):
    """bash, with `--option=value` and names that have spaces."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, without an equals sign between the two."""
        args, incomplete = super().get_completion_args()
        if args and args[-1] == "=":
            args.pop()
        return args, incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """A name with two backslashes before each of them: click's script takes one away."""
        if item.type != "plain":
            return super().format_completion(item)
        quoted = "".join(f"\\{c}" if c in QUOTED else c for c in item.value)
        return "plain," + quoted.replace("\\", "\\\\")


class Zsh(ZshComplete):
    """zsh, with `--option=value`."""

    def get_completions(
        self, args: list[str], incomplete: str
    ) -> list[CompletionItem[Any]]:
        """What completes the value, with the option before it."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not equals or not option.startswith("-"):
            return found
        return [
            CompletionItem(f"{option}={item.value}", item.type, item.help)
            for item in found
        ]


def answer() -> None:
    """Let click answer shells so."""
    add_completion_class(Bash)
    add_completion_class(Zsh)
