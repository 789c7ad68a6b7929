"""What `dpdl export --to model` makes: a folder with a trained model that needs no dpdl."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from safetensors.torch import save

from dpdl import __version__
from dpdl.folder import files, names
from dpdl.folder.form_facts import FormFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.loader_script import ExportedLayers, features_files, loader_script
from dpdl.pages.model_card import ModelCard, model_card
from dpdl.records import Record
from dpdl.tasks.layer_source import layer_source
from dpdl.tasks.trained import Trained
from dpdl.training.load import load


@final
@dataclass(frozen=True)
class ExportedModel(Record):
    """A folder with a trained model."""

    folder: str
    files: tuple[str, ...]
    needs: tuple[str, ...]  # what its script imports
    agent: int | None  # None: the average of all agents' models


def export_model(
    run: Path, out: Path | None = None, agent: int | None = None
) -> ExportedModel:
    """Write the model of a finished run: its parameters, a card, and a script that loads it."""
    trained = load(run, agent=agent)
    folder = RunFolder(run)
    experiment, facts = folder.read()
    assert experiment.model
    layers = layers_of(trained, experiment.model)
    card = ModelCard(folder.summary(), facts.experiment, layers, agent, __version__)
    content = {
        names.PARAMETERS: save(
            {n: t.contiguous() for n, t in trained.module.state_dict().items()},
            {"format": "pt", "dpdl": __version__},
        ),
        names.MODEL_CARD: model_card(card).encode(),
        names.LOADER: loader_script(layers).encode(),
    }
    content |= features_files(layers)
    place = out or run / names.MODEL
    with files.refusing("Folder", place):
        place.mkdir(parents=True, exist_ok=True)
        for name, one in content.items():
            files.write(place / name, one)
    return ExportedModel(str(place), tuple(content), layers.needs, agent)


def layers_of(trained: Trained, model: str) -> ExportedLayers:
    """What a script must make before it can read the parameters of a model."""
    dtype = next(trained.module.parameters()).dtype
    return ExportedLayers(
        form=FormFacts.of(trained.form),
        outputs=trained.form.outputs,
        dtype=str(dtype).removeprefix("torch."),
        features=trained.features.kind if trained.features else None,
        calls=layer_source(trained.module),
        model=model,
    )
