"""The graph of a run is found by its name, or in its ledger."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpdl
from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_of_run
from dpdl.tasks.data import Dataset
from tests.conftest import small_module
from tests.folder.ledgers import as_format_1
from tests.training.small import SMALL, train


def test_a_named_graph_is_built_again(blobs: Dataset, tmp_path: Path) -> None:
    p = train(blobs, out=tmp_path / "run").plan
    found = graph_of_run(RunFolder(tmp_path / "run"))
    assert found.name == "ring" and np.array_equal(found.W, p.graph.W)
    as_format_1(tmp_path / "run")  # whose ledger has no weights
    assert np.array_equal(graph_of_run(RunFolder(tmp_path / "run")).W, p.graph.W)


def test_a_graph_of_ones_own_is_in_the_ledger(blobs: Dataset, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    own = graphs.star(5)
    dpdl.train(SMALL, data=blobs, model=small_module(), graph=own, out=run.path)
    found = graph_of_run(run)
    assert found.name == "given" and np.array_equal(found.W, own.W)
    as_format_1(run.path)
    with pytest.raises(InputError, match="which its folder does not hold"):
        graph_of_run(run)


def test_a_file_that_has_gone_is_still_named(blobs: Dataset, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    train(blobs, out=run.path)
    facts = run.facts().with_options(graph=str(tmp_path / "gone.csv"))
    run.experiment_path.write_text(json.dumps(facts.to_json()))
    found = graph_of_run(run)
    assert found.name == "gone.csv" and len(found) == 5
