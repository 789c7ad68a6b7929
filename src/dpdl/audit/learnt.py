"""An adversary for any algorithm: it learns what a record does to what is heard, and the noise.

Everything heard so far is a stack of p rows of d numbers. If messages are linear in the gradients,
as most algorithms have them, a record that takes part in round t moves its coordinate of the stack
by a fixed vector s_t, and noise of covariance S lies on it. All there is to know about that round
is then the number s_t' S^-1 (stack).

The adversary does not derive s_t and S from the algorithm. It runs the code at home, twice with the
same noise: with canaries that take part in rounds of its choice, and with none. The difference is
the signal; the second run alone is the noise. Coordinates are alike, so one run of many coordinates
is many samples. Several runs are taken, because what an algorithm does with a whole vector, such as
a cosine, is the same for all coordinates of one run.

What it knows besides goes on the same stack, as rows that no record moves: the noise of its own
agents, and the signs of the other agents' records. What can be predicted from them is subtracted by
the same S^-1.

The stack holds all rounds if they are few. If they are many, it holds the last ones, and of every
message the sum over all rounds before; with it trackers, which add up gradients, can be undone.

For an algorithm that is not linear the signal is an average, and the attack is weaker. Its lower
bound on epsilon still holds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from dpdl.algorithms.compression import decode
from dpdl.audit.canaries import canaries
from dpdl.audit.combine import (
    Combination,
    Numbers,
    Rehearsed,
    combine,
    covariance,
    least_squares,
)
from dpdl.audit.ears import Ears, Heard
from dpdl.audit.game import NOBODY, Game, Present
from dpdl.keys import generator

ROWS_IN_A_ROUND = 60
"""More rows of a round than this are not kept; those from and to agent i come first."""
ROWS = 120
"""About the most rows of a stack, which sets how many rounds it holds."""
FEWEST_ROUNDS = 3
SHOWN = 0.05
"""A round shows if its mu is above this share of the largest; below, it shows by rounding only."""
LEARNT, TRIED = 3, 1
"""Pairs of runs to learn from, and others that say how well the weights do."""
SAMPLES_PER_ROW = 40
"""Coordinates of all runs per row of the stack: the weights are within about 2 % of the best."""
CANARIES = 100
"""The fewest canaries of a run; each takes part in half of the rounds."""

Name = tuple[str, int, int]
Rows = Mapping[Name, Tensor]


def rows_of(heard: Heard, ears: Ears, size: int) -> Rows:
    """Every row that was heard, once: what an agent sends to all its neighbours is one row.

    Signs are decoded.
    """
    found: dict[Name, Tensor] = {}
    for channel, messages in heard.items():
        seen: set[int] = set()
        for (source, target), row in messages.items():
            if row.data_ptr() not in seen:
                seen.add(row.data_ptr())
                found[channel, source, target] = row
    near = sorted(found, key=lambda name: ears.agent not in name[1:])[:ROWS_IN_A_ROUND]
    return {name: _plain(found[name], size) for name in near}


def _plain(row: Tensor, size: int) -> Tensor:
    return decode(row, (size,), torch.zeros(0)) if row.dtype == torch.uint8 else row


@final
class Stack:
    """Rows that are known, sums over the rounds before, and the rows of the last rounds."""

    def __init__(self, memory: int, known: Tensor) -> None:
        self._memory = memory
        self._known = known
        self._recent: deque[Rows] = deque()
        self._sums: dict[Name, Tensor] = {}

    def add(self, rows: Rows) -> None:
        """Another round."""
        self._recent.append(rows)
        if len(self._recent) > self._memory:
            for name, row in self._recent.popleft().items():
                before = self._sums.get(name)
                added = row.double()
                self._sums[name] = added if before is None else before + added

    def rows(self, width: int | None = None) -> Numbers:
        """(p, d), or their first entries, (p, width)."""
        recent = [row for rows in self._recent for row in rows.values()]
        every = [*self._known, *self._sums.values(), *recent]
        return np.stack([row[:width].numpy() for row in every]).astype(np.float64)


def follow(
    played: Iterable[Heard], game: Game, ears: Ears, memory: int
) -> Iterator[Stack]:
    """The stack after every round."""
    stack = Stack(memory, game.known)
    for heard in played:
        stack.add(rows_of(heard, ears, game.size))
        yield stack


Pair = tuple[Stack, Stack]


@final
@dataclass(frozen=True)
class Learnt:
    """How a stack is combined: one number for every round, when it is judged."""

    ears: Ears
    memory: int
    # By the round after which they are computed.
    combinations: Mapping[int, tuple[Combination, ...]]

    @property
    def _shown(self) -> list[float]:
        """1 / sigma_eff of the rounds that show in what is heard."""
        every = [c.mu for several in self.combinations.values() for c in several]
        return [mu for mu in every if mu > SHOWN * max(every)]

    @property
    def rounds(self) -> int:
        """How many rounds show."""
        return len(self._shown)

    @property
    def mu(self) -> float:
        """1 / sigma_eff, as a quadratic mean over these rounds."""
        shown = self._shown
        if not shown:
            return 0.0
        return math.sqrt(sum(mu**2 for mu in shown) / len(shown))

    def scores(self, game: Game, played: Iterable[Heard], rate: float) -> Numbers:
        """The log-likelihood ratio of every coordinate, added up as if rounds were independent."""
        scores = np.zeros(game.size)
        for t, stack in enumerate(follow(played, game, self.ears, self.memory), 1):
            if t in self.combinations:
                rows = stack.rows()
                for combination in self.combinations[t]:
                    scores += combination.score(rows, rate)
        return scores


def learn(game: Game, ears: Ears) -> Learnt:
    """An adversary that has run the code at home, with other randomness than the attacked run."""
    memory, size = extent(game, ears)
    coins = [
        generator(k, "coins").random((game.rounds, max(CANARIES, memory))) < 0.5
        for k in range(LEARNT + TRIED)
    ]
    homes = [game.rehearsal(f"at home {k}", size) for k in range(LEARNT + TRIED)]
    rehearsals = [
        _pair(home, of, ears, memory) for home, of in zip(homes, coins, strict=True)
    ]
    pairs = zip(*rehearsals, strict=True)
    found: dict[int, tuple[Combination, ...]] = {}
    for t, stacks in enumerate(pairs, 1):
        judged = [s for s in due(t, game.rounds, memory) if game.shows(s)]
        if judged:
            so_far = [of[:t] for of in coins]
            learnt = rehearsed(stacks[:LEARNT], so_far[:LEARNT], memory)
            tried = rehearsed(stacks[LEARNT:], so_far[LEARNT:], memory)
            found[t] = tuple(
                combine(learnt(s - 1 - t), tried(s - 1 - t)) for s in judged
            )
    return Learnt(ears, memory, found)


def extent(game: Game, ears: Ears) -> tuple[int, int]:
    """How many rounds a stack holds, and of how many coordinates a rehearsal must be."""
    heard = next(iter(game.rehearsal("listening", 2).play(NOBODY, ears)))
    most = max(1, len(rows_of(heard, ears, 2)))
    memory = min(game.rounds, max(FEWEST_ROUNDS, ROWS // most))
    rows = (memory + 1) * most + len(game.known)
    return memory, max(CANARIES, memory) + SAMPLES_PER_ROW * rows // LEARNT


def due(t: int, rounds: int, memory: int) -> range:
    """The rounds that are judged after round t.

    While the rounds are many, that is one round, which has some rounds after it on the stack.
    """
    after = max(1, memory // 3)
    if t == rounds:
        return range(max(1, rounds - after) if rounds > memory else 1, rounds + 1)
    if rounds > memory and t > after:
        return range(t - after, t - after + 1)
    return range(0)


def rehearsed(
    stacks: Sequence[Pair], coins: Sequence[Present], memory: int
) -> Callable[[int], Rehearsed]:
    """What some pairs of runs show about taking part in a round: -1 is the last one, and so on.

    The signal is found by least squares over the canaries of all runs; rounds that have left the
    stack count together. By how much single canaries differ from that is as good as noise.
    """
    width = coins[0].shape[1]
    shifts = [loud.rows(width) - silent.rows(width) for silent, loud in stacks]
    moved = np.hstack(shifts)
    taken = np.hstack(coins).astype(float)
    always, gone = np.ones(taken.shape[1]), taken[:-memory].sum(axis=0)
    causes = np.vstack([always, gone, taken[-memory:]])
    signals = least_squares(moved, causes)
    quiet = np.hstack([silent.rows() for silent, _ in stacks])
    noise = covariance(quiet) + covariance(moved - signals @ causes)
    return lambda which: Rehearsed(noise, signals[:, which])


def _pair(home: Game, coins: Present, ears: Ears, memory: int) -> Iterator[Pair]:
    """The stacks of two runs with the same noise: without canaries, and with those of the coins."""

    def taking(t: int) -> Tensor:
        numbers = torch.from_numpy(np.flatnonzero(coins[t - 1]))
        return canaries(numbers, home.size, home.grad.clip.clip_norm)

    silent = follow(home.play(NOBODY, ears), home, ears, memory)
    loud = follow(home.play_with(taking, ears), home, ears, memory)
    return zip(silent, loud, strict=True)
