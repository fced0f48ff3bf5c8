"""Accounts for an evidence file by file: its bytes, its records by outcome, and what could not be read.

It reads and counts everything; callers choose what to show, and how.
"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import SurveyLane
from offsets_tool.evidence.sources import Source
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.survey import Survey
from offsets_tool.table_rows import ReasonCount, UnreadableRange
from offsets_tool.wire.schema import Int8, Int32, Int64, String
from offsets_tool.wire.times import UtcTime


class KindCount(NamedTuple):
    """Records of one kind and version, as in OffsetCommit v3, GroupMetadata tombstone or control COMMIT."""

    kind: String
    records: Int64


class FileRow(NamedTuple):
    """A file of an evidence, or an archive or a live partition, with its ledger: where every byte and record of it went."""

    source: Annotated[String, "The file as it was named, or found below what was named."]
    log_partition: Annotated[
        Int32 | None, "Partition of __consumer_offsets; null where nothing says its number, and for archives."
    ]
    copy: Annotated[
        String | None,
        "The copy that it belongs to: the directory around the partition's, or a tar; null without one.",
    ]
    base_offset: Annotated[Int64 | None, "Offset in the file's name; null if its name is not one of Kafka's."]
    kind: Annotated[String | None, "log, deleted, cleaned or swap, by the file's suffix; null for archives."]
    bytes: Annotated[Int64, "Bytes of the (decompressed) file."]
    bytes_in_batches: Annotated[Int64, "Bytes of the batches that were read."]
    bytes_unreadable: Annotated[Int64, "Bytes that hold no record that can be read."]
    batches: Annotated[Int64, "Batches, readable or not."]
    records: Annotated[Int64, "Records of the file."]
    decoded_records: Annotated[Int64, "Records with key and value decoded, tombstones too."]
    raw_records: Annotated[Int64, "Records whose key or value could not be decoded."]
    control_records: Annotated[Int64, "Control records: markers of transactions."]
    records_unreadable: Annotated[Int64, "Records that unreadable batches said they had."]
    adds_up: Annotated[bool, "Whether every byte and every record is accounted for."]
    unreadable: Annotated[tuple[UnreadableRange, ...], "The unreadable ranges, in order."]
    kept_raw_reasons: Annotated[tuple[ReasonCount, ...], "Why records were kept raw, counted by reason."]
    first_offset: Annotated[Int64 | None, "Lowest offset of its records; null without any."]
    last_offset: Annotated[Int64 | None, "Highest offset of its records; null without any."]
    missing_offsets: Annotated[
        Int64, "Offsets between the two that no record has: compaction, aborted data or damage."
    ]
    first_at: Annotated[UtcTime | None, "Earliest time of a record; null if none has one."]
    last_at: Annotated[UtcTime | None, "Latest time of a record; null if none has one."]
    kinds: Annotated[tuple[KindCount, ...], "Records by kind and version."]
    groups: Annotated[Int64, "Groups that its records name."]
    transactional_batches: Annotated[Int64, "Batches of transactions."]
    magics: Annotated[tuple[Int8, ...], "Formats of the batches: 0, 1, 2."]
    codecs: Annotated[tuple[String, ...], "Compressions of the batches."]
    sha256: Annotated[String | None, "SHA-256 of the file on disk; null for a live topic."]


def file_rows(evidence: Evidence) -> Iterator[FileRow]:
    """Read each source of an evidence to its end, and yield its row."""
    lane = SurveyLane(evidence)
    for source in evidence.sources:
        survey = lane.survey(source)
        yield _row(source, evidence.ledgers[-1], survey)


def _row(source: Source, entry: LedgerEntry, survey: Survey) -> FileRow:
    segment = source.segment
    from_ledger = {name: getattr(entry, name) for name in FileRow._fields if hasattr(entry, name)}
    return FileRow(
        **from_ledger
        | {
            "copy": source.copy,
            "base_offset": None if segment is None else segment.base_offset,
            "kind": None if segment is None else segment.kind.value,
            "unreadable": tuple(
                UnreadableRange(u.position, u.size, u.kind.value, u.reason) for u in entry.unreadable
            ),
            "kept_raw_reasons": tuple(ReasonCount(*each) for each in entry.reasons.items()),
            "missing_offsets": survey.missing_offsets,
            "first_at": entry.min_timestamp,
            "last_at": entry.max_timestamp,
            "kinds": tuple(KindCount(*each) for each in sorted(survey.kinds.items())),
            "groups": len(survey.groups),
            "transactional_batches": survey.transactional_batches,
            "codecs": tuple(codec.value for codec in entry.codecs),
        }
    )
