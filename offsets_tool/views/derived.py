"""Views over `lag`, `expiry` and `findings`: who is behind, what was lost unread, what expires, what was removed, what is worst.

They add up rows of the tables: a sum is as sure as the least sure of its rows, and has no bound where one of them has none.
"""

from typing import Final

from offsets_tool.views.view import View, at

_HOUR: Final = 3_600_000
_CONFIDENCE: Final = "array_position(array('none', 'low', 'medium', 'high', 'exact'), confidence)"

_CURRENT_LAG: Final = View(
    "current_lag",
    "A committed offset that holds at the end of the log, and how far behind it was when that was told last: at its newest "
    "commit, or at a time of the grid behind it.",
    """
    SELECT newest.cluster, newest.`group`, newest.topic, newest.partition, newest.moment_at,
           newest.committed_offset, newest.end_offset, if(is_proven, newest.lag, NULL) AS lag,
           if(is_proven, newest.lag_min, 0) AS lag_min, if(is_proven, newest.lag_max, NULL) AS lag_max,
           if(is_proven, newest.time_lag_ms, NULL) AS time_lag_ms, if(is_proven, newest.time_lag_min_ms, 0) AS time_lag_min_ms,
           if(is_proven, newest.time_lag_max_ms, NULL) AS time_lag_max_ms, if(is_proven, newest.method, 'none') AS method,
           if(is_proven, newest.confidence, 'none') AS confidence, if(is_proven, newest.time_method, 'none') AS time_method,
           if(is_proven, newest.time_confidence, 'none') AS time_confidence, newest.log_start_offset,
           if(is_proven, newest.data_lost, NULL) AS data_lost, if(is_proven, newest.beyond_end, 0) AS beyond_end,
           newest.is_topic_recreated, is_proven
    FROM (
      SELECT lag.cluster, lag.`group`, lag.topic, lag.partition, held.is_proven,
             max_by(struct(lag.*), struct(
               lag.timestamp = held.since OR (
                 lag.timestamp > held.since AND lag.committed_offset = held.committed_offset AND former.at IS NULL),
               lag.timestamp)) AS newest
      FROM lag
      JOIN (
        SELECT *, if(from_timestamp = -1, commit_timestamp, from_timestamp) AS since FROM current_offsets) AS held
      ON lag.cluster = held.cluster AND lag.`group` = held.`group` AND lag.topic = held.topic AND lag.partition = held.partition
      LEFT JOIN (
        SELECT DISTINCT was.cluster, was.`group`, was.topic, was.partition, was.from_timestamp AS at
        FROM offset_history AS was
        JOIN current_offsets AS now
        ON was.cluster = now.cluster AND was.`group` = now.`group` AND was.topic = now.topic AND was.partition = now.partition
          AND was.from_timestamp > now.from_timestamp
        WHERE was.is_effective) AS former
      ON lag.cluster = former.cluster AND lag.`group` = former.`group` AND lag.topic = former.topic
        AND lag.partition = former.partition AND lag.timestamp = former.at
      GROUP BY lag.cluster, lag.`group`, lag.topic, lag.partition, held.is_proven)
    """,
    {
        "moment_at": "When that was so, UTC; null if that is no time.",
        "lag": "Offsets left to read, never negative; null if it cannot be told.",
        "lag_min": "What lag was at least.",
        "lag_max": "What lag was at most; null if that is open.",
        "time_lag_ms": "How long ago the record there was written, milliseconds; 0 if none is left; null if unknown.",
        "time_lag_min_ms": "What that was at least.",
        "time_lag_max_ms": "What that was at most; null if that is open.",
        "method": "How the end is known: sampled, index, interpolated, lower bound, upper bound or none.",
        "confidence": "How sure lag is: exact, high, medium, low or none.",
        "time_method": "How the time is known: record, interpolated, extrapolated, bound, caught up or none.",
        "time_confidence": "How sure time_lag_ms is: exact, high, medium, low or none.",
        "data_lost": "Offsets that retention deleted before the group had read them, at least; null if that is not known.",
        "beyond_end": "Offsets that the commit is beyond the end; else 0.",
        "is_proven": "Whether the log proves the committed offset; no lag is told where it does not.",
    },
)

_GROUP_LAG: Final = View(
    "group_lag",
    "A group: how far behind it is in all partitions whose offsets hold at the end of the log, each as it was told last.",
    f"""
    SELECT cluster, `group`, count(*) AS partitions, count_if(lag IS NULL) AS unknown,
           try_sum(lag) AS lag, try_sum(lag_min) AS lag_min,
           if(count(lag_max) = count(*), try_sum(lag_max), NULL) AS lag_max, max(time_lag_ms) AS time_lag_ms,
           min_by(confidence, {_CONFIDENCE}) AS least_confidence,
           worst.topic AS worst_topic, worst.partition AS worst_partition, worst.lag AS worst_lag,
           try_sum(data_lost) AS data_lost, try_sum(beyond_end) AS beyond_end,
           min(moment_at) AS oldest_at, max(moment_at) AS newest_at
    FROM (
      SELECT *, max(nvl2(lag, struct(lag, topic, partition), NULL)) OVER (PARTITION BY cluster, `group`) AS worst
      FROM current_lag)
    GROUP BY cluster, `group`, worst
    """,
    {
        "partitions": "Topic partitions of which the group has an offset.",
        "unknown": "Those of them whose lag cannot be told: no part of the sum.",
        "lag": "Offsets left to read, in all others together; null if there are none, as all sums are that 64 bits do not hold.",
        "lag_min": "What that was at least.",
        "lag_max": "What that was at most; null if that is open for one of them.",
        "time_lag_ms": "The longest of their time lags, milliseconds; null if none is known.",
        "least_confidence": "How sure lag is where it is least so: exact, high, medium, low or none.",
        "worst_topic": "Topic of the partition with most left to read; null if no lag is known.",
        "worst_partition": "That partition; null as worst_topic.",
        "worst_lag": "Its lag; null as worst_topic.",
        "data_lost": "Offsets that retention deleted before the group had read them, at least; null if no log start is known.",
        "beyond_end": "Offsets that commits are beyond the end.",
        "oldest_at": "The earliest time of which one of the rows tells, UTC.",
        "newest_at": "The latest, UTC.",
    },
)

_PER_HOUR: Final = View(
    "lag_per_hour",
    "A group in an hour: the partition that was farthest behind then, and when, at a commit or at a time of the grid.",
    """
    SELECT cluster, `group`, hour_at, count(*) AS moments, count(DISTINCT topic, partition) AS partitions,
           max(peak).lag AS peak_lag, max(peak).topic AS peak_topic, max(peak).partition AS peak_partition,
           max(peak).moment_at AS peak_at, max(peak).confidence AS peak_confidence, max(time_lag_ms) AS peak_time_lag_ms
    FROM (
      SELECT *, date_trunc('HOUR', moment_at) AS hour_at,
             nvl2(lag, struct(lag, topic, partition, timestamp, confidence, moment_at), NULL) AS peak
      FROM lag)
    GROUP BY cluster, `group`, hour_at
    """,
    {
        "hour_at": "When the hour begins, UTC; null for moments that are no time.",
        "moments": "Rows of lag in that hour.",
        "partitions": "Topic partitions that they are about.",
        "peak_lag": "The most that was left to read in one partition; null if no lag is known.",
        "peak_topic": "Topic of that partition; null as peak_lag.",
        "peak_partition": "That partition; null as peak_lag.",
        "peak_at": "When that was, UTC; null as peak_lag.",
        "peak_confidence": "How sure that lag is: exact, high, medium or low; null as peak_lag.",
        "peak_time_lag_ms": "The longest time lag of any partition in that hour, milliseconds; null if none is known.",
    },
)

_LOST_UNREAD: Final = View(
    "lost_unread",
    "A group and a partition whose log began behind the group's offset at some moment: retention deleted what it had not read.",
    f"""
    SELECT cluster, `group`, topic, partition, worst.data_lost AS most_lost, worst.committed_offset, worst.log_start_offset,
           {at("first_at")} AS first_at, {at("last_at")} AS last_at, last_at = newest_at AS is_still_so
    FROM (
      SELECT cluster, `group`, topic, partition, max(struct(data_lost, committed_offset, log_start_offset)) AS worst,
             min(if(data_lost > 0, timestamp, NULL)) AS first_at, max(if(data_lost > 0, timestamp, NULL)) AS last_at,
             max(timestamp) AS newest_at
      FROM lag GROUP BY cluster, `group`, topic, partition)
    WHERE worst.data_lost > 0
    """,
    {
        "most_lost": "Offsets that were gone unread at the worst of these moments, at least.",
        "committed_offset": "The group's offset at that moment.",
        "log_start_offset": "Where the log began then.",
        "first_at": "The first moment that shows it, UTC.",
        "last_at": "The last one, UTC.",
        "is_still_so": "Whether the newest moment of this group and partition shows it.",
    },
)

_RECREATED: Final = View(
    "recreated_topics",
    "A topic that was made anew while groups had offsets of the old one: these say nothing about the new one.",
    f"""
    SELECT cluster, topic, count(DISTINCT partition) AS partitions, count(DISTINCT `group`) AS groups,
           {at("min(timestamp)")} AS first_at, {at("max(timestamp)")} AS last_at
    FROM lag WHERE is_topic_recreated GROUP BY cluster, topic
    """,
    {
        "partitions": "Partitions that offsets of before are about.",
        "groups": "Groups that have such offsets.",
        "first_at": "The first moment at which a group had one, UTC.",
        "last_at": "The last one, UTC.",
    },
)

_NEXT: Final = View(
    "next_expiries",
    "Offsets of a group that expire by one rule as things stand, with the first check from then on. What does not expire is in "
    "expiry, with the reason as its rule.",
    f"""
    SELECT cluster, `group`, rule, release, retention_ms, count(*) AS offsets, count(DISTINCT topic) AS topics,
           min(expires_at) AS first_at, max(expires_at) AS last_at,
           min(expires_in_ms) / {_HOUR} AS first_in_hours, max(expires_in_ms) / {_HOUR} AS last_in_hours
    FROM expiry WHERE expires_in_ms IS NOT NULL OR expires_at IS NOT NULL GROUP BY cluster, `group`, rule, release, retention_ms
    """,
    {
        "rule": "retention_since_commit, retention_since_empty, unsubscribed_topic or expire_timestamp.",
        "offsets": "Committed offsets.",
        "topics": "Topics that they are of.",
        "first_at": "When the first of them goes, UTC; null if that is no time.",
        "last_at": "When the last of them goes, UTC; null as first_at.",
        "first_in_hours": "How long after the newest record of the cluster the first goes; negative if it is due.",
        "last_in_hours": "The same of the last.",
    },
)

_REMOVALS: Final = View(
    "removals_per_day",
    "Offsets of a group that went on a day for one reason, and how sure that reason is.",
    """
    SELECT cluster, `group`, date_trunc('DAY', removed_at) AS day_at, cause, confidence, count(*) AS offsets,
           count(DISTINCT topic) AS topics, array_sort(array_distinct(flatten(collect_list(alternatives)))) AS alternatives,
           min(removed_at) AS first_at, max(removed_at) AS last_at,
           min(struct(log_partition, log_offset)).log_partition AS log_partition,
           min(struct(log_partition, log_offset)).log_offset AS log_offset
    FROM expiry WHERE status = 'removed' GROUP BY ALL
    """,
    {
        "day_at": "When the day begins, UTC; null for records without a time.",
        "offsets": "Offsets, those of transactions that never counted too.",
        "topics": "Topics that they are of.",
        "alternatives": "What else leaves the same records, of any of them.",
        "first_at": "When the first of them went, UTC; null as day_at.",
        "last_at": "When the last of them went, UTC; null as day_at.",
        "log_partition": "Where in the log the first of them ended: partition of __consumer_offsets.",
        "log_offset": "Where in that partition: its tombstone or marker.",
    },
)

_WORST: Final = View(
    "worst_findings",
    "A finding, ranked in its cluster as offsets-tool findings lists them: the worst first, then the earliest.",
    """
    SELECT cluster, row_number() OVER (
             PARTITION BY cluster
             ORDER BY array_position(array('critical', 'warning', 'notice'), severity), from_at NULLS LAST, log_partition,
                      log_offset, kind, `group`, topic, partition) AS rank,
           severity, kind, `group`, topic, partition, from_at, to_at, title, remedy, confidence, alternatives, evidence
    FROM findings
    """,
    {"rank": "1 for the worst finding of the cluster."},
)

_PER_GROUP: Final = View(
    "findings_per_group",
    "A group with findings, ranked in its cluster: by how many are critical, then by warnings, then by notices.",
    """
    SELECT cluster, rank() OVER (PARTITION BY cluster ORDER BY critical DESC, warnings DESC, notices DESC) AS rank, *
           EXCEPT (cluster)
    FROM (
      SELECT cluster, `group`, count_if(severity = 'critical') AS critical, count_if(severity = 'warning') AS warnings,
             count_if(severity = 'notice') AS notices, min_by(kind, rank) AS worst_kind, min_by(title, rank) AS worst_title,
             min_by(remedy, rank) AS worst_remedy, array_sort(collect_set(kind)) AS kinds,
             min(from_at) AS first_at, max(coalesce(to_at, from_at)) AS last_at
      FROM worst_findings WHERE `group` IS NOT NULL GROUP BY cluster, `group`)
    """,
    {
        "rank": "1 for the group with the worst findings in the cluster.",
        "critical": "Critical findings.",
        "warnings": "Warnings.",
        "notices": "Notices.",
        "worst_kind": "The kind of its worst finding, the earliest of these.",
        "worst_title": "What happened then, in one sentence.",
        "worst_remedy": "What to do about it.",
        "kinds": "All kinds of its findings.",
        "first_at": "When the first of them began, UTC; null if none has a time.",
        "last_at": "When the last of them ended, or began if it lasts, UTC; null as first_at.",
    },
)

VIEWS: Final = (
    _CURRENT_LAG,
    _GROUP_LAG,
    _PER_HOUR,
    _LOST_UNREAD,
    _RECREATED,
    _NEXT,
    _REMOVALS,
    _WORST,
    _PER_GROUP,
)
