"""Why a peer stops. A neighbour that is away is none of these: it is waited for."""

from __future__ import annotations

from dpdl.errors import DpdlError, PrivacyRefused, RunFailed


class Violation(RunFailed):
    """A neighbour sent what it must not; nothing of it was used, and it is kept as evidence."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"Peer {name} {what}; this run waits until it is settled.")
        self.name = name
        self.what = what


class Rollback(PrivacyRefused):
    """This peer's own database is older than what it has already sent: it would say more."""

    def __init__(self, message: str, view: int, round: int) -> None:
        """`view` and `round` are those of the last frame that a neighbour has shown."""
        super().__init__(message)
        self.view = view
        self.round = round


class LedgerRollback(PrivacyRefused):
    """The ledger of this peer's records is older than what it has said of it."""


class SecondInstance(RunFailed):
    """Two processes run under one name; `content` is the hello of who says so of this peer."""

    def __init__(self, message: str, content: bytes = b"") -> None:
        super().__init__(message)
        self.content = content


class Doubled(PrivacyRefused):
    """Another process runs under this peer's name: together they would say more."""


class ViewOver(RunFailed):
    """This site was asked to end the view, or a neighbour says that it is over."""


class Stopped(RunFailed):
    """This peer was asked to pause."""


class Refused(DpdlError):
    """A request of another peer that is answered with a status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
