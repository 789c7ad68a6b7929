from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.peer.run_folder import PeerRun


def test_files_of_a_run_have_places_of_their_own(tmp_path):
    run = PeerRun(tmp_path)
    places = [
        run.manifest_file,
        run.initial_file,
        run.run_key(),
        run.run_key(1),
        run.round_key,
        run.metrics,
        run.pause_file,
        run.status_file,
        run.approval_file("mercy"),
        run.approval_file("olav"),
        run.stop_file(0),
        run.stop_file(1),
    ]
    assert len(set(places)) == len(places)


def test_a_run_without_its_files_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"manifest\.toml"):
        PeerRun(tmp_path).manifest()
    with pytest.raises(InputError, match=r"initial\.safetensors"):
        PeerRun(tmp_path).initial()
