"""`peer.toml` is edited by people: what they leave out has a default, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.peer.site_settings import (
    DataPlace,
    SiteSettings,
    add_place,
    read_settings,
    write_settings,
)

WRITTEN = """# our site
name = "mercy"   # as on the card
listen = "0.0.0.0:8443"
"""


def written(tmp_path: Path, text: str = WRITTEN) -> Path:
    file = tmp_path / "peer.toml"
    file.write_text(text, "utf-8")
    return file


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    place = DataPlace("/data/lungs.npz", "/data/ledger")
    said = SiteSettings(
        "mercy", "[::1]:0", "http://proxy:3128", ("nets",), {"a": place}
    )
    write_settings(tmp_path / "peer.toml", said)
    assert read_settings(tmp_path / "peer.toml") == said
    assert said.address == ("::1", 0)


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path)) == SiteSettings("mercy", "0.0.0.0:8443")
    assert SiteSettings("mercy").address is None


def test_a_new_data_set_leaves_what_people_wrote(tmp_path: Path) -> None:
    file = written(tmp_path)
    add_place(file, "lungs", DataPlace("/data/lungs.npz"))
    add_place(file, "knees-2", DataPlace("/data/knees.npz", "/ledgers/knees"))
    assert file.read_text().startswith(WRITTEN)
    assert read_settings(file).data == {
        "lungs": DataPlace("/data/lungs.npz"),
        "knees-2": DataPlace("/data/knees.npz", "/ledgers/knees"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "peer.toml has no 'name'"),
        ('name = "Mercy"', "name must be 1 to 40 small letters"),
        ('name = "a"\nlisten = "8443"', "listen must be HOST:PORT"),
        ('name = "a"\nlisten = "a:99999"', "listen must be HOST:PORT"),
        ('name = "a"\nproxy = "proxy"', "proxy must be http://HOST:PORT"),
        ('name = "a"\nspeed = 3', "unknown field 'speed'"),
        ('name = "a"\n[data.x]\nfiel = "b"', r"data\.x has no 'file'"),
        ('name = "a"\n[data.X]\nfile = "b"', "name of a data set must be 1 to 40"),
        ('name = "a"\ndata = 3', r"data must be an object"),
        ("name = ", "cannot be read: Invalid value"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_settings(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"peer\.toml' cannot be read: No such file"):
        read_settings(tmp_path / "peer.toml")


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=st.binary(max_size=80))
def test_no_bytes_break_the_reader(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "peer.toml").write_bytes(content)
    with pytest.raises(InputError) as failure:
        read_settings(tmp_path / "peer.toml")
    assert len(str(failure.value)) <= 300
