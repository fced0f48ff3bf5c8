"""Was a topic created again under a group? Its commits give another id for the same name."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import from_time, named

RECREATED: Final = FindingKind(
    "topic_recreated",
    Severity.WARNING,
    "A topic was deleted and created again under the same name, and the group goes on with it.",
    "Offsets from before do not fit the new topic: make sure that the group began at its earliest record.",
)


class _Commit(NamedTuple):
    """What is compared of each commit: fields of OffsetHistoryRow."""

    commit_log_offset: int
    from_timestamp: int
    topic: str
    topic_id: str | None


class _Change(NamedTuple):
    """The last commit for one id of a topic, and the first for the next."""

    before: _Commit
    after: _Commit


@finder(RECREATED)
def find_recreated(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each time that commits of a topic changed to another topic id."""
    if not rows.sums.is_recreated:
        return
    commits = map(_Commit._make, rows.offset_fields(*_Commit._fields))
    latest: dict[str, _Commit] = {}
    for after in sorted((each for each in commits if each.topic_id is not None), key=_log_offset):
        before = latest.get(after.topic)
        if before is not None and before.topic_id != after.topic_id:
            yield _recreated(rows, _Change(before, after))
        latest[after.topic] = after


def _log_offset(commit: _Commit) -> int:
    return commit.commit_log_offset


def _recreated(rows: GroupRows, change: _Change) -> Finding:
    before, after = change
    return found(
        RECREATED,
        rows,
        Places(
            (after.commit_log_offset, before.commit_log_offset), after.from_timestamp, after.from_timestamp
        ),
        f"Topic {named(after.topic)} was created again: group {named(rows.group)} commits for id {after.topic_id}"
        f"{from_time(after.from_timestamp)}, and did for id {before.topic_id} before",
        topic=after.topic,
    )
