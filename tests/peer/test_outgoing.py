from __future__ import annotations

from dpdl.peer.outgoing import outgoing
from dpdl.peer.plan import first_view, public_plan


def test_every_message_to_every_neighbour_is_counted(ended):
    manifest = ended.manifest
    plan = public_plan(manifest, first_view(manifest), ended.run(0).initial())
    found = outgoing(plan, 0)
    assert {one.target for one in found} == {1, 2}
    assert {one.channel for one in found} == {one.channel for one in plan.releases}
    assert all(one.bytes == 4 * plan.task.size * one.messages for one in found)


def test_what_is_foretold_is_what_was_committed(ended):
    from dpdl.peer.store_reader import StoreReader

    manifest = ended.manifest
    plan = public_plan(manifest, first_view(manifest), ended.run(0).initial())
    foretold = sum(one.messages for one in outgoing(plan, 0))
    with StoreReader(ended.run(0).path) as store:
        last = [slot for slot, _ in store.outbox() if slot.round == 4]
    assert len(last) == foretold
