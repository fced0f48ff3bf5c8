"""The way back that a review of a lake proposes: made by the library from rows of the tables and the log of the groups' partitions.

End offsets are those of `ends`, and bounds of them what all groups of the cluster have committed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.evidence.answers.planning import plan_between
from offsets_tool.evidence.ends import EndSources
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.lag.samples import CommitAt, EndMethod, EndSample, committed_at
from offsets_tool.lake.tables import ENDS, OFFSET_HISTORY, Table
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.plans.commands import CommandWords, shell_word
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.review.plan_page import KafkaTools
from offsets_tool.review.way_back import PlanAsked, PlanCommand, PlanTools, WayBack, way_back_of
from offsets_tool.rows import Row
from offsets_tool.wire.text import from_shown, shown
from spark.lake.scan import FileFacts, is_within, scan
from spark.review.moments import LakeMoments
from spark.review.rows import ClusterTables

_COMMIT: Final = (
    *("log_partition", "topic", "partition", "is_effective", "to_log_offset"),
    *("from_timestamp", "commit_timestamp", "committed_offset", "topic_id"),
)


def lake_way_back(
    of: ClusterTables, asked: PlanAsked, groups: Sequence[GroupRows], ledgers: Iterable[LedgerEntry]
) -> WayBack:
    """Return the plan back to a place of the log, for groups with these rows; `ledgers` are those of the cluster's files."""
    numbers = {*(asked.as_of.ends or ()), *(each.log_partition for each in groups)}
    moments = LakeMoments(of)
    moment, end = moments.run(asked.as_of, numbers)
    places = {TopicPartition(row.topic, row.partition) for each in groups for row in each.offsets}
    ends = EndSources(samples=_samples(of, places))
    for log_partition, place, commit in _standing(of, places):
        if log_partition not in numbers:
            ends.bounds.add(log_partition, place, commit)
    plan = plan_between(moment, end, groups, ends, asked.wanted)
    return way_back_of(plan, ledgers, asked, PlanTools(ends, KafkaTools(), _command(moments.has_copies)))


def _command(has_copies: bool) -> PlanCommand:
    """Return how the command is made that makes the same plan of the log itself, which LOG... stands for."""

    def words(to: str, group: str | None) -> CommandWords:
        view = ["--view evidence"] if has_copies else []
        of = [] if group is None else [f"--group {shell_word(group)}"]
        return ["offsets-tool", "plan", "LOG...", *view, f"--as-of {shell_word(to)}", *of]

    return words


def _samples(of: ClusterTables, places: Collection[TopicPartition]) -> Iterator[EndSample]:
    """Yield what the lake knows of the ends of partitions from files and directories."""
    if not of.lake.has(ENDS):
        return
    fields = [{"at": "timestamp"}.get(name, name) for name in EndSample._fields]
    for row in _of_topics(of, ENDS, fields, places):
        sample = EndSample._make(row[name] for name in fields)
        yield sample._replace(
            topic=from_shown(sample.topic), source=from_shown(sample.source), method=EndMethod(sample.method)
        )


def _standing(
    of: ClusterTables, places: Collection[TopicPartition]
) -> Iterator[tuple[int | None, TopicPartition, CommitAt]]:
    """Yield the committed offsets of all groups for partitions that stand at the end, with their log partitions, by time."""
    rows = [
        (committed_at(row["from_timestamp"], row["commit_timestamp"]), row)
        for row in _of_topics(of, OFFSET_HISTORY, _COMMIT, places)
    ]
    for at, row in sorted(rows, key=itemgetter(0)):
        place = TopicPartition(from_shown(row["topic"]), row["partition"])
        yield row["log_partition"], place, CommitAt(at, row["committed_offset"], row["topic_id"])


def _of_topics(
    of: ClusterTables, table: Table, fields: Sequence[str], places: Collection[TopicPartition]
) -> Iterator[Row]:
    """Yield the rows of a table about partitions; of a history those that hold at the end, and are effective."""
    topics = sorted({shown(place.topic) for place in places})
    is_history = "to_log_offset" in fields

    def may_have(file: FileFacts) -> bool:
        has_held = not is_history or file.get("null_count.to_log_offset") != 0
        return has_held and any(is_within(file, "topic", each) for each in topics)

    for rows in scan(of.lake, table, fields, [of.name], may_have=may_have):
        found = rows.filter(pc.is_in(rows.column("topic").cast(pa.string()), pa.array(topics, pa.string())))
        if is_history:
            found = found.filter(
                pc.and_(pc.is_null(found.column("to_log_offset")), found.column("is_effective"))
            )
        for row in found.to_pylist():
            if (from_shown(row["topic"]), row["partition"]) in places:
                yield row
