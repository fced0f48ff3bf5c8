"""A cluster of a lake replayed to an offset of its log and to its end, from `log` and `events` as of the last replay.

Only the wanted log partitions are read. The others are represented by what their last replay says of them, so that rules
and times are those of the whole log. Replays by the library; decides no rule.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import pyarrow as pa

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.columns.replay.row_events import MomentRows
from offsets_tool.lake.tables import COPIES, REPLAYS, SOURCES, TOPIC_NAMES
from offsets_tool.log.copies.lineage import NO_END
from offsets_tool.relations.moments import replay_rows
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from spark.derived.expiry import facts_of_logs, first_offsets
from spark.replay.copies import LakeCopy, copies_of
from spark.replay.joined import JoinedRows
from spark.replay.plan import LogPartition, Work, latest
from spark.replay.rows import LakeRows
from spark.replay.tasks import once
from spark.replay.topic_ids import TopicIds, damaged_partitions
from spark.review.rows import ClusterTables

_AUTO: Final = "auto"
"""What a replay was asked for that chose the rules by the log."""


class LakeMoments:
    """Replays log partitions of one cluster of a lake to an offset and to its end."""

    def __init__(self, of: ClusterTables) -> None:
        """Read what the last replay says of each log partition; OffsetsToolError for a lost checkpoint."""
        lake = of.lake
        self._cluster = of.name
        self._replays = {
            log_partition: row
            for log_partition, row in latest(lake.rows(REPLAYS)).items()
            if log_partition[0] == of.name
        }
        self._facts = facts_of_logs(lake.root, self._replays)
        upto = max((row["ingest_run"] for row in self._replays.values()), default=0)
        sources = [row for row in lake.rows(SOURCES) if row["cluster"] == of.name and row["run"] <= upto]
        self._rows = LakeRows.now(lake, sources)
        self._begins = first_offsets(lake, upto)
        self._damaged = damaged_partitions(sources)
        self._copies = copies_of(
            (row for row in lake.rows(COPIES) if row["cluster"] == of.name and row["run"] <= upto), sources
        )
        self._names = TopicIds(lake.rows(TOPIC_NAMES)).of(of.name)

    @property
    def has_copies(self) -> bool:
        """Whether copies of some log partition were joined."""
        return bool(self._copies)

    def run(self, as_of: AsOf, numbers: Collection[int | None]) -> tuple[Snapshot, Snapshot]:
        """Return the moment of `as_of`, which has end offsets, and the end of the log; log partitions `numbers` are replayed."""
        moments = self._begun(as_of), self._begun(AsOf())
        asked = [log_partition for log_partition in self._replays if log_partition[1] in numbers]
        for log_partition in self._replays.keys() - asked:
            self._stand_in(*moments, log_partition)
        for log_partition in asked:
            self._replay(moments, log_partition)
        for moment in moments:
            for number in moment.to_replay_again():
                self._replay([moment], (self._cluster, number))
        return moments

    def _begun(self, as_of: AsOf) -> Snapshot:
        asked = {row["coordinator"] for row in self._replays.values()} - {_AUTO}
        return Snapshot(as_of, TopicNames(lambda: self._names), Rules(next(iter(asked))) if asked else None)

    def _stand_in(self, moment: Snapshot, end: Snapshot, log_partition: LogPartition) -> None:
        """Add a log partition that is not replayed to both snapshots; `moment` names no end of it, so that it has no records."""
        row, facts, begins = (
            self._replays[log_partition],
            self._facts[log_partition],
            self._begins.get(log_partition, 0),
        )
        moment.begin(log_partition[1], begins).proved_later = facts.is_new
        at_end = end.begin(log_partition[1], begins)
        at_end.coordinator.rules = Rules(row["rules"])
        at_end.cut.clock = facts.clock

    def _replay(self, moments: Sequence[Snapshot], log_partition: LogPartition) -> None:
        work, begins = Work(*log_partition, 0, None, None, 0, 0), self._begins.get(log_partition, 0)
        copies = self._copies.get(log_partition)
        if copies is None:
            replay_rows(moments, log_partition[1], self._log(work), begins=begins)
        else:
            self._replay_joined(moments, work, copies)
        for moment in moments:
            for each in moment:
                each.is_damaged |= (self._cluster, each.log_partition) in self._damaged

    def _log(self, work: Work) -> Iterator[pa.RecordBatch]:
        made = MomentRows()
        return map(made.rows, once(rows for rows in self._rows.of(work) if rows.num_rows))

    def _replay_joined(self, moments: Sequence[Snapshot], work: Work, copies: Sequence[LakeCopy]) -> None:
        """Replay joined copies, which depend on the moment: what a copy lacks behind it proves nothing of what was there."""
        number, begins = work.log_partition, self._begins.get(work.key, 0)
        for moment in moments:
            ends = moment.as_of.ends
            end = NO_END if ends is None or number is None else ends.get(number, 0)
            joined = JoinedRows(copies, number, end)
            events = joined.events(lambda: self._rows.records(work))
            replay_events((moment,), number, events, begins=begins)
            moment.contradicted(number, joined.contradiction)
