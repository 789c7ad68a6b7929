"""Names of options and algorithms stay on one line; all else is escaped and left alone."""

from __future__ import annotations

import pytest

from dpdl.pages.unbroken import unbroken


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "by dpdl report --public.",
            'by dpdl report <span class="name">--public</span>.',
        ),
        ("(--clip-unit none)", '(<span class="name">--clip-unit</span> none)'),
        ("dpdl-sound does not", '<span class="name">dpdl-sound</span> does not'),
        ("dp-dpsgd, not", '<span class="name">dp-dpsgd</span>, not'),
    ],
)
def test_a_name_is_marked(text: str, html: str) -> None:
    assert unbroken(text) == html


@pytest.mark.parametrize(
    "text", ["dpdl-soundly", "a non-IID split", "one -- two", "my-dp-cga-run", "dpdl"]
)
def test_other_words_are_left_alone(text: str) -> None:
    assert unbroken(text) == text


def test_text_is_escaped() -> None:
    assert unbroken("<b> & --out") == '&lt;b&gt; &amp; <span class="name">--out</span>'
