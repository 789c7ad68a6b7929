from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.peer.manifest import Rules
from dpdl.peer.proposing import write_proposal

EXPERIMENT = """
algorithm = "dpdl-sound"
graph = "complete"
model = "mlp"
rounds = 3
batch = 8
sigma = 5.0
"""


def test_a_proposal_is_two_files_with_secure_noise(ended, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT)
    names = ["olav", "mercy"]
    found = write_proposal(
        ended.home(0), file, names, None, Rules(), None, tmp_path / "out"
    )
    assert found.names == ("olav", "mercy")
    assert found.experiment["randomness"] == "secure"
    assert (tmp_path / "out" / "manifest.toml").read_bytes() == found.content
    assert (tmp_path / "out" / "initial.safetensors").exists()


def test_a_member_that_is_not_admitted_is_named(ended, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT)
    with pytest.raises(InputError, match="rosa"):
        write_proposal(
            ended.home(0),
            file,
            ["mercy", "rosa"],
            None,
            Rules(),
            None,
            tmp_path / "out",
        )
    assert not (tmp_path / "out").exists()
