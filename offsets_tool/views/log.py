"""Views over records of the log, each once: ends of transactions, who writes how much, what compaction leaves.

Records of branches that were abandoned are left out. Views show what is still in the log; what the coordinator made of it is in
those over histories (offsets_tool.views.history).
"""

from typing import Final

from offsets_tool.records.kinds import RECORD_TYPES, Role, types_of
from offsets_tool.views.view import View, at

_OUTCOMES: Final = View(
    "transaction_outcomes",
    "A record of a transaction, and how that ended, going by the next marker of its producer in the log partition.",
    """
    SELECT * EXCEPT (is_control, control) FROM (
      SELECT cluster, log_partition, log_offset, `group`, topic, partition, committed_offset, producer_id,
             producer_epoch, is_control, control,
             last_value(control) IGNORE NULLS OVER nearest AS outcome,
             last_value(if(is_control, log_offset, NULL)) IGNORE NULLS OVER nearest AS marker_log_offset
      FROM events_once WHERE branch = 'current' AND (is_transactional OR is_control)
      WINDOW nearest AS (PARTITION BY cluster, log_partition, producer_id ORDER BY log_offset DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))
    WHERE NOT is_control
    """,
    {
        "outcome": "COMMIT or ABORT; null while the log has no marker: the transaction is open.",
        "marker_log_offset": "Offset in the log of that marker; null without one.",
    },
)

_COMMITS: Final = View(
    "commits_per_minute",
    "How many commits of a group the log has of one minute, by the time in the commit.",
    f"""
    SELECT cluster, `group`, date_trunc('MINUTE', {at("commit_timestamp")}) AS minute_at, count(*) AS commits,
           count(DISTINCT topic, partition) AS partitions
    FROM events_once WHERE branch = 'current' AND committed_offset IS NOT NULL
    GROUP BY ALL
    """,
    {
        "minute_at": "When the minute begins, UTC; null for commits without a time.",
        "commits": "Commits, in transactions too, whatever became of these.",
        "partitions": "Topic partitions that they are about.",
    },
)

_KINDS: Final = {number: RECORD_TYPES[number].family for number in sorted(types_of(Role.GROUP))}
_REBALANCES: Final = View(
    "rebalances_per_hour",
    "How often a group rebalanced in an hour: new generations of a classic group, new epochs of a newer one, as far as the log "
    "still has them.",
    f"""
    SELECT cluster, `group`, kind, date_trunc('HOUR', {at("timestamp")}) AS hour_at, count(*) AS rebalances,
           min(epoch) AS first_epoch, max(epoch) AS last_epoch
    FROM (
      SELECT *, lag(epoch) OVER (PARTITION BY cluster, log_partition, `group`, kind ORDER BY log_offset) AS before
      FROM (
        SELECT cluster, log_partition, log_offset, timestamp, `group`,
               CASE record_type {" ".join(f"WHEN {number} THEN '{kind}'" for number, kind in _KINDS.items())} END AS kind,
               coalesce(value.generation, value.epoch) AS epoch
        FROM (
          SELECT *, from_json(value_json, 'generation INT, epoch INT') AS value
          FROM events_once WHERE branch = 'current' AND record_type IN ({", ".join(map(str, _KINDS))}))))
    WHERE epoch > 0 AND (before IS NULL OR before <> epoch)
    GROUP BY ALL
    """,
    {
        "kind": "classic, consumer, share or streams.",
        "hour_at": "When the hour begins, UTC, by the records' times; null for records without one.",
        "rebalances": "Generations or epochs that began in that hour.",
        "first_epoch": "The least of them.",
        "last_epoch": "The greatest of them.",
    },
)

_OFFENDERS: Final = View(
    "offenders",
    "What a group costs the topic: records, bytes, and commits that changed nothing. Whoever commits often without need stands "
    "at the top by both ranks.",
    """
    SELECT cluster, `group`, records, bytes, bytes / sum(bytes) OVER (PARTITION BY cluster) AS share_of_bytes,
           commits, unchanged, unchanged / nullif(commits, 0) AS share_unchanged,
           rank() OVER (PARTITION BY cluster ORDER BY bytes DESC) AS rank_by_bytes,
           rank() OVER (PARTITION BY cluster ORDER BY unchanged DESC) AS rank_by_unchanged
    FROM (
      SELECT cluster, `group`, count(*) AS records, sum(size) AS bytes, count(committed_offset) AS commits,
             count_if(position = before) AS unchanged
      FROM (
        SELECT *, lag(position) OVER (
          PARTITION BY cluster, log_partition, `group`, topic, partition ORDER BY log_offset) AS before
        FROM (
          SELECT event.*, record.size, nvl2(committed_offset, struct(committed_offset, leader_epoch, metadata), NULL) AS position
          FROM events_once AS event JOIN (
            SELECT cluster, source, log_partition, log_offset, run,
                   coalesce(length(key), 0) + coalesce(length(value), 0) AS size
            FROM log) AS record
          ON event.cluster = record.cluster AND event.source = record.source
            AND event.log_partition <=> record.log_partition AND event.log_offset = record.log_offset
            AND event.run = record.run
          WHERE branch = 'current' AND `group` IS NOT NULL))
      GROUP BY cluster, `group`)
    """,
    {
        "records": "Its records, tombstones too.",
        "bytes": "Bytes of their keys and values.",
        "share_of_bytes": "Of the bytes of all groups in the cluster, 0 to 1.",
        "commits": "Its commits.",
        "unchanged": "Commits of the same offset, leader epoch and metadata as the record before for that partition: they only "
        "renew the offset's age.",
        "share_unchanged": "Of its commits, 0 to 1; null without any.",
        "rank_by_bytes": "1 for the group with the most bytes in the cluster.",
        "rank_by_unchanged": "1 for the group with the most such commits in the cluster.",
    },
)

_LATEST: Final = View(
    "latest_records",
    "Of each key the newest record, aborted transactions aside: the latest offset of each group, topic and partition, and the "
    "latest record of each group and member. A tombstone says that there is none.",
    """
    SELECT newest.* EXCEPT (copies, branch) FROM (
      SELECT max_by(struct(event.*), log_offset) AS newest
      FROM events_once AS event LEFT ANTI JOIN (
        SELECT cluster, log_partition, log_offset FROM transaction_outcomes WHERE outcome = 'ABORT') AS aborted
      ON event.cluster = aborted.cluster AND event.log_partition <=> aborted.log_partition
        AND event.log_offset = aborted.log_offset
      WHERE event.branch = 'current' AND event.`group` IS NOT NULL
      GROUP BY event.cluster, event.log_partition, event.record_type, event.`group`, event.topic, event.partition,
               event.member_id, event.regular_expression)
    """,
    {},
)

_ABORTED: Final = (
    "SELECT cluster, log_partition, log_offset FROM transaction_outcomes WHERE outcome = 'ABORT'"
)
"""The places of records whose transaction was aborted: compaction drops them."""


def _of_keys(records: str, more: str = "") -> str:
    """Return SQL with a row for each key of these records: how many, their bytes, those of the newest, whether that is a tombstone.

    `records` has the columns of `log`; `more` names others that it has of a key, each after a comma.
    """
    return f"""
      SELECT cluster, log_partition{more}, counts, count(*) AS records, sum(size) AS bytes, count_if(deletes) AS tombstones,
             min(nullif(timestamp, -1)) AS first_timestamp, max(nullif(timestamp, -1)) AS last_timestamp,
             max_by(size, log_offset) AS newest, counts AND max_by(deletes, log_offset) AS dead
      FROM (
        SELECT record.*, NOT is_control AND value IS NULL AS deletes,
               coalesce(length(key), 0) + coalesce(length(value), 0) AS size,
               NOT is_control AND key IS NOT NULL AND aborted.log_offset IS NULL AS counts
        FROM ({records}) AS record LEFT JOIN ({_ABORTED}) AS aborted
        ON record.cluster = aborted.cluster AND record.log_partition <=> aborted.log_partition
          AND record.log_offset = aborted.log_offset)
      GROUP BY cluster, log_partition{more}, key, counts"""


_COMPACTION: Final = View(
    "compaction",
    "What compaction would leave of a log partition: of each key the newest value. A newest tombstone stays too, until "
    "delete.retention.ms has passed.",
    f"""
    SELECT cluster, log_partition, sum(records) AS records, sum(bytes) AS bytes, count_if(counts) AS keys,
           count_if(dead) AS dead_keys, count_if(dead) / nullif(count_if(counts), 0) AS share_dead,
           count_if(counts AND NOT dead) AS records_left, sum(if(counts AND NOT dead, newest, 0)) AS bytes_left,
           1 - sum(if(counts AND NOT dead, newest, 0)) / nullif(sum(bytes), 0) AS share_freed
    FROM ({_of_keys("SELECT * FROM log_once WHERE branch = 'current'")})
    GROUP BY cluster, log_partition
    """,
    {
        "records": "Records that the log has, markers of transactions too.",
        "bytes": "Bytes of their keys and values, uncompressed.",
        "keys": "Different keys of records that count: no markers, nothing of aborted transactions.",
        "dead_keys": "Keys whose newest record is a tombstone.",
        "share_dead": "Of the keys, 0 to 1; null without any.",
        "records_left": "Keys whose newest record is a value: one record each is left.",
        "bytes_left": "Bytes of these records' keys and values.",
        "share_freed": "Of the bytes, 0 to 1: what compaction would free; null without any.",
    },
)

_WITH_GROUPS: Final = """
        SELECT log.*, event.`group`, event.control IS NULL AND event.topic IS NOT NULL AS is_commit
        FROM log_once AS log JOIN events_once AS event
        ON log.cluster = event.cluster AND log.source = event.source AND log.log_partition <=> event.log_partition
          AND log.log_offset = event.log_offset AND log.run = event.run
        WHERE log.branch = 'current'"""
_SIZES: Final = View(
    "size",
    "Whose bytes a log partition has, and what compaction would leave of them, as `offsets-tool size` shows it; here the bytes are "
    "those of keys and values, without what batches add and compression saves.",
    f"""
    SELECT cluster, log_partition, `group`, records, bytes, bytes / sum(bytes) OVER (PARTITION BY cluster) AS share,
           keys, dead_keys, commits, commit_bytes, tombstones, {at("first_timestamp")} AS first_at,
           {at("last_timestamp")} AS last_at, records_left, bytes_left,
           1 - bytes_left / nullif(bytes, 0) AS share_freed
    FROM (
      SELECT cluster, log_partition, `group`, sum(records) AS records, sum(bytes) AS bytes, count_if(counts) AS keys,
             count_if(dead) AS dead_keys, sum(if(is_commit, records, 0)) AS commits, sum(if(is_commit, bytes, 0)) AS commit_bytes,
             sum(tombstones) AS tombstones, min(first_timestamp) AS first_timestamp, max(last_timestamp) AS last_timestamp,
             count_if(counts AND NOT dead) AS records_left, sum(if(counts AND NOT dead, newest, 0)) AS bytes_left
      FROM ({_of_keys(_WITH_GROUPS, ", `group`, is_commit")})
      GROUP BY cluster, log_partition, `group`)
    """,
    {
        "group": "The group; null for markers of transactions and for keys that cannot be read.",
        "records": "Its records in the log partition, tombstones too.",
        "bytes": "Bytes of their keys and values, uncompressed.",
        "share": "Of the bytes of all records in the cluster, 0 to 1.",
        "keys": "Different keys of its records, nothing of aborted transactions.",
        "dead_keys": "Keys whose newest record is a tombstone.",
        "commits": "Its offset commits, tombstones of them too.",
        "commit_bytes": "Bytes of these records' keys and values.",
        "tombstones": "Its records that delete their key.",
        "first_at": "Time of its first record, UTC; null without one.",
        "last_at": "Time of its last record, UTC; null without one.",
        "records_left": "Keys whose newest record is a value: compaction leaves one record of each, if what is open is committed.",
        "bytes_left": "Bytes of these records' keys and values.",
        "share_freed": "Of its bytes, 0 to 1: what compaction would free; null without any.",
    },
)

VIEWS: Final = (
    _OUTCOMES,
    _COMMITS,
    _REBALANCES,
    _OFFENDERS,
    _LATEST,
    _COMPACTION,
    _SIZES,
)
