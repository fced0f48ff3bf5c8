"""Values of groups, replayed at once, make the histories that their changes make one by one.

Groups of few members, static or not, rebalance, come and go, and become groups of another kind, within the same milliseconds and
batches as commits and tombstones.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from offsets_tool.records.kinds import GROUP_METADATA, Family, Role
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.relations import dictionaries
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.replays import Start
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from offsets_tool.wire.schema import FieldSpec, Primitive, schema_of
from tests.cases import commit
from tests.depth import DEEP
from tests.relations.test_histories import (
    COMMIT_KEY_TYPE,
    OWN_BATCH,
    expected,
    in_turns,
    log_facts_in_turns,
    log_facts_of,
    parts,
    rows_of,
    sorted_rows,
)
from tests.replay.hostile_sequences import Writing, written
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


TOPICS = (UUID(int=1), UUID(int=2))
FAMILIES = (Family.CONSUMER, Family.CONSUMER, Family.CONSUMER, Family.SHARE, Family.STREAMS)
OF_EPOCHS = {(each.family, each.role): each for each in RECORD_TYPES.values() if each.family in FAMILIES}
ROLES = (Role.MEMBER, Role.TARGET, Role.CURRENT, Role.CURRENT, Role.GROUP, Role.TARGET_METADATA)
SELDOM = (Role.TOPICS, Role.EXPRESSION, Role.TOPOLOGY, Role.SHARE_PARTITIONS)


def _shares(random: Random, part: type, of: str) -> tuple[Any, ...]:
    """Return partitions of up to two topics, or tasks of up to two subtopologies."""
    return tuple(
        part(
            **{of: random.choice(TOPICS if of == "topic_id" else ("0", "1"))},
            partitions=(random.randrange(3),),
        )
        for _ in range(random.randrange(3))
    )


def _filled(random: Random, declaration: type) -> Any:
    """Return a message: small numbers, few texts, and assignments of few partitions."""
    return declaration(**{spec.name: _field(random, spec) for spec in schema_of(declaration).fields})


def _field(random: Random, spec: FieldSpec) -> Any:
    shape = spec.shape
    if shape.element is not None:
        part = shape.element.part
        names = {each.name for each in schema_of(part).fields} if part else set[str]()
        of = next((name for name in ("topic_id", "subtopology_id") if name in names), None)
        return (
            _shares(random, part, of)
            if part and of and {"partitions"} == names & {"partitions", "topic_name"}
            else ()
        )
    if shape.part is not None:
        return None if shape.is_nullable else _filled(random, shape.part)
    if spec.name == "instance_id":
        return random.choice(INSTANCES)
    if shape.primitive is Primitive.STRING:
        return None if shape.is_nullable else "said"
    kinds: dict[Primitive | None, Any] = {Primitive.BYTES: b"", Primitive.UUID: TOPICS[0]}
    return kinds.get(shape.primitive, random.choice((0, 1, 1, 2)))


def of_epochs(random: Random, family: Family) -> tuple[Key, Value | None]:
    """Return a record of a group that has epochs: one in eight is a tombstone."""
    there = [role for role in (*ROLES, *ROLES, *SELDOM) if (family, role) in OF_EPOCHS]
    type_ = OF_EPOCHS[family, random.choice(there)]
    names = {"group_id": GROUPS, "member_id": MEMBERS, "regular_expression": ("a.*", "b.*")}
    key = {spec.name: random.choice(names[spec.name]) for spec in schema_of(type_.key).fields}
    value = Value(0, "", _filled(random, random.choice(type_.layouts).value))
    return Key(type_, type_.key(**key)), value if random.randrange(8) else None


def generation(random: Random, number: int) -> Value:
    members = tuple(
        MemberMetadata(
            member_id=member_id,
            group_instance_id=random.choice(INSTANCES),
            client_id="client",
            client_host="/10.0.0.1",
            rebalance_timeout=300_000,
            session_timeout=45_000,
            subscription=b"",
            assignment=random.choice(SHARES),
        )
        for member_id in random.sample(MEMBERS, random.randrange(3))
    )
    data = GroupMetadataValue(
        protocol_type="consumer",
        generation=number,
        protocol="range",
        leader="a",
        current_state_timestamp=5,
        members=members,
    )
    return Value(3, "", data)


def _log_of_epochs(random: Random, many: int) -> list[LogRecord]:
    """Return a log in which groups change their kind now and then, and mostly do not."""
    records: list[LogRecord] = []
    base = timestamp = 0
    family = Family.CONSUMER
    for at in range(many):
        if not random.randrange(25):
            family = random.choice((*FAMILIES, Family.CLASSIC))
        timestamp += random.choice((0, 1, 1, 1, 5)) if random.randrange(100) else -1
        base = base if not random.randrange(4) else at
        group, partition = random.choice(GROUPS), random.randrange(2)
        if not random.randrange(4):
            type_ = RECORD_TYPES[COMMIT_KEY_TYPE]
            key = Key(type_, OffsetCommitKey(group=group, topic="t", partition=partition))
            value = Value(3, "", commit(at)) if random.randrange(6) else None
        elif family is Family.CLASSIC:
            key = Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group=group))
            value = generation(random, at) if random.randrange(8) else None
        else:
            key, value = of_epochs(random, family)
        raw = None if value is None else encode_value(value)
        records.append(written(OWN_BATCH, base, at, timestamp, encode_key(key), raw, is_control=False))
    return records


def values_of_epochs(random: Random, many: int) -> list[LogRecord]:
    """Return a log of groups that have epochs, with few tombstones, in which groups seldom change their kind."""
    records: list[LogRecord] = []
    family = Family.CONSUMER
    while len(records) < many:
        family = family if random.randrange(100) else random.choice(FAMILIES)
        key, value = of_epochs(random, family)
        if value is None and random.randrange(10):
            continue
        at, raw = len(records), None if value is None else encode_value(value)
        records.append(
            written(Writing(-1, False, True, -1), at, at, 1_700_000_000_000, encode_key(key), raw, False)
        )
    return records


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
    commits = drawn(offset_keys, st.integers(0, 9).map(lambda number: Value(3, "", commit(number))))
    return st.one_of(
        drawn(group_keys, _generations()),
        drawn(group_keys, _generations()),
        drawn(group_keys, st.one_of(st.none(), _generations())),
        commits,
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


@pytest.mark.parametrize("seed", range(200) if DEEP else range(12))
def test_epochs_at_once_and_change_by_change(seed: int) -> None:
    random = Random(seed)
    log = _log_of_epochs(random, 150)
    rows = rows_of(log)
    cuts = [random.randrange(150) for _ in range(seed % 4)]
    for rules in RULES:
        wanted = expected(log, rules, 0)
        assert sorted_rows(list(replay_batches(Start(0, {}, rules), parts(rows, cuts[:1])))) == wanted
        assert sorted_rows(in_turns(parts(rows, cuts), rules, 0)) == wanted
        assert log_facts_in_turns(parts(rows, cuts), rules) == log_facts_of(log)


@pytest.mark.parametrize("seed", range(100) if DEEP else range(4))
def test_values_that_are_forgotten(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What open rows do not have is forgotten after each few records, and what they have goes on."""
    monkeypatch.setattr(dictionaries, "_FEW", 0)
    log = _log_of_epochs(Random(seed), 150)
    in_pieces = parts(rows_of(log), [*range(5, 150, 1 + 4 * (seed % 4))])
    assert sorted_rows(list(replay_batches(Start(0, {}, None), in_pieces))) == expected(log, None, 0)


def _log_of_generations(times: Sequence[int]) -> list[LogRecord]:
    """Return a log of one classic group's generations, written at these times."""
    key = encode_key(Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group="orders")))
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
    return [
        written(OWN_BATCH, at, at, when, key, encode_value(value), is_control=False)
        for at, (when, value) in enumerate(zip(times, values, strict=True))
    ]


@pytest.mark.parametrize("edge", [-(1 << 63), -1, (1 << 63) - 1])
def test_times_may_be_any_number(edge: int) -> None:
    """No time stands for none: what a damaged or hostile record says is kept."""
    epochs = [
        record if at % 3 else replace(record, timestamp=edge)
        for at, record in enumerate(_log_of_epochs(Random(edge), 60))
    ]
    for log in (epochs, _log_of_generations((5, edge, 6, edge, 7, 8))):
        wanted, rows = expected(log, None, 0), rows_of(log)
        assert sorted_rows(list(replay_batches(Start(0, {}, None), [rows]))) == wanted
        assert sorted_rows(in_turns(parts(rows, [2, 5]), None, 0)) == wanted
