from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from dpdl.errors import InputError
from dpdl.peer.exporting import export_run


def test_a_model_is_written_with_a_card_and_a_loader(ended, tmp_path):
    found = export_run(ended.run(0), "mercy", tmp_path / "model")
    assert found.rounds == 4
    parameters = load_file(tmp_path / "model" / "model.safetensors")
    row = np.concatenate([one.ravel() for one in parameters.values()])
    assert sorted(row) == sorted(ended.models()[0])
    card = (tmp_path / "model" / "README.md").read_text()
    for text in (
        ended.manifest.hash,
        "mercy, olav, vita",
        "an eavesdropper on all links",
    ):
        assert text in card
    assert "private" in card


def test_equal_parameters_are_equal_files(ended, tmp_path):
    found = [
        export_run(ended.run(0), "mercy", tmp_path / f"model-{k}").sha256
        for k in range(8)
    ]
    assert len(set(found)) == 1


def test_the_card_says_the_own_score_only_when_asked(ended, tmp_path):
    export_run(ended.run(0), "mercy", tmp_path / "silent")
    export_run(ended.run(0), "mercy", tmp_path / "open", own_score=True)
    said = (tmp_path / "open" / "README.md").read_text()
    assert "accuracy" not in (tmp_path / "silent" / "README.md").read_text()
    assert "accuracy" in said
    assert "No epsilon covers this number" in said


def test_the_loader_needs_no_dpdl(ended, tmp_path):
    export_run(ended.run(0), "mercy", tmp_path / "model")
    code = (
        "import sys, importlib.abc\n"
        "sys.modules['dpdl'] = None\n"
        "import load_model\n"
        "print(sum(p.numel() for p in load_model.load().parameters()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "model",
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) == ended.models().shape[1]


def test_a_run_that_has_not_ended_is_refused(group, tmp_path):
    sites = group(2, graph="complete")
    sites.start(0, ("outbox:after", 1))
    sites.start(1)
    sites.ended(0)
    with pytest.raises(InputError, match="export it when it has ended"):
        export_run(sites.run(0), "mercy", tmp_path / "model")
