from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.peer.frame import Slot
from dpdl.peer.wire import (
    GET,
    SHORT,
    AnswerPath,
    Call,
    CallsPath,
    DocumentPath,
    FramePath,
    NetworkSettings,
    answer_path,
    calls_path,
    document_path,
    frame_path,
    hello_path,
    means,
    parsed_path,
)

RUN = "ab" * 32
NUMBERS = st.integers(0, 10**17)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_the_address_of_a_frame_is_read_as_it_was_written(view, round, step):
    slot = Slot(view, round, step)
    assert parsed_path(frame_path(RUN, slot)) == FramePath(RUN[:SHORT], slot)


def test_a_run_is_meant_by_its_first_digits_but_not_by_fewer():
    assert means(RUN, RUN)
    assert means(RUN[:SHORT], RUN)
    assert not means(RUN[: SHORT - 1], RUN)
    assert not means(RUN[: SHORT - 1] + "c", RUN)
    assert not means(RUN + "a", RUN)


@given(st.sets(NUMBERS, max_size=8), NUMBERS, st.integers(100, 599))
def test_the_addresses_of_calls_and_answers_are_read_as_written(known, number, status):
    assert parsed_path(calls_path(RUN, known)) == CallsPath(RUN, frozenset(known))
    found = parsed_path(answer_path(RUN, number, status))
    assert found == AnswerPath(RUN, number, status)


def test_the_addresses_of_documents_are_read_as_written():
    assert parsed_path(hello_path(RUN)) == DocumentPath(RUN, "hello")
    found = parsed_path(document_path(RUN, "approval", "st-olav"))
    assert found == DocumentPath(RUN, "approval", "st-olav")


@given(st.text(max_size=80) | st.from_regex(r"/v1/.{0,70}"))
def test_any_text_is_an_address_in_one_spelling_or_none(text):
    found = parsed_path(text)
    if isinstance(found, FramePath):
        again = frame_path(*found)
        assert again == text.replace(found.run, found.run[:SHORT], 1)
    if isinstance(found, DocumentPath):
        assert text in (hello_path(found.run), document_path(*found))
    if isinstance(found, AnswerPath):
        assert answer_path(*found) == text


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/{RUN}/0/01-0",
        f"/v1/{RUN}/0/1-",
        f"/v1/{RUN}/0/1-0/",
        f"/v1/{RUN}/0/1-0\n",
        f"/v1/{RUN}/0/{'9' * 19}-0",
        f"/v1/{RUN}/0/١-0",
        f"/v1/{RUN}/key/mercy",
        f"/v1/{RUN}/card/Mercy",
        f"/v1/{RUN}/card/../mercy",
        f"/v1/{'a' * 65}/hello",
        f"/v1/{RUN}/calls/{','.join('1' * 33)}",
        f"/v1/{RUN}/answers/1/99",
        f"/v2/{RUN}/hello",
    ],
)
def test_what_is_no_address(path):
    assert parsed_path(path) is None


def test_have_is_said_where_it_is_known():
    assert Call(GET, "/x").target == "/x"
    assert Call(GET, "/x", have=0).target == "/x?have=0"


def test_a_large_body_is_allowed_more_time():
    settings = NetworkSettings()
    assert settings.allowance(0) == 35
    assert settings.allowance(5_000_000) == 135
