"""Sites and manifests for tests of documents; nothing here is trained."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from dpdl import graph as graphs
from dpdl.experiment.experiment import from_mapping
from dpdl.peer.agreed_options import options_table
from dpdl.peer.card import Card, Offer, encoded
from dpdl.peer.certificates import der_of, make_certificate
from dpdl.peer.keys import AgreementKey, SigningKey
from dpdl.peer.manifest import (
    DataForm,
    Manifest,
    Member,
    ModelFacts,
    Rules,
    Terms,
    manifest_text,
)
from dpdl.records import JsonObject

NAMES = ("mercy", "st-olav", "vita")
FORM = DataForm("1,8,8", "10 classes")
SHAPES = {"1.weight": (64, 64), "1.bias": (64,), "3.weight": (10, 64), "3.bias": (10,)}


@cache
def signing(name: str) -> SigningKey:
    """The same key whenever a test asks."""
    return SigningKey.create()


@cache
def agreement(name: str) -> AgreementKey:
    """The same key whenever a test asks."""
    return AgreementKey.create()


def member(name: str, records: int = 400) -> Member:
    url = f"https://{name}.example:8443"
    return Member(
        name, signing(name).public, agreement(name).public, "lungs", records, url
    )


def options(**changed: object) -> JsonObject:
    """All options of a small experiment at three sites."""
    given = {
        "sites": NAMES,
        "shape": FORM.shape,
        "predict": FORM.predict,
        "randomness": "secure",
        "algorithm": "dpdl-sound",
        "rounds": 20,
        **changed,
    }
    return options_table(from_mapping(given).resolved())


def weights(graph: graphs.Graph) -> list[tuple[int, int, float]]:
    pairs = [(i, j) for i in range(len(graph)) for j in range(i, len(graph))]
    return [(i, j, float(graph.W[i, j])) for i, j in pairs if graph.W[i, j] > 0]


def agreed(**changed: object) -> bytes:
    """The text of a manifest; `changed` are other parts."""
    parts: dict[str, object] = {
        "experiment": options(),
        "members": [member(name) for name in NAMES],
        "weights": weights(graphs.ring(3)),
        "privacy": Terms(2.5, 1e-5, "eavesdropper", "add-remove", (1.5, 1.25, 1.1)),
        "model": ModelFacts("ab" * 32, SHAPES),
        "form": FORM,
        "rules": Rules(),
        **changed,
    }
    write: Callable[..., bytes] = manifest_text
    return write(**parts)


@cache
def manifest() -> Manifest:
    """A manifest of three sites."""
    return Manifest.parse(agreed())


@cache
def certificate(name: str) -> bytes:
    """The certificate of a site, in DER."""
    return der_of(make_certificate(name)[1])


def card(name: str, **changed: object) -> Card:
    """A signed card."""
    values: dict[str, object] = {
        "name": name,
        "key": signing(name).public,
        "agreement": agreement(name).public,
        "certificate": encoded(certificate(name)),
        "serial": 1,
        "time": "2030-06-01T12:00:00Z",
        "data": (Offer("lungs", 400, FORM.shape, FORM.predict),),
        "url": f"https://{name}.example:8443",
        **changed,
    }
    make: Callable[..., Card] = Card
    return make(**values).signed(signing(name))
