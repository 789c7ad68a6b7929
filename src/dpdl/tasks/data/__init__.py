"""Data sets by name.

`digits` is bundled, `mnist`, `fashion-mnist` and `cifar10` are fetched, others are the user's own.
What needs torch is imported when it is first used: a list of names does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdl.objects import on_demand
from dpdl.tasks.data.cache import cache_dir
from dpdl.tasks.data.named import NAMES, check_name, class_counts, fetch, is_here

if TYPE_CHECKING:
    from dpdl.tasks.data.dataset import Dataset
    from dpdl.tasks.data.loading import form_of, load

__all__ = [
    "NAMES",
    "Dataset",
    "cache_dir",
    "check_name",
    "class_counts",
    "fetch",
    "form_of",
    "is_here",
    "load",
]

__getattr__ = on_demand(
    __name__, {"Dataset": "dataset", "form_of": "loading", "load": "loading"}
)
