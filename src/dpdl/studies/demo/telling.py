"""Train, attack and audit the parts of the story, one after the other; then table and page.

What is in the folder already is not done again: a finished run is found, an interrupted one goes
on, and what was rebuilt is read. So the same command continues what Ctrl-C ended.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import final

from dpdl import __version__
from dpdl.attacks.effort import Effort
from dpdl.attacks.harness import reconstruct
from dpdl.attacks.paper import one_link_each
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, offered
from dpdl.attacks.scoring import Attacked
from dpdl.audit.examine import examine
from dpdl.audit.facts import AuditFacts
from dpdl.audit.request import AuditRequest
from dpdl.experiment.experiment import Experiment
from dpdl.folder import files, names
from dpdl.folder.demo_facts import DemoFacts, DemoFile, DemoPart
from dpdl.folder.lock import locked
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.gallery import draw_gallery
from dpdl.studies.demo.gallery import gallery_of
from dpdl.studies.demo.script import AttackSettings, ScriptPart, Story
from dpdl.studies.demo.watch import DemoWatch
from dpdl.studies.pages import make_page
from dpdl.studies.recorded_run import train_recorded
from dpdl.tasks.models import ON_FEATURES
from dpdl.training.recording_request import RecordingRequest

ONE = 1
"""Records of an attacked message: the easiest case for an attacker."""
FIRST = ("cg", "step")
"""What is attacked: cross-gradients where they are sent, steps of models elsewhere."""
WITHOUT_PICTURES = (
    "No pictures: matplotlib is not installed; everything else is complete."
)


@final
@dataclass(frozen=True)
class Told:
    """A part of the story, and what its pictures are made of."""

    part: DemoPart
    attacked: Attacked
    control: bool


def tell(
    story: Story,
    out: Path,
    watch: DemoWatch,
    *,
    notes: tuple[str, ...] = (),
    stop: threading.Event | None = None,
) -> DemoFacts:
    """All parts of a story, its picture and its page, in `out`."""
    with locked(out, names.DEMO, DemoFile) as before:
        if before is None:
            files.write_json(out / names.DEMO, DemoFile(__version__))
        told = [_tell(part, story, out, watch, stop) for part in story.script.part]
        watch.doing("drawing the picture and writing the page")
        return _concluded(story, out, told, notes)


def _tell(
    part: ScriptPart,
    story: Story,
    out: Path,
    watch: DemoWatch,
    stop: threading.Event | None,
) -> Told:
    e, settings = story.experiments[part.name], story.script.attack
    run = out / names.part_of_story(story.dataset, part.name)
    watch.begin(part, RunFolder(run).finished)
    record = RecordingRequest((settings.round,), (ONE,), one_link_each(e))
    watch.doing(_preparing(e))
    train_recorded(e, record, run, watch.training, progress=watch.shown, stop=stop)
    attacked = _attack(run, story.script.attack, part, watch)
    audit = _audit(run, settings.canaries, watch) if part.audited else None
    made = _part(part, run, attacked, audit)
    watch.end(made)
    return Told(made, attacked, part.control)


def _preparing(e: Experiment) -> str:
    """What a plan takes time for."""
    if e.model in ON_FEATURES:
        return "loading the data and their features (made once, then kept)"
    return "loading the data, finding the noise"


def _attack(
    run: Path, settings: AttackSettings, part: ScriptPart, watch: DemoWatch
) -> Attacked:
    """Images of single records, from messages of one round; those rebuilt before are read."""
    recording = Recording(RunFolder(run).recording)
    sent = offered(recording, settings.round, ONE)
    scenario = next(name for name in FIRST if name in sent)
    case = AttackCase(scenario, settings.round, ONE)
    effort = Effort("auto", part.iterations, part.restarts)
    watch.doing("reading what was recorded")
    with watch.attacking(len(settings.agents)) as heard:
        outcomes, plan = reconstruct(
            run,
            [case],
            effort,
            settings.agents,
            together=len(settings.agents),
            watch=lambda case: heard,
        )
    return Attacked(run, outcomes, plan)


def _audit(run: Path, canaries: int, watch: DemoWatch) -> AuditFacts:
    """What an audit certifies for the settings of a run; one that was made before is read."""
    path = RunFolder(run).audit_path
    if path.exists():
        return files.read_record(AuditFacts, path)
    watch.doing("auditing: is the claimed epsilon true?")
    request = AuditRequest(
        {}, default_records=0, most_canaries=canaries, run=run, canaries=canaries
    )
    return examine(request, watch.auditing)


def _part(
    part: ScriptPart, run: Path, attacked: Attacked, audit: AuditFacts | None
) -> DemoPart:
    summary = RunFolder(run).summary()
    return DemoPart(
        name=part.name,
        title=part.title,
        run=str(run),
        algorithm=summary.algorithm,
        model=summary.model or "",
        rounds=summary.rounds,
        accuracy=summary.score.mean,
        sigma=summary.sigma,
        delta=summary.delta,
        epsilon=summary.epsilon,
        certified=audit.certified if audit else None,
        confidence=audit.confidence if audit else None,
        attack=attacked.rows()[0],
        seconds=summary.seconds,
    )


def _concluded(
    story: Story, out: Path, told: list[Told], notes: tuple[str, ...]
) -> DemoFacts:
    """Facts, picture and page, each of them made again."""
    drawn = find_spec("matplotlib") is not None
    picture = out / names.STORY_PICTURE
    if drawn:
        gallery = gallery_of(
            [(one.part, one.attacked) for one in told], story.script.attack.agents
        )
        draw_gallery(*gallery, picture)
    e = story.experiments[story.script.part[0].name]
    shown = [one.part for one in told if not one.control]
    controls = [one.part for one in told if one.control]
    facts = DemoFacts(
        dataset=story.dataset,
        graph=e.graph,
        agents=e.agents,
        parts=tuple(shown),
        control=controls[0] if controls else None,
        trivial=tuple(told[0].attacked.trivial_rows()),
        out=str(out),
        picture=str(picture) if drawn else None,
        page=str(out / names.REPORT),
        notes=notes if drawn else (*notes, WITHOUT_PICTURES),
    )
    facts.write(out)
    make_page([out], out / names.REPORT, public=False)
    return facts
