from __future__ import annotations

from dpdl.peer.review import review


def test_the_page_says_what_leaves_to_whom_and_what_it_costs(ended):
    found = review(ended.home(1), ended.run(1))
    epsilon = ended.manifest.privacy.epsilon[1]
    assert found.epsilon["eavesdropper"] is not None
    assert abs(found.epsilon["eavesdropper"] / epsilon - 1) < 1e-6
    text = "\n".join(found.lines())
    for part in (
        ended.manifest.hash,
        "to mercy, vita",
        f"epsilon {epsilon:.4g}",
        "an eavesdropper on all links  <- agreed on",
        "Budget of 'digits': epsilon 1e+06",
        "Nothing else leaves",
    ):
        assert part in text, part
    size = 4 * found.parameters
    assert found.bytes_a_round == sum(one.bytes_a_round for one in found.channels)
    assert found.bytes_a_round % (2 * size) == 0, "whole rows, to two neighbours"
    assert max(map(len, found.lines())) < 200


def test_the_page_says_what_has_changed(ended):
    same = review(ended.home(0), ended.run(0), ended.manifest)
    assert same.changed == ()
    assert "Nothing differs" in "\n".join(same.lines())
    assert review(ended.home(0), ended.run(0)).changed is None
