"""Take the causes of removals from brokers' own logs: from lines that agree in time and in group, partition or topic.

A cause that records leave open becomes certain. Without a line, a removal keeps the causes that records suggest.
"""

from collections.abc import Sequence
from typing import Final

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine

_CAUSES: Final = {
    LineKind.GROUPS_DELETED: Cause.GROUP_DELETED,
    LineKind.OFFSETS_DELETED: Cause.OFFSETS_DELETED,
    LineKind.TOPICS_DELETED: Cause.TOPIC_DELETED,
}
_EXPIRED: Final = (Cause.RETENTION, Cause.EXPIRE_TIMESTAMP, Cause.UNSUBSCRIBED_TOPIC)
"""Causes of expiry: the line that the broker writes does not say which."""


def with_stated_causes(
    removed: Sequence[ExpiryRow], server_log: ServerLog
) -> tuple[list[ExpiryRow], dict[int, ServerLine]]:
    """Return removals with the causes that lines state, and these lines by the log offset of the removal."""
    if not server_log:
        return list(removed), {}
    lines = {row.log_offset: line for row in removed if (line := _line(row, server_log)) is not None}
    return [_with_cause(row, lines.get(row.log_offset)) for row in removed], lines


def _line(row: ExpiryRow, server_log: ServerLog) -> ServerLine | None:
    """Return the line that states why an offset was removed; None where an older broker's line may mean a deleted topic too."""
    of = TopicPartition(row.topic, row.partition)
    line = server_log.removal(row.group, of, row.log_partition, row.removed_at)
    if (
        line is None
        or line.kind is not LineKind.OFFSETS_EXPIRED
        or server_log.has_line_for_deleted_topics(line)
    ):
        return line
    return None if Cause.TOPIC_DELETED in (row.cause, *row.alternatives) else line


def _with_cause(row: ExpiryRow, line: ServerLine | None) -> ExpiryRow:
    if line is None:
        return row
    fitting = [
        cause for cause in map(Cause, (row.cause or Cause.UNKNOWN, *row.alternatives)) if cause in _EXPIRED
    ]
    cause = _CAUSES.get(line.kind) or next(iter(fitting), Cause.RETENTION)
    return row._replace(cause=cause.value, confidence=Confidence.CERTAIN.value, alternatives=())
