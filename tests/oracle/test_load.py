"""The oracle's loader is held against brokers: what it holds at a moment is what the living coordinator answered then.

Groups named `-race-` are left out: there, living classic coordinators disagreed with their own log.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES, consumer, offsets
from oracle.batches import Batch, Marker, Record
from oracle.client import Oracle
from oracle.loaded import Assigned, LoadedGroup, LoadedState
from tests.corpora import FIXTURES

pytestmark = pytest.mark.java

PASSING_STATES = ("PreparingRebalance", "CompletingRebalance", "Dead")
"""Never in a log."""


class Moment(NamedTuple):
    """An answer of the live coordinator: the log's end offsets, groups as it described them, commits by group."""

    label: str
    ends: dict[int, int]
    groups: dict[str, dict[str, Any]]
    commits: dict[str, dict[tuple[str, int], tuple[int, int | None, str]]]


def moments(corpus: str) -> Iterator[Moment]:
    checks = json.loads((FIXTURES / "corpora" / corpus / "manifest.json").read_text())["checks"]
    for told in [*checks.get("snapshots", []), *checks.get("asof", []), checks["final"]]:
        if told.get("consistent", True):
            ends = {int(partition): end for partition, end in told["end_offsets"].items()}
            groups = {name: group for name, group in told["groups"].items() if "-race-" not in name}
            yield Moment(told["label"], ends, groups, dict(commits(told, groups)))


def commits(told: dict[str, Any], groups: dict[str, Any]) -> Iterator[tuple[str, dict[Any, Any]]]:
    """Yield each group with its committed offsets, with leader epochs from 3.7 on, from either layout of answers."""
    for name, group in groups.items():
        if "offsets" in told:
            held = told["offsets"].get(name, {}).items()
            split = ((place.rpartition("-"), commit) for place, commit in held)
            yield name, {(t, int(p)): (each["offset"], None, each["metadata"]) for (t, _, p), each in split}
            continue
        yield (
            name,
            {
                (topic, int(partition)): (each["offset"], each["leader_epoch"], each["metadata"])
                for topic, partitions in group.get("offsets", {}).items()
                for partition, each in partitions.items()
            },
        )


def loads(oracle: Oracle, corpus: str, *, classic: bool) -> Iterator[tuple[Moment, LoadedState]]:
    """Yield every moment with the joined state that Kafka loads from all partitions' segments, cut at that moment."""
    version = corpus.partition("-")[0]
    told = list(moments(corpus))
    together = [LoadedState(None, {}, {}, {}) for _ in told]
    for folder in sorted((FIXTURES / "corpora" / corpus / "segments").iterdir()):
        [log] = folder.glob("*.log")
        ends = [each.ends.get(int(folder.name.rpartition("-")[2]), 0) for each in told]
        for whole, part in zip(together, oracle.load(version, log, ends, classic=classic), strict=True):
            assert part.error is None, (folder.name, part.error)
            whole.offsets.update(part.offsets)
            whole.groups.update(part.groups)
    yield from zip(told, together, strict=True)


BROKERS = [
    ("4.3.1-kip848", False),
    ("4.3.1-txn", False),
    ("4.3.1-newgroups", False),
    ("4.2.1-newgroups", False),
    ("4.1.2-newgroups", False),
    ("4.0.2-newgroups", False),
    ("3.9.2-newgroups", False),
    ("3.9.2-txn", True),
    pytest.param("3.6.2-zstd", True, marks=pytest.mark.deep),
    ("2.8.2-expiry", True),
    ("1.1.1-connect", True),
]


@pytest.mark.parametrize(("corpus", "classic"), BROKERS)
def test_offsets_are_those_the_living_coordinator_had(corpus: str, classic: bool, oracle: Oracle) -> None:
    compared = 0
    for moment, state in loads(oracle, corpus, classic=classic):
        for group, wanted in moment.commits.items():
            found = {
                (topic, partition): (commit.committed_offset, epoch, commit.metadata)
                for (name, topic, partition), commit in state.offsets.items()
                if name == group
                for epoch in [wanted.get((topic, partition), (0, None))[1] and commit.leader_epoch]
            }
            assert found == wanted, (moment.label, group)
            compared += len(wanted)
    assert compared > 5


@pytest.mark.parametrize("corpus", ["4.3.1-kip848", "4.3.1-newgroups", "4.2.1-newgroups", "4.1.2-newgroups"])
def test_groups_are_what_the_living_coordinator_described(corpus: str, oracle: Oracle) -> None:
    compared = 0
    for moment, state in loads(oracle, corpus, classic=False):
        for name, told in moment.groups.items():
            if told.get("state") not in (None, *PASSING_STATES):
                group = state.groups[name]
                assert described(group, corpus) == answered(told, corpus), (moment.label, name)
                assert "members" not in told or members(group) == answered_members(told), (moment.label, name)
                compared += 1
    assert compared > 20


def described(group: LoadedGroup, corpus: str) -> tuple[Any, ...]:
    """Return the comparable fields of a loaded group; 4.1 forgets over a restart that a streams group is ready."""
    state = None if group.kind == "streams" and corpus.startswith("4.1") else group.state
    return group.kind, state, group.epoch, group.assignment_epoch


def answered(told: dict[str, Any], corpus: str) -> tuple[Any, ...]:
    kind = "simple" if told.get("simple") else told["type"].lower()
    state = None if kind == "streams" and corpus.startswith("4.1") else told["state"]
    epoch, assignment_epoch = told["group_epoch"], told["target_assignment_epoch"]
    return kind, state, epoch and int(epoch), assignment_epoch and int(assignment_epoch)


def members(group: LoadedGroup) -> dict[str, tuple[Any, ...]]:
    """Return the members of a group with epochs and the numbers of their current and target partitions."""
    found = {}
    for name, member in group.members.items():
        sizes = (
            (size(member.assigned), size(group.target.get(name, {}))) if group.kind == "consumer" else None
        )
        found[name] = (member.client_id, member.client_host, member.instance_id, member.member_epoch, sizes)
    return found


def size(assigned: Assigned) -> int:
    return sum(map(len, assigned.values()))


def answered_members(told: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for each in told["members"]:
        epoch = each["member_epoch"]
        sizes = (
            (len(each["assignment"]), len(each["target_assignment"])) if told["type"] == "Consumer" else None
        )
        place = (each["client_id"], each["host"], each["instance_id"])
        found[each["member_id"]] = (*place, epoch and int(epoch), sizes)
    return found


# ---- what no broker's copy shows: prefixes, open transactions, loads that fail


def commit(offset: int) -> Record:
    key = Key(RECORD_TYPES[1], offsets.OffsetCommitKey(group="g", topic="t", partition=0))
    value = offsets.OffsetCommitValue(offset=offset, metadata="", commit_timestamp=5)
    return Record(encode_key(key), encode_value(Value(1, "", value)))


MEMBER = consumer.ConsumerGroupMemberMetadataKey(group_id="c", member_id="m")
UNKNOWN_TYPE = Record(b"\x00\x63", b"\x00\x00")
UNKNOWN_VERSION = Record(commit(1).key, b"\x00\x63")
SIX = (
    Batch((commit(1),)),
    Batch(
        (commit(2), commit(3)),
        base_offset=1,
        producer_id=9,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    ),
    Batch((commit(4),), base_offset=3),
    Batch(marker=Marker("COMMIT"), base_offset=4, producer_id=9, producer_epoch=0, is_transactional=True),
)
"""A commit, two in a transaction, a later one outside, and the transaction's marker."""


def segment(oracle: Oracle, folder: Path, *batches: Batch) -> Path:
    log = folder / f"{0:020d}.log"
    log.write_bytes(oracle.build(batches))
    return log


def shown(state: LoadedState) -> tuple[list[int], list[int]]:
    """Return the committed offsets and the pending ones of a state."""
    waiting = [commit.committed_offset for held in state.pending.values() for commit in held.values()]
    return [commit.committed_offset for commit in state.offsets.values()], waiting


def test_prefixes_come_in_the_order_they_were_asked_for(oracle: Oracle, tmp_path: Path) -> None:
    log = segment(oracle, tmp_path, *SIX)
    ends = (5, 0, 1, 2, 3, 4, 1)
    assert [shown(state) for state in oracle.load("4.3.1", log, ends)] == [
        ([4], []),  # the marker's commit is older than what is there
        ([], []),
        ([1], []),
        ([1], [2]),
        ([1], [3]),
        ([4], [3]),
        ([1], []),
    ]
    assert [shown(state) for state in oracle.load("3.9.2", log, (5, 0, 2, 3, 4), classic=True)] == [
        ([4], []),
        ([], []),
        ([1], [3]),  # whole batches only
        ([1], [3]),
        ([4], [3]),
    ]
    assert oracle.load("4.3.1", log) == oracle.load("4.3.1", log, (5,))


@pytest.mark.parametrize("version", ["3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1"])
def test_the_new_coordinator_passes_over_unknown_types_and_stops_at_the_impossible(
    version: str, oracle: Oracle, tmp_path: Path
) -> None:
    about = consumer.ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="i",
        client_host="/h",
        subscribed_topic_names=("t",),
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=None,
    )
    here = consumer.ConsumerGroupCurrentMemberAssignmentKey(group_id="c", member_id="m")
    stable = consumer.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        previous_member_epoch=0,
        state=0,
        assigned_partitions=(),
        partitions_pending_revocation=(),
    )
    joined = Record(encode_key(Key(RECORD_TYPES[5], MEMBER)), encode_value(Value(0, "", about)))
    current = Record(encode_key(Key(RECORD_TYPES[8], here)), encode_value(Value(0, "", stable)))
    gone = joined._replace(value=None)
    log = segment(oracle, tmp_path, Batch((UNKNOWN_TYPE, joined, current, gone, commit(1))))
    before, after = oracle.load(version, log, (3, 5))
    assert (before.error, before.groups["c"].members["m"].member_epoch) == (None, 1)
    assert after.error is not None
    assert (after.error.offset, after.error.type) == (3, "java.lang.IllegalStateException")
    assert (after.offsets, after.groups["c"].members) == ({}, before.groups["c"].members)


@pytest.mark.parametrize(
    ("version", "failing"),
    [
        ("1.1.1", UNKNOWN_TYPE),
        ("2.8.2", UNKNOWN_TYPE),
        pytest.param("3.6.2", UNKNOWN_VERSION, marks=pytest.mark.deep),
        ("3.9.2", UNKNOWN_VERSION),
    ],
)
def test_the_classic_coordinator_says_with_which_batch_it_fails(
    version: str, failing: Record, oracle: Oracle, tmp_path: Path
) -> None:
    log = segment(
        oracle, tmp_path, *SIX, Batch((commit(5), failing), base_offset=5), Batch((commit(6),), base_offset=7)
    )
    [state] = oracle.load(version, log, classic=True)
    assert state.error is not None
    wanted = "kafka.common.KafkaException" if version == "1.1.1" else "java.lang.IllegalStateException"
    assert (state.error.offset, state.error.type) == (5, wanted)
    assert shown(state) == ([4], [])
