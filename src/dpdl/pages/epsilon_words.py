"""An epsilon in a phrase: how large, proven or claimed, and against whom."""

from __future__ import annotations

from collections.abc import Mapping

from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.privacy.threats import Threat, threat


def listener_words(listener: Threat) -> str:
    """Who listens, for people who know no threat models."""
    if listener.kind == "neighbours":
        one = "one curious neighbour"
        return (
            one
            if listener.neighbours == 1
            else f"{listener.neighbours} neighbours that work together"
        )
    return {
        "eavesdropper": "an eavesdropper on all links",
        "final-model": "somebody who sees the models only",
    }[listener.kind]


def threat_of(key: str) -> Threat:
    """The threat model of a key in `summary.json`."""
    return threat("neighbours:1" if key == "neighbour" else key.replace("_", "-"))


def epsilon_words(epsilons: Epsilons, listener: Threat) -> str:
    """What is proven against a listener, and what Theorem 1 claims, for the title of a picture."""
    proven = epsilons.against(listener)
    who = listener_words(listener)
    words = (
        f"nothing is proven against {who}"
        if not proven.bounded
        else f"epsilon {proven}, proven against {who}"
    )
    claimed = epsilons.claimed_theorem1
    return f"{words}; {claimed} claimed by Theorem 1" if claimed.bounded else words


def compared_words(found: Mapping[str, Epsilon], listener: Threat) -> str:
    """What is proven of several algorithms against one listener."""
    numbers = [one.finite for one in found.values() if one.finite is not None]
    without = [name for name, one in found.items() if one.finite is None]
    who = listener_words(listener)
    if not numbers:
        return f"Nothing is proven against {who}."
    ends = dict.fromkeys(f"{value:.4g}" for value in (min(numbers), max(numbers)))
    words = f"Epsilon proven against {who}: {' to '.join(ends)}."
    return f"{words} Nothing is proven for {', '.join(without)}." if without else words
