from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.peer.manifest import Manifest, Rules, Terms
from dpdl.peer.plan import first_view
from dpdl.peer.signed import DOMAIN, split
from dpdl.peer.views import (
    BOUNDARY,
    StopStatement,
    agreements_in,
    current_view,
    joined,
    named,
    next_view,
    parted,
    refusal,
)
from tests.peer.agreements import agreed, agreement, member, options, signing, weights

NAMES = ("mercy", "st-olav", "vita", "anna", "luke")


def manifest_of(**rules: object) -> Manifest:
    made = graphs.build("ring", len(NAMES), "metropolis", 0)
    content = agreed(
        experiment=options(sites=NAMES, graph="ring"),
        members=[member(name) for name in NAMES],
        weights=weights(made),
        privacy=Terms(2.5, 1e-5, "eavesdropper", "add-remove", (1.5,) * len(NAMES)),
        rules=Rules(**rules),
    )
    return Manifest.parse(content)


MANIFEST = manifest_of()
FIRST = first_view(MANIFEST)


def said(name: str, *drop: str, begun: int = 7, attempt: int = 1) -> StopStatement:
    return StopStatement(
        run=MANIFEST.hash,
        view=0,
        name=name,
        drop=drop,
        begun=begun,
        agreement=agreement(name).public,
        attempt=attempt,
    )


def all_say(*drop: str, begun: int = 7) -> list[StopStatement]:
    return [said(name, *drop, begun=begun) for name in NAMES if name not in drop]


def test_a_view_follows_when_all_who_remain_have_said_the_same():
    statements = all_say("vita")
    for k in range(len(statements)):
        assert next_view(MANIFEST, FIRST, statements[:k]) is None
    view = next_view(MANIFEST, FIRST, statements)
    assert view is not None
    assert view.names == ("mercy", "st-olav", "anna", "luke")
    assert view.number == 1


def test_it_begins_after_the_last_round_that_anybody_has_begun():
    statements = [*all_say("vita", begun=7)[:-1], said("luke", "vita", begun=9)]
    view = next_view(MANIFEST, FIRST, statements)
    assert view is not None
    assert view.start == 10


def test_statements_that_differ_make_no_view():
    mixed = [*all_say("vita")[:-1], said("luke", "anna")]
    assert next_view(MANIFEST, FIRST, mixed) is None
    other = [*all_say("vita")[:-1], said("luke", "vita", attempt=2)]
    assert next_view(MANIFEST, FIRST, other) is None


def test_half_of_the_members_cannot_go_on():
    gone = ("vita", "anna", "luke")
    assert next_view(MANIFEST, FIRST, all_say(*gone)) is None
    assert "more than half" in (refusal(MANIFEST, FIRST, gone) or "")
    assert refusal(MANIFEST, FIRST, ("vita", "anna")) is None


def test_members_cannot_drop_each_other():
    one = [said(name, "luke") for name in NAMES if name != "luke"]
    view = next_view(MANIFEST, FIRST, [*one[:-1], said("luke", "anna")])
    assert view is None


def test_the_manifest_says_how_many_must_remain():
    strict = manifest_of(least_members=5)
    assert "at least 5" in (refusal(strict, first_view(strict), ("vita",)) or "")
    assert "not in view" in (refusal(MANIFEST, FIRST, ("nobody",)) or "")


@pytest.mark.parametrize("rule", ["rebuild", "lost-weight"])
def test_the_new_matrix_is_symmetric_and_doubly_stochastic(rule):
    manifest = manifest_of(graph=rule)
    view = first_view(manifest)
    statements = [
        replace(said(name, "vita", begun=1), run=manifest.hash)
        for name in NAMES
        if name != "vita"
    ]
    following = next_view(manifest, view, statements)
    assert following is not None
    W = following.graph.W
    assert np.allclose(W.sum(axis=0), 1) and np.allclose(W, W.T)
    ring = following.graph.edge_count == 4
    assert ring == (rule == "rebuild")


def test_a_graph_that_falls_apart_is_refused():
    manifest = Manifest.parse(
        agreed(
            experiment=options(sites=NAMES, graph="path"),
            members=[member(name) for name in NAMES],
            weights=weights(graphs.build("path", 5, "metropolis", 0)),
            privacy=Terms(2.5, 1e-5, "eavesdropper", "add-remove", (1.5,) * 5),
            rules=Rules(graph="lost-weight"),
        )
    )
    why = refusal(manifest, first_view(manifest), ("vita",))
    assert why is not None
    assert "connect" in why


def test_nobody_is_dropped_and_the_round_begins_anew():
    view = next_view(MANIFEST, FIRST, all_say())
    assert view is not None
    assert view.names == NAMES
    assert view.start == 8
    assert (view.graph.W == FIRST.graph.W).all()


def texts(statements: list[StopStatement]) -> list[bytes]:
    return [one.text(signing(one.name)) for one in statements]


def test_views_are_computed_again_from_signed_statements():
    first = all_say("vita")
    second = [
        replace(said(name, "luke", begun=12), view=1)
        for name in ("mercy", "st-olav", "anna")
    ]
    over = {"0": joined(texts(first)), "1": joined(texts(second))}
    assert parted(over["0"], MANIFEST) == first
    view = current_view(MANIFEST, FIRST, over)
    assert (view.number, view.start) == (2, 13)
    assert view.names == ("mercy", "st-olav", "anna")
    assert current_view(MANIFEST, FIRST, {}) is FIRST
    keys = agreements_in(over["1"], MANIFEST)
    assert keys == {one.name: one.agreement for one in second}


def test_a_statement_has_a_key_that_is_one():
    with pytest.raises(InputError, match="small order"):
        replace(said("mercy"), agreement="00" * 32)


def test_statements_that_were_changed_are_refused():
    content = joined(texts(all_say("vita")))
    with pytest.raises(InputError):
        current_view(
            MANIFEST, FIRST, {"0": content.replace(b"begun = 7", b"begun = 8")}
        )
    with pytest.raises(InputError, match="do not make a view"):
        current_view(MANIFEST, FIRST, {"0": joined(texts(all_say("vita")[:-1]))})
    with pytest.raises(InputError):
        parted(b"nothing", MANIFEST)


def test_a_statement_with_a_comment_is_refused_lest_it_be_parted_into_two():
    body, _ = split(said("mercy", "vita").text(signing("mercy")), "statement")
    commented = body.rstrip(b"\n") + BOUNDARY
    signature = signing("mercy").sign(DOMAIN + commented).hex()
    content = commented + f'signature = "{signature}"\n'.encode()
    with pytest.raises(InputError, match="not written as this version writes"):
        StopStatement.parse(content, MANIFEST, "mercy")


def test_a_statement_of_another_run_or_member_is_refused():
    text = said("mercy", "vita").text(signing("mercy"))
    assert StopStatement.parse(text, MANIFEST, "mercy").drop == ("vita",)
    with pytest.raises(InputError):
        StopStatement.parse(text, MANIFEST, "anna")
    with pytest.raises(InputError):
        StopStatement.parse(text, manifest_of(least_members=3), "mercy")


def test_documents_are_named_by_view_and_member():
    assert said("st-olav").document == "0-st-olav"
    assert named("12-st-olav") == (12, "st-olav")
    for wrong in ("mercy", "-mercy", "1-"):
        with pytest.raises(InputError):
            named(wrong)
