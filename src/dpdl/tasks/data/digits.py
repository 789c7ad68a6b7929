"""The bundled 8 x 8 digits: 1,797 images without a download, for short runs and tests.

They are the test records of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak,
UCI Machine Learning Repository, 1998; licence CC BY 4.0), the same that scikit-learn brings. Here
they are 45 kB in `digits.npz`: pixels 0..16 as bytes, in the order that scikit-learn has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from dpdl.keys import generator
from dpdl.tasks.data.dataset import Dataset

FILE = Path(__file__).with_name("digits.npz")
TEST_RECORDS = 360


def digits() -> Dataset:
    """1,437 training and 360 test records of shape (1, 8, 8); a pixel p of 0..16 becomes p/8 - 1.

    The split is fixed: the first 360 of the permutation with key `(0, "digits")` are the test
    records.
    """
    with FILE.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
        pixels, labels = found["x"], found["y"]
    x = torch.from_numpy((pixels / 8 - 1).astype(np.float32).reshape(-1, 1, 8, 8))
    y = torch.from_numpy(labels.astype(np.int64))
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
