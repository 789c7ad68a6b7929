"""What `dpdl attack` shows: progress, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from dpdl.attacks.scenarios import AttackCase
    from dpdl.attacks.workers import ShareWatch
    from dpdl.audit.measure import CountWatch
    from dpdl.folder.attack_facts import (
        AttackFacts,
        CaseScores,
        EpsilonBounds,
        MembershipFacts,
        PaperAndOurs,
        PaperRow,
        TrivialScores,
    )
    from dpdl.planning.plan import Plan
    from dpdl.studies.attack_watch import CaseWatch
    from dpdl.terminal import Console
    from dpdl.training.loop import Watch


@final
class AttackProgress:
    """Progress bars on standard error for all that an attack does; none if `hidden`."""

    def __init__(self, hidden: bool) -> None:
        self._hidden = hidden

    @property
    def shown(self) -> bool:
        """Whether somebody looks on."""
        return not self._hidden

    def training(self, plan: Plan) -> AbstractContextManager[Watch]:
        """The bar of a run."""
        from dpdl.training.progress import RunProgress

        return RunProgress(plan, hidden=self._hidden)

    @contextmanager
    def attacking(self, cases: int) -> Iterator[CaseWatch]:
        """A bar over all cases of a run."""
        with CaseProgress(cases, hidden=self._hidden) as bar:
            yield bar.watch

    @contextmanager
    def auditing(self, rounds: int) -> Iterator[CountWatch]:
        """A bar over the rounds of an audit; it goes away with it."""
        from dpdl.cli.show import counting

        with counting("audit", rounds, hidden=self._hidden) as done:
            yield done


@final
class CaseProgress:
    """Progress of all cases of a run."""

    def __init__(self, cases: int, hidden: bool) -> None:
        from dpdl.terminal import Console
        from dpdl.training.progress import Pace, TerminalLine

        console = Console(stderr=True)
        self._line: TerminalLine | None = None
        if console.is_terminal and not hidden:
            self._line = TerminalLine(console, cases, "attack")
        self._pace = Pace(cases)
        self._begun = 0

    def __enter__(self) -> CaseProgress:
        if self._line:
            self._line.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._line:
            self._line.stop()

    def watch(self, case: AttackCase) -> ShareWatch:
        """What a case calls as it goes on."""
        before = self._begun
        self._begun += 1
        size = "own batch" if case.batch is None else f"batches of {case.batch}"
        what = [(case.scenario, 0), (f"round {case.round}", 1), (size, 2)]

        def show(share: float) -> None:
            if self._line:
                done = before + share
                self._line.show(done, [*what, *self._pace(done)[1]])

        show(0.0)
        return show


def show(facts: AttackFacts) -> None:
    """All tables, and where the pictures are."""
    from dpdl.terminal import Console

    console = Console()
    _rebuilt(console, facts)
    if facts.paper:
        _paper(console, facts.paper)
    if facts.membership is not None:
        _members(console, facts.membership)
        console.print(f"ROC curves: {facts.roc}", highlight=False, soft_wrap=True)
    console.print(f"Pictures: {facts.gallery}", highlight=False, soft_wrap=True)


def _rebuilt(console: Console, facts: AttackFacts) -> None:
    from dpdl.cli.tables import FittingTable

    numbers = ("round", "batch", "MSE", "PSNR", "SSIM", "labels", "p")
    title = "Reconstructions, medians over images"
    table = FittingTable(title, ["who", "scenario", *numbers], keys=2)
    for row in facts.rows:
        read = row.label_recovery
        about = (row.who, row.scenario, str(row.round), str(row.batch))
        labels = "-" if read is None else f"{read:.0%}"
        p = f"{row.p_better_than_trivial:.2g}"
        table.add(*about, *_scores(row), labels, p)
    for guess in facts.trivial:
        about = ("nobody", guess.name, "", "")
        table.add(*about, *_scores(guess), "", "", dim=True)
    table.show(console)
    console.print(
        "p: of a paired test that images are no better than the best one that needs no "
        "attack.",
        highlight=False,
    )


def _scores(row: CaseScores | TrivialScores) -> tuple[str, str, str]:
    return f"{row.mse:.3f}", f"{row.psnr:.1f}", f"{row.ssim:.2f}"


def _paper(console: Console, rows: Sequence[PaperRow]) -> None:
    from dpdl.cli.tables import FittingTable

    first = rows[0]
    place = f"{first.dataset}, {first.graph}, {first.agents} agents"
    title = f"Round 800, {place}: the paper's attack and ours"
    pairs = [(f"{name} paper", "ours") for name in ("MSE", "PSNR", "SSIM")]
    head = ["scenario", "batch", *(name for pair in pairs for name in pair)]
    table = FittingTable(title, head, keys=2)
    for row in rows:
        found = [_pair(row.metrics[metric], digits) for metric, digits in DIGITS]
        numbers = [number for both in found for number in both]
        table.add(row.scenario.upper(), str(row.batch), *numbers)
    table.show(console)
    console.print(
        f"The best that needs no attack has an MSE of {first.best_trivial_mse:.2f}: "
        "above that, an attack learnt nothing.",
        highlight=False,
    )


DIGITS = (("mse", 2), ("psnr", 1), ("ssim", 2))


def _pair(both: PaperAndOurs, digits: int) -> tuple[str, str]:
    ours = "-" if both.ours is None else f"{both.ours:.{digits}f}"
    return f"{both.paper:.{digits}f}", ours


def _members(console: Console, inferred: Sequence[MembershipFacts]) -> None:
    from dpdl.cli.tables import FittingTable

    head = ["who", "scenario", "round", "batch", "AUC", "95 %", "found, 1 % false"]
    table = FittingTable("Was this record in the batch?", head, keys=2)
    for facts in inferred:
        rates = facts.scores.gradient
        low, high = rates.auc_interval
        tpr = rates.tpr_at_1_percent
        table.add(
            facts.who,
            facts.scenario,
            str(facts.round),
            str(facts.batch or "own"),
            f"{rates.auc:.3f}",
            f"{low:.2f} to {high:.2f}",
            "too few records" if tpr is None else f"{tpr:.1%}",
        )
    table.show(console)
    for who, bounds in {facts.who: facts.epsilon for facts in inferred}.items():
        console.print(
            f"{who}, whole run, all links heard: {_bounds(bounds)}", highlight=False
        )


def _bounds(bounds: EpsilonBounds) -> str:
    above = "nothing is proven"
    if bounds.proven.bounded:
        above = f"epsilon is proven to be at most {bounds.proven:.3g}"
    if bounds.certified is None:
        return f"{above}; {bounds.why}."
    return (
        f"{above}; the audit certifies at least {bounds.certified:.3g} "
        f"({bounds.confidence:.0%} confidence)."
    )
