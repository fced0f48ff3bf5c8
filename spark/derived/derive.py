"""Tables derived from a cluster's log as a whole: for which clusters anew, and how the new rows take the old ones' place.

A cluster is derived again when its replay, or what was asked for, is another than its latest row of `derivations` says: all of it,
or the partitions of topics that something new is known of; else nothing is written. Knows nothing of what is derived.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from offsets_tool.errors import UsageError
from offsets_tool.job_rows import DerivationRow
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import String
from spark.lake.commit import REPLAY, ArrowLake, Chain
from spark.lake.folder import locked
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import Replaced, ReplacedPlaces, Replacement
from spark.lake.tables import DERIVATIONS, REPLAYS, Table

BasisFields = Mapping[str, Any]
"""What rows rest on, as JSON has it."""
Made = tuple[str, NewFile]
"""The cluster whose rows a file has, and the file."""
WantedRows = Mapping[str, pa.Table | None]
"""By cluster the partitions of topics whose rows are to be made (columns topic, partition); None: all."""
Make = Callable[[WantedRows, int], list[Made]]
"""Writes these rows, for a run."""
Since = Callable[[str, BasisFields], pa.Table | None]
"""What is wanted of a cluster whose rows rest on something."""
FILE_ROWS: Final = 131_072
"""A file ends there: of what is replaced later, little else is written anew."""


class Derived(NamedTuple):
    """What a job did: its run (None: nothing was new), how many rows it wrote by cluster, and what there is to say besides."""

    run: int | None
    rows: dict[str, int]
    notes: list[str]


@contextmanager
def replayed(root: Path) -> Iterator[dict[str, int]]:
    """The last replay of each cluster, for as long as nobody else writes to the lake. An interrupted one is finished first.

    UsageError where there are no histories.
    """
    if not (root / REPLAYS.name / "_delta_log").is_dir():
        raise UsageError(f"{root} has no histories: run offsets-spark replay first")
    with locked(root):
        lake = ArrowLake(root, REPLAY)
        # A lake of an earlier release has not all of them.
        lake.create()
        lake.finish()
        runs: dict[str, int] = {}
        for row in lake.rows(REPLAYS):
            runs[row["cluster"]] = max(row["run"], runs.get(row["cluster"], 0))
        yield runs


def derive(
    root: Path, job: Chain, basis: Mapping[str, BasisFields], make: Make, since: Since | None = None
) -> Derived:
    """Has `make` write the rows of the clusters whose `basis` is new, and commits them in place of what there was.

    Of a cluster that has rows, those that `since` tells; without it all.
    """
    at, lake, table = datetime.now(UTC), ArrowLake(root, job), job.tables[0]
    lake.create()
    notes = [note for note in [lake.finish()] if note]
    texts = {cluster: json.dumps(each, sort_keys=True) for cluster, each in basis.items()}
    known = _known(lake, table)
    new = sorted(
        cluster for cluster, text in texts.items() if cluster not in known or known[cluster]["basis"] != text
    )
    if not new:
        return Derived(None, {}, notes)
    run = lake.next_run()
    wanted = {of: since(of, json.loads(known[of]["basis"])) if since and of in known else None for of in new}
    made = make(wanted, run)
    rows = {of: sum(file.rows for cluster, file in made if cluster == of) for of in new}
    replaced = {of: _replaced(of, places) for of, places in wanted.items()}
    told = [
        DerivationRow(of, table.name, texts[of], rows[of] + _left(lake, known.get(of), replaced[of]), at, run)
        for of in new
    ]
    files = [*(file for _, file in made), *write_rows(root, DERIVATIONS, told)]
    lake.commit(run, files, list(replaced.values()))
    return Derived(run, rows, notes)


def _replaced(cluster: str, places: pa.Table | None) -> Replacement:
    return Replaced(cluster, is_cluster=True) if places is None else ReplacedPlaces(cluster, places)


def _left(lake: ArrowLake, known: Mapping[str, Any] | None, replaced: Replacement) -> int:
    """How many rows of a cluster stay."""
    if known is None or isinstance(replaced, Replaced):
        return 0
    return int(known["rows"]) - lake.count_replaced([replaced])


def write_rows(root: Path, table: Table, rows: Sequence[tuple[Any, ...]]) -> list[NewFile]:
    """A file of declared rows; none if there are none."""
    with TableWriter(root, table) as writer:
        writer.write(record_batch(table.row, rows))
        return writer.close()


def finished(root: Path, job: Chain) -> list[str]:
    """Commits what an interrupted job has left to commit, if there is any, and says so: what it was asked for counts from then on.

    UsageError while somebody else writes to the lake.
    """
    if not all((root / table.name / "_delta_log").is_dir() for table in job.tables):
        return []
    with locked(root):
        return [note for note in [ArrowLake(root, job).finish()] if note]


def asked_before(root: Path, table: Table) -> dict[str, Any]:
    """What a table's newest rows were asked for with, as their basis has it; nothing where there are none.

    An interrupted job's count once it is `finished`.
    """
    if not (root / DERIVATIONS.name / "_delta_log").is_dir():
        return {}
    rows = (row for row in ArrowLake(root, REPLAY).rows(DERIVATIONS) if row["derived"] == table.name)
    newest = max(rows, key=lambda row: row["run"], default=None)
    asked: dict[str, Any] = json.loads(newest["basis"])["asked"] if newest else {}
    return asked


class FilesMade(NamedTuple):
    """What a task tells: files (JSON) with rows of a cluster."""

    cluster: String
    files: String


def write_derived(
    root: Path, table: Table, run: int, rows: Iterable[tuple[str, pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """In a task: writes rows of clusters, one cluster after the other; a row of FilesMade for each."""
    for cluster, batches in groupby(rows, itemgetter(0)):
        files = list(_files(root, table, run, batches))
        yield record_batch(FilesMade, [FilesMade(cluster, json.dumps(files))])


def _files(
    root: Path, table: Table, run: int, rows: Iterator[tuple[str, pa.RecordBatch]]
) -> Iterator[NewFile]:
    for first in rows:
        with TableWriter(root, table) as writer:
            written = 0
            for cluster, some in chain([first], rows):
                names = pa.array([cluster] * some.num_rows, pa.string())
                runs = pa.array([run] * some.num_rows, pa.int64())
                writer.write(pa.record_batch([names, *some.columns, runs], schema=table.schema))
                written += some.num_rows
                if written >= FILE_ROWS:
                    break
            yield from writer.close()


def made_of(told: Iterable[Sequence[Any]]) -> list[Made]:
    """What tasks told."""
    return [(cluster, NewFile(*file)) for cluster, files in told for file in json.loads(files)]


def _known(lake: ArrowLake, table: Table) -> dict[str, dict[str, Any]]:
    """The row of `derivations` that counts of each cluster; none where rows may be there of which it does not tell."""
    if not lake.is_whole():
        return {}
    rows = sorted(lake.rows(DERIVATIONS), key=lambda row: row["run"])
    return {row["cluster"]: row for row in rows if row["derived"] == table.name}
