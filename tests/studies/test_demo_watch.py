"""Nobody has to look on."""

from __future__ import annotations

from typing import get_type_hints

from dpdl.studies.demo.watch import DemoWatch, Unwatched


def test_silence_answers_to_everything_that_is_asked_of_a_watch() -> None:
    asked = {name for name in vars(DemoWatch) if not name.startswith("_")}
    assert asked <= {name for name in dir(Unwatched) if not name.startswith("_")}
    assert "begin" in asked
    assert (
        get_type_hints(DemoWatch.begin).keys() == get_type_hints(Unwatched.begin).keys()
    )


def test_what_silence_gives_can_be_called() -> None:
    watch = Unwatched()
    with watch.attacking(6) as share, watch.auditing("rounds", 3) as count:
        share(0.5)
        count(2)
    with watch.training(None) as heard:  # type: ignore[arg-type]
        heard(1, None)
    watch.doing("nothing")
    assert not watch.shown
