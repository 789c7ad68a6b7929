"""The trained model of a run folder, without the records it was trained on."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.states import States
from dpdl.objects import place_of
from dpdl.planning.given import GivenModel, module_of
from dpdl.planning.plan import DTYPES
from dpdl.planning.public_plan import CENTRE
from dpdl.planning.sites import named_form
from dpdl.tasks import models
from dpdl.tasks.data.form import Form
from dpdl.tasks.directions import Centred
from dpdl.tasks.features import Features, features_of
from dpdl.tasks.task import Task
from dpdl.tasks.trained import Trained
from dpdl.training.loop import MEAN


def load(
    run: Path | str, *, agent: int | None = None, model: GivenModel | None = None
) -> Trained:
    """The model of a finished run, in evaluation mode; neither data set nor records are needed.

    It is the average of all agents' models, or with `agent` that of one. It takes records as they
    are stored: scaling and features are part of it, see `Trained`. A module that was given to
    `train` as an object is not in the folder; give one like it as `model`, whose parameters are
    replaced in a copy.
    """
    folder = RunFolder(place_of("run", run))
    experiment, facts = folder.read()
    row, centre = _row(folder, agent)
    form = stored_form(folder, experiment, facts)
    module = module_of(model, experiment)
    named = module is None
    if named and facts.own_module is not None:
        raise InputError(
            f"Run {str(run)!r} trained a module of your own ({facts.own_module}), which its "
            "folder does not hold; give one like it as model."
        )
    features = features_of(str(experiment.model), form) if named else None
    task = _task(folder, experiment, facts, form, module, features)
    trained = task.module(row)
    if centre is not None and isinstance(trained, nn.Sequential):
        trained = nn.Sequential(Centred.around(centre), *trained)
    return Trained(trained, form, features)


def stored_form(folder: RunFolder, e: Experiment, facts: RunFacts) -> Form:
    """How a record of a run looks; a folder that does not say so is refused."""
    if facts.form is not None:
        return facts.form.form()
    form = named_form(e)
    if form is None:
        raise InputError(
            f"Run {str(folder.path)!r} does not say how its records look: an older version of dpdl "
            "wrote it; with its data, dpdl.resume(...).module() gives the model."
        )
    return form


def _task(
    folder: RunFolder,
    e: Experiment,
    facts: RunFacts,
    form: Form,
    model: nn.Module | None,
    features: Features | None,
) -> Task:
    """The module of the run, with the parameters it started from."""
    shape = features.out if features else form.shape
    assert e.model
    module = model or models.build(e.model, shape, form.outputs, e.seed)
    task = Task(module, dtype=DTYPES[e.dtype])
    shapes = {name: tuple(of) for name, of in task.shapes.items()}
    if facts.model_shapes is not None and shapes != dict(facts.model_shapes):
        which = "The given model" if model else f"Model {e.model!r}"
        raise InputError(
            f"{which} is not the one that run {str(folder.path)!r} trained: its parameters have "
            "other shapes."
        )
    return task


def _row(folder: RunFolder, agent: int | None) -> tuple[Tensor, Tensor | None]:
    """The parameters of an agent at the end of a run, or the average of all; and the centre."""
    if not folder.finished:
        raise InputError(
            f"Run {str(folder.path)!r} is not finished, so it has no model yet; continue it with: "
            f"dpdl resume {folder.path}."
        )
    summary = folder.summary()
    count = summary.agents
    known = agent is None or (type(agent) is int and 0 <= agent < count)
    if not known:
        raise InputError(
            f"agent must be a number from 0 to {count - 1}, not {agent!r}."
        )
    wanted = list(range(count)) if agent is None else [agent]
    state = States(folder.path).load(summary.rounds, wanted).state
    rows, centres = state.get(MEAN, state["x"]), state.get(CENTRE)
    return rows.mean(dim=0), None if centres is None else centres.mean(dim=0)
