"""The copies of each log partition in a lake, as rows of `copies` and `sources` tell: which there are, and what each consists of.

A partition is one log if its copies follow from each other as a log grows; then its rows are replayed as they come. What several
copies make together is known by offsets_tool.log.copies. Pure functions over rows of tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from offsets_tool.lake.plan import LakeRow, LogPartition
from offsets_tool.lake.rows import ARCHIVE, counts
from offsets_tool.log.copies.copy_facts import (
    BatchesOfEpoch,
    CopyCheckpoints,
    CopyFacts,
    FileExtent,
    MissingOffsets,
    ObservedEpochs,
    missing_files,
)
from offsets_tool.rows import Codec, UnreadableKind

StoredPart = tuple[str, int]
"""What one ingest has read of a file: the source's name and the run."""
_Range = tuple[str, str, int | None, int, int]
"""A cluster, a source, its log partition, and the first byte of a range with the one after it."""
_BEFORE_ALL: Final = -1


class LakeCopy(NamedTuple):
    """A copy of a log partition: its facts, and which rows of the lake it has, by source and run."""

    facts: CopyFacts
    units: frozenset[StoredPart]
    run: int
    """The ingest that found it so."""


LakeCopies = Mapping[LogPartition, tuple[LakeCopy, ...]]
"""The copies of log partitions, in the order of their names."""


class _Part(NamedTuple):
    """The part of a copy's file that one ingest has read."""

    unit: StoredPart
    begins: int
    """What orders it among the others: the base offset of its segment, or its own first offset."""
    first: int
    end: int
    """The offset after its last batch; not above `first` without one."""
    base_offset: int | None
    epochs: tuple[BatchesOfEpoch, ...]
    records: int = 0
    is_counted: bool = True


class _State(NamedTuple):
    """A copy as an ingest found it."""

    name: str
    run: int
    parts: tuple[_Part, ...]
    checkpoints: CopyCheckpoints
    cluster_id: str | None
    is_damaged: bool
    is_archive: bool

    @property
    def units(self) -> frozenset[StoredPart]:
        return frozenset(part.unit for part in self.parts if part.end > part.first)

    @property
    def begin(self) -> int:
        return min((part.first for part in self.parts if part.end > part.first), default=0)

    @property
    def end(self) -> int:
        return max((part.end for part in self.parts), default=0)


def copies_of(
    rows: Iterable[LakeRow], sources: Iterable[LakeRow]
) -> dict[LogPartition, tuple[LakeCopy, ...]]:
    """Return the copies of each log partition of which there are several that must be joined, given rows of `copies`.

    `sources` are the rows of `sources`, which say which runs count.
    """
    states = _states(rows, list(sources))
    return {
        key: tuple(map(_lake_copy, sorted(found, key=attrgetter("name", "run"))))
        for key, found in states.items()
        if not _is_one_log(found)
    }


def last_ingests(sources: Iterable[LakeRow]) -> dict[LogPartition, int]:
    """Return the log partitions of which there are records that count, and the last ingest that brought some."""
    found: dict[LogPartition, int] = {}
    for row in sources:
        if counts(row["kind"], row["fate"]) and row["records"] > row["misplaced_records"]:
            for number, _ in _last_offsets(row):
                key = row["cluster"], number
                found[key] = max(row["run"], found.get(key, 0))
    return found


def ends_before_retention(sources: Iterable[LakeRow]) -> dict[LogPartition, int]:
    """Return the log partitions of which records were taken out, and the offset behind the last that any of their sources had."""
    ends: dict[LogPartition, int] = {}
    gone = set()
    for row in sources:
        if counts(row["kind"], row["fate"]):
            for number, last in _last_offsets(row):
                key = row["cluster"], number
                ends[key] = max(_BEFORE_ALL if last is None else last, ends.get(key, _BEFORE_ALL))
                if row["dropped_records"]:
                    gone.add(key)
    return {key: ends[key] + 1 for key in gone}


def _last_offsets(row: LakeRow) -> list[tuple[int | None, int | None]]:
    """Return the log partitions of a source, and the last offset of each; None for a source without any."""
    if row["kind"] == ARCHIVE:
        return [(each["log_partition"], each["last_offset"]) for each in row["archived"]]
    return [(row["log_partition"], row["last_offset"])]


def missing_offsets(
    rows: Iterable[LakeRow], sources: Iterable[LakeRow]
) -> Iterator[tuple[LogPartition, str, tuple[MissingOffsets, ...]]]:
    """Yield each copy of a log partition, as it was last found, with what files missing between its others had.

    `rows` are those of `copies`; `sources` those of `sources`.
    """
    for key, states in _states(rows, list(sources)).items():
        for state in {state.name: state for state in states if not state.is_archive}.values():
            yield key, state.name, missing_files(_files(state.parts), state.checkpoints.cleaned_to)


def _states(rows: Iterable[LakeRow], sources: Sequence[LakeRow]) -> dict[LogPartition, list[_State]]:
    by_source: dict[tuple[str, str], list[LakeRow]] = {}
    for source in sources:
        if counts(source["kind"], source["fate"]):
            by_source.setdefault((source["cluster"], source["source"]), []).append(source)
    stored = {
        _range(source, source["source"]): source["run"] for source in sources if source["same_as"] is None
    }
    runs = {source["run"] for source in sources}
    found: dict[LogPartition, dict[str, list[_State]]] = {}
    for row in sorted((row for row in rows if row["run"] in runs), key=lambda row: row["run"]):
        there = [
            source
            for name in row["sources"]
            for source in by_source.get((row["cluster"], name), ())
            if source["run"] <= row["run"] and _is_of(source, row["log_partition"])
        ]
        of_place = found.setdefault((row["cluster"], row["log_partition"]), {})
        if there:
            _add(of_place.setdefault(row["copy"], []), _state(row, there, stored))
    return {key: [state for states in named.values() for state in states] for key, named in found.items()}


def _add(states: list[_State], state: _State) -> None:
    """Add a later state of one copy: it takes the place of the one before it unless something of that is no longer there."""
    if states and state.is_archive:
        # An archive that was written anew is read again as a whole: rows that were there before are known.
        state = state._replace(parts=(*states.pop().parts, *state.parts))
    elif states and states[-1].units <= state.units:
        states.pop()
    states.append(state)


def _is_of(source: LakeRow, log_partition: int | None) -> bool:
    """Return whether a source may have records of a log partition: files without a number were perhaps given several."""
    return bool(source["kind"] == ARCHIVE or source["log_partition"] == log_partition)


def _range(source: LakeRow, name: str) -> _Range:
    return source["cluster"], name, source["log_partition"], source["range_start"], source["range_end"]


def _stored_in(source: LakeRow, stored: Mapping[_Range, int]) -> StoredPart:
    """Return what a row of `sources` has: rows of its own, or those of the file whose bytes it begins with."""
    if source["same_as"] is None:
        return source["source"], source["run"]
    return source["same_as"], stored[_range(source, source["same_as"])]


def _state(row: LakeRow, sources: Sequence[LakeRow], stored: Mapping[_Range, int]) -> _State:
    by_unit: dict[StoredPart, list[LakeRow]] = {}
    for source in sorted(sources, key=lambda source: (source["range_start"], source["range_end"])):
        by_unit.setdefault(_stored_in(source, stored), []).append(source)
    is_archive = sources[0]["kind"] == ARCHIVE
    parts = (
        _archived(unit, of, row["log_partition"]) if is_archive else _part(unit, of)
        for unit, of in by_unit.items()
    )
    starts = ((each["leader_epoch"], each["start_offset"]) for each in row["leader_epochs"])
    return _State(
        row["copy"],
        row["run"],
        tuple(sorted(parts, key=attrgetter("begins", "first", "unit"))),
        CopyCheckpoints(row["log_start_offset"], row["cleaned_to_offset"], tuple(starts), row["topic_id"]),
        row["cluster_id"],
        _is_damaged(sources),
        is_archive,
    )


def _part(unit: StoredPart, sources: Sequence[LakeRow]) -> _Part:
    first = min((s["first_offset"] for s in sources if s["first_offset"] is not None), default=0)
    last = max((s["last_offset"] for s in sources if s["last_offset"] is not None), default=_BEFORE_ALL)
    base = sources[0]["base_offset"]
    epochs = tuple(
        BatchesOfEpoch(each["leader_epoch"], each["start_offset"], each["batches"])
        for source in sources
        for each in source["leader_epochs"]
    )
    is_packed = any(codec != Codec.NONE for source in sources for codec in source["codecs"])
    is_legacy = any(magic < 2 for source in sources for magic in source["magics"])
    records = sum(source["records"] for source in sources)
    begins = first if base is None else base
    return _Part(unit, begins, first, last + 1, base, epochs, records, not (is_packed and is_legacy))


def _archived(unit: StoredPart, sources: Sequence[LakeRow], log_partition: int | None) -> _Part:
    ranges = [of for source in sources for of in source["archived"] if of["log_partition"] == log_partition]
    first = min((of["first_offset"] for of in ranges), default=0)
    end = max((of["last_offset"] for of in ranges), default=_BEFORE_ALL) + 1
    return _Part(unit, first, first, end, None, ())


def _is_damaged(sources: Sequence[LakeRow]) -> bool:
    """Return whether something of a copy may be in what cannot be read; of a file that grew, its last tail counts."""
    last: dict[str, LakeRow] = {}
    for source in sorted(sources, key=lambda source: (source["run"], source["range_end"])):
        last[source["source"]] = source
    tails = [source["tail_kind"] for source in last.values() if source["tail_kind"] is not None]
    kinds = [found["kind"] for source in sources for found in source["unreadable"]]
    is_unread = any(not UnreadableKind(kind).is_tail for kind in (*tails, *kinds))
    return is_unread or any(source["misplaced_batches"] for source in sources)


def _is_one_log(states: Sequence[_State]) -> bool:
    """Return whether the copies are states of one log that has grown, with archives of other parts of it."""
    archives = [state for state in states if state.is_archive]
    logs = sorted((state for state in states if not state.is_archive), key=attrgetter("end", "begin"))
    ranges = sorted((state.begin, state.end) for state in (*archives, *logs[-1:]))
    if any(after[0] < before[1] for before, after in pairwise(ranges)):
        return False
    # Which leader epochs count where they contradict each other is decided where copies are joined.
    is_odd = len(logs) > 1 and any(map(_has_odd_epochs, logs))
    return not is_odd and all(_has_grown(before, after) for before, after in pairwise(logs))


def _has_grown(before: _State, after: _State) -> bool:
    """Return whether a copy is another one with more at either end."""
    if not before.units <= after.units or before.cluster_id != after.cluster_id:
        return False
    others = (part for part in after.parts if part.unit not in before.units)
    return all(
        part.end <= before.begin or part.first >= before.end for part in others if part.end > part.first
    )


def _lake_copy(state: _State) -> LakeCopy:
    if state.is_archive:
        # An archive proves no absence: what it lacks may never have been archived.
        facts = CopyFacts(state.name, state.begin, state.end, is_whole=False)
        return LakeCopy(facts, state.units, state.run)
    seen = _observed_epochs(state)
    files = list(_files(state.parts))
    facts = seen.copy_facts(
        state.name, files, state.checkpoints, state.cluster_id, is_damaged=state.is_damaged
    )
    return LakeCopy(facts, state.units, state.run)


def _files(parts: Iterable[_Part]) -> Iterator[FileExtent]:
    """Yield what the segments of a copy cover; several ingests have read parts of one that has grown."""
    named = (part for part in parts if part.base_offset is not None)
    for base_offset, found in groupby(named, attrgetter("begins")):
        some = list(found)
        yield FileExtent(
            base_offset,
            max(part.end for part in some),
            sum(part.records for part in some),
            all(part.is_counted for part in some),
        )


def _has_odd_epochs(state: _State) -> bool:
    seen = _observed_epochs(state)
    seen.facts()
    return seen.has_odd


def _observed_epochs(state: _State) -> ObservedEpochs:
    seen = ObservedEpochs(None)
    for part in state.parts:
        for run in part.epochs:
            seen.observe_run(run)
        seen.reach(part.end)
    return seen
