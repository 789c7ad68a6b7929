"""The workloads of a benchmark are all combinations, and what cannot be run is refused."""

from __future__ import annotations

import pytest

from dpdl.bench.workloads import SHAPES, refuse_other_model, workloads
from dpdl.errors import InputError
from dpdl.folder.bench_results import Workload


def test_only_models_of_the_paper_are_measured() -> None:
    for name in SHAPES:
        refuse_other_model(name)
    with pytest.raises(InputError, match="mlp"):
        refuse_other_model("mlp")


def test_workloads_are_all_combinations() -> None:
    found = workloads("dpdl,dp-dpsgd", "ring,complete", "3,4", "lenet", 2, 1)
    assert len(found) == 8 and found[1] == Workload("dpdl", "ring", 4, "lenet", 2, 1)
    assert (
        len({case.algorithm for case in workloads("all", "ring", "3", "cnn", 2, 1)}) > 5
    )


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (("dpdll", "ring", "3", "lenet"), "dpdl"),
        (("dpdl", "ring", "ten", "lenet"), "whole numbers"),
        (("dpdl", "ring", "3", "resnet"), "lenet, cnn, not 'resnet'"),
        (("dpdl", "rong", "3", "lenet"), "Did you mean 'ring'"),
        (("dpdl", "ring,bipartite", "4,3", "lenet"), "odd"),
    ],
)
def test_other_workloads_are_refused(given: tuple[str, ...], hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        workloads(*given, 2, 1)
