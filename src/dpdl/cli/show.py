"""What a person sees while a run goes on and when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdl.cli.tables import FittingTable
from dpdl.terminal import Console
from dpdl.training.progress import Pace, TerminalLine, number, shown_epsilon
from dpdl.training.result import Result


@contextmanager
def counting(
    what: str, total: int, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, to be called with how many are done; it goes away at the end."""
    console, pace = Console(stderr=True), Pace(total)
    if hidden or not console.is_terminal:
        yield lambda done: None
        return
    line = TerminalLine(console, total, what, transient=True)

    def show(done: int) -> None:
        line.show(done, [(f"{what} {done}/{total}", 0), *pace(done)[1]])

    line.start()
    try:
        yield show
    finally:
        line.stop()


def show_result(result: Result, picture: Path | None) -> None:
    """The result table and the privacy statement."""
    s, first, last = result.summary, result.metrics[0], result.metrics[-1]
    console = Console()
    place = f"{s.graph} of {s.agents} agents"
    title = f"{s.algorithm} on {s.dataset}, {place}"
    table = FittingTable(title, ["what", "value"], least_width=70)
    score = s.score
    ends = f"{score.show(score.worst)} / {score.show(score.best)}"
    losses = f"{number(first.train_loss.mean)} / {number(last.train_loss.mean)}"
    clipped = _share(last.diagnostics.get("clip_fraction"))
    table.add(f"test {score.label}, mean over agents", score.show(score.mean))
    table.add("worst / best agent", ends)
    table.add("average of all models", score.show(score.average_model))
    table.add(f"training loss, round {first.round} / {last.round}", losses)
    table.add("distance of the agents' models (RMS)", f"{s.consensus_distance:.4g}")
    table.add("clipped gradients, last round", clipped)
    table.add("sent by all agents", f"{s.bytes_sent / 1e6:,.1f} MB")
    table.add("noise multiplier sigma", f"{s.sigma:.4g}")
    if s.epsilon.claimed_theorem1.known:
        table.add(
            "epsilon claimed by Theorem 1", shown_epsilon(s.epsilon.claimed_theorem1)
        )
    for name, value in s.epsilon.proven.items():
        table.add(f"epsilon proven, {name.replace('_', ' ')}", shown_epsilon(value))
    share = result.timing.evaluation / result.timing.seconds
    table.add("time", f"{s.seconds:.1f} s, {share:.0%} of it evaluation")
    table.show(console)
    if s.ended_early:
        console.print(s.ended_early, highlight=False)
    console.print(f"Privacy: {s.privacy_statement}", highlight=False)
    console.print(
        f"Run folder: {s.run_dir}{f'   Curves: {picture}' if picture else ''}",
        highlight=False,
        soft_wrap=True,
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
