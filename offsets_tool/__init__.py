"""Forensics for Kafka's `__consumer_offsets`: read it, decode it, replay it, ask what held at a moment.

The names below are the public API; all other modules may change in any release. Each is imported when it is first used, so that
`import offsets_tool` costs nothing. Names end in `_rows` where dictionaries come out, begin with `read_` where Arrow tables do.

    open_evidence     open files, folders, archives or a live topic; its `events()` are decoded records
    read_files        what the evidence is, file by file: hashes, where every byte and record went; as an Arrow table
    read_events       every record as an Arrow table
    read_histories    offsets, groups, members and anomalies over time, as Arrow tables
    read_findings, read_timeline, read_rebalances, read_assignments, read_lag      what the commands of these names show
    read_sizes        whose bytes the log has, and what compaction would leave of them, as an Arrow table
    histories_by_group    tables of histories, a lake's too, as the rows that pictures are drawn of
    snapshot_of       what the coordinators held at the end of the log, or at a moment
    review_of         what an incident review says: verdict, coverage, findings, stories, plan, the records that show it
    write_report      a review as one HTML page to send around
    policy_of         what is known of the brokers' settings, for findings and reviews
    review_tables     its tables, in Arrow: groups, findings, timeline, plan, rebalances, assignments and histories
    offset_rows, group_rows, member_rows      a snapshot as dictionaries, for a DataFrame
    visible           a sentence with names as they were decoded, as text that steers no terminal and no page
    LogRecord, decode, encode                 one record with raw key and value; bytes to a typed event, and back
    Coordinator       replays events of one partition: what each changed, and the state
    History           changes of one partition as rows that hold from one record to another
    partition_for     the partition of `__consumer_offsets` that a group lives in
    group_pictures, topic_pictures    the pictures of a group, or of a whole log: each a Picture, for notebooks, pages and files
    evidence_pictures the pictures of a whole log below paths, in one call
    Picture           one picture: a sentence that says what is to be seen, an Altair chart, PNG, SVG or HTML
    OffsetsToolError  what all of these raise for input they cannot use; its subclasses are in `offsets_tool.errors`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offsets_tool.arrow_tables.answers import (
        read_assignments,
        read_findings,
        read_lag,
        read_rebalances,
        read_timeline,
        review_tables,
    )
    from offsets_tool.arrow_tables.histories import histories_by_group
    from offsets_tool.arrow_tables.records import read_events, read_files, read_histories, read_sizes
    from offsets_tool.as_of.views_groups import group_rows
    from offsets_tool.as_of.views_members import member_rows
    from offsets_tool.as_of.views_offsets import offset_rows
    from offsets_tool.errors import OffsetsToolError
    from offsets_tool.events import decode, encode
    from offsets_tool.evidence.evidence import open_evidence
    from offsets_tool.evidence.expiring import policy_of
    from offsets_tool.evidence.replaying import snapshot_of
    from offsets_tool.history.history import History
    from offsets_tool.placement import partition_for
    from offsets_tool.plots.evidence_pictures import evidence_pictures
    from offsets_tool.plots.group_pictures import group_pictures, topic_pictures
    from offsets_tool.plots.picture import Picture
    from offsets_tool.replay.coordinator import Coordinator
    from offsets_tool.report.html_file import write_report
    from offsets_tool.review.review import review_of
    from offsets_tool.rows import LogRecord
    from offsets_tool.wire.text import visible

__version__ = "0.1.0"
__all__ = [
    "Coordinator",
    "History",
    "LogRecord",
    "OffsetsToolError",
    "Picture",
    "decode",
    "encode",
    "evidence_pictures",
    "group_pictures",
    "group_rows",
    "histories_by_group",
    "member_rows",
    "offset_rows",
    "open_evidence",
    "partition_for",
    "policy_of",
    "read_assignments",
    "read_events",
    "read_files",
    "read_findings",
    "read_histories",
    "read_lag",
    "read_rebalances",
    "read_sizes",
    "read_timeline",
    "review_of",
    "review_tables",
    "snapshot_of",
    "topic_pictures",
    "visible",
    "write_report",
]

_HOMES = {
    "Coordinator": "replay.coordinator",
    "History": "history.history",
    "LogRecord": "rows",
    "OffsetsToolError": "errors",
    "Picture": "plots.picture",
    "decode": "events",
    "encode": "events",
    "evidence_pictures": "plots.evidence_pictures",
    "group_pictures": "plots.group_pictures",
    "group_rows": "as_of.views_groups",
    "histories_by_group": "arrow_tables.histories",
    "member_rows": "as_of.views_members",
    "offset_rows": "as_of.views_offsets",
    "open_evidence": "evidence.evidence",
    "partition_for": "placement",
    "policy_of": "evidence.expiring",
    "read_assignments": "arrow_tables.answers",
    "read_events": "arrow_tables.records",
    "read_files": "arrow_tables.records",
    "read_findings": "arrow_tables.answers",
    "read_histories": "arrow_tables.records",
    "read_lag": "arrow_tables.answers",
    "read_rebalances": "arrow_tables.answers",
    "read_sizes": "arrow_tables.records",
    "read_timeline": "arrow_tables.answers",
    "review_of": "review.review",
    "review_tables": "arrow_tables.answers",
    "snapshot_of": "evidence.replaying",
    "topic_pictures": "plots.group_pictures",
    "visible": "wire.text",
    "write_report": "report.html_file",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562); AttributeError for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """Return the public names, also those that nobody has asked for yet."""
    return sorted({*globals(), *__all__})
