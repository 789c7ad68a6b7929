"""What describes a recording comes back as it was, and says what an attack needs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.files import read_record
from dpdl.folder.recording_facts import PublicFacts, RecordingIndex
from dpdl.records import Json

EXAMPLES = Path(__file__).parents[1] / "attacks" / "examples"
PUBLIC = read_record(PublicFacts, EXAMPLES / "public.json")


@pytest.mark.parametrize(
    ("kind", "name"), [(PublicFacts, "public.json"), (RecordingIndex, "index.json")]
)
def test_files_are_kept_byte_for_byte(kind: type, name: str) -> None:
    text = (EXAMPLES / name).read_text()
    found = read_record(kind, EXAMPLES / name)
    assert json.dumps(found.to_json(), indent=2) + "\n" == text


def test_an_attack_finds_what_it_needs() -> None:
    assert (PUBLIC.algorithm, PUBLIC.model, PUBLIC.batch) == ("dpdl", "mlp", 8)
    assert PUBLIC.momentum == 0.7
    assert "seed" not in PUBLIC.experiment
    others = {k: v for k, v in PUBLIC.experiment.items() if k != "momentum"}
    assert replace(PUBLIC, experiment=others).momentum == 0


@pytest.mark.parametrize("name", ["algorithm", "model", "batch", "momentum"])
@pytest.mark.parametrize("value", [None, [], {}])
def test_an_option_that_is_none_is_named(name: str, value: Json) -> None:
    damaged = replace(PUBLIC, experiment={**PUBLIC.experiment, name: value})
    with pytest.raises(InputError, match=f"which {name} the run had"):
        getattr(damaged, name)


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "public.json"
    path.write_text(json.dumps({**PUBLIC.to_json(), "format": 2}))
    with pytest.raises(InputError, match="is of format 2"):
        read_record(PublicFacts, path)


def test_an_index_lists_links_as_pairs() -> None:
    index = read_record(RecordingIndex, EXAMPLES / "index.json")
    assert index.links == ((0, 1), (1, 2), (2, 0)) and index.full is None
    assert len(index.files) == len(index.sizes) == 5
    content = {**index.to_json(), "links": [[0, 1, 2]]}
    with pytest.raises(InputError, match=r"links\[0\] must be a list of 2"):
        RecordingIndex.from_json(content)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("W", (), "as many columns as rows"),
        ("W", ((1.0,), (1.0,)), "as many columns as rows"),
        ("W", ((math.inf,),), "finite numbers"),
        ("shape", (), "sides from 1"),
        ("shape", (1, 0), "sides from 1"),
        ("shape", (10**9,), "sides from 1"),
        ("classes", 0, "classes must be"),
        ("classes", 10**12, "classes must be"),
    ],
)
def test_facts_that_cannot_be_right_are_refused(
    name: str, value: object, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        replace(PUBLIC, **{name: value})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "00001.safetensors",
        "000001.safetens0rs",
        "../000001.safetensors",
        "000001.safetensors.x",
    ],
)
def test_an_index_names_recordings_only(name: str) -> None:
    index = read_record(RecordingIndex, EXAMPLES / "index.json")
    with pytest.raises(InputError, match="which is no recording"):
        replace(index, files=(name,))
