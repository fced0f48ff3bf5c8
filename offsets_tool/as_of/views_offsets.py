"""Committed offsets at a moment, a row each: what the coordinator would answer, and what is pending in open transactions.

Offsets of groups that the coordinator no longer has are left out, because it answers nothing for them. An offset that the log does
not prove has a row with `is_proven` False; `proven_again_from` is where its next record is, if compaction took the one before.
Nothing is committed in it, unless a record that was not understood may have been about anything: then it has what was committed
before that.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.placement import homes_by_commits
from offsets_tool.replay.changes import CommittedOffset, OffsetOf, PendingCommit
from offsets_tool.rows import Row
from offsets_tool.wire.json import uuid_text

NO_COMMIT: Row = dict.fromkeys(
    ("committed_offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")
)
"""The fields of a commit, for a partition that has none."""


def offset_rows(snapshot: Snapshot, wanted: Wanted | None = None) -> list[Row]:
    """Return the committed offsets of a snapshot, a dictionary each, by group, topic and partition.

    Times are epoch milliseconds, -1 where Kafka has none. `wanted` chooses groups and topics by name.

    >>> from offsets_tool import snapshot_of
    >>> rows = offset_rows(snapshot_of("fixtures/corpora/3.9.2-txn/segments"))
    >>> rows[0]["group"], rows[0]["topic"], rows[0]["partition"], rows[0]["committed_offset"]
    ('checkout-race-1227', 'pricing-loyalty.v2', 1, 555)
    """
    rows = [row for p in snapshot for row in _rows(p, wanted or Wanted())]
    return sorted(rows, key=lambda row: (row["group"], row["topic"], row["partition"]))


def _rows(p: PartitionSnapshot, wanted: Wanted) -> Iterator[Row]:
    pending = _pending(p)
    unknown = {subject: at for subject, at in p.unknown.items() if isinstance(subject, OffsetOf)}
    missing = p.coverage.unknown
    for offset in sorted(_committed(p) | pending.keys() | unknown.keys()):
        if not (wanted.has_group(offset.group) and wanted.has_offset(offset.topic, offset.partition)):
            continue
        row = empty_offset_row(p, offset)
        commit = p.state.get(offset)
        if offset in unknown:
            row |= {"is_proven": False, "proven_again_from": unknown[offset]}
        if isinstance(commit, CommittedOffset) and offset not in missing:
            row |= {**commit_fields(commit), "log_offset": commit.log_offset}
        yield row | {"pending": pending.get(offset, [])}


def empty_offset_row(p: PartitionSnapshot, offset: OffsetOf) -> Row:
    """Return the row of a partition that has no committed offset."""
    return {
        **offset._asdict(),
        **NO_COMMIT,
        "log_partition": p.log_partition,
        "log_offset": None,
        "pending": [],
        "is_proven": True,
        "proven_again_from": None,
        "proven_from": p.coverage.proven_from,
    }


def _committed(p: PartitionSnapshot) -> set[OffsetOf]:
    state = p.state
    return {
        OffsetOf(group, *at)
        for group, offsets in state.offsets.items()
        if state.answers(group)
        for at in offsets
    }


def commit_fields(commit: CommittedOffset) -> Row:
    """Return a commit's fields under Kafka's names, without its place in the log; the topic id as Kafka writes ids."""
    return {
        "committed_offset": commit.committed_offset,
        "leader_epoch": commit.leader_epoch,
        "metadata": commit.metadata,
        "commit_timestamp": commit.commit_timestamp,
        "expire_timestamp": commit.expire_timestamp,
        "topic_id": None if commit.topic_id is None else uuid_text(commit.topic_id),
    }


def _pending(p: PartitionSnapshot) -> dict[OffsetOf, list[Row]]:
    """Return the commits that are pending in each partition, in the order of the log."""
    found: dict[OffsetOf, list[Row]] = {}
    for producer_id, commits in p.state.pending.items():
        for offset, waiting in commits.items():
            if p.state.answers(offset.group):
                found.setdefault(offset, []).append(pending_row(producer_id, waiting))
    return {offset: sorted(rows, key=itemgetter("log_offset")) for offset, rows in found.items()}


def pending_row(producer_id: int, waiting: PendingCommit) -> Row:
    """Return the row of a commit that is pending until its producer's marker.

    `noop_tombstone_log_offset` is the place of a tombstone that did not remove it, because the classic coordinator ignores it.
    """
    return {
        "producer_id": producer_id,
        **commit_fields(waiting.commit),
        "log_offset": waiting.commit.log_offset,
        "noop_tombstone_log_offset": waiting.deleted_at,
    }


def current_homes(snapshot: Iterable[PartitionSnapshot]) -> dict[str, int | None]:
    """Return of each group that lies in several log partitions the one in which it lives at a moment, by homes_by_commits."""
    newest: dict[tuple[str, int], int] = {}
    unread: set[tuple[str, int]] = set()
    for p in snapshot:
        if p.log_partition is None:
            continue
        for group in p.state.groups:
            commits = p.state.offsets.get(group, {}).values()
            newest[group, p.log_partition] = max((each.commit_timestamp for each in commits), default=-1)
            if group in p.state.unread.offsets:
                unread.add((group, p.log_partition))
    return homes_by_commits(newest, unread)


def rows_at_home(snapshot: Snapshot, wanted: Wanted, homes: Mapping[str, int | None]) -> list[Row]:
    """Return `offset_rows`, one for each group, topic and partition, given `current_homes`.

    Of a group that lies in several log partitions it is what the one has where the group lives now, and unknown if nothing tells.
    """
    rows: dict[tuple[str, str, int], Row] = {}
    for row in offset_rows(snapshot, wanted):
        key = row["group"], row["topic"], row["partition"]
        if is_current(homes, row["group"], row["log_partition"]):
            rows[key] = row
        elif homes[row["group"]] is None:
            rows[key] = row | NO_COMMIT | {"log_offset": None, "is_proven": False}
    return list(rows.values())


def is_current(homes: Mapping[str, int | None], group: str, log_partition: int | None) -> bool:
    """Return whether a group lives in a log partition, given `current_homes`."""
    return group not in homes or homes[group] == log_partition
