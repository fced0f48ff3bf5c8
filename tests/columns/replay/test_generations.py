"""Records of classic groups, replayed at once, make the histories that their changes make one by one.

Groups of few members, static or not, rebalance, come and go within the same milliseconds and batches as commits and tombstones.
"""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.replay.generations.generations_replay import GenerationsReplay
from offsets_tool.columns.replay.history import Start, replay_batches
from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.history.history import History
from offsets_tool.history.transactions import TransactionLog
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests.cases import commit
from tests.columns.replay.test_history import (
    COMMIT_KEY_TYPE,
    OWN_BATCH,
    expected,
    in_turns,
    parts,
    rows_of,
    sorted_rows,
)
from tests.replay.hostile_sequences import written
from tests.test_checkpoint import RULES

GROUPS = ("orders", "refunds")
MEMBERS = ("a", "b", "c")
INSTANCES = (None, None, "first", "second")
SHARES = (b"", b"\x00\x01 of another protocol")


class Drawn(NamedTuple):
    """One record: when it comes after the one before it, in which batch, and what it says."""

    later: int
    is_same_batch: bool
    key: Key
    value: Value | None


def _members() -> st.SearchStrategy[tuple[MemberMetadata, ...]]:
    member = st.builds(
        MemberMetadata,
        member_id=st.sampled_from(MEMBERS),
        group_instance_id=st.sampled_from(INSTANCES),
        client_id=st.just("client"),
        client_host=st.just("/10.0.0.1"),
        rebalance_timeout=st.just(300_000),
        session_timeout=st.just(45_000),
        subscription=st.just(b""),
        assignment=st.sampled_from(SHARES),
    )
    return st.lists(member, max_size=3, unique_by=lambda each: each.member_id).map(tuple)


def _generations() -> st.SearchStrategy[Value]:
    data = st.builds(
        GroupMetadataValue,
        protocol_type=st.sampled_from(("consumer", "consumer", "connect")),
        generation=st.integers(1, 4),
        protocol=st.just("range"),
        leader=st.just("a"),
        current_state_timestamp=st.just(5),
        members=_members(),
    )
    return data.map(lambda each: Value(3, "", each))


def _records() -> st.SearchStrategy[Drawn]:
    def drawn(
        key: st.SearchStrategy[Key], value: st.SearchStrategy[Value | None]
    ) -> st.SearchStrategy[Drawn]:
        return st.builds(
            Drawn, st.sampled_from((0, 0, 1, 5)), st.sampled_from((False,) * 4 + (True,)), key, value
        )

    names = st.sampled_from(GROUPS)
    group_keys = names.map(lambda name: Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group=name)))
    offset_keys = st.builds(
        lambda name, partition: Key(
            RECORD_TYPES[COMMIT_KEY_TYPE], OffsetCommitKey(group=name, topic="t", partition=partition)
        ),
        names,
        st.integers(0, 1),
    )
    return st.one_of(
        drawn(group_keys, _generations()),
        drawn(group_keys, _generations()),
        drawn(group_keys, st.one_of(st.none(), _generations())),
        drawn(offset_keys, st.integers(0, 9).map(lambda number: Value(3, "", commit(number)))),
        drawn(offset_keys, st.none()),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[LogRecord]:
    records: list[LogRecord] = []
    base = timestamp = 0
    for at, each in enumerate(draw(st.lists(_records(), max_size=40))):
        timestamp += each.later
        base = base if each.is_same_batch else at
        value = None if each.value is None else encode_value(each.value)
        records.append(written(OWN_BATCH, base, at, timestamp, encode_key(each.key), value, is_control=False))
    return records


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 40), max_size=3))
def test_generations_at_once_and_change_by_change(
    log: list[LogRecord], rules: Rules | None, cuts: list[int]
) -> None:
    if not log:
        return
    wanted, rows = expected(log, rules, 0), rows_of(log)
    assert sorted_rows(list(replay_batches(Start(0, {}, rules), [rows]))) == wanted
    assert sorted_rows(in_turns(parts(rows, cuts), rules, 0)) == wanted


def test_what_goes_at_once() -> None:
    """All but the first generation, which makes the group, the last row, whose write may go on, and two of one moment."""
    key = encode_key(Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group="orders")))
    times = (1, 2, 3, 4, 5, 5, 6, 7)
    values = [
        Value(
            3,
            "",
            GroupMetadataValue(
                protocol_type="consumer",
                generation=number,
                protocol="range",
                leader="a",
                current_state_timestamp=5,
                members=(),
            ),
        )
        for number in range(len(times))
    ]
    log = [
        written(OWN_BATCH, at, at, when, key, encode_value(value), is_control=False)
        for at, (when, value) in enumerate(zip(times, values, strict=True))
    ]
    replay = GenerationsReplay(Coordinator(0), History(), RemovalLog(0), TransactionLog())
    alone = []
    for event, changes in replay.replay(rows_of(log)):
        replay.observe(event, changes)
        alone.append(event.record.log_offset)
    assert [event.record.log_offset for event in replay.events] == [1, 2, 3, 6]
    assert alone == [0, 4, 5, 7]
