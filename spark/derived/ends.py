"""Add end offsets to the table `ends`, from files that are named and from directories of data topics; each sample once.

Reads in this process: files of end offsets are small, and of a directory only names, indexes and headers are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.job_rows import EndRow
from offsets_tool.lag.data_log import DataLog, data_logs
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.samples import EndSample
from offsets_tool.lake.journal import app_of
from offsets_tool.lake.scan import scan
from offsets_tool.lake.tables import ENDS, SOURCES
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.log.storage import as_path, real_path
from offsets_tool.wire.text import shown, shown_row
from spark.lake.commit import ArrowLake, Chain, Lake

OF_ENDS: Final = Chain(app_of("ends"), (ENDS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsRequest:
    """Where to find end offsets: `files` and `log_starts` in the forms that `read_ends` takes, `paths` to data directories.

    `at` (epoch milliseconds) is the time of files that do not say it; `cluster` None stands for the only one that the lake has.
    """

    files: Sequence[str] = ()
    log_starts: Sequence[str] = ()
    at: int | None = None
    paths: Sequence[str] = ()
    cluster: str | None = None


class EndsAdded(NamedTuple):
    """How many new samples were added to `ends`, and notes on what could not be read."""

    rows: int
    notes: list[str]


def add_ends(lake: Lake, request: EndsRequest, newest: Mapping[str, int]) -> EndsAdded:
    """Add the samples of end offsets that the lake does not have yet to its table `ends`, and commit them.

    `newest` has the time of each cluster's newest record, in epoch milliseconds: up to then the end of a directory counts.
    SourceError for a file of end offsets that cannot be read; UsageError where nothing says which cluster a file belongs to, or
    where the cluster that is named is not in the lake.
    """
    commits = ArrowLake(lake, OF_ENDS)
    commits.create()
    found = _Found(lake, request, newest)
    rows = dict.fromkeys((*found.of_files(), *found.of_directories()))
    for known in _stored_samples(lake, rows):
        rows.pop(known, None)
    if rows:
        run = commits.next_run()
        commits.commit(run, lake.new_file(ENDS, [row._replace(run=run) for row in rows]))
    return EndsAdded(len(rows), found.notes)


def _stored_samples(lake: Lake, found: Iterable[EndRow]) -> Iterator[EndRow]:
    """Yield the samples that the lake has from the same sources as these, with run 0 so that they compare equal."""
    sources: dict[str, set[str]] = {}
    for row in found:
        sources.setdefault(row.cluster, set()).add(row.source)
    names = pa.array(sorted(set().union(*sources.values())), pa.string())
    for rows in scan(lake, ENDS, ENDS.schema.names, sources):
        of_these = pc.is_in(rows.column("source").cast(pa.string()), names)
        for row in rows.filter(of_these).to_pylist():
            yield EndRow(**row)._replace(run=0, observed_at=row["timestamp"])


class _Found:
    """Collects the samples of a request's files and directories as rows with their cluster, and notes on what cannot be read."""

    def __init__(self, lake: Lake, request: EndsRequest, newest: Mapping[str, int]) -> None:
        self._request, self._newest = request, newest
        rows = lake.rows(SOURCES, ("directory", "cluster"))
        self._clusters = {row["directory"]: row["cluster"] for row in rows}
        self.notes: list[str] = []

    def of_files(self) -> Iterator[EndRow]:
        """Yield the samples in files of end offsets and of log starts."""
        asked = self._request
        for paths, log_starts in ((asked.files, False), (asked.log_starts, True)):
            for path in map(real_path, paths):
                cluster = self._only()
                if cluster is None:
                    raise UsageError(
                        f"{path}: nothing says which cluster it belongs to; name it with --cluster"
                    )
                yield from (_row(cluster, each) for each in read_ends(path, asked.at, log_starts=log_starts))

    def of_directories(self) -> Iterator[EndRow]:
        """Yield the samples in directories of data topics."""
        for logs in data_logs(map(real_path, self._request.paths)).values():
            for log in logs:
                folder = as_path(log.directory.path)
                cluster = self._clusters.get(shown(folder.parent.as_posix()), self._only())
                if cluster is None:
                    self.notes.append(
                        f"{folder}: nothing says which cluster it belongs to; name it with --cluster"
                    )
                    continue
                yield from (_row(cluster, sample) for sample in self._read(log, cluster))

    def _read(self, log: DataLog, cluster: str) -> list[EndSample]:
        try:
            return log.samples(self._newest.get(cluster))
        except SourceError as error:
            of = log.directory
            self.notes.append(f"{error}: nothing of {of.topic}-{of.partition} is taken from there")
            return []

    def _only(self) -> str | None:
        """Return the cluster that the request names, or the only one that the lake has; None where there are several."""
        if self._request.cluster is not None:
            return self._known(shown(self._request.cluster))
        return next(iter(self._newest)) if len(self._newest) == 1 else None

    def _known(self, cluster: str) -> str:
        """Return the cluster; UsageError for one that the lake does not have: no group would use the ends of a misspelt name."""
        if cluster not in self._newest:
            raise unknown_cluster(cluster, self._newest)
        return cluster


def _row(cluster: str, sample: EndSample) -> EndRow:
    """Return a sample as a row of `ends`, with its names made visible as in all tables."""
    facts = sample._asdict()
    at = facts.pop("at")
    facts |= {"observed_at": at, "timestamp": at, "method": sample.method.value}
    return EndRow(*shown_row(EndRow(cluster, **facts, run=0)))
