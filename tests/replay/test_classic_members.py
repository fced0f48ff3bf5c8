"""Members of classic groups are made once for the generations that share them, and are not kept without bound."""

from collections.abc import Callable

import pytest

from offsets_tool.history import row_builders
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.replay import classic
from offsets_tool.replay.changes import Member
from offsets_tool.replay.classic import members_of
from offsets_tool.wire.kept import Kept


def generation(number: int, assignment: bytes, *names: str) -> GroupMetadataValue:
    members = tuple(
        MemberMetadata(
            member_id=name,
            group_instance_id=None,
            client_id="client",
            client_host="/10.0.0.1",
            rebalance_timeout=300_000,
            session_timeout=45_000,
            subscription=b"",
            assignment=assignment,
        )
        for name in names
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=number,
        protocol="range",
        leader=None,
        current_state_timestamp=5,
        members=members,
    )


def columns(value: GroupMetadataValue) -> object:
    return row_builders.member_columns(Member(value.members[0]), "consumer", str, is_task=False)


@pytest.mark.parametrize("made", [members_of, columns])
def test_members_that_say_nothing_are_forgotten_too(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[GroupMetadataValue], object]
) -> None:
    monkeypatch.setattr(classic, "_MEMBERS", Kept(2_000))
    monkeypatch.setattr(row_builders, "_CLASSIC", Kept(2_000))
    first, *others = (generation(number, b"", str(number)) for number in range(100))
    found = made(first)
    assert made(first) is found
    for each in others:
        made(each)
    assert made(first) is not found
