"""Views over copies of one log: each distinct record once, with the copies that have it, and whether it was abandoned.

The rules are those of `decode --union` (log.copies): records are the same if offset, leader epoch, key and value are.
"""

from typing import Final

from offsets_tool.views.view import View

_OVERLAPS: Final = View(
    "overlaps",
    "A source that may have records which another has too: its offsets overlap, or an archive is among the cluster's sources.",
    """
    SELECT DISTINCT cluster, source FROM (
      SELECT cluster, source, first_offset, last_offset,
             max(last_offset) OVER (PARTITION BY cluster, log_partition
               ORDER BY first_offset, last_offset, source, range_start
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
             min(first_offset) OVER (PARTITION BY cluster, log_partition
               ORDER BY first_offset DESC, last_offset DESC, source DESC, range_start DESC
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS next,
             bool_or(kind = 'archive') OVER (PARTITION BY cluster) AS archives, log_partition
      FROM sources WHERE same_as IS NULL)
    WHERE archives OR log_partition IS NOT NULL AND (reached >= first_offset OR next <= last_offset)
    """,
    {},
)

_HOLDERS: Final = View(
    "holders",
    "What an ingest has read of a source, and the copies that have it: those too whose files begin with the same bytes.",
    """
    SELECT stored.cluster, stored.source, stored.run,
           array_sort(collect_set(if(each.directory = '', each.path, each.directory))) AS copies
    FROM sources AS stored JOIN sources AS each
    ON each.cluster = stored.cluster AND coalesce(each.same_as, each.source) = stored.source
      AND each.log_partition <=> stored.log_partition
      AND each.range_start = stored.range_start AND each.range_end = stored.range_end
    WHERE stored.same_as IS NULL
    GROUP BY stored.cluster, stored.source, stored.run
    """,
    {"copies": "The copies, by the data directory around the partition's; of an archive its path."},
)

_LINEAGES: Final = View(
    "lineages",
    "A log partition of which several copies, or one at several times, are there: the first offset of each leader epoch, by all of "
    "them.",
    """
    SELECT cluster, log_partition, collect_list(struct(leader_epoch, start_offset)) AS leader_epochs FROM (
      SELECT cluster, log_partition, began.leader_epoch, min(began.start_offset) AS start_offset FROM (
        SELECT cluster, log_partition, explode(leader_epochs) AS began FROM copies
        UNION ALL
        SELECT cluster, log_partition, explode(transform(leader_epochs,
          each -> named_struct('leader_epoch', each.leader_epoch, 'start_offset', each.start_offset))) AS began
        FROM sources WHERE kind = 'log' AND fate = '')
      GROUP BY cluster, log_partition, began.leader_epoch)
    LEFT SEMI JOIN (
      SELECT cluster AS of_cluster, log_partition AS of_partition FROM copies
      GROUP BY cluster, log_partition HAVING count(*) > 1)
    ON cluster = of_cluster AND log_partition <=> of_partition
    GROUP BY cluster, log_partition
    """,
    {"leader_epochs": "The leader epochs, each with its first offset, in no order."},
)

_DISTINCT: Final = View(
    "distinct_records",
    "A record that may be in several sources, in the source that was ingested last of those that have it.",
    """
    SELECT cluster, log_partition, log_offset, newest.source, newest.run, copies FROM (
      SELECT cluster, log_partition, log_offset, max(struct(run, source)) AS newest,
             array_sort(array_distinct(flatten(collect_list(copies)))) AS copies
      FROM (
        SELECT record.*, holders.copies, coalesce(partition_leader_epoch, max(partition_leader_epoch) OVER (
                 PARTITION BY cluster, log_partition, log_offset, key, value, is_control)) AS epoch
        FROM log AS record JOIN holders USING (cluster, source, run) LEFT SEMI JOIN overlaps USING (cluster, source)
        WHERE misplaced IS NULL)
      GROUP BY cluster, log_partition, nvl2(log_partition, NULL, source), log_offset, epoch, key, value, is_control)
    """,
    {"copies": "The copies that have the record."},
)


def _once(table: str, what: str) -> View:
    """Return a view of a table with each record once; only sources in the view `overlaps` are searched for copies."""
    return View(
        f"{table}_once",
        f"{what}, each record once, whatever copies of it were ingested (brokers' copies, a file rewritten since, archives that "
        "repeat themselves), from the source that was ingested last. Where the log was forked, an offset has a record of each "
        "branch. What Kafka has set aside (.deleted, .cleaned, .swap) is in it too; misplaced records, whose places nobody knows, "
        "are not.",
        f"""
        SELECT each.*,
               if(exists(leader_epochs, began ->
                   began.leader_epoch > partition_leader_epoch AND began.start_offset <= log_offset),
                 'abandoned', 'current') AS branch
        FROM (
          SELECT each.*, holders.copies FROM {table} AS each
          JOIN holders ON each.cluster = holders.cluster AND each.source = holders.source AND each.run = holders.run
          LEFT ANTI JOIN overlaps ON each.cluster = overlaps.cluster AND each.source = overlaps.source
          WHERE misplaced IS NULL
          UNION ALL
          SELECT each.*, found.copies FROM {table} AS each JOIN distinct_records AS found
          ON each.cluster = found.cluster AND each.source = found.source AND each.run = found.run
            AND each.log_partition <=> found.log_partition AND each.log_offset = found.log_offset
          WHERE misplaced IS NULL) AS each
        LEFT JOIN lineages AS lineage
        ON each.cluster = lineage.cluster AND each.log_partition <=> lineage.log_partition
        """,
        {
            "copies": "The copies that have the record, by the data directory around the partition's; of an archive its path.",
            "branch": "current; abandoned if a later leader epoch began at or before its offset: the log went on without it.",
        },
    )


VIEWS: Final = (
    _OVERLAPS,
    _HOLDERS,
    _LINEAGES,
    _DISTINCT,
    _once("events", "The rows of events"),
    _once("log", "The rows of log"),
)
"""The views over copies, each behind those that it reads."""
INNER: Final = frozenset({"overlaps", "holders", "lineages", "distinct_records"})
"""Views that others are made of."""
