"""The state at every snapshot of the corpora against what the live coordinator answered for exactly that prefix of its log.

Topics whose names no record of the fixture proves are compared by their partitions. What the broker's memory had and its log has
not is named in LIVE_ONLY.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.as_of.views_groups import group_rows
from offsets_tool.as_of.views_members import member_rows
from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.blobs import consumer_assignment, consumer_subscription
from offsets_tool.events import Event, decode
from offsets_tool.log.segment import read_segment
from offsets_tool.placement import partition_for
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import BatchRead
from tests.corpora import corpora
from tests.depth import DEEP

REBALANCING = {"PreparingRebalance", "CompletingRebalance", "AwaitingSync"}
"""States of the coordinator's memory."""

_FORGOTTEN = "deleted while pending: the living coordinator has forgotten it until it loads its log again"
_DEAD = "DescribeGroups of 3.7 knows classic groups alone"
_RENAMED = "2.4 gives a static member that comes back another id, and does not write it"
LIVE_ONLY = {
    ("3.7.2-txn", "-race-", "offsets"): _FORGOTTEN,
    ("3.7.2-txn", "-race-", "groups"): _FORGOTTEN,
    ("3.9.2-txn", "-race-", "offsets"): _FORGOTTEN,
    ("3.9.2-txn", "-race-", "groups"): _FORGOTTEN,
    ("3.7.2-kip848", "", "dead"): _DEAD,
    ("2.4.1-mix", "vivid_import", "members"): _RENAMED,
}
"""By corpus, part of the group's name, and what differs. What was forgotten is back after a restart."""


@dataclass(frozen=True, eq=False)
class KafkaSnapshot:
    """What the live coordinator answered when the log ended at `ends`."""

    corpus: Path
    number: int
    label: str
    ends: dict[int, int]
    answered: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.corpus.name}-{self.number}-{self.label}"


@cache
def manifest(corpus: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((corpus / "manifest.json").read_text())
    return read


def snapshots() -> Iterator[KafkaSnapshot]:
    for corpus in (path for path in corpora() if (path / "manifest.json").exists()):
        checks = manifest(corpus)["checks"]
        taken = [s for s in checks.get("snapshots", ()) if s["consistent"]]
        taken += [*checks.get("asof", ()), checks["final"]]
        for number, snapshot in enumerate(taken):
            # The cleaner has taken what earlier snapshots of a compacted log saw.
            if "compaction" not in corpus.name or snapshot["label"] == "final":
                ends = {int(partition): end for partition, end in snapshot["end_offsets"].items()}
                yield KafkaSnapshot(corpus, number, snapshot["label"], ends, snapshot)


SNAPSHOTS = list(snapshots())


def every_snapshot(check: Callable[[KafkaSnapshot], None]) -> Callable[[Path], None]:
    """Make a test that runs a check at each snapshot of a corpus; a failure names the snapshot."""

    def test(corpus: Path) -> None:
        for taken in (each for each in SNAPSHOTS if each.corpus == corpus):
            try:
                check(taken)
            except (AssertionError, LookupError) as error:
                error.add_note(f"at {taken}")
                raise

    test.__doc__ = check.__doc__
    of_each = dict.fromkeys(taken.corpus for taken in SNAPSHOTS)
    return pytest.mark.parametrize("corpus", of_each, ids=lambda path: path.name)(test)


@cache
def events(corpus: Path) -> dict[int, list[Event]]:
    found = {}
    for folder in (corpus / "segments").glob("__consumer_offsets-*"):
        number = int(folder.name.rpartition("-")[2])
        reads = (
            read for log in sorted(folder.glob("*.log")) for read in read_segment(log, log_partition=number)
        )
        found[number] = [
            decode(record) for read in reads if isinstance(read, BatchRead) for record in read.records
        ]
    return found


@cache
def moment(taken: KafkaSnapshot) -> Snapshot:
    found = Snapshot(AsOf(ends=taken.ends), TopicNames())
    for number, log in events(taken.corpus).items():
        replay_events((found,), number, log)
    for number in found.to_replay_again():
        assert number is not None
        replay_events((found,), number, events(taken.corpus)[number])
    return found


def is_in_the_log(taken: KafkaSnapshot, group: str, what: str = "groups") -> bool:
    """Return whether the fixture's log must show what was answered: it has the group's partition, and LIVE_ONLY is silent."""
    if partition_for(group, manifest(taken.corpus)["partitions"]) not in events(taken.corpus):
        return False
    reasons = {
        reason
        for (corpus, part, differs), reason in LIVE_ONLY.items()
        if corpus == taken.corpus.name and part in group and differs == what
    }
    if not reasons:
        return True
    restarts = [
        s["at_ms"]
        for s in manifest(taken.corpus)["checks"].get("snapshots", ())
        if s["label"].startswith("after restart")
    ]
    return reasons == {_FORGOTTEN} and bool(taken.answered["at_ms"] >= min(restarts))


def described(taken: KafkaSnapshot) -> dict[str, dict[str, Any]]:
    """Return the groups that the coordinator described, with their states where the log has these."""
    return {
        group: told
        for group, told in taken.answered.get("groups", {}).items()
        if told.get("state") not in (None, *REBALANCING) and is_in_the_log(taken, group)
    }


def number(text: str | None) -> int | None:
    return None if text in (None, "None", "-1") else int(text or 0)


Commit = tuple[int, int | None, str | None]


def answered_offsets(taken: KafkaSnapshot) -> dict[tuple[str, str, int], Commit]:
    """Return the commits that the coordinator answered, from either layout of manifests."""
    found = {}
    for group, partitions in taken.answered.get("offsets", {}).items():
        for place, commit in (partitions or {}).items():
            topic, _, partition = place.rpartition("-")
            found[group, topic, int(partition)] = commit
    for group, told in taken.answered.get("groups", {}).items():
        for topic, commits in (told.get("offsets") or {}).items():
            found |= {(group, topic, int(partition)): commit for partition, commit in commits.items()}
    has_epochs = writes_epochs(taken.corpus)
    return {
        place: (
            commit["offset"],
            epoch_of(commit.get("leader_epoch")) if has_epochs else None,
            commit.get("metadata"),
        )
        for place, commit in found.items()
        if is_in_the_log(taken, place[0], "offsets")
    }


@cache
def writes_epochs(corpus: Path) -> bool:
    """Return whether any commit's value version has a leader epoch: a live coordinator remembers one that it could not write."""
    versions = {
        event.value_version
        for of_log in events(corpus).values()
        for event in of_log
        if event.type_id in COMMITS
    }
    return any(version is not None and version >= 3 for version in versions)


def epoch_of(leader_epoch: int | None) -> int | None:
    return None if leader_epoch == -1 else leader_epoch


@every_snapshot
def test_committed_offsets(taken: KafkaSnapshot) -> None:
    answered = answered_offsets(taken)
    asked = {*taken.answered.get("groups", ()), *(place[0] for place in answered)}
    rows = [row for row in offset_rows(moment(taken)) if row["committed_offset"] is not None]
    assert {
        (row["group"], row["topic"], row["partition"]): (
            row["committed_offset"],
            epoch_of(row["leader_epoch"]),
            row["metadata"],
        )
        for row in rows
        if row["group"] in asked and is_in_the_log(taken, row["group"], "offsets")
    } == answered


@every_snapshot
def test_groups(taken: KafkaSnapshot) -> None:
    rows = {row["group"]: row for row in group_rows(moment(taken))}
    for group, told in described(taken).items():
        row = rows.get(group)
        if told["state"] == "Dead":
            # What has offsets alone is dead to brokers of 0.9.
            assert row is None or row["kind"] == "simple" or not is_in_the_log(taken, group, "dead"), group
            continue
        assert row is not None, group
        assert row["state"].lower() == told["state"].replace("_", "").lower(), group
        assert_same_kind(row, told)
        assert row["members"] == len(told.get("members") or told.get("member_descriptions") or ()), group


def assert_same_kind(row: dict[str, Any], told: dict[str, Any]) -> None:
    if told.get("type"):
        assert row["kind"] == ("simple" if told.get("simple") else told["type"].lower()), row["group"]
    for field, name in (
        ("group_epoch", "epoch"),
        ("target_assignment_epoch", "assignment_epoch"),
        ("topology_epoch", "topology_epoch"),
    ):
        if number(told.get(field)) is not None:
            assert row[name] == number(told[field]), (row["group"], field)
    if told.get("protocol_type"):
        assert row["protocol_type"] == told["protocol_type"]
    if told.get("protocol"):
        assert row["protocol"] == told["protocol"]


@every_snapshot
def test_members(taken: KafkaSnapshot) -> None:
    rows = {(row["group"], row["member_id"]): row for row in member_rows(moment(taken))}
    for group, told in described(taken).items():
        for member in told.get("members") or ():
            if not is_in_the_log(taken, group, "members"):
                # Whatever its id, a member stands for its instance.
                assert member["group_instance_id"] in {row["instance_id"] for row in rows.values()}
                continue
            row = rows[group, member["member_id"]]
            assert row["client_id"] == member["client_id"]
            assert row["client_host"] == member.get("client_host", member.get("host"))
            assert row["instance_id"] == member.get("group_instance_id", member.get("instance_id"))
            if "metadata_hex" in member:
                assert_same_blobs(row, told["protocol_type"], member)
            else:
                assert_same_partitions(row, member)


def assert_same_blobs(row: dict[str, Any], protocol_type: str, member: dict[str, Any]) -> None:
    if protocol_type != "consumer":
        assert row["subscription"] is None and row["assignment"] is None
        return
    subscription = consumer_subscription(bytes.fromhex(member["metadata_hex"]))
    assignment = consumer_assignment(bytes.fromhex(member["assignment_hex"]))
    assert row["subscription"] == (sorted(subscription.topics) if subscription else [])
    topics = assignment.assigned_partitions if assignment else ()
    assert sorted(row["assignment"]) == sorted(
        f"{each.topic}-{p}" for each in topics for p in each.partitions
    )


def assert_same_partitions(row: dict[str, Any], member: dict[str, Any]) -> None:
    assert same_partitions(row["assignment"] or [], member["assignment"])
    if number(member["member_epoch"]) is not None and row["member_epoch"] is not None:
        assert row["member_epoch"] == int(member["member_epoch"])
    if row["kind"] == "consumer" and member.get("target_assignment") is not None:
        assert same_partitions(row["target_assignment"], member["target_assignment"])
    if member["upgraded"] is not None and row["is_classic"] is not None:
        assert row["is_classic"] == (member["upgraded"] == "false")


def same_partitions(shown: list[str], answered: list[str]) -> bool:
    return sorted(shown) == sorted(answered) or by_topic(shown) == by_topic(answered)


def by_topic(partitions: list[str]) -> list[list[int]]:
    """Return the partition numbers of each topic, without its name, which the log need not have."""
    topics: dict[str, list[int]] = {}
    for topic, _, partition in (each.rpartition("-") for each in partitions):
        topics.setdefault(topic, []).append(int(partition))
    return sorted(sorted(partitions) for partitions in topics.values())


# ---- share and streams groups, whose descriptions the manifests have as text


def field(name: str, text: str) -> str | None:
    """Return the value of `name=value` in the text of Java's toString; None without it."""
    value = re.search(rf"\b{name}=([^,()]*)", text)
    assert value, (name, text)
    return None if value[1] == "null" else value[1]


def listed(name: str, text: str) -> list[str]:
    """Return the values of `name=a,b,c` in a text as a sorted list."""
    value = re.search(rf"\b{name}=((?:[^=()]*(?=, \w+=))|[^=()]*)", text)
    assert value, (name, text)
    return sorted(each for each in value[1].split(",") if each)


@every_snapshot
def test_share_members(taken: KafkaSnapshot) -> None:
    rows = {row["member_id"]: row for row in member_rows(moment(taken))}
    for told in described(taken).values():
        for text in told.get("member_descriptions") or () if told.get("type") == "Share" else ():
            row = rows[field("memberId", text)]
            assert (row["client_id"], row["client_host"]) == (field("clientId", text), field("host", text))
            if "rackId" in text:
                assert row["rack_id"] == field("rackId", text)
            assert same_partitions(row["assignment"], listed("topicPartitions", text))
            if "memberEpoch" in text:
                assert row["member_epoch"] == number(field("memberEpoch", text))


@every_snapshot
def test_streams_members(taken: KafkaSnapshot) -> None:
    rows = {row["member_id"]: row for row in member_rows(moment(taken))}
    for told in described(taken).values():
        for text in told.get("member_descriptions") or () if told.get("type") == "Streams" else ():
            row = rows[field("memberId", text)]
            for name, told_name in STREAMS_FIELDS.items():
                assert str(row[name]) == str(field(told_name, text)), name
            owned, target = text.partition("targetAssignment=")[::2]
            for prefix, part in (("", owned), ("target_", target)):
                for kind in ("active", "standby", "warmup"):
                    assert sorted(row[f"{prefix}{kind}_tasks"]) == listed(f"{kind}Tasks", part)


STREAMS_FIELDS = {
    "client_id": "clientId",
    "client_host": "clientHost",
    "member_epoch": "memberEpoch",
    "instance_id": "instanceId",
    "rack_id": "rackId",
    "topology_epoch": "topologyEpoch",
    "process_id": "processId",
}


def test_there_is_something_of_each_kind() -> None:
    """The tests above compare what is there: this counts it."""
    told = [told for taken in SNAPSHOTS for told in described(taken).values()]
    members = [member for each in told for member in each.get("members") or ()]
    described_as = [each["type"] for each in told for _ in each.get("member_descriptions") or ()]
    assert sum(len(answered_offsets(taken)) for taken in SNAPSHOTS) > (8_000 if DEEP else 800)
    assert sum("metadata_hex" in member for member in members) > (500 if DEEP else 50)
    assert sum("target_assignment" in member for member in members) > (80 if DEEP else 10)
    assert described_as.count("Share") > (40 if DEEP else 10) and described_as.count("Streams") > (
        20 if DEEP else 5
    )
