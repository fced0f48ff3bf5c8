"""Several copies of one log partition by rows: offset by offset as log.copies takes records, and what counts of them as rows again.

Where all copies that have an offset have one record there, which is nearly everywhere, their rows are compared by column. Absences
become rows of their own (row_events.ABSENT). Decides nothing: which records are equal says log.copies.union, which of them count
log.copies.views.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, repeat
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import encoded, flags, numbers, plain, tuples_of
from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.events import decode_absences
from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.copies.union import Distinct, RowRecord, distinct
from offsets_tool.relations.histories import joined_rows
from offsets_tool.relations.row_events import ABSENT, with_raw
from offsets_tool.rows import Absence

NOT_KEPT: Final = -2
"""The leader epoch of a record whose source keeps none."""
_RECORD: Final = (
    "log_offset",
    "timestamp",
    "key",
    "value",
    "producer_id",
    "is_transactional",
    "is_control",
)


class CopyRows(NamedTuple):
    """All rows at some offsets: how early each one's copy comes, the copies that have it (a bit for each), and its leader epoch."""

    page: pa.RecordBatch
    rank: Array
    copies: Array
    """Integers of Python: there may be more than 64 copies."""
    epoch: Array


def rows_of_copies(
    copies: Sequence[Iterable[pa.RecordBatch]], facts: Sequence[CopyFacts]
) -> Iterator[CopyRows]:
    """Yield the rows of copies, each by rising offset, up to offsets that all of them have reached."""
    streams = {number: (rows for rows in batches if rows.num_rows) for number, batches in enumerate(copies)}
    waiting: dict[int, pa.RecordBatch] = {}
    while True:
        for number in streams.keys() - waiting.keys():
            if rows := next(streams[number], None):
                waiting[number] = rows
            else:
                del streams[number]
        if not waiting:
            return
        reached = min(rows.column("log_offset")[-1].as_py() for rows in waiting.values())
        parts = dict[int, pa.RecordBatch]()
        for number, rows in sorted(waiting.items()):
            count = int(np.searchsorted(rows.column("log_offset").to_numpy(), reached, "right"))
            parts[number] = rows.slice(0, count)
            waiting[number] = rows.slice(count)
        waiting = {number: rows for number, rows in waiting.items() if rows.num_rows}
        yield _joined(parts, facts)


def _joined(parts: dict[int, pa.RecordBatch], facts: Sequence[CopyFacts]) -> CopyRows:
    """Return rows of copies, given by their numbers."""
    counts = [rows.num_rows for rows in parts.values()]
    epochs = [epochs_in(rows, facts[number]) for number, rows in parts.items()]
    bits = np.array([1 << number for number in parts], object)
    page = pa.concat_batches(list(parts.values()))
    return CopyRows(page, np.repeat([*parts], counts), np.repeat(bits, counts), np.concatenate(epochs))


def whole_offsets(pages: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of pages, whose offsets do not fall, in pages that have all rows of each of their offsets."""
    waiting = None
    for page in pages:
        rows = joined_rows(waiting, page)
        offsets = rows.column("log_offset").to_numpy()
        end = int(np.searchsorted(offsets, offsets[-1])) if len(offsets) else 0
        waiting = rows.slice(end)
        yield rows.slice(0, end)
    if waiting:
        yield waiting


def rows_of_units(
    rows: pa.RecordBatch, having: Mapping[tuple[str, int], int], facts: Sequence[CopyFacts]
) -> CopyRows:
    """Return rows of a lake that copies have, those of a damaged copy once more for each, with the epoch that the others tell.

    `having` says by source and run which copies have them, a bit for each.
    """
    units = zip(*(plain(rows.column(name)).to_pylist() for name in ("source", "run")), strict=True)
    copies = np.array([having.get(unit, 0) for unit in units], object)
    sources = encoded(rows.column("source"))
    rank = np.argsort(np.argsort(sources.dictionary.to_pylist()))[numbers(sources.indices, 0)]
    damaged = {number: copy for number, copy in enumerate(facts) if not copy.is_whole}
    parts = [(copies & ~sum(1 << number for number in damaged), _epochs(rows))]
    parts += [(copies & 1 << number, epochs_in(rows, copy)) for number, copy in damaged.items()]
    places = [np.flatnonzero(of_part) for of_part, _ in parts]
    of_places, epochs = (
        np.concatenate([column[place] for column, place in zip(columns, places, strict=True)])
        for columns in zip(*parts, strict=True)
    )
    place = np.concatenate(places)
    return CopyRows(rows.take(pa.array(place)), rank[place], of_places, epochs)


def epochs_in(rows: pa.RecordBatch, facts: CopyFacts) -> Array:
    """Return the leader epoch of each row of a copy: its batch's, or for a damaged copy that of the other copies."""
    if facts.is_whole:
        return _epochs(rows)
    epochs = map(facts.epoch_at, rows.column("log_offset").to_pylist())
    return np.array([NOT_KEPT if epoch is None else epoch for epoch in epochs], np.int64)


def _epochs(rows: pa.RecordBatch) -> Array:
    """Return the leader epoch of each row's batch."""
    return numbers(rows.column("partition_leader_epoch"), NOT_KEPT).astype(np.int64)


def distinct_rows(windows: Iterable[CopyRows]) -> Iterator[list[Distinct[RowRecord]]]:
    """Yield the distinct records at each offset, as log.copies.union.union does; of a copy, only its first row there counts."""
    return chain.from_iterable(_distinct_of(window) for window in windows if window.page.num_rows)


def _distinct_of(window: CopyRows) -> Iterator[list[Distinct[RowRecord]]]:
    page = window.page
    order = np.lexsort((window.rank, page.column("log_offset").to_numpy()))
    offsets = page.column("log_offset").to_numpy()[order]
    keys, values = (numbers(encoded(page.column(name)).indices, -1)[order] for name in ("key", "value"))
    told = offsets, window.epoch[order], keys, values, flags(page.column("is_control"))[order]
    begins = np.append(True, offsets[1:] != offsets[:-1])
    is_distinct = np.append(True, np.logical_or.reduce([column[1:] != column[:-1] for column in told]))
    number = np.cumsum(begins) - 1
    # Of several records at an offset one may be the same as another that does not stand beside it.
    is_distinct |= (np.bincount(number, is_distinct) > 1)[number]
    first = np.flatnonzero(is_distinct)
    copies = np.bitwise_or.reduceat(window.copies[order], first).tolist()
    epochs = [None if epoch == NOT_KEPT else epoch for epoch in window.epoch[order[first]].tolist()]
    made = tuples_of(Distinct, _records(page, order[first]), epochs, copies)
    for count in np.bincount(number[first]).tolist():
        together = [next(made)] if count == 1 else distinct(_once(islice(made, count)))
        if together[0].copies:
            yield together


def _records(page: pa.RecordBatch, rows: Array) -> Iterator[RowRecord]:
    """Return the records in some rows of a page."""
    few = page.select(_RECORD).take(pa.array(rows))
    columns = (plain(column).to_pylist() for column in few.columns)
    return tuples_of(RowRecord, *columns, repeat(page, len(rows)), rows.tolist())


def _once(together: Iterable[Distinct[RowRecord]]) -> Iterator[Distinct[RowRecord]]:
    """Yield records at one offset without those of copies that have another one before."""
    known = 0
    for record in together:
        if copies := record.copies & ~known:
            yield record._replace(copies=copies)
        known |= copies


def pages_of(items: Iterable[RowRecord | list[Absence]]) -> Iterator[pa.RecordBatch]:
    """Yield rows and absences, in their order, as pages of rows."""
    for of_page, run in groupby(items, lambda item: None if isinstance(item, list) else id(item.page)):
        together = list(run)
        if of_page is None:
            yield from absence_rows(chain.from_iterable(item for item in together if isinstance(item, list)))
            continue
        records = [item for item in together if isinstance(item, RowRecord)]
        yield records[0].page.take(pa.array([record.row for record in records]))


def absence_rows(absences: Iterable[Absence]) -> Iterator[pa.RecordBatch]:
    """Yield absences as rows."""
    records = [event.record for event in decode_absences(absences)]
    log = list(log_batches(records, cluster="", source="", run=0))
    for rows in map(with_raw, log, decode_batches(log)):
        magic = pa.array([ABSENT] * rows.num_rows, rows.column("magic").type)
        yield rows.set_column(rows.schema.get_field_index("magic"), "magic", magic)
