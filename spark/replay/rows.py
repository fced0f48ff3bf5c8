"""Read from the lake what a replay needs: what is new in it, names of topics, and the rows for its tasks. DataFrames only.

Files that Kafka has set aside (.deleted, .cleaned, -delete ...) are no part of a log, as on the command line. `events` has all of
a commit that was decoded; only for other records are raw keys and values read from `log`.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.columns.replay.history_events import COLUMNS
from offsets_tool.records.kinds import COMMITS, TOPIC_LISTS
from offsets_tool.replay.topic_candidates import OBSERVED_TYPES
from offsets_tool.wire.json import camel, uuid_text
from offsets_tool.wire.schema import ZERO_UUID
from spark.ingest.plan import IS_COUNTED
from spark.lake.tables import EVENTS, LOG, SOURCES, Table
from spark.replay.plan import New, Work
from spark.replay.tasks import COPY, UNIT


def _numbers(types: Iterable[int]) -> str:
    """Return record types as the text of a list in SQL."""
    return ", ".join(map(str, sorted(types)))


_LISTS: Final = sorted({camel(name) for names in TOPIC_LISTS.values() for name in names})
_COMMIT_NAMES: Final = f"topic_id <> '{uuid_text(ZERO_UUID)}'"
_NAMING: Final = f"record_type IN ({_numbers(TOPIC_LISTS)}) AND value_json IS NOT NULL"
_TOLD: Final = ", ".join(f"{name} ARRAY<STRUCT<topicId: STRING, topicName: STRING>>" for name in _LISTS)
_EACH_TOLD: Final = f"inline(flatten(filter(array({', '.join(f'told.{name}' for name in _LISTS)}), each -> each IS NOT NULL)))"
_IS_COMMIT: Final = f"record_type IN ({_numbers(COMMITS)}) AND NOT is_control"
_COMMIT_KEYS: Final = ", ".join(f"X'{type_id:04X}'" for type_id in sorted(COMMITS))
_IS_NO_COMMIT: Final = f"is_control OR key IS NULL OR substring(key, 1, 2) NOT IN ({_COMMIT_KEYS})"
_RECORD: Final = ["cluster", "source", "run", "log_partition", "log_offset"]
_TYPES: Final = {
    field.name: field.dataType for table in (EVENTS, LOG) for field in from_arrow_schema(table.schema)
}


class LakeRows:
    """Reads rows of a lake, as ingests up to the run `upto` have written them."""

    def __init__(self, session: SparkSession, lake: str, upto: int) -> None:
        self._session = session
        self._lake = lake
        self._upto = upto

    def new(self, since: int) -> list[New]:
        """Return what ingests after the run `since` have added, by log partition."""
        found = self._rows(EVENTS, since).groupBy("cluster", "log_partition")
        is_odd = F.bool_or(F.expr(f"{_IS_COMMIT} AND problem IS NOT NULL"))
        rows = found.agg(F.count("*"), F.min("log_offset"), F.coalesce(is_odd, F.lit(False))).collect()
        return [New(*row) for row in rows]

    def names(self, since: int) -> list[tuple[str, str, str]]:
        """Return cluster, id and name of topics from the records of ingests after the run `since`."""
        events = self._rows(EVENTS, since)
        commits = events.where(_COMMIT_NAMES).select("cluster", "topic_id", "topic")
        told = events.where(_NAMING).selectExpr("cluster", f"from_json(value_json, '{_TOLD}') AS told")
        each = told.selectExpr("cluster", _EACH_TOLD)
        rows = commits.unionAll(each).where("topic_id IS NOT NULL AND topic IS NOT NULL").distinct()
        return sorted((row[0], row[1], row[2]) for row in rows.collect())

    def assignments(self, clusters: Sequence[str]) -> DataFrame:
        """Return the records of these clusters that hold subscriptions and target assignments.

        Each log partition is in one Spark partition, in the order of its offsets.
        """
        types = [type_id.to_bytes(2) for type_id in sorted(OBSERVED_TYPES)]
        log = self._rows(LOG, 0).where(F.col("cluster").isin(list(clusters)))
        is_data = ~F.coalesce(F.col("is_control"), F.lit(False))
        told = log.where(is_data & F.substring("key", 1, 2).isin(types))
        place = ("cluster", "log_partition")
        kept = told.select(*place, "log_offset", "key", "value").dropDuplicates([*place, "log_offset"])
        return kept.repartition(*place).sortWithinPartitions(*place, "log_offset")

    def for_tasks(self, work: Sequence[Work], *, has_odd: bool = True) -> DataFrame:
        """Return the rows of each Work in a Spark partition of its own, in the order of offsets, then of ingests.

        `has_odd` says whether some commits may have a problem; without it, no raw commit is looked for in `log`.
        """
        since, here = min(each.after_run for each in work), _places(work)
        commits = self._rows(EVENTS, since).where(here).where(_IS_COMMIT)
        log = self._rows(LOG, since).where(here)
        others = log.where(_IS_NO_COMMIT)
        if has_odd:
            odd = commits.where("problem IS NOT NULL").select(_RECORD)
            # A log partition may be null.
            same = reduce(and_, (log[name].eqNullSafe(odd[name]) for name in _RECORD))
            others = others.unionAll(log.join(odd, same, "left_semi"))
        return self._sorted(_uniform(commits.where("problem IS NULL")).unionAll(_uniform(others)), work)

    def _sorted(self, rows: DataFrame, work: Sequence[Work]) -> DataFrame:
        units = [
            (number, each.cluster, each.log_partition, each.after_run) for number, each in enumerate(work)
        ]
        wanted = self._session.createDataFrame(
            units, "unit INT, cluster STRING, log_partition INT, after INT"
        )
        same = (
            (rows["cluster"] == wanted["cluster"])
            & rows["log_partition"].eqNullSafe(wanted["log_partition"])
            & (rows["run"] > wanted["after"])
        )
        found = rows.join(F.broadcast(wanted), same).select(
            UNIT, "run", COPY, *(rows[name] for name in COLUMNS)
        )
        return found.repartitionById(len(work), F.col(UNIT)).sortWithinPartitions("log_offset", "run")

    def _rows(self, table: Table, since: int) -> DataFrame:
        """Return rows of ingests after the run `since`, with their copy, without set-aside files and misplaced records."""
        rows = self._read(table).where((F.col("run") > since) & (F.col("run") <= self._upto))
        rows = rows.where("misplaced IS NULL")
        return rows.join(F.broadcast(self._copies()), ["cluster", "source", "run"])

    def _copies(self) -> DataFrame:
        sources = self._read(SOURCES)
        copy = F.when(F.col("directory") != "", F.col("directory")).otherwise(F.col("path"))
        kept = sources.where(IS_COUNTED)
        return kept.select("cluster", "source", "run", copy.alias(COPY)).distinct()

    def _read(self, table: Table) -> DataFrame:
        return self._session.read.format("delta").load(f"{self._lake}/{table.name}")


def _places(work: Sequence[Work]) -> Column:
    """Return a condition by which readers skip row groups of other partitions, and of runs that are in checkpoints."""
    by_run: dict[tuple[str, int], set[int | None]] = {}
    for each in work:
        by_run.setdefault((each.cluster, each.after_run), set()).add(each.log_partition)
    found = []
    for (cluster, after), partitions in by_run.items():
        number = F.col("log_partition")
        is_here = number.isin([each for each in partitions if each is not None])
        if None in partitions:
            is_here |= number.isNull()
        found.append((F.col("cluster") == cluster) & (F.col("run") > after) & is_here)
    return reduce(or_, found)


def _uniform(rows: DataFrame) -> DataFrame:
    """Return the rows with all columns that tasks need; columns that the table does not have are null."""
    there = set(rows.columns)
    wanted = (
        F.col(name) if name in there else F.lit(None).cast(_TYPES[name]).alias(name) for name in COLUMNS
    )
    return rows.select("cluster", "run", COPY, *wanted)
