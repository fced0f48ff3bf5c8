"""Reading evidence for a command: source by source, decoded, filtered and counted, with progress and one summary at the end.

The ledger of every source is kept, whatever is shown of it.
"""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from offsets_tool.cli.filters import Filters
from offsets_tool.cli.render import ProgressBar, note
from offsets_tool.events import Event, decode
from offsets_tool.evidence.sources import Item, Source, records_of
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.rows import BatchRead, Unreadable
from offsets_tool.wire.text import shown

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowReader, RowsRead
    from offsets_tool.columns.survey import ChunkSurveyed
    from offsets_tool.columns.text.reading import ChunkText

    Read = ChunkText | ChunkSurveyed | BatchRead | Unreadable

STRICT_EXIT = 3
FAST_FROM = 1 << 20
"""Bytes of a segment from which loading the fast lane pays."""
UNREADABLE_SHOWN = 10
"""How many unreadable ranges are named before the rest is only counted; `inspect` names them all."""


class Reading:
    """One pass over the evidence."""

    def __init__(
        self, sources: list[Source], filters: Filters, *, strict: bool, progress: bool, hashes: bool = True
    ) -> None:
        """`hashes=False` where nobody is told the files' SHA-256."""
        self.sources = sources
        self.filters = filters
        self.ledgers: list[LedgerEntry] = []
        self.problems = 0
        self.overlaps = 0
        """Segments that have offsets which another of their folder has."""
        self.has_shown = False
        """Whether the filters let anything through yet."""
        self._strict = strict
        self._hashes = hashes
        self._unreadable = 0
        self._misplaced = 0
        self._noted: set[str] = set()
        self._progress = ProgressBar(sum(source.size for source in sources), shown=progress)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.close()
        for source in self.sources:
            source.close()

    @property
    def files(self) -> list[str]:
        """What is read from disk, source by source: files, tars, Delta tables."""
        return [path for source in self.sources if (path := source.path)]

    def note_once(self, text: str) -> None:
        """A note that many files would repeat."""
        if text not in self._noted:
            self._noted.add(text)
            note(text)

    def stop_progress(self) -> None:
        """All is read that there is to read."""
        self._progress.close()

    def events(self) -> Iterator[Event]:
        """Every event that the filters let through."""
        for source in self.sources:
            for item in self.items(source):
                yield from self.shown(item)

    def items(self, source: Source, *, verify: bool = True) -> Iterator[Item]:
        """What a source holds, counted. The caller decodes each item with `decoded`, or the ledger does not add up."""
        self._ledger = self._ledger_of(source)
        for item in source.read(self._ledger, verify):
            self._see(item)
            yield item
        self._close(self._ledger)

    def through(self, source: Source, read: "Callable[..., Iterator[Read]]") -> Iterator[memoryview | Item]:
        """What a segment holds by the fast lane, counted: text, and items, as `items` has them, in place of the rest."""
        assert source.segment is not None
        self._ledger = self._ledger_of(source)
        for item in source.or_lost(read(source.segment, self._ledger, limits=source.limits), self._ledger):
            if isinstance(item, (BatchRead, Unreadable)):
                self._see(item)
                yield item
            else:
                for piece in item.pieces:
                    self.has_shown = self.has_shown or (isinstance(piece, memoryview) and len(piece) > 0)
                    yield piece
                self._progress.advance(item.size)
        self._close(self._ledger)

    def rows(self, source: Source, reader: "RowReader", *, counted: bool = True) -> "Iterator[RowsRead]":
        """What a segment holds as rows; counted unless it is read once more."""
        from offsets_tool.columns.origin import Origin  # noqa: PLC0415 - with Arrow, where it pays
        from offsets_tool.columns.reading import RowsRead  # noqa: PLC0415

        assert source.segment is not None
        ledger = self._ledger_of(source)
        origin = Origin("", shown(source.name), source.log_partition, 0)
        for item in source.or_lost(
            reader.read(source.segment, origin, limits=source.limits, ledger=ledger), ledger
        ):
            if isinstance(item, RowsRead):
                if counted:
                    self._count_rows(item)
                yield item
        if counted:
            self._close(ledger)
            for unreadable in self.ledgers[-1].unreadable:
                self._unread(unreadable)

    def _close(self, ledger: Ledger) -> None:
        """A source has been read: what of it cannot stand where it says is named, and belongs in no state."""
        self.ledgers.append(entry := ledger.entry())
        for found in entry.misplaced_ranges:
            self._misplaced += 1
            if self._misplaced <= UNREADABLE_SHOWN:
                note(
                    f"{entry.source}: {found.records} record(s) in {found.batches} batch(es) at byte {found.position} are "
                    f"misplaced: {found.reason}"
                )

    def _count_rows(self, read: "RowsRead") -> None:
        self._progress.advance(read.end - read.start)
        if read.events is not None:
            self.problems += read.events.num_rows - read.events.column("problem").null_count

    def _ledger_of(self, source: Source) -> Ledger:
        ledger = source.ledger()
        ledger.hashes = self._hashes
        return ledger

    def decoded(self, item: Item) -> Iterator[Event]:
        """The events of an item, counted."""
        for record in records_of(item):
            event = decode(record)
            self._ledger.count(event.outcome, event.kept_raw or "")
            self.problems += event.problem is not None
            yield event

    def shown(self, item: Item) -> Iterator[Event]:
        """Those events of an item that the filters let through; all are counted."""
        for event in filter(self.filters.matches, self.decoded(item)):
            self.has_shown = True
            yield event

    def refused(self, text: str, *, counted: bool) -> None:
        """What a Kafka tool would have thrown; `counted` if the record is among the problems already.

        Goes on where that tool would have ended, unless `--strict` asks to end too.
        """
        self.problems += not counted
        note(text)
        if self._strict:
            raise SystemExit(STRICT_EXIT)

    def _see(self, item: Item) -> None:
        if isinstance(item, BatchRead):
            self._progress.advance(item.batch.size)
            if item.unreadable is not None:
                self._unread(item.unreadable)
        elif isinstance(item, Unreadable):
            self._progress.advance(item.size)
            self._unread(item)

    def _unread(self, found: Unreadable) -> None:
        self._unreadable += 1
        if self._unreadable <= UNREADABLE_SHOWN:
            place = f"{found.size} byte(s) at {found.position} unreadable" if found.size else "unreadable"
            note(f"{found.source}: {place}: {found.reason}")

    def finish(self, where: str = "`offsets-tool inspect` names them") -> None:
        """Says that something could not be read and where it is named; `--strict` ends the program with 3 if there was."""
        if not (self._unreadable or self._misplaced or self.problems or self.overlaps):
            return
        misplaced = f"{self._misplaced} range(s) of misplaced batches, " if self._misplaced else ""
        overlaps = f"{self.overlaps} segment(s) that reach into others, " if self.overlaps else ""
        note(
            f"{self.problems} record(s) with a problem, {misplaced}{overlaps}{self._unreadable} unreadable range(s); {where}"
        )
        if self._strict:
            raise SystemExit(STRICT_EXIT)
