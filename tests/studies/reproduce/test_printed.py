"""What `dpdl reproduce` prints comes back from JSON, with the keys that programs rely on."""

from __future__ import annotations

import json

import pytest

from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Record
from dpdl.studies.reproduce.claims import Claim, Claims
from dpdl.studies.reproduce.printed import (
    BestProven,
    Count,
    ForecastRun,
    PrintedCells,
    PrintedForecast,
    PrintedStatus,
)
from tests.pages.cells import CELL, RANKING, ROW

BEST = BestProven(*CELL, ours=90.5, claimed=91.8, reached=False)
CLAIM = Claim(
    *CELL,
    claimed=91.8,
    average_model=92.0,
    agents_mean=91.9,
    agents_worst=91.8,
    seeds=(0,),
    spread=None,
    proven={"eavesdropper": Epsilon(0.5)},
    reached=True,
    reached_by_every_agent=True,
)
CLAIMS = Claims(108, 1, 1, 1, (CLAIM,))
STATUS = PrintedStatus(
    {"sound": 1}, 540, Count(12, 216), (ROW,), (RANKING,), (BEST,), CLAIMS
)
CELLS = PrintedCells((ROW,), (RANKING,), (BEST,))
FIGURE = PrintedCells((ROW,), (), (), {"sound": None, "algorithm1": "x.png"}, 0)
FORECAST = PrintedForecast((ForecastRun("run", 30),), 0.5, 2)


@pytest.mark.parametrize("record", [STATUS, CELLS, FIGURE, FORECAST])
def test_records_come_back(record: Record) -> None:
    assert type(record).from_json(json.loads(json.dumps(record.to_json()))) == record


def test_the_status_has_the_promised_keys() -> None:
    found = STATUS.to_json()
    keys = ["measured", "of", "attacks", "cells", "rankings", "proven", "claims"]
    assert list(found) == keys
    assert found["claims"]["reached_by_every_agent"] == 1
    assert found["attacks"] == {"measured": 12, "of": 216}
    assert list(found["proven"][0]) == [*CELL._fields, "ours", "claimed", "reached"]


def test_only_figures_have_pictures() -> None:
    assert list(CELLS.to_json()) == ["cells", "rankings", "proven"]
    assert FIGURE.to_json()["figures"] == {"sound": None, "algorithm1": "x.png"}
    assert FIGURE.to_json()["other_recipe"] == 0


def test_a_forecast_is_a_list_of_runs() -> None:
    assert FORECAST.to_json() == {
        "runs": [{"name": "run", "seconds": 30}],
        "minutes": 0.5,
        "jobs": 2,
    }
