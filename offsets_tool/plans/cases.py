"""One committed offset at the moment to go back to and at the end of the log: the input of every judgement on risks.

Holds rows and states; evidence.answers.planning reads them from the log.
"""

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.expiry.rules import Policy
from offsets_tool.findings.committers import Committer, origin_of
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import MOST_PLACES, log_offset_text, record_offsets
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.offsets.moves import JUMP, REWIND, find_moves
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import OffsetBeginCause, OffsetHistoryRow
from offsets_tool.lag.rows import LagRow
from offsets_tool.replay.changes import Group, GroupKind, OffsetOf, TopicPartition
from offsets_tool.rows import Row
from offsets_tool.story.state import present_members

_COMMITTED: Final = (OffsetBeginCause.COMMIT, OffsetBeginCause.TRANSACTION)
_NEVER_THERE: Final = (Cause.ABORTED, Cause.SUPERSEDED)
"""Commits that were never effective."""
_MOVES: Final = (REWIND.name, JUMP.name)


@dataclass(frozen=True)
class GroupCase:
    """The input of judgements that all offsets of a group in one log partition share."""

    rows: GroupRows
    """Its rows up to the end of the log."""
    partition: PartitionSnapshot
    """The log partition at its end."""
    since: int
    """Offset in the log of the first record that is later than the moment."""
    was_there: bool
    """Whether the group was there at the moment, or may have been."""
    kind_before: GroupKind | None
    """Of which kind the group was at the moment; None where it was not there, or where the log does not say it."""
    policy: Policy | None
    """By which its offsets expire; None where it never had any that the log still tells of."""
    newest_at: int | None
    """Time of the newest record of the evidence, epoch milliseconds."""

    @property
    def group(self) -> Group | None:
        """The group at the end of the log; None where it is gone."""
        return self.partition.state.groups.get(self.rows.group)

    @cached_property
    def members(self) -> list[str]:
        """The names of the members at the end of the log."""
        return present_members(self.rows)

    @cached_property
    def removals(self) -> dict[TopicPartition, ExpiryRow]:
        """By partition, the last time that the committed offset was removed since the moment."""
        return {
            TopicPartition(row.topic, row.partition): row
            for row in self.rows.removed
            if row.log_offset >= self.since and row.cause not in _NEVER_THERE
        }

    @cached_property
    def commits(self) -> dict[TopicPartition, list[OffsetHistoryRow]]:
        """By partition, the commits that took effect since the moment, as far as compaction left them."""
        return {
            at: [row for row in rows if row.from_log_offset >= self.since and row.begin_cause in _COMMITTED]
            for at, rows in self.rows.effective.items()
        }

    @cached_property
    def moves(self) -> list[Finding]:
        """The findings on commits since the moment that moved offsets back or leapt ahead."""
        found = find_moves.find(self.rows, LogContext())
        return [each for each in found if each.kind in _MOVES and max(record_offsets(each)) >= self.since]


@dataclass(frozen=True)
class OffsetCase:
    """One committed offset of a group, at the moment and at the end of the log."""

    of: GroupCase
    offset: OffsetOf
    moment: Row
    """Its row at the moment, as as_of.views_offsets makes them."""
    current: Row
    """Its row at the end of the log."""
    lag: LagRow | None = None
    """How the offset of the moment stands to the partition's log at the end; None where the offset is not known."""

    @property
    def new_offset(self) -> int | None:
        """The offset that was committed at the moment; None where none was, or where the log does not prove it."""
        return _number(self.moment) if self.is_proven else None

    @property
    def current_offset(self) -> int | None:
        """The offset that is committed at the end of the log; None where none is, or where the log does not prove it."""
        return _number(self.current) if self.is_current_proven else None

    @property
    def is_proven(self) -> bool:
        """Whether the log proves which offset was committed at the moment, or that none was."""
        return bool(self.moment["is_proven"])

    @property
    def is_current_proven(self) -> bool:
        """Whether the log proves which offset is committed at its end, or that none is."""
        return bool(self.current["is_proven"])

    @property
    def is_changed(self) -> bool:
        """Whether the committed offset differs from that of the moment, or the log does not prove one of the two."""
        is_proven = self.is_proven and self.is_current_proven
        return not is_proven or self.new_offset != self.current_offset

    @property
    def is_in_question(self) -> bool:
        """Whether the committed offset is the number of the moment, and may stand for another record now, or for none."""
        if self.is_changed or self.new_offset is None:
            return False
        return self.is_topic_recreated or self.is_topic_in_doubt or self.is_beyond_end

    @property
    def is_beyond_end(self) -> bool:
        """Whether the offset of the moment is beyond the partition's end."""
        return self.lag is not None and self.lag.beyond_end > 0

    @property
    def commits(self) -> list[OffsetHistoryRow]:
        """The commits that took effect since the moment, as far as compaction left them."""
        return self.of.commits.get(TopicPartition(self.offset.topic, self.offset.partition), [])

    def commits_by(self, committer: Committer) -> list[OffsetHistoryRow]:
        """Return the commits since the moment that this kind of committer made."""
        return [row for row in self.commits if origin_of(self.of.rows, row).committer(row) is committer]

    @property
    def removal(self) -> ExpiryRow | None:
        """The last time that the committed offset was removed since the moment; None if it was not."""
        return self.of.removals.get(TopicPartition(self.offset.topic, self.offset.partition))

    @property
    def move(self) -> Finding | None:
        """The finding on a commit since the moment that moved this offset back or leapt ahead; None if commits only went on."""
        log_partition = self.of.rows.log_partition
        commits = {log_offset_text(log_partition, row.commit_log_offset) for row in self.commits}
        return next((each for each in self.of.moves if self._is_about(each, commits)), None)

    def _is_about(self, finding: Finding, commits: Set[str]) -> bool:
        """Return whether one of these commits of the offset is in a finding, or may be behind the places that a finding names."""
        if finding.topic not in (None, self.offset.topic) or finding.partition not in (
            None,
            self.offset.partition,
        ):
            return False
        return len(finding.evidence) >= MOST_PLACES or not commits.isdisjoint(finding.evidence)

    @property
    def has_only_read_on(self) -> bool:
        """Whether the offset only moved ahead since the moment, by commits of the group's own readers."""
        is_regular = not self.commits_by(Committer.OUTSIDE) and not self.commits_by(Committer.UNKNOWN)
        is_ahead = all(row.delta is not None and row.delta >= 0 for row in self.commits)
        return bool(self.commits) and is_regular and is_ahead and self.removal is None and self.move is None

    @property
    def is_topic_in_doubt(self) -> bool:
        """Whether the offset was removed since the moment, and the deletion of its topic is only one of the causes that fit."""
        return self._may_be_topic_deleted and not self.is_topic_deleted

    @property
    def is_topic_deleted(self) -> bool:
        """Whether the offset was removed since the moment because its topic was deleted."""
        removal = self.removal
        is_sure = removal is not None and removal.confidence != Confidence.AMBIGUOUS
        return is_sure and self._may_be_topic_deleted

    @property
    def _may_be_topic_deleted(self) -> bool:
        return self.removal is not None and self.removal.cause == Cause.TOPIC_DELETED

    @property
    def is_topic_recreated(self) -> bool:
        """Whether the topic is another one of the same name than at the moment."""
        ids = {row["topic_id"] for row in (self.moment, self.current) if row["topic_id"] is not None}
        is_another = len(ids) > 1 or (self.lag is not None and self.lag.is_topic_recreated)
        return is_another or (self.is_topic_deleted and self.current_offset is not None)


def _number(row: Row) -> int | None:
    """Return the committed offset of a row; None without one, or where it is below 0 and so none."""
    offset: int | None = row["committed_offset"]
    return None if offset is None or offset < 0 else offset
