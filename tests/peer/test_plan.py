from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dpdl.errors import InputError
from dpdl.peer.manifest import Manifest
from dpdl.peer.plan import declared, first_view, own_site, own_step, public_plan
from dpdl.privacy.sealed import Sealed


def test_the_plan_is_that_of_the_manifest(ended):
    manifest, view = ended.manifest, first_view(ended.manifest)
    plan = public_plan(manifest, view, ended.run(0).initial())
    assert plan.privacy.sigma == manifest.privacy.sigma
    assert list(plan.privacy.records) == declared(manifest, view)
    assert (plan.graph.W == manifest.graph.W).all()
    assert own_step(plan, manifest, 1).records == manifest.members[1].records


def test_all_start_from_the_model_of_the_file(ended):
    from safetensors.torch import load

    manifest, content = ended.manifest, ended.run(0).initial()
    plan = public_plan(manifest, first_view(manifest), content)
    stored = load(content)
    row = torch.cat([stored[name].flatten() for name in plan.task.shapes])
    assert torch.equal(plan.task.initial, row)


def test_another_initial_model_is_refused(ended):
    manifest, content = ended.manifest, ended.run(0).initial()
    with pytest.raises(InputError, match="its SHA-256 differs"):
        public_plan(manifest, first_view(manifest), content[:-1] + b"x")


def test_shapes_that_are_not_those_of_the_model_are_refused(ended):
    """`review` and `check` count the bytes of a round and the room on the disk by them."""
    said = ended.manifest.content
    small = said.replace(b"1.weight = [64, 64]", b"1.weight = [64, 32]")
    small = small.replace(b'"1.weight" = [64, 64]', b'"1.weight" = [64, 32]')
    assert small != said
    manifest = Manifest.parse(small)
    with pytest.raises(InputError, match=r"model\.shapes are not those"):
        public_plan(manifest, first_view(manifest), ended.run(0).initial())


def test_a_site_opens_its_own_file_and_no_other(ended):
    manifest, view = ended.manifest, first_view(ended.manifest)
    plan = public_plan(manifest, view, ended.run(0).initial())
    file = ended.home(1).data_file("digits")
    site = own_site(manifest, view, plan, "olav", str(file), Sealed())
    assert list(site.records) == [1]
    with pytest.raises(InputError, match="does not exist"):
        own_site(manifest, view, plan, "olav", "nowhere.npz", Sealed())


def test_fewer_records_than_declared_are_refused(ended, tmp_path):
    import numpy as np

    manifest, view = ended.manifest, first_view(ended.manifest)
    plan = public_plan(manifest, view, ended.run(0).initial())
    with np.load(ended.home(0).data_file("digits")) as found:
        np.savez(tmp_path / "few.npz", x=found["x"][:20], y=found["y"][:20])
    with pytest.raises(InputError, match="fewer records than the"):
        own_site(manifest, view, plan, "mercy", str(tmp_path / "few.npz"), Sealed())


def test_noise_of_links_without_a_proof_is_refused(ended):
    manifest = ended.manifest
    said = {
        k: v for k, v in manifest.experiment.items() if k not in ("alpha", "cosine")
    }
    said |= {"algorithm": "decor", "correlation": 3.0}

    def planned(**options):
        parts = replace(manifest.parts, experiment={**said, **options})
        other = replace(manifest, parts=parts)
        return public_plan(other, first_view(other), ended.run(0).initial())

    p = planned()
    assert p.algorithm.link_noise(p.graph).factor == 3
    with pytest.raises(InputError, match="weight_decay must be 0"):
        planned(weight_decay=0.1)
