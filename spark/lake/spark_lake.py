"""Commit a run of an ingest with Spark's own writer, for storage that only Spark can write to.

The order and the journal are those of spark.lake.commit.
"""

import json

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.columns.decode import decode_batches
from offsets_tool.lake.journal import JOURNAL, finished, interrupted_note, journal_of, packed, unpacked
from offsets_tool.lake.layout import layout_error, other_columns
from offsets_tool.lake.tables import COPIES, EVENTS, LOG, SOURCES, TABLES, Table
from offsets_tool.rows import Row
from spark.lake.commit import INGEST


class SparkLake:
    """Commits rows through Spark, wherever Spark can write; `root` is a path or URI in Spark's form."""

    def __init__(self, session: SparkSession, root: str) -> None:
        self._session = session
        self._root = root

    def create(self) -> None:
        for table in TABLES:
            columns = from_arrow_schema(table.schema)
            self._session.sql(create_statement(table, self._name(table)))
            there = self._read(table).schema
            path, names = f"{self._root}/{table.name}", [column.name for column in there]
            if error := layout_error(path, names, table):
                raise error
            if any(there[column.name].dataType != column.dataType for column in columns):
                raise other_columns(path)

    def sources(self) -> list[Row]:
        rows: list[Row] = self._read(SOURCES).toArrow().to_pylist()
        return rows

    def next_run(self) -> int:
        return max(map(self._last_run, TABLES)) + 1

    def commit(
        self, run: int, log: DataFrame | None, copies: pa.RecordBatch, sources: pa.RecordBatch
    ) -> None:
        """Commit a run: its rows of `log`, None if it has none, of `copies`, and of `sources`."""
        if log is not None:
            names = {name: packed(rows) for name, rows in (("copies", copies), ("sources", sources))}
            self._append(LOG, run, log, json.dumps({JOURNAL: {"run": run, **names}}))
            self.finish()
        else:
            self._append_rows(COPIES, run, copies)
            self._append_rows(SOURCES, run, sources)

    def finish(self) -> str | None:
        run = self._last_run(LOG)
        if run <= self._last_run(SOURCES):
            return None
        history = self._session.sql(f"DESCRIBE HISTORY {self._name(LOG)}").select("userMetadata").collect()
        left = journal_of(run, (row.userMetadata for row in history), "sources")
        if left is None:
            return interrupted_note(run)
        log = self._read(LOG).where(F.col("run") == run)
        self._append(EVENTS, run, log.mapInArrow(decode_batches, from_arrow_schema(EVENTS.schema)))
        for table in (COPIES, SOURCES):
            self._append_rows(table, run, unpacked(left[table.name], table.schema))
        return finished(run)

    def _append_rows(self, table: Table, run: int, rows: pa.RecordBatch) -> None:
        table.check(rows)
        all_ = pa.Table.from_batches([rows])
        self._append(table, run, self._session.createDataFrame(all_, from_arrow_schema(table.schema)))

    def _append(self, table: Table, run: int, rows: DataFrame, metadata: str | None = None) -> None:
        """Append the rows of a run; Delta ignores them if the table has that run already."""
        writer = (
            rows.write.format("delta").mode("append").option("txnAppId", INGEST.app).option("txnVersion", run)
        )
        writer.option("userMetadata", metadata or f"{JOURNAL} {run}").save(f"{self._root}/{table.name}")

    def _last_run(self, table: Table) -> int:
        last: int | None = self._read(table).agg(F.max("run")).collect()[0][0]
        return last or 0

    def _read(self, table: Table) -> DataFrame:
        return self._session.read.format("delta").load(f"{self._root}/{table.name}")

    def _name(self, table: Table) -> str:
        return f"delta.`{self._root}/{table.name}`"


def create_statement(table: Table, name: str) -> str:
    """Return the SQL that makes a table under a name if it is not there."""
    described = ", ".join(
        f"`{c.name}` {c.dataType.simpleString()}{'' if c.nullable else ' NOT NULL'} COMMENT {_quoted(_comment(table, c.name))}"
        for c in from_arrow_schema(table.schema)
    )
    properties = table.properties | {f"delta.constraints.{check.name}": check.sql for check in table.checks}
    properties_text = ", ".join(f"'{key}' = {_quoted(value)}" for key, value in properties.items())
    more = f" TBLPROPERTIES ({properties_text})" if properties_text else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({described}) USING delta COMMENT {_quoted(table.comment)}{more}"
    )


def _comment(table: Table, column: str) -> str:
    metadata: dict[bytes, bytes] = table.schema.field(column).metadata
    return metadata[b"comment"].decode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
