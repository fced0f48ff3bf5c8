"""Was a group that had no offsets deleted? Deletions that took offsets are findings about offsets."""

from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found, log_offset_text
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.offsets.lost import GROUP_DELETED
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import SAID, at_time, named
from offsets_tool.history.rows import GroupEndCause, GroupHistoryRow
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.join import ServerLog

GROUP_EXPIRED: Final = FindingKind(
    "group_expired",
    Severity.NOTICE,
    "The broker removed a group that had neither members nor offsets.",
    "Nothing is lost: the group is there again as soon as a client joins it or commits.",
)


_SHARE_REMEDY: Final = (
    "Ask who may delete groups. A share group's offsets are not in this topic: once a member has joined, kafka-share-groups "
    "--describe --offsets shows where it begins, and --reset-offsets sets it without members."
)


@finder(GROUP_DELETED, GROUP_EXPIRED)
def find_deleted_groups(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each tombstone of the group's own record that took no offset with it."""
    places = {place for row in rows.removed for place in row.evidence}
    for row in rows.groups:
        if row.end_cause == GroupEndCause.DELETED and row.to_log_offset is not None:
            # Brokers of 0.9 delete the group's record with the last member, and keep its offsets.
            is_left = rows.state_at(row.to_log_offset) is not None or rows.has_offsets_at(row.to_log_offset)
            if not is_left and log_offset_text(rows.log_partition, row.to_log_offset) not in places:
                yield _deletion(rows, row, context.server_log)


def _deletion(rows: GroupRows, row: GroupHistoryRow, server_log: ServerLog) -> Finding:
    request = server_log.deletion_of_group(rows.group, row.to_timestamp)
    line = request or server_log.expiry(rows.log_partition, row.to_timestamp)
    # ShareGroup.shouldExpire is false: nothing but a request deletes one.
    is_request = request is not None or row.kind == GroupKind.SHARE
    is_certain = is_request or line is not None
    kind = GROUP_DELETED if is_request else GROUP_EXPIRED
    assert row.to_log_offset is not None
    said = (
        f"Group {named(rows.group)} was deleted"
        if is_request
        else f"Group {named(rows.group)}, which had no offsets, was removed"
    )
    return found(
        kind,
        rows,
        Places((row.to_log_offset, row.log_offset), row.to_timestamp, row.to_timestamp),
        said + at_time(row.to_timestamp) + (SAID if line is not None else ""),
        # A check of the broker and DeleteGroups leave the same record of a group without offsets.
        confidence=Confidence.CERTAIN if is_certain else Confidence.AMBIGUOUS,
        alternatives=() if is_certain else (Cause.GROUP_DELETED.value,),
        lines=() if line is None else (line,),
        remedy=_SHARE_REMEDY if row.kind == GroupKind.SHARE else kind.remedy,
    )
