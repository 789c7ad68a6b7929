from __future__ import annotations

import pytest

from dpdl.errors import PrivacyRefused, RunFailed
from dpdl.peer.failures import Doubled, LedgerRollback, Rollback, Violation


def test_a_violation_names_the_peer_and_what_it_did():
    failure = Violation("mercy", "sent another model when asked again")
    assert failure.name == "mercy"
    assert failure.exit_code == 4
    assert str(failure).startswith("Peer mercy sent another model when asked again;")


@pytest.mark.parametrize(
    "failure", [Rollback("Old.", 0, 3), LedgerRollback("Old."), Doubled("Two.")]
)
def test_who_would_say_more_than_was_agreed_is_refused_for_privacy(failure):
    """No start mends it by itself, so it is none of those that can be resumed."""
    assert isinstance(failure, PrivacyRefused)
    assert not isinstance(failure, RunFailed)
