"""How did aborted transactions end: by the application, by their timeout, or because a second producer took the name over?

The coordinator raises the producer's epoch when it aborts on its own: the marker has it (TransactionCoordinator, KIP-890). With
transaction version 2 every marker has a raised epoch: only pauses speak for one or the other then, and nothing is sure. A
transaction of another group raises it too, and a producer that died may come back long before its transaction times out.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import SAID, at_time, count, named, span, was
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.log_clock import age_at
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.wire.longs import difference

TIMED_OUT: Final = FindingKind(
    "transaction_timed_out",
    Severity.WARNING,
    "The coordinator aborted a transaction that its producer did not end in time (transaction.timeout.ms).",
    "Look for a producer that stalled or died at that time; its commits did not count, and its records are read again.",
)
FENCED: Final = FindingKind(
    "transaction_fenced",
    Severity.WARNING,
    "The coordinator aborted a transaction because another producer began with the same transactional.id.",
    "A restart does this once; if it repeats, two running instances share a transactional.id: give each its own.",
)
ABORTED: Final = FindingKind(
    "transactions_aborted",
    Severity.NOTICE,
    "An application aborted transactions: what they committed never counted.",
    "Look at the application's own log for why it called abortTransaction at these times.",
)
TIMEOUT_MS: Final = 60_000
"""Producer's default of transaction.timeout.ms: most transactions are aborted when they are older."""
CHECK_MS: Final = 10_000
"""Broker's default of transaction.abort.timed.out.transaction.cleanup.interval.ms: how late it aborts what has timed out."""
SOON_MS: Final = 10_000
"""How soon after fencing the new producer's own commits follow, if it is why the old one was fenced."""
SILENCE_MS: Final = 1_000
"""How long after its last commit an application ends a transaction at most: clients send offsets just before they end it."""
RAISED_TWICE: Final = 2
"""By how much the epoch rises from a fenced producer to its successor: once for the abort, once for the new producer."""


class Aborted(NamedTuple):
    """An aborted transaction, and the next one of the same producer id in this group."""

    row: TransactionRow
    after: TransactionRow | None

    @property
    def age(self) -> int:
        """Milliseconds from its first commit to the marker."""
        return age_at(self.row.marker_timestamp, self.row.first_timestamp) or 0

    @property
    def silence(self) -> int:
        """Milliseconds from its last commit to the marker."""
        return age_at(self.row.marker_timestamp, self.row.last_timestamp) or 0

    @property
    def is_taken_over(self) -> bool:
        """Whether the next transaction is of an epoch that only another producer of the same transactional id gets."""
        return self.after is not None and (
            self.after.producer_epoch - self.row.producer_epoch >= RAISED_TWICE
            or self.after.producer_epoch < self.row.producer_epoch
        )

    @property
    def is_taken_over_soon(self) -> bool:
        """Whether another producer took over, and its commits followed the marker closely."""
        after = self.after
        return (
            self.is_taken_over
            and after is not None
            and difference(after.first_timestamp, self.row.marker_timestamp or 0) <= SOON_MS
        )


@finder(TIMED_OUT, FENCED, ABORTED)
def find_aborted_transactions(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each transaction that the coordinator aborted, and one for all that the application did."""
    plain = _plain(rows.transactions)
    by_application: list[TransactionRow] = []
    for each in _aborted(rows.transactions):
        is_doubtful = context.has_raised_epochs and each.row.first_log_offset not in plain
        line = _line(context.server_log, each.row, is_doubtful)
        if line is None and not _is_by_coordinator(each, is_doubtful):
            by_application.append(each.row)
        else:
            yield _by_coordinator(rows, each, is_doubtful, line)
    if by_application:
        yield _by_application(rows, by_application)


def _is_by_coordinator(aborted: Aborted, is_doubtful: bool) -> bool:
    """Return whether, by the records, the coordinator aborted the transaction, and not the application."""
    is_abandoned = aborted.is_taken_over or aborted.silence > SILENCE_MS
    return aborted.row.is_epoch_raised and (is_abandoned or not is_doubtful)


def _line(server_log: ServerLog, row: TransactionRow, is_doubtful: bool) -> ServerLine | None:
    """Return the broker's line that says why the coordinator aborted a transaction.

    A producer that begins right after the marker took over only where the marker's epoch says that it was fenced.
    """
    timeout = server_log.end_of_transaction(row.producer_id, row.marker_timestamp)
    if timeout is not None or is_doubtful or not row.is_epoch_raised:
        return timeout
    return server_log.takeover(row.producer_id, row.producer_epoch, row.marker_timestamp)


def _plain(transactions: Sequence[TransactionRow]) -> set[int]:
    """Return the first log offsets of transactions below version 2: a later marker of their producer has the producer's own epoch.

    Producers go over to version 2 and not back: so what came before such a marker was below it too.
    """
    plain: set[int] = set()
    producers: set[int] = set()
    for row in reversed(transactions):
        if row.marker_epoch == row.producer_epoch:
            producers.add(row.producer_id)
        if row.producer_id in producers:
            plain.add(row.first_log_offset)
    return plain


def _aborted(transactions: Sequence[TransactionRow]) -> Iterator[Aborted]:
    after: dict[int, TransactionRow] = {}
    found_: list[Aborted] = []
    for row in reversed(transactions):
        if row.outcome == TransactionOutcome.ABORTED:
            found_.append(Aborted(row, after.get(row.producer_id)))
        after[row.producer_id] = row
    yield from reversed(found_)


def _by_coordinator(rows: GroupRows, aborted: Aborted, is_doubtful: bool, line: ServerLine | None) -> Finding:
    kind, other, confidence = _judged(aborted)
    if is_doubtful:
        confidence = Confidence.AMBIGUOUS
    alternatives = (other.name, *((ABORTED.name,) if is_doubtful else ()))
    if line is not None:
        kind = TIMED_OUT if line.kind is LineKind.TRANSACTION_TIMED_OUT else FENCED
        confidence, alternatives, is_doubtful = Confidence.CERTAIN, (), False
    row, after = aborted.row, aborted.after
    why = "it timed out" if kind is TIMED_OUT else "another producer took over"
    places = (row.marker_log_offset or 0, row.first_log_offset, row.last_log_offset)
    more = (after.first_log_offset,) if after is not None and kind is FENCED else ()
    return found(
        kind,
        rows,
        Places((*places, *more), row.first_timestamp, row.marker_timestamp),
        f"The transaction of producer {row.producer_id} for group {named(rows.group)} was aborted"
        f"{at_time(row.marker_timestamp)}, {span(aborted.age)} after it began, by the coordinator: {why}"
        f"{'' if line is None else SAID}",
        confidence=confidence,
        severity=Severity.NOTICE if is_doubtful else Severity.WARNING,
        alternatives=alternatives,
        lines=() if line is None else (line,),
    )


def _judged(aborted: Aborted) -> tuple[FindingKind, FindingKind, Confidence]:
    """Return the kind of an abort, an alternative, and the confidence; one younger than any timeout was fenced.

    A producer that died and came back fences its own transaction, so an abort with a successor need not be a timeout.
    """
    if aborted.is_taken_over_soon and aborted.age < TIMEOUT_MS:
        likely = aborted.age < SILENCE_MS
        return FENCED, TIMED_OUT, Confidence.LIKELY if likely else Confidence.AMBIGUOUS
    if aborted.silence < SILENCE_MS:
        return FENCED, TIMED_OUT, Confidence.AMBIGUOUS
    is_due = 0 <= aborted.age - TIMEOUT_MS <= CHECK_MS
    return (
        TIMED_OUT,
        FENCED,
        Confidence.LIKELY if is_due and not aborted.is_taken_over_soon else Confidence.AMBIGUOUS,
    )


def _by_application(rows: GroupRows, aborted: list[TransactionRow]) -> Finding:
    first, last = aborted[0], aborted[-1]
    is_raised = any(row.is_epoch_raised for row in aborted)
    ended = sum(row.outcome != TransactionOutcome.OPEN for row in rows.transactions)
    return found(
        ABORTED,
        rows,
        Places(
            tuple(row.marker_log_offset or 0 for row in aborted),
            first.marker_timestamp,
            last.marker_timestamp,
        ),
        f"{len(aborted):,} of {count(ended, 'transaction')} of group {named(rows.group)} {was(len(aborted))} aborted, "
        f"the first{at_time(first.marker_timestamp)}",
        confidence=Confidence.AMBIGUOUS if is_raised else Confidence.LIKELY,
        alternatives=(FENCED.name, TIMED_OUT.name) if is_raised else (),
    )
