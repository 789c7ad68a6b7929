"""The privacy of one run on one page, for a data protection officer.

It says what left the agents and to whom, what is proven against whom and what that means, what is
only claimed, what is not covered, and how to check it. Nothing in it is computed from records
without noise: no losses, no counts of records. Numbers that limit a risk are rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpdl.algorithms import make, named
from dpdl.folder.ledger_cost import relation_of
from dpdl.folder.summary import Summary
from dpdl.pages.alarms import Alarm
from dpdl.pages.coverage import file_name
from dpdl.pages.document import Block, Chapter, Document, Grid, Items, Words
from dpdl.pages.epsilon_words import listener_words
from dpdl.pages.risk_numbers import best_guess, up
from dpdl.pages.statement_evidence import Evidence
from dpdl.pages.statement_messages import left, receivers

LEADING_ORDER = "to leading order"
NEAR_CERTAINTY = 0.99
NOT_COVERED = (
    "Several runs on the same records add up, also those that were thrown away. This "
    "statement is about one run. As a rough upper bound, add the epsilons and the "
    "deltas.",
    "Tuning: whoever chose settings by looking at results on these records released "
    "something each time.",
    "A person with several records has more at stake: with k records, epsilon grows to "
    "k times epsilon, and delta grows faster than that.",
    "Numbers of records: epsilon is computed from how many records each agent "
    "declares, and gives these numbers away.",
    "The test set: accuracies are measured on it without noise.",
    "The run folder: losses, shares of clipped gradients, checkpoints and the seed "
    "must not be given away.",
    "Side channels: timing, traffic, memory, and the rounding of noise in floating "
    "point.",
    "Somebody who changes messages, and agents that do not follow the protocol or "
    "leave their noise out.",
    "Anything else that was computed from the records: normalisation, a pretrained "
    "model, a vocabulary.",
)


DRAWN = {
    "poisson": (
        "every record takes part in a round by a secret coin of its own (Poisson "
        "sampling)"
    ),
    "fixed": "a round takes a secret choice of a fixed number of records",
}


def statement(found: Evidence, version: str, date: str) -> Document:
    """The statement of a run, made by a version of dpdl on a date."""
    s, header = found.summary, found.header
    what = (
        f"{s.algorithm} on {file_name(s.dataset)}, {file_name(s.graph)} of {s.agents} "
        "agents"
    )
    chapters = [
        Chapter("left", "What left the agents", left(found)),
        Chapter("receivers", "To whom", receivers(header.neighbours)),
        Chapter("proven", "What is proven", _proven(found)),
        Chapter("meaning", "What that means", _meaning(found)),
        Chapter("claimed", "Claimed, not proven", [_claimed(s)]),
        Chapter(
            "not-covered", "Not covered", [Items([*_validation(found), *NOT_COVERED])]
        ),
        Chapter("check", "How to check this", _check(found)),
    ]
    about = (
        "What left the agents of one training run, and what is proven about it. Made "
        f"on {date}."
    )
    return Document(
        f"Privacy statement: {what}",
        about,
        alarms(found),
        chapters,
        f"Made by dpdl {version}.",
    )


def alarms(found: Evidence) -> list[Alarm]:
    """What must be read first."""
    warnings = []
    if not found.secure:
        text = (
            "This run protects nobody. Its noise is drawn from a seed, and whoever "
            "knows the seed subtracts it. The numbers below say what the same run "
            "would be worth with secret noise (--randomness secure)."
        )
        warnings.append(Alarm(text, "No privacy: the noise is not secret"))
    if disputed := found.disputed():
        names = ", ".join(map(listener_words, disputed))
        text = (
            f"The ledger and the result of this run disagree about {names}: nothing is "
            "proven there."
        )
        warnings.append(Alarm(text, "The files contradict each other"))
    first = found.listeners[0]
    if first not in disputed and not found.proven(first).bounded:
        text = (
            f"Nothing is proven against {listener_words(first)}, for whom the noise of "
            "this run was made."
        )
        warnings.append(Alarm(text, "No privacy is proven"))
    return warnings


# ------------------------------------------------------------------ what is proven
def _proven(found: Evidence) -> list[Block]:
    order = leading_order(found)
    rows = [
        (
            listener_words(one),
            f"{up(value)}{f', {LEADING_ORDER}' * order}",
            f"{found.header.delta:g}",
        )
        if (value := found.proven(one).finite) is not None
        else (listener_words(one), "nothing is proven", "-")
        for one in found.listeners
    ]
    blocks: list[Block] = [
        Grid(
            ["against", "epsilon at most", "delta"],
            rows,
            "For the agent that is worst off.",
        )
    ]
    if order:
        blocks.append(
            Words(
                f"The bound holds {LEADING_ORDER} in the size of the model: it leaves "
                "out terms that become smaller as models grow, and does not say how "
                "large they are."
            )
        )
    return [*blocks, *_by_agent(found), Items(_mechanism(found))]


def leading_order(found: Evidence) -> bool:
    """Whether the run says so itself, or is an old one of Algorithm 1, whose result does not."""
    words = f"{found.summary.epsilon_note} {found.summary.privacy_statement}"
    unnoised = named(found.header.algorithm).kind.sends_unnoised
    old = found.header.ledger == 1 and unnoised
    return old or LEADING_ORDER in words


def _by_agent(found: Evidence) -> list[Block]:
    """Agents with equal epsilons share a row."""
    proven = [one for one in found.listeners if found.proven(one).bounded]
    if not proven:
        return []
    groups: dict[tuple[str, ...], list[int]] = {}
    for agent, values in enumerate(
        zip(*(found.spent[one] for one in proven), strict=True)
    ):
        groups.setdefault(tuple(map(up, values)), []).append(agent)
    rows = [(agents_words(agents), *values) for values, agents in groups.items()]
    return [
        Grid(
            ["agents", *map(listener_words, proven)],
            rows,
            "Epsilon of each agent, at most.",
        )
    ]


def agents_words(agents: Sequence[int]) -> str:
    """Numbers in ascending order, neighbouring ones together: 0 to 3, 7."""
    runs: list[list[int]] = []
    for agent in agents:
        if runs and agent == runs[-1][-1] + 1:
            runs[-1].append(agent)
        else:
            runs.append([agent])
    return ", ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs
    )


def _mechanism(found: Evidence) -> list[str]:
    header = found.header
    change = (
        "one record of one agent replaced by any other"
        if _replaced(found)
        else "one record of one agent more or less"
    )
    drawn = DRAWN.get(header.sampling, header.sampling)
    bound = "no bound on what a single record can do"
    if header.bounds_record:
        clip = found.settings.get("clip")
        norm = f" to norm {clip:g}" if isinstance(clip, int | float) else ""
        bound = f"the gradient of every single record is clipped{norm}"
    return [
        f"What is compared: two data sets that differ in {change}.",
        f"Sampling: {drawn}; {header.batch} records are expected in a batch{_by_rate(found)}.",
        f"Clipping: {bound}.",
        f"Noise multiplier: {header.sigma:.4g}, the deviation of the noise over "
        "what one record can move.",
    ]


def _by_rate(found: Evidence) -> str:
    """Where every agent has a batch of its own size: how large."""
    rate = found.settings.get("rate")
    if not isinstance(rate, int | float):
        return ""
    return f" on average over the agents, {rate:g} of the records that each of them declares"


def _replaced(found: Evidence) -> bool:
    """Whether records are replaced: fixed-size batches are accounted for in no other way."""
    return relation_of(found.header) == "replace-one"


# ------------------------------------------------------------------ what it means
def _meaning(found: Evidence) -> list[Block]:
    values = [(one, found.proven(one).finite) for one in found.listeners]
    delta = found.header.delta
    guesses = {
        one: best_guess(value, delta) for one, value in values if value is not None
    }
    if not guesses:
        return [
            Words(
                "Nothing is proven, so nothing can be said about what somebody may "
                "find out."
            )
        ]
    order = f", {LEADING_ORDER}" * leading_order(found)
    rows = [
        (listener_words(one), f"{100 * guess:.2f} of 100{order}")
        for one, guess in guesses.items()
    ]
    blocks: list[Block] = [
        Words(
            "Somebody knows all about one record, and about all others, but not "
            "whether that record was used"
            f"{', or another one in its place' * _replaced(found)}. A coin would be "
            "right in 50 of 100 such cases. After having seen what the listener sees, "
            "nobody is right in more than so many, whatever they compute:"
        ),
        Grid(
            ["listener", "right in at most"],
            rows,
            "(e^epsilon + delta) / (e^epsilon + 1), rounded up.",
        ),
    ]
    if max(guesses.values()) > NEAR_CERTAINTY:
        blocks.append(
            Words(
                "More than 99 of 100 is close to certainty: such a proof alone "
                "promises hardly anything."
            )
        )
    return blocks


def _claimed(s: Summary) -> Words:
    claim = s.epsilon.claimed_theorem1
    if not claim.known:
        return Words("Nothing.")
    return Words(
        f"Theorem 1 of the DPDL paper claims epsilon = {claim} for this noise. That is "
        "a claim, not a guarantee. It must not be quoted as one."
    )


def _validation(found: Evidence) -> list[str]:
    options = {
        name: value
        for name, value in found.settings.items()
        if not isinstance(value, dict | list)
    }
    algorithm = str(found.settings.get("algorithm", found.header.algorithm))
    count = make(algorithm, options).public_records
    if not count:
        return []
    return [f"{count} validation records were taken as public: nothing protects them."]


def _check(found: Evidence) -> list[Block]:
    ran = found.summary.versions.get("dpdl") or found.facts.version or "unknown"
    names = {"settings": "experiment.json, without seed and hash of the data"}
    rows = [(names.get(name, name), value) for name, value in found.hashes.items()]
    return [
        Words(
            "dpdl privacy verify RUN recomputes every epsilon from the ledger of the "
            "run folder RUN."
        ),
        Words(
            "It cannot see whether the noise was really drawn, nor whether the folder "
            "is that of the run."
        ),
        Grid(["file", "SHA-256"], rows, f"The run was made by dpdl {ran}."),
    ]


def protects(found: Evidence) -> bool:
    """Whether something is proven against whom the noise was made for, and the noise is secret."""
    return found.secure and found.proven(found.listeners[0]).bounded
