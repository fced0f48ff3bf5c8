"""Tables derived from a cluster's log as a whole: for which clusters anew, and how the new rows take the old ones' place.

A cluster is derived again when its replay, or what was asked for, is another than its latest row of `derivations` says; else
nothing is written. Knows nothing of what is derived.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from offsets_tool.errors import UsageError
from offsets_tool.table_rows import DerivationRow
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import String
from spark.commit import REPLAY, ArrowLake, Chain, locked
from spark.parquet import NewFile, TableWriter
from spark.replaced import Replaced
from spark.tables import DERIVATIONS, REPLAYS, Table

Basis = Mapping[str, Any]
"""What rows rest on, as JSON has it."""
Made = tuple[str, NewFile]
"""The cluster whose rows a file has, and the file."""
Make = Callable[[list[str], int], list[Made]]
"""Writes the rows of some clusters, for a run."""


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
        lake.finish()
        runs: dict[str, int] = {}
        for row in lake.rows(REPLAYS):
            runs[row["cluster"]] = max(row["run"], runs.get(row["cluster"], 0))
        yield runs


def derive(root: Path, chain: Chain, basis: Mapping[str, Basis], make: Make) -> Derived:
    """Has `make` write the rows of the clusters whose `basis` is new, and commits them in place of what there was."""
    at, lake, table = datetime.now(UTC), ArrowLake(root, chain), chain.tables[0]
    lake.create()
    notes = [note for note in [lake.finish()] if note]
    texts = {cluster: json.dumps(each, sort_keys=True) for cluster, each in basis.items()}
    known = _known(lake, table)
    new = sorted(cluster for cluster, text in texts.items() if known.get(cluster) != text)
    if not new:
        return Derived(None, {}, notes)
    run = lake.next_run()
    made = make(new, run)
    rows = {of: sum(file.rows for cluster, file in made if cluster == of) for of in new}
    told = [DerivationRow(of, table.name, texts[of], rows[of], at, run) for of in new]
    files = [*(file for _, file in made), *write_rows(root, DERIVATIONS, told)]
    lake.commit(run, files, [Replaced(of, is_cluster=True) for of in new])
    return Derived(run, rows, notes)


def write_rows(root: Path, table: Table, rows: Sequence[tuple[Any, ...]]) -> list[NewFile]:
    """A file of declared rows; none if there are none."""
    with TableWriter(root, table) as writer:
        writer.write(record_batch(table.row, rows))
        return writer.close()


def asked_before(root: Path, table: Table) -> dict[str, Any]:
    """What a table's newest rows were asked for with, as their basis has it; nothing where there are none."""
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
        with TableWriter(root, table) as writer:
            for _, some in batches:
                names = pa.array([cluster] * some.num_rows, pa.string())
                runs = pa.array([run] * some.num_rows, pa.int64())
                writer.write(pa.record_batch([names, *some.columns, runs], schema=table.schema))
            yield record_batch(FilesMade, [FilesMade(cluster, json.dumps(writer.close()))])


def made_of(told: Iterable[Sequence[Any]]) -> list[Made]:
    """What tasks told."""
    return [(cluster, NewFile(*file)) for cluster, files in told for file in json.loads(files)]


def _known(lake: ArrowLake, table: Table) -> dict[str, str]:
    rows = sorted(lake.rows(DERIVATIONS), key=lambda row: row["run"])
    return {row["cluster"]: row["basis"] for row in rows if row["derived"] == table.name}
