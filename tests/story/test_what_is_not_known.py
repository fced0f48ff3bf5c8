"""What a story or verdict does not know it does not say: of records not understood, of damage, of what lies before a log."""

import struct
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.records.consumer import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tests.log.encoded_batches import message
from tests.replay.story import StoryRecord, commit, group_metadata, member, record_of, tombstone
from tests.replay.story_segments import Placed, archive_lines, segment, write_log

T: Final = 1_772_355_600_000
APART: Final = 100_000


def unread(record: StoryRecord) -> StoryRecord:
    """Return a record with a value of a version that nobody knows."""
    return record._replace(value=struct.pack(">h", 99))


def consumer_group(epoch: int) -> StoryRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch)
    return record_of(ConsumerGroupMetadataKey(group_id="g"), value)


def consumer_member() -> StoryRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("t",),
        subscribed_topic_regex="",
        rebalance_timeout_ms=300_000,
        server_assignor=None,
        classic_member_metadata=None,
    )
    return record_of(ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"), value)


def target() -> StoryRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1)
    return record_of(ConsumerGroupTargetAssignmentMetadataKey(group_id="g"), value)


def assigned(generation: int, protocol: str, **partitions: tuple[int, ...]) -> StoryRecord:
    """Return a generation in which members have these partitions of topic t."""
    members = [
        member(name, client_id=name, subscription=_subscription("t"), assignment=_assignment("t", owned))
        for name, owned in partitions.items()
    ]
    return group_metadata("g", generation, *members, protocol=protocol)


def _subscription(topic: str) -> bytes:
    return struct.pack(">hih", 0, 1, len(topic)) + topic.encode() + struct.pack(">i", -1)


def _assignment(topic: str, partitions: tuple[int, ...]) -> bytes:
    if not partitions:
        return struct.pack(">hii", 0, 0, -1)
    head = struct.pack(">hih", 0, 1, len(topic)) + topic.encode()
    return head + struct.pack(f">i{len(partitions)}ii", len(partitions), *partitions, -1)


class Case(NamedTuple):
    """Records a hundred seconds apart, and what a command has to say of them and must not."""

    name: str
    records: tuple[StoryRecord, ...]
    command: str
    said: str
    not_said: str

    def __str__(self) -> str:
        return self.name


CASES: Final = (
    Case(
        "a commit after one that was not understood is not the first",
        (commit("g", "t", 0, 5), unread(commit("g", "t", 0, 6)), commit("g", "t", 0, 7)),
        "explain --group g",
        "One commit for topic t in partition 0: offset 7",
        "First commit for topic t in partition 0: offset 7",
    ),
    Case(
        "a simple group whose last offset expired was deleted by nobody",
        (commit("g", "t", 0, 5), tombstone("g", "t", 0), commit("h", "t", 0, 5)),
        "explain --group g",
        "The group is gone, as it has no offset any more",
        "The group was deleted",
    ),
    Case(
        "a group had members before a record that was not understood",
        (
            assigned(1, "range", m=(0,)),
            commit("g", "t", 0, 5),
            commit("g", "t", 0, 9),
            unread(group_metadata("g", 2)),
        ),
        f"plan --as-of {T + APART} --format table --wide",
        "had 1 member before a record that was not understood",
        "at the end of the log: m",
    ),
    Case(
        "what a client read is not told after a commit that was not understood",
        (commit("g", "t", 0, 5), commit("g", "t", 0, 9), unread(commit("g", "t", 0, 3))),
        f"plan --as-of {T} --format table --wide",
        "g",
        "has only read on",
    ),
    Case(
        "an assignment is not reached because a record was not understood",
        (consumer_member(), consumer_group(1), unread(consumer_member())),
        "diagnose",
        "had not reached its assignment for",
        "to reach its assignment",
    ),
    Case(
        "nor because the log ends",
        (consumer_member(), consumer_group(1), commit("h", "t", 0, 1)),
        "diagnose",
        "had not reached its assignment for",
        "to reach its assignment",
    ),
    Case(
        "what the first generation here leaves to nobody may have been given up in it",
        (
            assigned(7, "cooperative-sticky", a=(0, 1), b=()),
            assigned(8, "cooperative-sticky", a=(0, 1), b=(2, 3)),
        ),
        "rebalances --format jsonl",
        '"cause":"partitions_given_up","confidence":"likely","alternatives":["topics_changed"]',
        '"cause":"topics_changed"',
    ),
    Case(
        "nobody can have given up anything in the first generation of all",
        (
            assigned(1, "cooperative-sticky", a=(0, 1), b=()),
            assigned(2, "cooperative-sticky", a=(0, 1), b=(2, 3)),
        ),
        "rebalances --format jsonl",
        '"cause":"topics_changed","confidence":"certain"',
        "partitions_given_up",
    ),
    Case(
        "an eager assignor's partitions are new",
        (assigned(7, "range", a=(0, 1), b=()), assigned(8, "range", a=(0, 1), b=(2, 3))),
        "rebalances --format jsonl",
        '"cause":"topics_changed","confidence":"certain"',
        "partitions_given_up",
    ),
    Case(
        "offsets of two groups that expire at times of their own",
        (
            commit("k", "t", 0, 5, commit_timestamp=T),
            commit("g", "t", 0, 5, commit_timestamp=T + APART, expire_timestamp=T + 900_000),
            commit("h", "t", 0, 5, commit_timestamp=T + 2 * APART, expire_timestamp=T + 800_000),
        ),
        "diagnose",
        "And 1 more like it, of group ",
        "at the same time",
    ),
)


def placed(records: tuple[StoryRecord, ...]) -> list[Placed]:
    return [Placed(number, T + APART * number, record) for number, record in enumerate(records)]


def output(command: str, source: Path) -> str:
    """Return what a command prints, with all blanks and ends of lines as one blank."""
    name, *options = command.split()
    done = CliRunner().invoke(main, [name, str(source), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_more_is_said_than_is_known(tmp_path: Path, case: Case) -> None:
    write_log(tmp_path, placed(case.records))
    found = output(case.command, tmp_path)
    assert case.said in found
    assert case.not_said not in found


COMMITS: Final = placed((commit("g", "t", 0, 5), commit("g", "t", 0, 6), commit("g", "t", 0, 7)))
DAMAGED: Final = segment(COMMITS[:1]) + b"\xff" * 100 + segment(COMMITS[2:])


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (segment(COMMITS), "The evidence is complete: every record of partition 3 is here."),
        (segment(COMMITS) + b"\xff" * 100, "is not complete: not all of partition 3 could be read."),
        (DAMAGED, "the evidence is complete from 3:2 on, but not all of partition 3 could be read."),
        (
            segment(COMMITS) + message(1, 9, b"\0\1", b"") + b"\xff" * 100,
            "not all of partition 3 could be read, but 1 record was not understood",
        ),
    ],
    ids=["whole", "bytes at its end", "bytes within", "bytes, and a record that was not understood"],
)
def test_evidence_with_bytes_that_cannot_be_read_is_not_complete(
    tmp_path: Path, log: bytes, said: str
) -> None:
    directory = write_log(tmp_path, COMMITS)
    (directory / f"{0:020}.log").write_bytes(log)
    found = output("diagnose", tmp_path)
    assert said in found
    assert ("The evidence is complete: every" in found) == (said.startswith("The evidence is complete"))


@pytest.mark.parametrize("lost", [2, 20, 60])
@pytest.mark.parametrize("has_partition", [True, False])
def test_an_archive_that_is_cut_off_is_not_complete(tmp_path: Path, lost: int, has_partition: bool) -> None:
    lines = archive_lines(COMMITS)
    if not has_partition:
        lines = lines.replace('"partition": 3, ', "")
    archive = tmp_path / "rows.jsonl"
    archive.write_text(lines[:-lost])
    found = output("diagnose", archive)
    assert "The evidence is not complete: not all of" in found
    assert "every record of" not in found
    archive.write_text(lines)
    assert "every record of" in output("diagnose", archive)


def test_a_log_that_is_cut_off_is_not_complete(tmp_path: Path) -> None:
    log = tmp_path / "__consumer_offsets-3" / "00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(segment(COMMITS)[:-5])
    assert "The evidence is not complete: not all of partition 3 could be read" in output(
        "diagnose", tmp_path
    )


def test_a_record_of_no_known_partition_is_named_by_its_offset(tmp_path: Path) -> None:
    records = [*COMMITS[:2], COMMITS[2]._replace(record=unread(COMMITS[2].record))]
    archive = tmp_path / "rows.jsonl"
    archive.write_text(archive_lines(records).replace('"partition": 3, ', ""))
    found = output("diagnose", archive)
    assert "Seen at offset 2." in found
