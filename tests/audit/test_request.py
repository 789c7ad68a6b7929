"""A request becomes a setting; what does not fit together is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl import audit
from dpdl.audit.request import AuditRequest
from dpdl.errors import InputError

OPTIONS = {"algorithm": "gradient-tracking", "graph": "ring", "agents": 3, "rounds": 2}
REQUEST = AuditRequest(OPTIONS, default_records=60, most_canaries=40, rate=1.0)


def test_the_rate_sets_the_batch() -> None:
    setting, sigma = replace(REQUEST, rate=0.25).setting()
    assert (setting.experiment.batch, setting.records) == (15, [60] * 3)
    assert sigma is None, "there is no run"
    least = replace(REQUEST, rate=0.001).setting()[0]
    assert least.experiment.batch == 1
    more = replace(REQUEST, records=200, rate=0.25).setting()[0]
    assert (more.experiment.batch, more.records) == (50, [200] * 3)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"confidence": 1.0}, "confidence must be strictly between 0 and 1, not 1.0"),
        ({"confidence": 0.0}, "confidence"),
        ({"crowd": "along"}, "crowd is for trials"),
        ({"rule": "teorem1"}, "Did you mean 'theorem1'"),
        ({"rate": 0.0}, "rate must be above 0 and at most 1, not 0.0"),
        ({"rate": 1.5}, "rate must be above 0"),
        ({"options": {**OPTIONS, "batch": 5}}, "batch and rate exclude each other"),
    ],
)
def test_what_cannot_be_audited_is_refused(change: dict, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        replace(REQUEST, **change).setting()


def test_what_the_package_offers_on_demand_is_there() -> None:
    for name in audit.__all__:
        assert getattr(audit, name) is not None
