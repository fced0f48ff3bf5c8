"""Read one piece of a file, and account for every byte of it in a row of `sources`.

At the end of a file, bytes after the last batch are left to the next ingest, whatever they are: an active segment grows there,
and a torn batch may be completed. All bytes before are in a batch or named unreadable. Stretches of one leader epoch are observed
too; what epochs say of a copy is decided in offsets_tool.log.copies.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.decode import Origin, count_outcomes, decode_batches, log_batches
from offsets_tool.columns.lane.availability import PAYS_FROM, Engine, is_fast
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.errors import SourceError
from offsets_tool.lake.rows import ARCHIVE
from offsets_tool.log.archive.read import read_archive
from offsets_tool.log.batches.limits import Limits
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.segment import or_lost
from offsets_tool.log.storage import as_path
from offsets_tool.rows import LogRecord, Row, Unreadable
from offsets_tool.table_rows import ArchivedRange, EpochRun, ReasonCount, SourceRow, UnreadableRange
from offsets_tool.wire.text import shown
from spark.ingest.digest import RangeDigest
from spark.ingest.plan import FilePiece, digest, edges

_COUNTED: Final = [name for name in LedgerEntry.__dataclass_fields__ if name in SourceRow._fields]


class PieceRead:
    """Reads one piece of a file: exhaust `read`, then ask for `rows`, which accounts for it."""

    def __init__(
        self,
        piece: FilePiece,
        log_partition: int | None,
        columns: Mapping[str, str],
        limits: Limits,
        engine: Engine,
    ) -> None:
        self.ledger = Ledger(
            piece.source,
            piece.file.segment.log_partition,
            piece.file.kind == ARCHIVE,
            has_hashes=not piece.file.continues,
        )
        self._piece = piece
        self._log_partition = log_partition
        self._columns = columns
        self._limits = limits
        self._engine = engine
        self._start: int | None = None
        self._end = piece.start
        self._tail: list[Unreadable] = []
        self._digest: RangeDigest | None = None
        self._epochs, self._archived = EpochRuns(), ArchivedRanges()

    def read(self, run: int) -> Iterator[RowsRead]:
        """Yield the piece's rows for `log` and for `events`; SourceError if the file cannot be read, or is replaced meanwhile."""
        path = as_path(self._piece.file.segment.path)
        before = _identity(path)
        is_archive = self._piece.file.kind == ARCHIVE
        observer = self._archived if is_archive else self._epochs
        for rows in self._archive(run) if is_archive else self._segment(run):
            if rows.log is not None:
                observer.observe(rows.log)
            yield rows
        if _identity(path) != before or not self._is_as_expected():
            raise SourceError(path.as_posix(), "was replaced while it was read; ingest again")

    def rows(self, run: int, at: datetime) -> list[SourceRow]:
        """Return the piece's row of `sources`, once `read` is exhausted; an empty list if nothing in it was new."""
        start, end, tail = self._range()
        is_whole_story = self._piece.start == 0 and not self._piece.resumes
        is_tail_new = bool(tail) and self._piece.is_after_known
        if start == end and not (is_whole_story or is_tail_new):
            return []
        facts: Row = {"range_start": start, "range_end": end, "run": run, "ingested_at": at}
        facts |= file_facts(self._piece) | self._account(start, end) | _tail_facts(tail)
        return [SourceRow(**facts)]

    def _origin(self, run: int) -> Origin:
        file = self._piece.file
        return Origin(file.cluster, self._piece.source, file.segment.log_partition, run)

    def _segment(self, run: int) -> Iterator[RowsRead]:
        piece = self._piece
        items = _reader(piece.file.cluster, piece.file.segment.log_partition, self._engine).read(
            piece.file.segment,
            self._origin(run),
            start=piece.start,
            end=piece.end,
            resume=piece.resumes,
            limits=self._limits,
            ledger=self.ledger,
        )
        if not piece.file.must_open:
            items = or_lost(items, piece.file.segment, self.ledger)
        for item in items:
            if isinstance(item, Unreadable):
                self._begin(item.position)
                self._tail.append(item)
                continue
            self._begin(item.start)
            self._end = item.end
            self._tail.clear()
            if self._digest is not None:
                self._digest.reach(item.end)
            yield item

    def _begin(self, position: int) -> None:
        if self._start is None:
            self._start = position
            file = self._piece.file
            self._digest = RangeDigest(file.segment.path, position) if file.continues else None

    def _archive(self, run: int) -> Iterator[RowsRead]:
        origin = self._origin(run)
        records = self._archive_records()
        for log in log_batches(records, cluster=origin.cluster, source=origin.source, run=run):
            (events,) = decode_batches([log])
            count_outcomes(events, self.ledger)
            yield RowsRead(0, self._end, log, events)

    def _archive_records(self) -> Iterator[LogRecord]:
        archive = self._piece.file.archive
        assert archive is not None
        rows = read_archive(
            archive,
            columns=self._columns,
            log_partition=self._log_partition,
            ledger=self.ledger,
            limits=self._limits,
        )
        yield from (item for item in rows if isinstance(item, LogRecord))
        self._start, self._end = 0, self.ledger.entry().bytes

    def _is_as_expected(self) -> bool:
        piece = self._piece
        return piece.sha256 in (None, piece.sha256 and digest(piece.file, piece.start, piece.end))

    def _range(self) -> tuple[int, int, list[Unreadable]]:
        """Return begin and end of the range that this ingest accounts for, and the unreadable tail left to the next ingest."""
        file = self._piece.file
        start = self._piece.start if self._start is None else self._start
        reached = self._tail[-1].position + self._tail[-1].size if self._tail else self._end
        if file.continues and reached >= file.segment.size:
            return start, self._end, self._tail
        return start, reached, []

    def _account(self, start: int, end: int) -> Row:
        """Return the ledger's fields for a range, without the tail. An archive has no batches: its readable bytes count as read."""
        entry = self.ledger.entry()
        is_archive = self._piece.file.kind == ARCHIVE
        settled = [u for u in entry.unreadable if is_archive or u.position < end or not u.size]
        unreadable = sum(u.size for u in settled)
        return {
            **{name: getattr(entry, name) for name in _COUNTED},
            "bytes": end - start,
            "bytes_in_batches": end - start - unreadable if is_archive else entry.bytes_in_batches,
            "bytes_unreadable": unreadable,
            "misplaced_records": entry.misplaced.records if entry.misplaced else 0,
            "first_misplaced_offset": entry.misplaced and entry.misplaced.first_offset,
            "leader_epochs": self._epochs.runs,
            "archived": self._archived.ranges,
            "same_as": None,
            "kept_raw_reasons": [ReasonCount(*count) for count in entry.reasons.items()],
            "unreadable": [UnreadableRange(u.position, u.size, u.kind, shown(u.reason)) for u in settled],
            **self._digests(start, end, entry.sha256),
        }

    def _digests(self, start: int, end: int, of_file: str | None) -> dict[str, str | None]:
        """Return the SHA-256 of the range and of the file; `of_file` is the ledger's for a file that cannot grow."""
        file, piece = self._piece.file, self._piece
        if not file.continues:
            return {"sha256": digest(file, start, end), "file_sha256": of_file}
        running = self._digest or RangeDigest(file.segment.path, start)
        of_range = running.upto(end)
        is_whole = start == piece.start == 0 and piece.end == file.segment.size
        return {"sha256": of_range, "file_sha256": running.upto(file.segment.size) if is_whole else None}


@lru_cache(maxsize=1)
def _reader(cluster: str, log_partition: int | None, engine: Engine) -> RowReader:
    """Return this process's reader for a log partition; it is kept, because keys repeat in all segments of a log partition."""
    return RowReader(fast=is_fast(PAYS_FROM, engine=engine))


def _tail_facts(tail: list[Unreadable]) -> Row:
    return {"tail_bytes": sum(u.size for u in tail), "tail_kind": tail[0].kind if tail else None}


def file_facts(piece: FilePiece) -> Row:
    """Return what a row of `sources` says of the file as it is on disk, by column."""
    file, segment = piece.file, piece.file.segment
    return {
        "cluster": file.cluster,
        "source": piece.source,
        "log_partition": segment.log_partition,
        "base_offset": segment.base_offset,
        "path": shown(segment.path),
        "member": shown(segment.member),
        "generation": piece.generation,
        "kind": file.kind,
        "directory": shown(segment.directory),
        "fate": segment.fate,
        "broker_id": segment.broker_id,
        "file_size": segment.size,
        "file_modified_at": file.modified_at,
        "edges_sha256": edges(file),
    }


def _identity(path: Path) -> tuple[int, int]:
    """Return device and inode of a file: Kafka's cleaner puts another file under the same name."""
    try:
        stat = path.stat(follow_symlinks=path.exists())
    except OSError as error:
        raise SourceError(path.as_posix(), f"cannot be opened ({error.strerror}); ingest again") from error
    return stat.st_dev, stat.st_ino


class EpochRuns:
    """Stretches of batches of one leader epoch, in the order of the file; `runs` has those of all rows that were observed."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []
        self._base: int | None = None
        """First offset of the batch of the last row."""

    def observe(self, log: pa.RecordBatch) -> None:
        """Observe rows of `log`; misplaced records are skipped, and archives have no epochs."""
        has_epoch = pc.and_(
            pc.is_null(log.column("misplaced")), pc.is_valid(log.column("partition_leader_epoch"))
        )
        batches = log.select(["partition_leader_epoch", "base_offset"]).filter(has_epoch)
        epochs = pc.run_end_encode(batches.column(0))
        start = 0
        for epoch, end in zip(epochs.values.to_pylist(), epochs.run_ends.to_pylist(), strict=True):
            self._add(epoch, batches.column(1).slice(start, end - start))
            start = end

    def _add(self, epoch: int, bases: pa.Array) -> None:
        first = bases[0].as_py()
        changes: int = pc.not_equal(bases.slice(1), bases.slice(0, len(bases) - 1)).true_count
        batches = changes + (first != self._base)
        self._base = bases[-1].as_py()
        last = self.runs[-1] if self.runs else None
        if last is not None and last.leader_epoch == epoch:
            self.runs[-1] = last._replace(batches=last.batches + batches)
        else:
            self.runs.append(EpochRun(epoch, first, batches))


class ArchivedRanges:
    """The partitions of an archive, with their lowest and highest offsets; `ranges` has those of all rows that were observed."""

    def __init__(self) -> None:
        self._found: dict[int | None, ArchivedRange] = {}

    @property
    def ranges(self) -> list[ArchivedRange]:
        """A range for each partition, in the order in which they came."""
        return list(self._found.values())

    def observe(self, log: pa.RecordBatch) -> None:
        """Observe rows of `log` from an archive."""
        places = pa.table(log.select(["log_partition", "log_offset"]))
        for row in (
            places.group_by("log_partition")
            .aggregate([("log_offset", "min"), ("log_offset", "max")])
            .to_pylist()
        ):
            number, first, last = row["log_partition"], row["log_offset_min"], row["log_offset_max"]
            known = self._found.get(number, ArchivedRange(number, first, last))
            self._found[number] = ArchivedRange(
                number, min(first, known.first_offset), max(last, known.last_offset)
            )
