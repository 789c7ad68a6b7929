"""Nobody needs to look on."""

from __future__ import annotations

from dpdl.attacks.scenarios import AttackCase
from dpdl.experiment.experiment import Experiment
from dpdl.planning.plan import plan
from dpdl.studies.attack_watch import AttackWatch, Unwatched


def use(watch: AttackWatch) -> bool:
    """Open everything, as an attack does."""
    small = Experiment(dataset="digits", agents=2, graph="ring", rounds=1, batch=4)
    with watch.training(plan(small)) as heard:
        heard(1, None)
    with watch.attacking(1) as begin:
        share = begin(AttackCase("cg", 1, None))
        share(1.0)
    with watch.auditing(3) as done:
        done(3)
    return watch.shown


def test_without_a_watch_nothing_is_shown(capsys) -> None:
    assert use(Unwatched()) is False
    assert capsys.readouterr() == ("", "")
