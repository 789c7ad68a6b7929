"""The form of a record survives a file."""

from __future__ import annotations

import json

import pytest
import torch

from dpdl.errors import InputError
from dpdl.folder.form_facts import FormFacts
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes, Labels, Numbers

FORMS = [
    Form((1, 28, 28), Classes(10), torch.uint8, (0.1307,), (0.3081,)),
    Form((3, 32, 32), Classes(10), torch.uint8, (0.49, 0.48, 0.45), (0.2, 0.2, 0.2)),
    Form((30,), Numbers(2)),
    Form((4,), Labels(3), torch.float64),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_form_comes_back_as_it_was(form: Form) -> None:
    facts = FormFacts.of(form)
    again = FormFacts.from_json(json.loads(json.dumps(facts.to_json())))
    assert again == facts
    assert again.form() == form
    assert facts.pixels == (form.dtype == torch.uint8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "load"}, "number type"),
        ({"predict": "classes"}, "number of targets"),
        ({"dtype": "int64"}, "Records must be uint8"),
        ({"shape": [0]}, "at least 1"),
        ({"std": [0.0]}, "greater than 0"),
        ({"shape": "30"}, "must be a list"),
    ],
)
def test_what_is_no_form_is_refused(change: dict, words: str) -> None:
    content = {**FormFacts.of(FORMS[0]).to_json(), **change}
    with pytest.raises(InputError, match=words):
        FormFacts.from_json(content).form()
