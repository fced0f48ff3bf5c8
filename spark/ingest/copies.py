"""Rows of `copies`: what each copy of a log partition consists of at an ingest, and what Kafka's checkpoint files beside it say.

A file that another took the place of, or that is no longer there, is not part of the copy any more. Decides nothing: what several
copies make together is known by offsets_tool.lake.copies.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from offsets_tool.evidence.moments.moment_notes import listed
from offsets_tool.job_rows import CopyRow, EpochStartRow
from offsets_tool.lake.rows import ARCHIVE, SourceFields, counts
from offsets_tool.log.copies.copy_facts import checkpoints_of
from offsets_tool.log.names import Segment
from offsets_tool.log.storage import StoredPath, as_path, one_listing, stored_in
from offsets_tool.wire.text import from_shown, shown
from spark.ingest.plan import IngestFile

_Copy = tuple[str, str, int | None]
"""A cluster, the copy's name, and a log partition."""
_NO_SEGMENT: Final = Segment("")


def copy_of(source: SourceFields) -> str:
    """Return the name of the copy that a row of `sources` belongs to."""
    name: str = source["directory"] or source["path"]
    return name


@one_listing()
def found_copies(
    files: Sequence[IngestFile], known: Iterable[SourceFields], new: Sequence[SourceFields], run: int
) -> list[CopyRow]:
    """Return a row of `copies` for each copy of which this run has read something.

    `files` are all that its sources have now, `known` the rows of `sources` of earlier runs, `new` those of this one.
    """
    there = {file.identity for file in files}
    of_copies: dict[_Copy, list[SourceFields]] = {}
    for source in _latest([*known, *new]):
        if _is_part(source) and (source["run"] == run or _is_there(source, there)):
            of_copies.setdefault(_copy(source), []).append(source)
    touched = dict.fromkeys(_copy(source) for source in new if _is_part(source))
    segments = _first_segments(files)
    rows = [_row(copy, of_copies[copy], segments.get(copy, _NO_SEGMENT), run) for copy in touched]
    return rows + [row for source in new if source["kind"] == ARCHIVE for row in _of_archive(source, run)]


def copies_notes(all_: Iterable[SourceFields], new: Sequence[SourceFields]) -> Iterator[str]:
    """Yield a note for each cluster of which an ingest has read copies of log partitions that the lake has another copy of.

    `all_` are the rows of `sources`, `new` those of this ingest.
    """
    copies: dict[tuple[str, int | None], dict[str, int]] = {}
    for source in filter(_is_part, all_):
        of_place = copies.setdefault((source["cluster"], source["log_partition"]), {})
        name = copy_of(source)
        of_place[name] = min(source["run"], of_place.get(name, source["run"]))
    runs = {source["run"] for source in new}
    for cluster in sorted({source["cluster"] for source in new}):
        names = [
            found
            for log_partition, found in copies.items()
            if log_partition[0] == cluster and not runs.isdisjoint(found.values())
        ]
        if several := [found for found in names if len(found) > 1]:
            every = sorted({name for found in several for name in found})
            yield (
                f"cluster {cluster!r} has {len(every)} copies of {len(several)} log partition(s): {listed(every)}; replay joins "
                "them by the view of the evidence"
            )


def _row(copy: _Copy, sources: Iterable[SourceFields], first: Segment, run: int) -> CopyRow:
    cluster, name, log_partition = copy
    found = checkpoints_of(first)
    return CopyRow(
        cluster,
        name,
        log_partition,
        tuple(sorted({source["source"] for source in sources})),
        found.log_start,
        found.cleaned_to,
        tuple(EpochStartRow(*each) for each in found.leader_epochs),
        None if first.cluster_id is None else shown(first.cluster_id),
        None if found.topic_id is None else shown(found.topic_id),
        run,
    )


def _of_archive(source: SourceFields, run: int) -> Iterable[CopyRow]:
    """Yield a row for each partition of which an archive has records."""
    for of in source["archived"]:
        yield CopyRow(
            source["cluster"],
            copy_of(source),
            of["log_partition"],
            (source["source"],),
            None,
            None,
            (),
            None,
            None,
            run,
        )


def _is_part(source: SourceFields) -> bool:
    return source["kind"] != ARCHIVE and counts(source["kind"], source["fate"])


def _copy(source: SourceFields) -> _Copy:
    return source["cluster"], copy_of(source), source["log_partition"]


def _latest(sources: Iterable[SourceFields]) -> Iterable[SourceFields]:
    """Return the newest row of each file's newest generation."""
    found: dict[tuple[Any, ...], SourceFields] = {}
    for row in sources:
        name = (row["cluster"], row["path"], row["member"], row["log_partition"])
        last = found.get(name)
        if last is None or (row["generation"], row["run"]) >= (last["generation"], last["run"]):
            found[name] = row
    return found.values()


def _is_there(source: SourceFields, found: set[tuple[str, str, str, int | None]]) -> bool:
    """Return whether the file of a row of `sources` is still there; for a member of a tar that is read again, whether it has it."""
    if (source["cluster"], source["path"], source["member"], source["log_partition"]) in found:
        return True
    is_read_again = any(path == source["path"] for _, path, member, _ in found if member)
    path = from_shown(source["path"])
    return not (source["member"] and is_read_again) and _exists(path)


def _exists(path: str) -> bool:
    there = as_path(path)
    if not isinstance(there, StoredPath):
        return os.path.lexists(path)
    # The folder is listed once for all files in it.
    return any(entry.path == there for entry in stored_in(there.parent))


def _first_segments(files: Iterable[IngestFile]) -> Mapping[_Copy, Segment]:
    """Return the first segment of each copy, next to which Kafka's checkpoint files are found."""
    found: dict[_Copy, Segment] = {}
    for file in files:
        segment = file.segment
        if file.kind == ARCHIVE or not counts(file.kind, segment.fate):
            continue
        name = file.cluster, shown(segment.directory) or shown(segment.path), segment.log_partition
        known = found.get(name)
        if known is None or (segment.base_offset or 0) < (known.base_offset or 0):
            found[name] = segment
    return found
