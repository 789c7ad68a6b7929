"""`dpdl peer export`: the model, a card that says what is proven, and a script that loads it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from safetensors.torch import save

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.folder import files, names
from dpdl.pages.loader_script import ExportedLayers, features_files, loader_script
from dpdl.peer.loop import model_of, unpacked
from dpdl.peer.manifest import Manifest
from dpdl.peer.own_metrics import OwnMetrics
from dpdl.peer.plan import first_view, public_plan
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.store_reader import StoreReader
from dpdl.peer.view import View
from dpdl.peer.views import OVER, current_view
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.sites import form_at_sites
from dpdl.planning.statement import listening
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.threats import threat
from dpdl.records import Record
from dpdl.studies.model_export import layers_of
from dpdl.tasks.features import features_of
from dpdl.tasks.trained import Trained


@final
@dataclass(frozen=True)
class PeerExport(Record):
    """A folder with a model that several sites have trained."""

    folder: str
    files: tuple[str, ...]
    run: str
    rounds: int
    sha256: str  # of the parameters, to compare with the other sites


def export_run(
    run: PeerRun, name: str, out: Path, own_score: bool = False
) -> PeerExport:
    """Write model, card and script of a run that has ended.

    With `own_score`, the card says how good the model is on this site's own test records: no
    epsilon covers that number.
    """
    manifest = run.manifest()
    with StoreReader(run.path) as store:
        here, state, over = store.here, store.state(), store.documents(OVER)
    view = current_view(manifest, first_view(manifest), over)
    plan = public_plan(manifest, view, run.initial())
    if here.done < plan.experiment.rounds:
        raise InputError(
            f"This run has {here.done} of {plan.experiment.rounds} rounds; export it when it has "
            "ended."
        )
    e = plan.experiment
    assert e.model
    module = plan.task.module(model_of(unpacked(state))[0])
    form = form_at_sites(e)
    trained = Trained(module, form, features_of(e.model, form))
    layers = layers_of(trained, e.model)
    score = _score(run) if own_score else None
    parameters = save(
        {n: t.contiguous() for n, t in trained.module.state_dict().items()},
        {"format": "pt"},  # safetensors writes several entries in random order
    )
    content = {
        names.PARAMETERS: parameters,
        names.MODEL_CARD: _card(manifest, view, plan, layers, name, score).encode(),
        names.LOADER: loader_script(layers).encode(),
    }
    content |= features_files(layers)
    with files.refusing("Folder", out):
        out.mkdir(parents=True, exist_ok=True)
        for file, one in content.items():
            files.write(out / file, one)
    digest = hashlib.sha256(parameters).hexdigest()
    return PeerExport(str(out), tuple(content), manifest.hash, here.done, digest)


def _card(
    manifest: Manifest,
    view: View,
    plan: PublicPlan,
    layers: ExportedLayers,
    name: str,
    score: str | None,
) -> str:
    """What the model is, who made it, what is proven, and what is not."""
    e = plan.experiment
    left = [one for one in manifest.names if one not in view.names]
    dropped = f" Dropped on the way: {', '.join(left)}." if left else ""
    result = (
        f"On the test records of {name}: {score}. No epsilon covers this number."
        if score
        else "Not said: test records are private. Test it on records of your own."
    )
    needs = ", ".join(layers.needs)
    return f"""# A model that {len(view.names)} sites have trained together

Run `{manifest.hash}`, exported by {name} on {datetime.now(UTC).date().isoformat()} with dpdl
{__version__}. Members: {", ".join(view.names)}.{dropped}
There was no server; no record left its site.

## Use

`{names.LOADER}` makes the model and reads `{names.PARAMETERS}`; it needs {needs}, and not dpdl.

## Training

{e.algorithm}, {e.rounds} rounds, {view.number + 1} view(s) of members, model {e.model} with
{plan.task.size:,} parameters. Records declared: {_declared(manifest, view)}.

## Privacy

Proven for one record {CHANGES[manifest.privacy.relation]}, delta {manifest.privacy.delta:g}, all
{e.rounds} rounds, for the member that is worst off:

{_proven(plan, manifest)}

Noise multiplier {manifest.privacy.sigma:.4g}, {e.sampling} batches of {e.batch}, every record's
gradient clipped to {e.clip:g}. The numbers of declared records are public. Each member's ledger
says what its own records have given away in all runs together.

## Results

{result}

## Limits

The model is as good as its records: they are of these sites, and nobody has seen all of them. A
member that sends wrong models on purpose is not kept out. Epsilon bounds what a single record
adds, not what is true of a whole site.
"""


def _declared(manifest: Manifest, view: View) -> str:
    said = {member.name: member.records for member in manifest.members}
    return ", ".join(f"{name} {said[name]}" for name in view.names)


def _proven(plan: PublicPlan, manifest: Manifest) -> str:
    listeners = plan.privacy.listeners(threat(manifest.privacy.threat))
    lines = ["| against | epsilon |", "|---|---|"]
    for one in listeners:
        worst = Epsilon(plan.privacy.worst(one))
        who = listening(one, plan.algorithm.coalitions_anywhere)
        lines.append(f"| {who} | {worst:.4g} |")
    return "\n".join(lines)


def _score(run: PeerRun) -> str | None:
    found = OwnMetrics(run.metrics).read()
    return f"{found[-1].score} {found[-1].value:.4g}" if found else None
