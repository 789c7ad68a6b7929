"""The 8 x 8 digits of scikit-learn: 1,797 images without a download, for short runs and tests."""

from __future__ import annotations

import numpy as np
import torch

from dpdl.keys import generator
from dpdl.tasks.data.dataset import Dataset

TEST_RECORDS = 360


def digits() -> Dataset:
    """1,437 training and 360 test records of shape (1, 8, 8); a pixel p of 0..16 becomes p/8 - 1.

    The split is fixed: the first 360 of the permutation with key `(0, "digits")` are the test
    records.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x = torch.from_numpy((bunch.data / 8 - 1).astype(np.float32).reshape(-1, 1, 8, 8))
    y = torch.from_numpy(bunch.target.astype(np.int64))
    order = generator(0, "digits").permutation(len(x))
    test, train = np.sort(order[:TEST_RECORDS]), np.sort(order[TEST_RECORDS:])
    return Dataset(
        "digits",
        x[train],
        y[train],
        x[test],
        y[test],
        classes=10,
        mean=(0.0,),
        std=(1.0,),
    )
