"""Find the risks of setting one committed offset back: a closed list, each with what it means and what to do.

A critical one: Kafka's tool refuses the row or makes something else of it, or nobody knows what was committed. Judges by an
OffsetCase alone. Sources: ConsumerGroupCommand.resetOffsets (only groups that are Empty or Dead, or unknown to the broker) and
OffsetsUtils.checkOffsetsRange (which sets the log start or the end instead of what lies outside).
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.expiry.causes import Cause
from offsets_tool.findings.committers import Committer
from offsets_tool.findings.offsets.lost import DELETED, EXPIRED, GROUP_DELETED, KINDS, LOST, removal_reason
from offsets_tool.findings.rows import FindingKind
from offsets_tool.findings.sentences import at_time, count, listed, named
from offsets_tool.plans import kinds
from offsets_tool.plans.cases import OffsetCase
from offsets_tool.plans.commands import names_group
from offsets_tool.plans.reset_file import UNSAID, ResetLine
from offsets_tool.plans.restored import SOON_MS, restored_expiry
from offsets_tool.plans.rows import Risk, RiskKind
from offsets_tool.replay.changes import GroupKind, GroupState
from offsets_tool.story.sentence import when
from offsets_tool.time_texts import duration_text

Judge = Callable[[OffsetCase], str | None]
"""From a case to the sentence of a risk; None where it has none."""


def _unproven(case: OffsetCase) -> str | None:
    if case.is_proven:
        return None
    again = case.moment["proven_again_from"]
    of_it = f"What group {named(case.offset.group)} had committed is unknown"
    if again is None:
        return f"{of_it}: a newer record of it was not understood, or copies of its log contradict each other"
    return f"{of_it}: compaction took the record; its next record is at {case.of.rows.log_partition}:{again}"


def _created_since(case: OffsetCase) -> str | None:
    if case.of.was_there or not case.is_proven or case.new_offset is not None:
        return None
    return f"Group {named(case.offset.group)} was not there at that moment"


def _not_committed(case: OffsetCase) -> str | None:
    if not (case.of.was_there and case.is_proven and case.new_offset is None):
        return None
    below_zero = case.moment["committed_offset"]
    if below_zero is not None:
        return f"Group {named(case.offset.group)} had committed {below_zero} for this partition at that moment, which is no offset"
    return f"Group {named(case.offset.group)} had committed nothing for this partition at that moment"


def _topic_deleted(case: OffsetCase) -> str | None:
    if not case.is_topic_deleted or case.current_offset is not None:
        return None
    return f"Offsets of topic {named(case.offset.topic)} were removed{_when_and_why(case)}"


def _topic_recreated(case: OffsetCase) -> str | None:
    if case.new_offset is None or not case.is_topic_recreated:
        return None
    if case.is_topic_deleted:
        return f"Offsets of topic {named(case.offset.topic)} were removed{_when_and_why(case)}; then it was committed for again"
    return f"The offset is of an earlier topic {named(case.offset.topic)}, which has another id now"


def _topic_in_doubt(case: OffsetCase) -> str | None:
    if not case.is_topic_in_doubt or case.is_topic_recreated:
        return None
    return f"Group {named(case.offset.group)} lost it{_when_and_why(case)}"


def _when_and_why(case: OffsetCase) -> str:
    removal = case.removal
    return "" if removal is None else f"{at_time(removal.removed_at)}: {removal_reason(removal)}"


def _not_expressible(case: OffsetCase) -> str | None:
    if case.new_offset is None:
        return None
    line = ResetLine(*case.offset, case.new_offset)
    if line.unsayable is None and not names_group(line.group):
        return f"No command line can name group {named(line.group)}: set it with a program (Admin.alterConsumerGroupOffsets)"
    return None if line.unsayable is None else ": ".join(UNSAID[line.unsayable])


def _other_tool(case: OffsetCase) -> str | None:
    group = case.of.group
    kind = case.of.kind_before if group is None else group.kind
    if kind not in (GroupKind.STREAMS, GroupKind.SHARE):
        return None
    tense = "was" if group is None else "is"
    gone = " at that moment, and is deleted now" if group is None else ""
    return f"Group {named(case.offset.group)} {tense} a {kind.value} group{gone}: kafka-{kind.value}-groups resets such groups"


def _above_end(case: OffsetCase) -> str | None:
    if case.lag is None or not case.is_beyond_end:
        return None
    return (
        f"The offset of the moment, {case.lag.committed_offset:,}, is {case.lag.beyond_end:,} beyond the end of the partition, "
        f"{case.lag.end_offset:,}"
    )


def _has_members(case: OffsetCase) -> str | None:
    group = case.of.group
    if group is None or not group.members:
        return None
    names = case.of.members
    who = f": {listed(names)}" if names else ""
    members = count(group.members, "member")
    if group.state is GroupState.UNKNOWN:
        return f"Group {named(group.group)} had {members} before a record that was not understood, and may have some now{who}"
    return f"Group {named(group.group)} has {members} at the end of the log{who}"


def _below_log_start(case: OffsetCase) -> str | None:
    if case.lag is None or not case.lag.data_lost:
        return None
    return (
        f"The partition begins at {case.lag.log_start_offset:,} now: {count(case.lag.data_lost, 'offset')} from "
        f"{case.lag.committed_offset:,} on {'is' if case.lag.data_lost == 1 else 'are'} gone"
    )


def _pending(case: OffsetCase) -> str | None:
    waiting = case.current["pending"]
    if not waiting:
        return None
    producers = listed(str(each["producer_id"]) for each in waiting)
    offsets = listed(f"{each['committed_offset']:,}" for each in waiting)
    return f"An open transaction of producer {producers} waits to commit {offsets} here"


def _simple_client(case: OffsetCase) -> str | None:
    return _commits(case, Committer.SIMPLE_CLIENT, "A client that never joins the group committed")


def _set_since(case: OffsetCase) -> str | None:
    return _commits(case, Committer.OUTSIDE, "An admin, or a client that never joins, committed")


def _commits(case: OffsetCase, committer: Committer, who: str) -> str | None:
    made = case.commits_by(committer)
    if not made:
        return None
    last = made[-1]
    return f"{who} {count(len(made), 'time')} since, last {last.committed_offset:,}{at_time(last.from_timestamp)}"


def _expires(case: OffsetCase) -> str | None:
    expiry, now = restored_expiry(case), case.of.newest_at
    if expiry is None or expiry.at is None or now is None or expiry.at - now > SOON_MS:
        return None
    base = expiry.base_timestamp
    since = "" if base is None else f": its retention counts from {when(base)}"
    if expiry.at <= now:
        return f"Once it is set it expires with the broker's next check{since}"
    return f"Once it is set it expires{at_time(expiry.at)}, {duration_text(expiry.at - now)} after the end of the log{since}"


def _removed(*kinds: FindingKind) -> Judge:
    """Return a function that finds the risk of offsets removed since the moment, for causes with findings of these kinds."""

    def judge(case: OffsetCase) -> str | None:
        removal = case.removal
        if removal is None or KINDS[Cause(removal.cause or "unknown")] not in kinds:
            return None
        again = "" if case.current_offset is None else "; it was committed again since"
        return f"Group {named(case.offset.group)} lost it{_when_and_why(case)}{again}"

    return judge


def _read_on(case: OffsetCase) -> str | None:
    has_read_on = case.has_only_read_on and case.is_current_proven
    return f"Group {named(case.offset.group)} has only read on since" if has_read_on else None


def _moved(case: OffsetCase) -> str | None:
    return None if case.move is None else case.move.title


def _damaged(case: OffsetCase) -> str | None:
    if not case.of.partition.is_damaged:
        return None
    return f"Partition {case.of.rows.log_partition} of __consumer_offsets could not be read as a whole"


def _metadata(case: OffsetCase) -> str | None:
    metadata = case.moment["metadata"]
    return f"The commit has the text {named(metadata)}" if metadata else None


_JUDGES: Final[tuple[tuple[RiskKind, Judge], ...]] = (
    (kinds.UNPROVEN, _unproven),
    (kinds.TOPIC_DELETED, _topic_deleted),
    (kinds.TOPIC_RECREATED, _topic_recreated),
    (kinds.ABOVE_END, _above_end),
    (kinds.NOT_EXPRESSIBLE, _not_expressible),
    (kinds.OTHER_TOOL, _other_tool),
    (kinds.HAS_MEMBERS, _has_members),
    (kinds.BELOW_LOG_START, _below_log_start),
    (kinds.TOPIC_IN_DOUBT, _topic_in_doubt),
    (kinds.PENDING_TRANSACTION, _pending),
    (kinds.SIMPLE_CLIENT, _simple_client),
    (kinds.EXPIRES_SOON, _expires),
    (kinds.READ_ON, _read_on),
    (kinds.DELETED_SINCE, _removed(DELETED, GROUP_DELETED)),
    (kinds.LOST_SINCE, _removed(LOST)),
    (kinds.DAMAGED_LOG, _damaged),
    (kinds.NOT_COMMITTED, _not_committed),
    (kinds.SET_SINCE, _set_since),
    (kinds.MOVED_SINCE, _moved),
    (kinds.EXPIRED_SINCE, _removed(EXPIRED)),
    (kinds.METADATA_LOST, _metadata),
    (kinds.CREATED_SINCE, _created_since),
)
RISKS: Final = {kind.name: kind for kind, _ in _JUDGES}
"""Every kind of risk by its name, the worst first."""


def risks_of(case: OffsetCase) -> tuple[Risk, ...]:
    """Return the risks of setting a committed offset to what it was at the moment, the worst first."""
    found = ((kind, judge(case)) for kind, judge in _JUDGES)
    return _without_idle(
        [Risk(kind.name, kind.severity.value, text) for kind, text in found if text is not None]
    )


def _without_idle(risks: list[Risk]) -> tuple[Risk, ...]:
    """Return the risks without those that only matter to a row that is set, where another risk keeps it from being set."""
    left_out = tuple(risk for risk in risks if RISKS[risk.risk].is_left_out)
    return left_out or tuple(risks)
