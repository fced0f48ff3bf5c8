"""Find what a reset file would lack: whole partitions of the log, which --partial must allow, or single offsets, which get notes.

A person who resets groups from a file believes that groups not in it need no reset. Does not write the file.
"""

from collections.abc import Iterable, Iterator, Mapping

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.errors import UsageError
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.moments.moment_notes import listed, number_text
from offsets_tool.findings.sentences import named
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.placement import infer_partitions, likely_counts, shown_by
from offsets_tool.replay.changes import GroupKind, OffsetOf
from offsets_tool.rows import Row
from offsets_tool.wire.text import shown


def refuse_partial(snapshot: Snapshot, wanted: Wanted, evidence: Evidence) -> None:
    """Raise UsageError where the reset file would lack what a whole partition of the log holds, or may hold, of what is wanted."""
    if lacking := incomplete(snapshot, wanted, evidence.ledgers):
        raise UsageError(lacking)


def incomplete(snapshot: Snapshot, wanted: Wanted, ledgers: Iterable[LedgerEntry]) -> str | None:
    """Return what of whole partitions the reset file would lack, and what to do about it, in one sentence; None if nothing.

    `ledgers` are those of the files that the snapshot was replayed from.
    """
    lacking = [
        *_counted_as_empty(snapshot, wanted),
        *_missing_partitions(snapshot),
        *_not_reached(snapshot),
        *_lost(ledgers),
    ]
    if not lacking:
        return None
    return (
        f"the reset file would be incomplete: {'; '.join(lacking)}; complete what is asked for, or add --partial to have "
        "what there is"
    )


def _counted_as_empty(snapshot: Snapshot, wanted: Wanted) -> Iterator[str]:
    ends = snapshot.as_of.ends
    if ends is None:
        return
    empty = [p for p in snapshot if _end_of(p, ends) == 0 and _holds(p, wanted)]
    if empty:
        numbers = ", ".join(number_text(p.log_partition) for p in empty)
        yield f"--as-of names no end, or 0, of partition(s) {numbers}, which hold such offsets and count as empty"


def _end_of(p: PartitionSnapshot, ends: Mapping[int, int]) -> int:
    return 0 if p.log_partition is None else ends.get(p.log_partition, 0)


def _holds(p: PartitionSnapshot, wanted: Wanted) -> bool:
    """Return whether a partition that counts as empty has records on offsets that are wanted."""
    return any(
        isinstance(subject, OffsetOf)
        and wanted.has_group(subject.group)
        and wanted.has_offset(subject.topic, subject.partition)
        for subject in p.coverage.later
    )


def _missing_partitions(snapshot: Snapshot) -> Iterator[str]:
    here = {p.log_partition for p in snapshot}
    missing = [
        str(number)
        for number, end in sorted((snapshot.as_of.ends or {}).items())
        if end and number not in here
    ]
    if missing:
        yield f"partition(s) {', '.join(missing)} that --as-of names are not in this evidence"


def _not_reached(snapshot: Snapshot) -> Iterator[str]:
    """Yield a phrase on partitions whose segments begin only after the moment, though not at offset 0."""
    late = [
        number_text(p.log_partition)
        for p in snapshot
        if p.begins and p.cut.end is not None and p.cut.end <= p.begins
    ]
    if late:
        yield f"of partition(s) {', '.join(late)} only segments from after that moment are here"


def _lost(ledgers: Iterable[LedgerEntry]) -> Iterator[str]:
    """Yield a phrase that counts the files of which nothing could be read; none if there is no such file."""
    lost = [entry for entry in ledgers if (entry.unreadable or entry.bytes_unreadable) and not entry.records]
    if lost:
        numbers = sorted({number_text(entry.log_partition) for entry in lost})
        yield f"{len(lost)} file(s) of partition(s) {', '.join(numbers)} cannot be read"


def reset_gaps(rows: list[Row], snapshot: Snapshot, wanted: Wanted, evidence: Evidence) -> Iterator[str]:
    """Yield a note for each kind of offsets that are not in the reset file though a reader may expect them there."""
    yield from _elsewhere(snapshot, wanted)
    unproven = [row for row in rows if not row["is_proven"]]
    doubted = sum(row["proven_again_from"] is None and _is_contradicted(row, snapshot) for row in unproven)
    if doubted:
        yield f"{doubted} offset(s) on which copies contradict each other are not in the file; --leader names the copy in force"
    compacted = sum(row["proven_again_from"] is not None for row in unproven)
    if compacted:
        yield f"{compacted} offset(s) that compaction made unknown at this moment are not in the file; try a later --as-of"
    if unread := len(unproven) - doubted - compacted:
        yield (
            f"{unread} offset(s) are not in the file, as later records were not understood: ask the broker what is committed "
            "(kafka-consumer-groups --describe), or try another --as-of"
        )
    pending = sum(len(row["pending"]) for row in rows)
    if pending:
        yield f"{pending} commit(s) of transactions that are open at this moment are not in the file"
    if streams := [named(group) for group in _streams_groups(rows, snapshot)]:
        yield (
            f"the file has offsets of streams group(s) {listed(streams)}: reset these with kafka-streams-groups, not with "
            "kafka-consumer-groups"
        )
    damaged = sum(
        entry.bytes_unreadable > 0 or entry.raw_records > 0 or entry.misplaced_batches > 0
        for entry in evidence.ledgers
    )
    if damaged:
        yield (
            f"commits may be missing: {damaged} file(s) have what could not be read or is misplaced; "
            "`offsets-tool inspect` names it"
        )


def _streams_groups(rows: Iterable[Row], snapshot: Snapshot) -> list[str]:
    """Return the streams groups that have a committed offset among the rows."""
    states = {p.log_partition: p.state.groups for p in snapshot}
    groups = {(row["log_partition"], row["group"]) for row in rows if row["committed_offset"] is not None}
    found = ((group, states[number].get(group)) for number, group in sorted(groups, key=str))
    return [name for name, group in found if group is not None and group.kind is GroupKind.STREAMS]


def _is_contradicted(row: Row, snapshot: Snapshot) -> bool:
    """Return whether copies contradict each other on the offset of a row."""
    offset = OffsetOf(row["group"], row["topic"], row["partition"])
    return any(p.log_partition == row["log_partition"] and offset in p.coverage.unknown for p in snapshot)


def moved_notes(homes: Mapping[str, int | None], wanted: Wanted) -> Iterator[str]:
    """Yield a note for each wanted group that lies in several log partitions: which of its offsets are left out."""
    for group, home in sorted(homes.items()):
        if wanted.has_group(group):
            left = (
                "what it has there"
                if home is None
                else f"what it has elsewhere than in {home}, where it lives now,"
            )
            yield (
                f"group '{shown(group)}' lies in several partitions of __consumer_offsets (the topic was given more partitions, or "
                f"files are misnamed): {left} is left out; --log-partition names one of them"
            )


def _elsewhere(snapshot: Snapshot, wanted: Wanted) -> Iterator[str]:
    """Yield a note on partitions of the log that are not in the evidence, unless groups were asked for by name.

    Each named group that is missing has a note of its own.
    """
    if not wanted.is_open:
        return
    here = [p.log_partition for p in snapshot if p.log_partition is not None]
    groups = [
        (group, p.log_partition) for p in snapshot for group in p.state.groups if p.log_partition is not None
    ]
    counts = likely_counts(infer_partitions(groups, max(here, default=0)), len(groups))
    if len(counts) == 1 and len(here) < counts[0]:
        yield (
            f"the file has groups of {len(here)} of {counts[0]} partitions of __consumer_offsets "
            f"({shown_by(len(groups))}); the others are not in this evidence"
        )
