from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.data.csv_table import csv_arrays
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.loading import load
from dpdl.tasks.data.site_records import of_site
from dpdl.tasks.targets import Classes


def written(tmp_path, text: str) -> str:
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_columns_are_numbers_of_a_record_and_y_is_predicted(tmp_path):
    found = csv_arrays(written(tmp_path, "age,y,glucose\n61,1,5.5\n40, 0 ,4.25\n\n"))
    assert found["x"].tolist() == [[61.0, 5.5], [40.0, 4.25]]
    assert found["x"].dtype == np.float32
    assert found["y"].tolist() == [1, 0]
    assert found["y"].dtype == np.int64


def test_several_columns_are_predicted_together(tmp_path):
    found = csv_arrays(written(tmp_path, "a,y0,y1\n1,0,1\n2,1,1\n"))
    assert found["y"].tolist() == [[0, 1], [1, 1]]
    assert csv_arrays(written(tmp_path, "a,y\n1,0.5\n2,1\n"))["y"].dtype == np.float64


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line of different names"),
        ("a,b\n1,2\n", "line of different names"),
        ("y\n1\n", "line of different names"),
        ("a,a,y\n1,2,3\n", "line of different names"),
        ("a,y\n1\n", "record 1 has 1 values, not 2"),
        ("a,y\n1,2\nsick,0\n", "record 2 has 'sick' in column a"),
        ("a,y\n1,2\n,0\n", "record 2 has '' in column a"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        csv_arrays(written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="does not exist"):
        csv_arrays("nowhere.csv")


def lines(count: int) -> str:
    rows = [f"{k % 17},{k % 5},3,200,{k % 3}" for k in range(count)]
    return "\n".join(["a,b,c,d,y", *rows])


def test_a_table_is_a_data_set(tmp_path):
    data = load(written(tmp_path, lines(50)))
    assert len(data.y) == 40
    assert data.form.shape == (4,)
    assert data.form.targets == Classes(3)


def test_lines_of_a_site_become_the_records_that_the_plan_says(tmp_path):
    path = written(tmp_path, lines(20))
    pictures = of_site(path, Form((1, 2, 2), Classes(3), torch.uint8, (0.5,), (0.5,)))
    assert pictures.x.dtype == torch.uint8
    assert pictures.x.shape[1:] == (1, 2, 2)
    floats = of_site(path, Form((1, 2, 2), Classes(3)))
    assert floats.x.dtype == torch.float32
    with pytest.raises(InputError, match="the plan says"):
        of_site(path, Form((1, 2, 3), Classes(3)))
