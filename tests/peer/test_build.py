from __future__ import annotations

import pytest

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.peer.build import check_build, this_build


def test_the_same_build_goes_on():
    check_build(this_build(), 7)
    assert __version__ in this_build()
    assert "torch" in this_build()


def test_another_build_is_refused_with_both_named():
    with pytest.raises(InputError, match=r"Round 7 was begun with dpdl 0\.1, torch 1"):
        check_build("dpdl 0.1, torch 1, an old machine", 7)
