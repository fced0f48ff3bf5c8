"""Notes on a moment for stderr: which place of the log it is, what the log no longer proves of it, and what is shown instead.

Each note is one sentence, and most logs need none.
"""

from collections.abc import Iterable, Iterator

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.time_texts import shown_time

NAMED = 10
"""How many partitions are named before the rest is only counted."""


def number_text(log_partition: int | None) -> str:
    """Return the number of a log partition as text; a question mark where neither a file nor a person says it."""
    return "?" if log_partition is None else str(log_partition)


def offset_text(log_partition: int | None, log_offset: int) -> str:
    """Return a place of the log: `3:17`, as --as-of and --since take it, or `offset 17` where nothing says the partition."""
    return f"offset {log_offset}" if log_partition is None else f"{log_partition}:{log_offset}"


def moment_notes(snapshot: Snapshot, option: str) -> Iterator[str]:
    """Yield what everybody should know who is shown this moment, which `option` named."""
    yield from _outside(snapshot, option)
    yield from _positions(snapshot, option)
    yield from _late(snapshot, option)
    yield from _odd_times(snapshot)
    yield from _missing_records(snapshot)
    yield from _begins_late(snapshot)
    yield from _unsure(snapshot)
    yield from _unread(snapshot)
    yield from _anomalies(snapshot)


def _outside(snapshot: Snapshot, option: str) -> Iterator[str]:
    """Note evidence without a record, and a time before the first record or after the last."""
    newest, time = snapshot.newest_timestamp, snapshot.as_of.time
    if all(p.coverage.first_offset is None for p in snapshot):
        yield "this evidence has no record to replay"
    elif time is None:
        return
    elif newest is None:
        first = min((p.cut.cut_by for p in snapshot if p.cut.cut_by is not None), default=None)
        then = "" if first is None else f": the first is of {shown_time(first)}"
        yield f"{option}: no record of this evidence is from {shown_time(time)} or before{then}"
    elif snapshot.is_after_records:
        yield f"{option}: the newest record here is of {shown_time(newest)}; what came between it and that time is not here"


def _positions(snapshot: Snapshot, option: str) -> Iterator[str]:
    ends = snapshot.as_of.ends
    if ends is None:
        return
    partitions = list(snapshot)
    unnamed = sum(p.log_partition not in ends for p in partitions)
    if unnamed:
        named = listed(str(number) for number in sorted(ends))
        yield f"{option} names partition(s) {named}: {unnamed} other(s) count as empty"
    there = {p.log_partition: p for p in partitions}
    for number, end in sorted(ends.items()):
        known = there.get(number)
        if known is None and end > 0:
            unnumbered = "; --log-partition tells the number of what is" if None in there else ""
            yield f"{option} {number}:{end}: partition {number} is not in this evidence{unnumbered}"
        elif known is not None and known.end < end:
            yield f"{option} {number}:{end}: the log of partition {number} ends at {known.end}"


def _late(snapshot: Snapshot, option: str) -> Iterator[str]:
    for p in snapshot:
        late = p.cut.late
        if late is not None:
            yield (
                f"partition {number_text(p.log_partition)}: {late.records} record(s) from {p.cut.end} on have timestamps "
                f"up to that time, the oldest {late.back_ms} ms older than the record at {p.cut.end}, and are left out; "
                f"{option} {offset_text(p.log_partition, late.until)} has them too"
            )


def _odd_times(snapshot: Snapshot) -> Iterator[str]:
    """Note records whose times do not count, because those around them contradict them."""
    for p in snapshot:
        odd = p.cut.clock.odd
        if odd:
            first, has_more = odd[0], len(odd) > 1
            yield (
                f"record {offset_text(p.log_partition, first.log_offset)} says {shown_time(first.timestamp)}, "
                f"which the records around it contradict{', as do others behind it' if has_more else ''}: such a time does not "
                "count as the end of the log; compare the clocks of the brokers"
            )


def _missing_records(snapshot: Snapshot) -> Iterator[str]:
    """Note records that compaction took, where the moment is not the end of the log."""
    # At the end every key has its newest value.
    if snapshot.as_of.is_end:
        return
    lacking = [p for p in snapshot if p.coverage.missing]
    if not lacking:
        return
    missing = sum(p.coverage.missing for p in lacking)
    places = listed(offset_text(p.log_partition, p.coverage.proven_from) for p in lacking)
    unknown = sum(len(p.coverage.later) for p in lacking)
    yield (
        f"{missing:,} record(s) from before this moment are gone ({_reason_missing(lacking)}); every record is there only from "
        f"{places} on. "
        f"{unknown} value(s) at this moment are unknown (`is_proven` false); what was deleted later may be missing altogether"
    )


def _begins_late(snapshot: Snapshot) -> Iterator[str]:
    """Note partitions whose first segments are not here."""
    # Compaction does not move the base offset of the first segment, which is 0.
    begins = [p for p in snapshot if p.begins]
    if begins:
        places = listed(offset_text(p.log_partition, p.begins) for p in begins)
        yield f"the log begins at {places}: segments before that are not here, and what only they hold is not shown"


def _unread(snapshot: Snapshot) -> Iterator[str]:
    """Note records that were not understood, and what that makes unknown."""
    odd = [(p, p.first_unread) for p in snapshot if p.first_unread is not None]
    if not odd:
        return
    records = sum(p.unread_records for p, _ in odd)
    places = listed(offset_text(p.log_partition, first.log_offset) for p, first in odd)
    unknown = sum(len(p.unknown.keys() - p.coverage.unknown.keys()) for p, _ in odd)
    said = "; `offsets-tool findings` names them"
    if unknown:
        until = "(`is_proven` false) until a later record of each reads"
        said += f". {unknown:,} offset(s), group(s) and member(s) are unknown by that {until}"
    yield f"{records:,} record(s) were not understood, the first at {places}{said}"


def _anomalies(snapshot: Snapshot) -> Iterator[str]:
    """Note where the log holds what no coordinator would write."""
    odd = [p for p in snapshot if p.first_anomaly is not None]
    if odd:
        places = listed(
            offset_text(p.log_partition, p.first_anomaly.log_offset) for p in odd if p.first_anomaly
        )
        yield f"the log holds what cannot be, from {places} on: `offsets-tool history --kind anomalies` says what"


def _unsure(snapshot: Snapshot) -> Iterator[str]:
    """Note commits in archives that do not tell whether they were transactional."""
    unsure = sum(p.ambiguous_commits for p in snapshot)
    if unsure:
        yield (
            f"{unsure:,} commit(s) do not say whether they are of a transaction (no is_transactional in the archive) and count at "
            "once: wrong where it was aborted or is open, unless the archive was filled with isolation.level=read_committed"
        )


def gaps(snapshot: Snapshot) -> Iterator[str]:
    """Note changes that are not in the log any more."""
    lacking = [p for p in snapshot if p.coverage.missing]
    if lacking:
        missing = sum(p.coverage.missing for p in lacking)
        places = listed(offset_text(p.log_partition, p.coverage.proven_from) for p in lacking)
        yield (
            f"{missing:,} record(s) are gone ({_reason_missing(lacking)}), and what they changed with them; "
            f"every change is there only from {places} on"
        )


def _reason_missing(lacking: Iterable[PartitionSnapshot]) -> str:
    """Return why records may be missing: compaction, or also damage where the log has any."""
    return "compaction, or damage: see above" if any(p.is_damaged for p in lacking) else "compaction"


def orphans(snapshot: Snapshot, wanted: Wanted) -> Iterator[str]:
    """Note wanted offsets that a 4.x coordinator keeps after their group was deleted, without answering them."""
    total = sum(_orphans_of(p, wanted) for p in snapshot)
    if total:
        yield (
            f"{total} committed offset(s) are of groups that were deleted: a coordinator of 4.x knows them "
            "and answers nothing for them; they are left out (--coordinator classic shows them)"
        )


def topic_id_notes(names: TopicNames) -> Iterator[str]:
    """Yield notes on the names of topics that no record has, and on topic ids without a name, whose topics may have other rows."""
    if names.asked_derived:
        derived = listed(f"{id_} is {name}" for id_, name in sorted(names.asked_derived.items()))
        yield (
            f"names derived from what members subscribe to, as no record says them: {derived} "
            "(--topic-id ID=NAME to say otherwise)"
        )
    for topic_id, said, name, is_recorded in names.contradicted():
        how = "records say" if is_recorded else "what members subscribe to leaves only"
        then = "; it is not used" if is_recorded else "; without the option that is its name"
        yield f"--topic-id {topic_id}={said}: {how} {name}{then}"
    if names.asked_unnamed:
        unnamed = listed(sorted(names.asked_unnamed))
        yield (
            f"no record says the name of topic id(s) {unnamed}: a partition may be here twice, by the id with its owner and by "
            "the name with its offset; give the name with --topic-id ID=NAME"
        )


def _orphans_of(p: PartitionSnapshot, wanted: Wanted) -> int:
    if p.coordinator.rules is not Rules.NEW:
        return 0
    groups = (group for group in p.state.offsets if wanted.has_group(group) and not p.state.answers(group))
    return sum(wanted.has_offset(*at) for group in groups for at in p.state.offsets[group])


def listed(texts: Iterable[str]) -> str:
    """Return the first NAMED texts in one line, and how many more there are."""
    found = list(texts)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(found[:NAMED]) + more
