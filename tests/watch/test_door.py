"""Who may ask."""

from __future__ import annotations

import pytest

from dpdl.watch.door import Door, is_loopback, new_token

DOOR = Door("right", frozenset({"lab.example"}))


def test_tokens_are_long_and_new() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    ("tokens", "opens"),
    [
        (["right"], True),
        (["", "right"], True),
        ([], False),
        ([""], False),
        (["Right"], False),
        (["right "], False),
        (["righ"], False),
        (["r\N{LATIN SMALL LETTER I WITH DIAERESIS}ght"], False),
    ],
)
def test_only_the_token_opens(tokens: list[str], opens: bool) -> None:
    assert DOOR.opens(tokens) == opens


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:80",
        "127.0.0.1",
        "localhost:9",
        "LOCALHOST",
        "[::1]:80",
        "lab.example:1",
    ],
)
def test_names_of_this_machine_are_known(host: str) -> None:
    assert DOOR.knows(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "8.8.8.8:80",
        "lab.example@evil.example",
        "127.0.0.1:80:80",
        "[::2]:80",
    ],
)
def test_other_names_are_not(host: str | None) -> None:
    assert not DOOR.knows(host)


def test_behind_a_certificate_any_name_will_do() -> None:
    assert Door("right", any_host=True).knows("lab.example:443")
    assert not Door("right", any_host=True).knows(None)


def test_loopback() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "lab.example", ""]))
