"""`dpdl peer propose`: from a file and the names of sites to the two files of a proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import load
from dpdl.folder import files
from dpdl.peer.agreed_options import check_own_code
from dpdl.peer.card import Card
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest, Rules
from dpdl.peer.proposal import propose


def write_proposal(
    home: Home,
    experiment: Path,
    names: Sequence[str],
    data: str | None,
    rules: Rules,
    test: Path | None,
    out: Path,
) -> Manifest:
    """Write `manifest.toml` and `initial.safetensors`; members are in the order of `names`.

    Without `data`, each member takes part with the first data set on its card. Noise is secure,
    whatever the file says.
    """
    cards = [home.card if name == home.name else home.contact(name) for name in names]
    asked = replace(load(experiment, None, {}), randomness="secure")
    check_own_code(asked, home.settings.modules)
    offered = [data or _first(card) for card in cards]
    made = propose(asked, cards, offered, rules, test=test)
    with files.refusing("Folder", out):
        out.mkdir(parents=True, exist_ok=True)
        files.write(out / "initial.safetensors", made.initial)
        files.write(out / "manifest.toml", made.manifest)
    return Manifest.parse(made.manifest, home.settings.modules)


def _first(card: Card) -> str:
    if not card.data:
        raise InputError(f"The card of {card.name} offers no data set.")
    return card.data[0].name
