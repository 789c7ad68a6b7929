"""The errors a person can cause, each with the exit code the command line gives it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dpdl.text import listed, plain, shown


class DpdlError(Exception):
    """Base of all errors that are shown as one sentence instead of a traceback.

    The command line shows at most 300 characters of it (`dpdl.text.sentence`).
    """

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """What IPython shows below a cell; the lines of ours that led here say no more."""
        return [f"{type(self).__name__}: {plain(str(self))}"]


class InputError(DpdlError):
    """A request that cannot be met: the message says what was wrong and what is allowed."""

    exit_code = 2


class PrivacyRefused(DpdlError):
    """A request that would disclose more than was agreed."""

    exit_code = 3


class RunFailed(DpdlError):
    """A run that stopped half-way; what was written is intact, and the run can be resumed."""

    exit_code = 4


class Diverged(RunFailed):
    """A run whose models are no longer finite numbers; resuming it would not help."""


def unknown(
    kind: str, given: str, allowed: Iterable[str], also: str = ""
) -> InputError:
    """An `InputError` that names the nearest allowed names first.

    `also` describes what is allowed besides the names, for instance "or a PATH.npz".
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given[:LONGEST_NAME], names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    tail = f", {also}" if also else ""
    return InputError(
        f"Unknown {kind} {shown(given)}.{hint} Allowed: {listed(names)}{tail}."
    )


LONGEST_NAME = 200
"""Characters of a name that are compared with the allowed ones."""


def reason(failure: BaseException) -> str:
    """Why something failed, as a part of a sentence: without a file's name or an end."""
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror
    return str(failure).rstrip(".") or type(failure).__name__
