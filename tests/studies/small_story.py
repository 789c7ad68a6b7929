"""The story on digits with few rounds, for tests."""

from __future__ import annotations

from dataclasses import replace

from dpdl.studies.demo.script import DIGITS, Story, story_of


def small_story(rounds: int = 6) -> Story:
    """The real script and the real attack, on runs that take a second; the second is audited."""
    story = story_of(DIGITS)
    attack = replace(story.script.attack, agents=(0, 1, 2, 3, 4, 5), canaries=60)
    shorter = {
        name: replace(e, rounds=rounds, eval_every=rounds)
        for name, e in story.experiments.items()
    }
    parts = (
        replace(one, audited=one.name == "paper", iterations=50)
        for one in story.script.part
    )
    script = replace(story.script, attack=attack, part=tuple(parts))
    return replace(story, script=script, experiments=shorter)
