"""Sentences on aborted transactions, on offsets that were hidden with their deleted group, and on anomalies.

Removals and open transactions are findings, which have sentences of their own.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import count, of_topics, span
from offsets_tool.history.change_labels import offset_label
from offsets_tool.history.rows import AnomalyRow, OffsetBeginCause, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.replay.changes import is_unread_note
from offsets_tool.story.sentence import Moment, Sentence, SentenceKind, when
from offsets_tool.wire.longs import difference

_VISIBILITY: Final = (OffsetBeginCause.HIDDEN, OffsetBeginCause.REVEALED)


def aborted_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence for each aborted transaction whose marker is at none of the log offsets `named`, which findings name."""
    for row in rows.transactions:
        if row.outcome == TransactionOutcome.ABORTED and row.marker_log_offset not in named:
            yield _aborted(rows, row)


def unended_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence on the begin of each transaction whose marker is at one of the log offsets `named`, which findings name."""
    for row in rows.transactions:
        if row.marker_log_offset in named:
            text = (
                f"Producer {row.producer_id} begins a transaction with {count(row.commits, 'commit')}, "
                f"and does not end it: it is open until {when(row.marker_timestamp)}."
            )
            at = Moment(row.first_log_offset, row.first_timestamp)
            yield _sentence(rows, SentenceKind.TRANSACTION, text, at)


def _aborted(rows: GroupRows, row: TransactionRow) -> Sentence:
    assert row.marker_log_offset is not None and row.marker_timestamp is not None
    text = (
        f"The transaction of producer {row.producer_id} was aborted "
        f"{span(difference(row.marker_timestamp, row.first_timestamp))} after it began: "
        f"{'its commit' if row.commits == 1 else f'its {row.commits:,} commits'} never counted."
    )
    return _sentence(
        rows, SentenceKind.TRANSACTION, text, Moment(row.marker_log_offset, row.marker_timestamp)
    )


def visibility_sentences(rows: GroupRows) -> Iterator[Sentence]:
    """Yield a sentence for each time that offsets were hidden with their deleted group, and each time that they came back."""
    hidden = (row for row in rows.offsets if row.begin_cause in _VISIBILITY)
    for (at, cause), some in groupby(hidden, key=lambda row: (row.from_timestamp, row.begin_cause)):
        yield _visibility(rows, list(some), cause, at)


def _visibility(rows: GroupRows, offsets: list[OffsetHistoryRow], cause: str, at: int) -> Sentence:
    what = f"{count(len(offsets), 'offset')} {of_topics([row.topic for row in offsets])}"
    label = offset_label(None, offsets[0])
    meaning = (
        "the coordinator keeps them without answering anybody with them"
        if cause == OffsetBeginCause.HIDDEN
        else "the group would be answered with them again"
    )
    text = f"{what} {'is' if len(offsets) == 1 else 'are'} {label}: {meaning}."
    return _sentence(rows, SentenceKind.OFFSETS, text, Moment(offsets[0].from_log_offset, at))


def anomaly_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence for each anomaly that is not at the log offsets `named`, which findings name; equal notes share one.

    What was not understood is always a finding.
    """
    anomalies = (
        row for row in rows.anomalies if row.log_offset not in named and not is_unread_note(row.note)
    )
    for note, some in groupby(anomalies, key=lambda row: row.note):
        yield _anomaly(rows, note, list(some))


def _anomaly(rows: GroupRows, note: str, some: list[AnomalyRow]) -> Sentence:
    first, last = some[0], some[-1]
    times = f" ({count(len(some), 'time')} up to {last.log_offset})" if len(some) > 1 else ""
    text = f"The log holds what no coordinator writes: {note.rstrip('.')}{times}."
    sentence = _sentence(rows, SentenceKind.ANOMALY, text, Moment(first.log_offset, first.timestamp))
    return sentence._replace(last_log_offset=last.log_offset)


def _sentence(rows: GroupRows, kind: SentenceKind, text: str, at: Moment) -> Sentence:
    return Sentence(kind, text, rows.group, rows.log_partition, at.log_offset, at.log_offset, at.at)


def offsets_of(rows: Iterable[OffsetHistoryRow], topic: str, partition: int) -> list[OffsetHistoryRow]:
    """Return the rows of one committed offset."""
    return [row for row in rows if row.topic == topic and row.partition == partition]
