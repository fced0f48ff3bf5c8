"""End offsets become rows of `ends`: those of files that are named, and of data topics' own directories. A sample is kept once.

Read in this process: files of end offsets are small, and of a directory only names, indexes and headers are read.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.job_rows import EndRow
from offsets_tool.lag.data_log import DataLog, data_logs
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.samples import EndSample
from offsets_tool.wire.text import shown, shown_row
from spark.derived.derive import write_rows
from spark.lake.commit import ArrowLake, Chain
from spark.lake.scan import scan
from spark.lake.tables import ENDS

OF_ENDS: Final = Chain("offsets-tool ends", (ENDS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsRequest:
    """Where end offsets are. `files` as `read_ends` takes them, `at` likewise (epoch ms); in `paths` directories of data topics.
    `cluster` None: the only one that the lake has."""

    files: Sequence[str] = ()
    log_starts: Sequence[str] = ()
    at: int | None = None
    paths: Sequence[str] = ()
    cluster: str | None = None


class Brought(NamedTuple):
    """How many samples were new, and what could not be read."""

    rows: int
    notes: list[str]


def bring_ends(root: Path, request: EndsRequest, newest: Mapping[str, int]) -> Brought:
    """Adds samples that the lake has not yet. `newest`: the newest record of each of its clusters, epoch milliseconds: until then a
    directory's end is taken to be what it is.

    SourceError for a file of end offsets that does not read, UsageError where nothing says of which cluster one is, or the one that
    is named is not in the lake.
    """
    lake = ArrowLake(root, OF_ENDS)
    lake.create()
    found = _Found(root, request, newest)
    rows = dict.fromkeys((*found.of_files(), *found.of_directories()))
    for known in _known(root, rows):
        rows.pop(known, None)
    if rows:
        run = lake.next_run()
        lake.commit(run, write_rows(root, ENDS, [row._replace(run=run) for row in rows]))
    return Brought(len(rows), found.notes)


def _known(root: Path, found: Iterable[EndRow]) -> Iterator[EndRow]:
    """Samples that the lake has of the sources that these are of."""
    sources: dict[str, set[str]] = {}
    for row in found:
        sources.setdefault(row.cluster, set()).add(row.source)
    names = pa.array(sorted(set().union(*sources.values())), pa.string())
    for rows in scan(root, ENDS, ENDS.schema.names, sources):
        of_these = pc.is_in(rows.column("source").cast(pa.string()), names)
        yield from (EndRow(**row)._replace(run=0) for row in rows.filter(of_these).to_pylist())


class _Found:
    """Samples of files and directories, each with its cluster."""

    def __init__(self, root: Path, request: EndsRequest, newest: Mapping[str, int]) -> None:
        self._request, self._newest = request, newest
        self._clusters = {row["directory"]: row["cluster"] for row in ArrowLake(root).sources()}
        self.notes: list[str] = []

    def of_files(self) -> Iterator[EndRow]:
        asked = self._request
        for paths, log_starts in ((asked.files, False), (asked.log_starts, True)):
            for path in map(os.path.realpath, paths):
                cluster = self._only()
                if cluster is None:
                    raise UsageError(f"{path}: nothing says of which cluster it is; name it with --cluster")
                yield from (_row(cluster, each) for each in read_ends(path, asked.at, log_starts=log_starts))

    def of_directories(self) -> Iterator[EndRow]:
        for logs in data_logs(map(os.path.realpath, self._request.paths)).values():
            for log in logs:
                folder = Path(log.directory.path)
                cluster = self._clusters.get(shown(folder.parent.as_posix()), self._only())
                if cluster is None:
                    self.notes.append(
                        f"{folder}: nothing says of which cluster it is; name it with --cluster"
                    )
                    continue
                yield from (_row(cluster, sample) for sample in self._read(log, cluster))

    def _read(self, log: DataLog, cluster: str) -> list[EndSample]:
        try:
            return log.samples(self._newest.get(cluster))
        except SourceError as error:
            place = log.directory
            self.notes.append(f"{error}: nothing of {place.topic}-{place.partition} is taken from there")
            return []

    def _only(self) -> str | None:
        """The cluster that is named, or the only one there is."""
        if self._request.cluster is not None:
            return self._known(shown(self._request.cluster))
        return next(iter(self._newest)) if len(self._newest) == 1 else None

    def _known(self, cluster: str) -> str:
        """A misspelt name would keep ends that no group is ever counted against."""
        if cluster not in self._newest:
            names = ", ".join(name or "the one without a name" for name in sorted(self._newest))
            raise UsageError(
                f"--cluster {cluster}: the lake has no such cluster; it has {names or 'none yet'}."
                f"{did_you_mean(cluster, self._newest)}"
            )
        return cluster


def _row(cluster: str, sample: EndSample) -> EndRow:
    """Topics and files as all tables show them."""
    facts = sample._asdict()
    at = facts.pop("at")
    facts |= {"observed_at": at, "timestamp": at, "method": sample.method.value}
    return EndRow(*shown_row(EndRow(cluster, **facts, run=0)))
