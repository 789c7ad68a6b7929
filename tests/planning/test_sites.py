"""The records of every agent in a place of its own: what is read when, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.planning.plan import Plan, plan
from dpdl.planning.sites import form_at_sites
from dpdl.tasks.data import Dataset, form_of, load
from dpdl.tasks.targets import Classes, Labels, Numbers
from tests.sites import SIZES, write_sites, write_test


def planned(sites: list[str], **values: Any) -> Plan:
    shared = {"dataset": "digits", "sigma": 2.0, "batch": 8, "rounds": 3}
    return plan(from_mapping({**shared, "sites": sites, **values}))


def test_sizes_may_differ_and_the_declared_numbers_are_cut(tmp_path: Path) -> None:
    p = planned(write_sites(tmp_path))
    held = [size - size // 5 for size in SIZES]  # without its fifth of test records
    assert p.privacy.records == tuple(held)
    assert len(p.graph) == len(SIZES)
    site = p.site([0, 2])
    assert {a: len(r) for a, r in site.records.items()} == {0: held[0], 2: held[2]}
    assert [len(site.tests[a].y) for a in (0, 2)] == [SIZES[0] // 5, SIZES[2] // 5]


def test_a_site_without_some_class_builds_the_same_model(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    assert np.load(files[0])["y"].max() < 5
    p = planned(files)
    assert p.public.form == form_of("digits") == load("digits").form
    assert [*p.task.shapes.values()][-1] == [10]  # the biases of the last layer


def test_nothing_is_read_before_a_site_is_built(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    declared = ",".join("30" for _ in files)
    there = planned(
        files, records=declared, test=write_test(tmp_path), algorithm="dp-dpsgd"
    )
    for file in files[1:]:
        Path(file).unlink()
    again = planned(
        files, records=declared, test=write_test(tmp_path), algorithm="dp-dpsgd"
    )
    assert again.public.hash == there.public.hash
    assert len(again.site([0]).records[0]) == SIZES[0]
    with pytest.raises(InputError, match=r"site1.npz does not exist"):
        again.site([1])


def test_without_declared_numbers_all_files_are_needed(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    Path(files[3]).unlink()
    with pytest.raises(
        InputError, match="declare how many records each has with records"
    ):
        planned(files)


def test_public_test_records_are_the_same_for_all(tmp_path: Path) -> None:
    p = planned(write_sites(tmp_path), test=write_test(tmp_path))
    site = p.everybody
    assert site.common_test
    assert len({id(one) for one in site.tests.values()}) == 1
    assert len(site.tests[3].y) == 40
    assert len(site.records[3]) == SIZES[3]  # nothing is held out


def test_more_or_fewer_records_than_declared(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    test = write_test(tmp_path)
    few = planned(files, records="46", test=test, algorithm="dp-dpsgd")
    with pytest.raises(InputError, match=r"site1.npz' has fewer records than the 46"):
        few.site([1])
    assert len(few.site([0]).records[0]) == 60
    bounded = planned(files, records="30", test=test, algorithm="dpdl")
    with pytest.raises(InputError, match="at most 33 records where 30 are declared"):
        bounded.site([2])


def test_features_stand_in_for_pixels_at_every_site(tmp_path: Path) -> None:
    p = planned(write_sites(tmp_path), model="scatter-linear")
    assert p.public.form.shape == tuple(p.everybody.records[0].x.shape[1:])
    assert p.public.form.shape != (1, 8, 8)


def test_data_sets_in_memory_are_sites_too(tmp_path: Path) -> None:
    files = write_sites(tmp_path, (40, 50))
    e = from_mapping(
        {
            "dataset": "digits",
            "sigma": 2.0,
            "batch": 8,
            "rounds": 3,
            "graph": "complete",
        }
    )
    held = []
    for number, file in enumerate(files):
        x, y = (torch.from_numpy(np.load(file)[name]) for name in ("x", "y"))
        held.append(Dataset(f"clinic {number}", x[5:], y[5:], x[:5], y[:5], 10))
    p = plan(e, sites=held)
    assert p.experiment.sites == ("clinic 0", "clinic 1")
    assert [len(one) for one in p.everybody.records.values()] == [35, 45]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"algorithm": "pdsl", "validation": 20}, "takes public records out of the data set"),
        ({"dataset": "own.npz"}, "is not known of the data set 'own.npz'; give shape"),
        ({"predict": "3 classes"}, "has 10 classes, not 3 classes"),
        ({"shape": "64"}, "predict must say how many classes there are"),
        ({"shape": "64", "predict": "10 classes"}, r"is \(1, 8, 8\) float32, but the plan says \(64,\)"),
        ({"dataset": "mnist"}, r"is \(1, 8, 8\) float32, but the plan says \(1, 28, 28\) uint8"),
        ({"test": "none.npz"}, "none.npz does not exist"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    values: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        planned(write_sites(tmp_path), **values)


def test_other_labels_than_the_plan_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="labels 0 to 9, allowed are 0 to 6"):
        planned(write_sites(tmp_path), shape="1,8,8", predict="7 classes")


def test_data_and_sites_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="either data, which are divided, or sites"):
        plan(Experiment(sigma=1.0), data=load("digits"), sites=write_sites(tmp_path))


def test_what_needs_a_divided_data_set_says_so(tmp_path: Path) -> None:
    p = planned(write_sites(tmp_path))
    for what in ("data", "parts"):
        with pytest.raises(InputError, match="stay at their sites"):
            getattr(p, what)


def test_the_form_is_what_the_experiment_says() -> None:
    def form(**values: Any) -> Any:
        return form_at_sites(from_mapping({"sites": ["a.npz"], **values}))

    assert form(shape="30", predict="2 numbers").targets == Numbers(2)
    assert form(shape="30", predict="4 labels").targets == Labels(4)
    pixels = form(shape="3,4,4", predict="2 classes", scaling="0.1,0.2,0.3/1,2,3")
    assert pixels.dtype == torch.uint8
    assert (pixels.mean, pixels.std) == ((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    assert form(dataset="cifar10").shape == (3, 32, 32)
    assert form(dataset="cifar10", predict="classes").targets == Classes(10)
