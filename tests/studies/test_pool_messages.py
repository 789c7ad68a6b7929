"""Messages of the pool pass through a line and come back as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.studies.pool_messages import (
    MARK,
    Ending,
    EndState,
    Going,
    News,
    PooledRun,
    Standing,
    news_in,
    news_line,
)
from tests.studies.long_pool import TINY

SPENT = Epsilon(1.5)
NEWS = [
    Going(),
    Going(7),
    Ending(EndState.DONE, Standing(3, 0.25, SPENT, SPENT, "Its budget is spent.")),
    Ending(EndState.PAUSED, Standing(2, 0.1, UNBOUNDED, UNBOUNDED)),
    Ending(EndState.DIVERGED, error="Training diverged."),
    Ending(EndState.FAILED, error="The disk is full:\nno space."),
    Ending(EndState.INTERRUPTED),
]


@pytest.mark.parametrize("news", NEWS, ids=str)
def test_news_pass_through_a_line(news: News) -> None:
    line = news_line(news)
    assert line.startswith(MARK)
    assert "\n" not in line
    assert news_in(line) == news


def test_a_line_for_people_is_no_news() -> None:
    assert news_in("Traceback (most recent call last):\n") is None


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ({"round": "7"}, "news of a run.round must be a whole number"),
        ({"state": "lost"}, "the end of a run.state must be one of done, paused"),
        ({"state": 3}, "must be one of done"),
        ([], "news of a run must be an object"),
    ],
    ids=str,
)
def test_a_message_that_is_none_is_refused(content: object, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        news_in(MARK + json.dumps(content))


def test_a_score_that_is_no_number_is_not_sent() -> None:
    broken = Standing(1, float("nan"), SPENT, SPENT)
    with pytest.raises(ValueError, match="JSON compliant"):
        news_line(Ending(EndState.DONE, broken))


@pytest.mark.parametrize("until", [None, 2])
def test_a_run_passes_through_a_line(until: int | None) -> None:
    run = PooledRun(Path("runs/a b"), TINY, until, held_out=until is not None)
    line = run.to_line()
    assert "\n" not in line
    assert PooledRun.from_line(line + "\n") == run
    assert run.name == "a b"
