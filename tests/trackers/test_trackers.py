"""Trackers by their names: what they need, and when they send."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpdl.extras import EXTRAS
from dpdl.trackers import TRACKERS, disclosure, require
from dpdl.trackers.base import Destination

SERVERS = [
    ("wandb", {"WANDB_MODE": "online"}, "wandb.ai"),
    (
        "wandb",
        {"WANDB_MODE": "online", "WANDB_BASE_URL": "https://own"},
        "https://own",
    ),
    ("mlflow", {"MLFLOW_TRACKING_URI": "http://u:secret@m:5000/x?k=secret"}, "http://m:5000/x"),
    ("mlflow", {"MLFLOW_TRACKING_URI": "databricks"}, "databricks"),
    ("mlflow", {"MLFLOW_TRACKING_URI": "postgresql://u:secret@db/x"}, "postgresql://db/x"),
    ("trackio", {"TRACKIO_SPACE_ID": "me/runs"}, "me/runs"),
    ("trackio", {"TRACKIO_SERVER_URL": "https://t/?write_token=secret"}, "https://t/"),
]  # fmt: skip
HERE = [
    ("wandb", {}),
    ("wandb", {"WANDB_MODE": ""}),
    ("wandb", {"WANDB_MODE": "disabled"}),
    ("wandb", {"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": "https://own"}),
    ("mlflow", {}),
    ("mlflow", {"MLFLOW_TRACKING_URI": ""}),
    ("trackio", {}),
    ("trackio", {"HF_TOKEN": "hf_0"}),
]
FOLDERS = [
    ("wandb", {"WANDB_DIR": "/data"}, "/data"),
    ("mlflow", {"MLFLOW_TRACKING_URI": "sqlite:////data/m.db"}, "sqlite:////data/m.db"),
    ("trackio", {"TRACKIO_DIR": "/data"}, "/data"),
]


@pytest.mark.parametrize(("name", "said", "where"), SERVERS)
def test_metrics_leave_where_a_trackers_own_variables_say_so(
    name: str, said: dict[str, str], where: str
) -> None:
    found = TRACKERS[name].destination(said)
    assert found == Destination(where, sends=True)
    assert "secret" not in disclosure(name, found)
    assert "no epsilon covers them" in disclosure(name, found)


@pytest.mark.parametrize(("name", "said"), HERE)
def test_nothing_else_makes_them_leave(name: str, said: dict[str, str]) -> None:
    assert TRACKERS[name].destination(said) == Destination()


@pytest.mark.parametrize(("name", "said", "where"), FOLDERS)
def test_another_folder_may_be_named(
    name: str, said: dict[str, str], where: str
) -> None:
    assert TRACKERS[name].destination(said) == Destination(where)


@pytest.mark.parametrize("name", TRACKERS)
def test_what_a_tracker_needs_comes_with_the_extra_of_its_name(name: str) -> None:
    libraries = TRACKERS[name].libraries({})
    assert [EXTRAS[library] for library in libraries] == [name] * len(libraries)


def test_a_server_of_mlflow_needs_no_database_here() -> None:
    said = {"MLFLOW_TRACKING_URI": "http://m"}
    assert TRACKERS["mlflow"].libraries(said) == ("mlflow",)


def test_what_is_installed_is_not_refused() -> None:
    require("wandb", {})
    require("mlflow", {})


POOR = """
import sys
sys.path = [one for one in sys.path if "site-packages" not in one]
from dpdl.errors import InputError
from dpdl.trackers import TRACKERS, require
for name in TRACKERS:
    try:
        require(name, {})
    except InputError as failure:
        print(failure)
"""


def test_what_is_missing_is_named_with_the_remedy(tmp_path) -> None:
    """Also where a folder of that name lies about, as trackers leave them."""
    for name in TRACKERS:
        (tmp_path / name).mkdir()
    words = [sys.executable, "-c", POOR]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        f"--track {name} cannot be used: {package} is not installed; "
        f"get it with: pip install 'dpdl[{name}]'."
        for name, package in [
            ("wandb", "wandb"),
            ("mlflow", "mlflow-skinny"),
            ("trackio", "trackio"),
        ]
    ]
