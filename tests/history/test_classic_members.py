"""Members of classic groups are made once for the generations that share them, and are not kept without bound."""

from collections.abc import Callable

import pytest

from offsets_tool.events import Value
from offsets_tool.history import row_builders
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.replay import classic
from offsets_tool.replay.changes import Member
from offsets_tool.replay.classic import members_of, next_generation
from offsets_tool.replay.state import State
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


def test_members_that_all_change_are_those_that_generations_share() -> None:
    """Whoever keeps something about all members of a generation keeps it once, however the assignments alternate."""
    state = State()
    for number, value in enumerate([generation(1, b"1", "a", "b"), generation(2, b"2", "a", "b")] * 2):
        made = next_generation(state, "orders", Value(3, "", value), number)
        assert made is not None and made.written is members_of(value)
        state.change_members("orders", made.gone, made.written)
        assert state.members["orders"] == made.written and state.members["orders"] is not made.written
