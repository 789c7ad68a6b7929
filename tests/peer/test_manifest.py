"""Manifests: complete, consistent, known by their bytes; everything else is refused by name."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.peer.manifest import (
    LARGEST_MANIFEST,
    DataForm,
    Manifest,
    Rules,
    Terms,
    differing,
)
from dpdl.peer.toml_text import dumps
from dpdl.records import JsonObject
from tests.peer import damaged
from tests.peer.agreements import (
    FORM,
    NAMES,
    agreed,
    manifest,
    member,
    options,
    weights,
)


def table() -> JsonObject:
    """A valid manifest as a table, to be changed."""
    return tomllib.loads(agreed().decode())


def text(found: JsonObject) -> bytes:
    return dumps(found).encode()


# ------------------------------------------------------------------ what is agreed
def test_a_manifest_is_read_as_it_was_written() -> None:
    found = manifest()
    assert found.names == NAMES
    assert found.members == tuple(member(name) for name in NAMES)
    assert found.privacy == Terms(
        2.5, 1e-5, "eavesdropper", "add-remove", (1.5, 1.25, 1.1)
    )
    assert (found.form, found.rules) == (FORM, Rules())
    assert found.experiment == options()
    assert list(found.model.shapes) == ["1.weight", "1.bias", "3.weight", "3.bias"]
    assert found.model.size == 4810


def test_its_name_is_the_hash_of_its_bytes() -> None:
    found = manifest()
    assert found.hash == hashlib.sha256(found.content).hexdigest()
    other = Manifest.parse(found.content + b"\n")
    assert other.hash != found.hash and other != found
    assert differing(found, other) == []
    assert Manifest.parse(found.content) == found
    assert len({found, other, Manifest.parse(found.content)}) == 2


def test_the_graph_is_that_of_the_weights() -> None:
    found, ring = manifest(), graphs.ring(3)
    assert (found.graph.W == ring.W).all()
    assert found.graph.name == "ring"
    assert found.neighbours(0) == (1, 2)
    path = agreed(weights=weights(graphs.path(3)))
    assert Manifest.parse(path).neighbours(0) == (1,)


def test_a_member_is_found_by_its_name() -> None:
    assert [manifest().number(name) for name in NAMES] == [0, 1, 2]
    with pytest.raises(
        InputError, match=r"'anna' is no member of run .*mercy, st-olav"
    ):
        manifest().number("anna")


def test_the_experiment_is_the_one_that_was_agreed_on() -> None:
    e = manifest().experiment_of()
    assert e.sites == NAMES
    assert (e.shape, e.predict, e.scaling) == ("1,8,8", "10 classes", None)
    assert (e.records, e.agents, e.randomness) == ("400,400,400", 3, "secure")
    assert e.sigma == manifest().privacy.sigma
    assert e == e.resolved()


def test_differences_are_named() -> None:
    other = agreed(
        rules=Rules(alarm_minutes=5, ends="2031-01-31"),
        members=[member("mercy"), member("st-olav", records=390), member("vita")],
    )
    names = differing(manifest(), Manifest.parse(other))
    assert names == ["member[1].records", "rules.alarm_minutes", "rules.ends"]
    two = agreed(
        experiment=options(sites=NAMES[:2]),
        members=[member(name) for name in NAMES[:2]],
        weights=weights(graphs.ring(2)),
        privacy=Terms(2.5, 1e-5, "eavesdropper", "add-remove", (1.5, 1.25)),
    )
    assert differing(manifest(), Manifest.parse(two)) == [
        "experiment.agents",
        "member",
        "graph.weights",
        "privacy.epsilon",
    ]


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("format", "manifest has no 'format'"),
        ("privacy", "manifest has no 'privacy'"),
        ("privacy.sigma", "manifest.privacy has no 'sigma'"),
        ("rules.alarm_minutes", "rules has no 'alarm_minutes'"),
        ("model.sha256", "manifest.model has no 'sha256'"),
        ("graph.weights", "manifest.graph has no 'weights'"),
        ("experiment.batch", "manifest.experiment has no 'batch'"),
        ("experiment.lr", "manifest.experiment has no 'lr'"),
        ("experiment.delta", "manifest.experiment has no 'delta'"),
    ],
)
def test_a_missing_field_is_named(path: str, said: str) -> None:
    found = table()
    *outer, last = path.split(".")
    inside = found
    for name in outer:
        inside = inside[name]
    del inside[last]
    with pytest.raises(InputError, match=said):
        Manifest.parse(text(found))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"extra": 1}, "unknown field 'extra'"),
        ({"rules": {"speed": 1}}, r"unknown field 'rules\.speed'"),
        ({"experiment": {"speed": 1}}, "experiment has an unknown field 'speed'"),
        ({"experiment": {"gossip_steps": 3}}, "unknown field 'gossip_steps'"),
        ({"experiment": {"sites": ["a", "b"]}}, "unknown field 'sites'"),
        ({"experiment": {"batch": 0}}, r"experiment\.batch: batch must be .* not 0"),
        ({"experiment": {"lr": "x"}}, r"experiment\.lr: lr must be a number, not 'x'"),
        ({"experiment": {"agents": 4}}, "sites must name one file for each of 4"),
        ({"experiment": {"budget": "3"}}, "budget must be left out: every site has"),
        ({"experiment": {"stop_after_stalled": 3}}, "left out: no site sees"),
        ({"experiment": {"randomness": "reproducible"}}, "randomness must be 'secure'"),
        ({"experiment": {"dataset": "mnist"}}, "dataset must be 'sites', not 'mnist'"),
        ({"experiment": {"algorithm": "os:abort"}}, "algorithm must be a name that is"),
        ({"experiment": {"algorithm": "nothing"}}, r"experiment\.algorithm: Unknown"),
        ({"experiment": {"graph": "/etc/passwd"}}, "graph must be the name of a graph"),
        ({"experiment": {"graph": "given"}}, "must be 'lost-weight': a graph without"),
        ({"experiment": {"delta": 1e-6}}, r"privacy\.delta is 1e-05, but .* is 1e-06"),
        ({"experiment": {"threat": "final-model"}}, r"privacy\.threat is 'eavesd"),
        ({"experiment": {"sigma": 3.0}}, r"sigma is 3\.0, but manifest.privacy.sigma"),
        ({"experiment": {"noise": "none"}}, "noise 'none' and a fixed sigma exclude"),
        ({"experiment": 3}, "experiment must be a table"),
        ({"privacy": {"epsilon": [1.0, 1.0]}}, "must have 3 numbers, .* not 2"),
        ({"privacy": {"epsilon": [1.0, 1.0, float("inf")]}}, "finite number above 0"),
        ({"privacy": {"sigma": 0}}, r"privacy\.sigma must be a finite number above 0"),
        ({"privacy": {"delta": 1.5}}, r"privacy\.delta must be"),
        ({"privacy": {"threat": "all"}}, "Unknown threat 'all'"),
        ({"privacy": {"relation": "none"}}, r"relation must be add-remove or replace"),
        ({"rules": {"least_members": 4}}, "least_members must be .* from 2 to 3"),
        ({"rules": {"least_members": 1}}, "least_members must be .* from 2 to"),
        ({"rules": {"graph": "other"}}, "graph must be 'rebuild' or 'lost-weight'"),
        ({"rules": {"ends": "soon"}}, r"rules\.ends must be a day such as"),
        ({"rules": {"largest_norm": -1.0}}, r"largest_norm must be a finite number"),
        ({"data": {"shape": "1,8"}}, r"data\.shape must be a number of features"),
        ({"data": {"shape": "999999,9,9999"}}, r"data\.shape must be of at most"),
        ({"data": {"predict": "classes"}}, r"data\.predict must be such as '3 classes'"),
        ({"data": {"scaling": "1/0"}}, r"data\.scaling must have finite numbers"),
        ({"data": {"scaling": "0.1,0.2/1"}}, r"data\.scaling must have finite numbers"),
        ({"data": {"test_sha256": "AB"}}, r"test_sha256 must be 64 hexadecimal"),
        ({"model": {"shapes": {}}}, "parameters of the model must be .* from 1"),
        ({"model": {"shapes": {"a": [10**6, 10**6]}}}, "parameters of the model"),
        ({"model": {"shapes": {"a": [-1]}}}, "must be a whole number from 1"),
        ({"graph": {"weights": [[0, 0, 1.0]]}}, r"weights: Row 1 of W sums to 0"),
        ({"graph": {"weights": [[0, 9, 1.0]]}}, "weights names member 9"),
        ({"graph": {"weights": [[0, 1, 1.0], [0, 0, 1.0]]}}, "in order"),
        ({"graph": {"weights": [[1, 0, 1.0]]}}, "0 <= i <= j"),
        ({"graph": {"weights": [[0, 0, 1.0], [1, 1, 1.0], [2, 2, 1.0]]}}, "connected"),
        ({"member": []}, "number of members must be .* from 2"),
        ({"format": 2}, "manifest is of format 2"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(change: JsonObject, said: str) -> None:
    found = table()
    for name, value in change.items():
        inside = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **value} if inside else value
    with pytest.raises(InputError, match=said):
        Manifest.parse(text(found))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "Mercy", r"member\.name must be 1 to 40 small letters"),
        ("name", "x" * 41, r"member\.name must be 1 to 40 small letters"),
        ("name", "st-olav", "Two members of the manifest have the same name"),
        ("key", member("st-olav").key, "Two members of the manifest have the same key"),
        ("agreement", member("st-olav").agreement, "have the same agreement"),
        ("key", "00", r"member\.key must be 64 hexadecimal"),
        ("key", "00" * 32, "small order"),
        ("agreement", "00" * 32, "small order"),
        ("agreement", "x", r"member\.agreement must be 64 hexadecimal"),
        ("data", "", r"member\.data must be 1 to 40"),
        ("records", 0, r"member\.records must be .* from 1 to"),
        ("records", 1.5, r"member\[0\]\.records must be a whole number"),
        ("url", "http://mercy.example", r"member\.url must be https://HOST"),
        ("url", "https://mercy.example:99999", r"member\.url must be https://HOST"),
        ("url", "https://a@mercy.example", r"member\.url must be https://HOST"),
        ("url", "https://mercy.example/x", r"member\.url must be https://HOST"),
        ("phone", "1", r"unknown field 'member\[0\]\.phone'"),
    ],
    ids=map(str, range(17)),  # keys are random, and would be parts of names
)
def test_a_wrong_member_is_named(field: str, value: object, said: str) -> None:
    found = table()
    found["member"][0][field] = value
    with pytest.raises(InputError, match=said):
        Manifest.parse(text(found))


def test_a_graph_that_the_algorithm_cannot_serve_is_refused() -> None:
    """Nothing is sent over a graph that the accountant's proof is not about."""
    half = [(0, 0, 0.5), (0, 1, 0.5), (1, 1, 0.5)]
    with pytest.raises(InputError, match=r"not connected|sums to"):
        agreed(weights=half)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"algorithm": "async-dpsgd"}, "whose turn it is is drawn from the seed"),
        ({"algorithm": "epidemic"}, "who talks to whom is drawn from the seed"),
        ({"algorithm": "pdsl", "validation": 9}, "takes public records out"),
    ],
    ids=["async-dpsgd", "epidemic", "pdsl"],
)
def test_an_algorithm_that_peers_cannot_run_is_refused_whoever_wrote_the_manifest(
    asked: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        agreed(experiment=options(**asked))


def test_code_of_others_runs_only_where_it_is_allowed() -> None:
    found = Manifest.parse(agreed(experiment=options(model="nowhere.at_all:Net")))
    with pytest.raises(InputError, match=r"model is code of 'nowhere\.at_all', which"):
        found.experiment_of()
    allowed = Manifest.parse(found.content, ["nowhere.at_all"])
    assert allowed.experiment_of().model == "nowhere.at_all:Net"
    assert allowed == found


def test_a_site_without_an_address_has_no_url() -> None:
    quiet = replace(member("vita"), url=None)
    content = agreed(members=[member("mercy"), member("st-olav"), quiet])
    assert Manifest.parse(content).members[2].url is None
    assert b"vita.example" not in content


def test_scaling_and_test_set_are_said_once() -> None:
    form = DataForm("3,8,8", "4 labels", "0.1,0.2,0.3/0.5", "cd" * 32)
    content = agreed(form=form)
    e = Manifest.parse(content).experiment_of()
    assert (e.scaling, e.predict, e.test) == ("0.1,0.2,0.3/0.5", "4 labels", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "manifest is not valid TOML: it is not a text file in UTF-8"),
        (b"x", "manifest is not valid TOML: "),
        (b"", "manifest has no 'experiment'"),
        (b"#" * (LARGEST_MANIFEST + 1), "manifest has more than 1,048,576 bytes"),
        (b"a=" + b"[" * 9000, "within each other"),
        (b"a" + b".a" * 9000 + b"=1", "within each other"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Manifest.parse(content)


# ------------------------------------------------------------------ whatever there is
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    assert damaged.read(Manifest.parse, content) is None


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_to_the_text_is_refused_or_another_manifest(data: st.DataObject) -> None:
    content = data.draw(damaged.broken_text(agreed()))
    found = damaged.read(Manifest.parse, content)
    assert found is None or found.content == content
    assert found is None or (found == manifest()) == (content == manifest().content)


@settings(max_examples=200, deadline=None)
@given(damaged.broken_table(table()))
def test_damage_to_a_field_is_refused_or_another_manifest(found: JsonObject) -> None:
    read = damaged.read(Manifest.parse, text(found))
    assert read is None or read.parts.to_json() == found


HOSTILE: dict[str, Callable[[int], str]] = {
    "lists": lambda most: "a = [" + "[]," * ((most - 8) // 3) + "]",
    "tables": lambda most: "a = [" + "{}," * ((most - 8) // 3) + "]",
    "keys": lambda most: "".join(f"{k:06x}=0\n" for k in range(most // 9)),
    "headers": lambda most: "[[a]]\n" * (most // 6),
    "text": lambda most: f'a = "{"x" * (most - 9)}"',
    "comment": lambda most: "#" * most,
    "members": lambda most: "format = 1\n" + "[[member]]\n" * ((most - 20) // 11),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_reading_takes_no_more_memory_than_is_bounded(kind: str) -> None:
    """200 bytes for one that is read, so 200 MB for the largest manifest."""
    most = LARGEST_MANIFEST // 8
    assert damaged.peak(Manifest.parse, HOSTILE[kind](most).encode()) < 200 * most
