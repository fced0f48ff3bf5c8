"""Views over the histories that replay makes: what holds at the end of the log, and who owned a partition at each commit."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple

from offsets_tool.history.rows import Group
from offsets_tool.placement import homes_by_commits
from offsets_tool.replay.changes import UNREAD
from offsets_tool.table_rows import Cluster
from offsets_tool.views.view import RowRule, View, at
from offsets_tool.wire.schema import Int32


def _part(number: int) -> str:
    """Return SQL for one part of a text `topic-partition` or `subtopology_partition`: 1 what stands before, 2 the number."""
    return f"regexp_extract(owned, '(?s)^(.*)[-_]([0-9]+)$', {number})"


class MovedGroup(NamedTuple):
    """A group that lies in several log partitions, and the one in which it lives now."""

    cluster: Cluster
    group: Group
    log_partition: Annotated[
        Int32 | None, "The log partition where its coordinator looks for it now; null if nothing tells."
    ]


def _moved_groups(places: Iterable[Mapping[str, Any]]) -> Iterator[MovedGroup]:
    """Yield the groups that lie in several log partitions, given all places of groups in their clusters."""
    newest: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    unread: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for row in places:
        place = row["group"], row["log_partition"]
        newest[row["cluster"]][place] = row["newest"]
        if row["unread"]:
            unread[row["cluster"]].add(place)
    for cluster, of_cluster in newest.items():
        for group, home in homes_by_commits(of_cluster, unread[cluster]).items():
            yield MovedGroup(cluster, group, home)


_SEVERAL: Final = """
      SELECT cluster, `group` FROM group_history WHERE to_log_offset IS NULL
      GROUP BY cluster, `group` HAVING count(DISTINCT log_partition) > 1"""
_MOVED_GROUPS: Final = View(
    "moved_groups",
    "A group that lies in several log partitions, because the topic was given more partitions or files are misnamed, and the one "
    "in which it lives now: what it has elsewhere is stale.",
    f"""
    SELECT cluster, `group`, log_partition, max(newest) AS newest, max(unread) AS unread
    FROM (
      SELECT cluster, `group`, log_partition, CAST(-1 AS BIGINT) AS newest, 0 AS unread
      FROM group_history
      WHERE to_log_offset IS NULL AND log_partition IS NOT NULL AND cluster IN (SELECT cluster FROM ({_SEVERAL}))
      UNION ALL
      SELECT cluster, `group`, log_partition, commit_timestamp, 0
      FROM offset_history
      WHERE is_effective AND to_log_offset IS NULL AND log_partition IS NOT NULL AND (cluster, `group`) IN ({_SEVERAL})
      UNION ALL
      SELECT cluster, `group`, log_partition, -1, 1
      FROM offset_history
      WHERE log_partition IS NOT NULL AND (cluster, `group`) IN ({_SEVERAL})
      GROUP BY cluster, `group`, log_partition, topic, partition
      HAVING max(from_log_offset) = max(if(end_cause = 'unread', from_log_offset, NULL))
      UNION ALL
      SELECT cluster, `group`, log_partition, -1, 1
      FROM anomalies AS noted
      WHERE log_partition IS NOT NULL AND startswith(note, '{UNREAD}') AND (cluster, `group`) IN ({_SEVERAL})
        AND NOT EXISTS (
          SELECT 1 FROM offset_history AS held
          WHERE held.cluster = noted.cluster AND held.`group` = noted.`group` AND held.log_partition = noted.log_partition
            AND concat(held.topic, '-', held.partition) = noted.about))
    GROUP BY cluster, `group`, log_partition
    """,
    {},
    RowRule(MovedGroup, _moved_groups),
)

_UNREAD_KEYS: Final = View(
    "unread_keys",
    "A log partition with a record whose key was not understood, and the last of them: it may have been about anything, so that "
    "nothing that was set before it is proven to hold.",
    f"""
    SELECT cluster, log_partition, max(log_offset) AS log_offset, count(*) AS records
    FROM anomalies WHERE `group` IS NULL AND about IS NULL AND startswith(note, '{UNREAD}')
    GROUP BY cluster, log_partition
    """,
    {"log_offset": "Offset in the log of the last such record.", "records": "How many there are."},
)

_CURRENT_OFFSETS: Final = View(
    "current_offsets",
    "A committed offset that holds at the end of the log, by the coordinator's rules. Of a group that lies in several log "
    "partitions it is that of the one in which it lives now; none if nothing tells.",
    f"""
    SELECT cluster, `group`, topic, partition, committed_offset, leader_epoch, metadata,
           {at("commit_timestamp")} AS committed_at, {at("expire_timestamp")} AS expires_at, topic_id,
           log_partition, commit_log_offset, from_log_offset, from_timestamp, commit_timestamp, group_kind, is_owner_known,
           member_id, instance_id, client_id, client_host,
           NOT EXISTS (
             SELECT 1 FROM unread_keys AS unread
             WHERE unread.cluster = held.cluster AND unread.log_partition <=> held.log_partition
               AND unread.log_offset > held.commit_log_offset) AS is_proven
    FROM offset_history AS held
    WHERE is_effective AND to_log_offset IS NULL AND NOT EXISTS (
      SELECT 1 FROM moved_groups AS moved
      WHERE moved.cluster = held.cluster AND moved.`group` = held.`group` AND NOT moved.log_partition <=> held.log_partition)
    """,
    {
        "committed_at": "Time in the commit, UTC; null if it has none.",
        "expires_at": "Explicit expiry, UTC; null if there is none.",
        "is_proven": "Whether the log proves it; false behind a record whose key was not understood, which may have replaced it.",
    },
)

_CURRENT_GROUPS: Final = View(
    "current_groups",
    "A group that is there at the end of the log, by the coordinator's rules.",
    f"""
    SELECT cluster, `group`, kind, state, generation, epoch, assignment_epoch, protocol_type, protocol, leader, members,
           log_partition, log_offset, from_log_offset, {at("from_timestamp")} AS since_at
    FROM group_history WHERE to_log_offset IS NULL
    """,
    {"since_at": "When the record was written with which this state began, UTC; null if it has no time."},
)

_CURRENT_MEMBERS: Final = View(
    "current_members",
    "A member that a group has at the end of the log, with what it asks for and what it holds.",
    f"""
    SELECT cluster, `group`, member_id, instance_id, client_id, client_host, group_kind, generation, member_epoch,
           member_state, subscription, subscribed_regex, assignment, pending_revocation, target_assignment,
           log_partition, from_log_offset, {at("from_timestamp")} AS since_at
    FROM member_history WHERE to_log_offset IS NULL
    """,
    {"since_at": "When the record was written with which this state began, UTC; null if it has no time."},
)

_OWNERSHIP: Final = View(
    "ownership",
    "A commit that counted, and the member that owned the partition then by the assignments in force. Who committed is not in "
    "the log.",
    f"""
    SELECT cluster, `group`, topic, partition, committed_offset, delta, {at("commit_timestamp")} AS committed_at,
           group_kind, generation, group_epoch, member_epoch, is_owner_known, member_id, instance_id, client_id, client_host,
           log_partition, commit_log_offset
    FROM offset_history WHERE is_effective AND begin_cause <> 'revealed'
    """,
    {"committed_at": "Time in the commit, UTC; null if it has none."},
)

_WITHOUT_COMMIT: Final = View(
    "owned_without_commit",
    "A partition that a member has been given at the end of the log, and of which its group has no committed offset: what it has "
    "read nobody knows, and who comes next begins where auto.offset.reset says. Share and streams groups keep no such account.",
    """
    SELECT cluster, `group`, substring_index(owned, '-', size(split(owned, '-')) - 1) AS topic,
           CAST(substring_index(owned, '-', -1) AS INT) AS partition, group_kind, member_id, instance_id, client_id,
           client_host, since_at
    FROM (SELECT *, explode(assignment) AS owned FROM current_members WHERE group_kind IN ('classic', 'consumer'))
      AS member
    WHERE NOT EXISTS (
      SELECT 1 FROM current_offsets AS held
      WHERE held.cluster = member.cluster AND held.`group` = member.`group` AND concat(held.topic, '-', held.partition) = owned)
    """,
    {
        "topic": "Topic of the partition; its id if no name is known.",
        "partition": "Partition of that topic.",
        "since_at": "When the record was written with which the member's state began, UTC; null if it has no time.",
    },
)

_ASSIGNMENTS: Final = View(
    "assignments",
    "A partition, or a task of a streams group, that a member held from one record to another, through all generations and epochs "
    "that left it there; as `offsets-tool assignments --over-time` shows it.",
    f"""
    SELECT cluster, `group`, if(first.group_kind = 'streams', NULL, of) AS topic,
           if(first.group_kind = 'streams', of, NULL) AS subtopology, partition, member_id, first.instance_id, first.client_id,
           first.client_host, first.group_kind, first.generation, first.member_epoch, log_partition, first.from_log_offset,
           {at("first.from_timestamp")} AS from_at, last.to_log_offset, {at("last.to_timestamp")} AS to_at,
           if(last.cause = 'changed', 'revoked', last.cause) AS end_cause
    FROM (
      SELECT cluster, log_partition, `group`, member_id, {_part(1)} AS of, CAST({_part(2)} AS INT) AS partition,
             min_by(struct(*), from_log_offset) AS first, max_by(struct(*), from_log_offset) AS last
      FROM (
        SELECT *, sum(begins) OVER (
                 PARTITION BY cluster, log_partition, `group`, member_id, owned ORDER BY from_log_offset) AS stretch
        FROM (
          SELECT *, if(from_log_offset <=> lag(to_log_offset) OVER (
                         PARTITION BY cluster, log_partition, `group`, member_id, owned ORDER BY from_log_offset), 0, 1) AS begins
          FROM (
            SELECT *, explode(array_union(assignment, pending_revocation)) AS owned
            FROM (
              SELECT *, if(to_timestamp >= 0, max_by(end_cause, from_log_offset) OVER (
                             PARTITION BY cluster, log_partition, `group`, member_id, to_timestamp), end_cause) AS cause
              FROM member_history))))
      GROUP BY cluster, log_partition, `group`, member_id, owned, stretch)
    """,
    {
        "topic": "Topic of the partition, its id if no name is known; null for a task of a streams group.",
        "subtopology": "Subtopology of a streams group's task; null for a partition.",
        "partition": "Partition of that topic, or of that subtopology.",
        "generation": "Generation of the classic group that gave it; null for other kinds.",
        "member_epoch": "Epoch that the member had reached when it got it; null in classic groups.",
        "from_at": "When the record was written that gave it to the member, UTC; null if it has no time.",
        "to_at": "When the record was written that took it away, UTC; null while it holds, or if that has no time.",
        "end_cause": "revoked (the member went on without it), left, replaced, group deleted or absent; null while it holds.",
    },
)

_COVERAGE: Final = View(
    "coverage",
    "A log partition, and from where on its evidence is complete: before that, compaction, a moved log start or damage may have "
    "taken records, and what held is known only as far as records are left.",
    f"""
    SELECT cluster, log_partition, proven_from_log_offset, {at("min(timestamp)")} AS proven_from_at, next_log_offset,
           first(log_start_offset) AS log_start_offset, first(cleaned_to_offset) AS cleaned_to_offset, first(found) AS copies,
           absences, abandoned, contradictions, problem
    FROM (
      SELECT replay.*, copy.log_start_offset, copy.cleaned_to_offset, copy.found, event.timestamp
      FROM (
        SELECT latest.* FROM (SELECT max_by(struct(*), run) AS latest FROM replays GROUP BY cluster, log_partition)) AS replay
      LEFT JOIN (
        SELECT cluster, log_partition, max(log_start_offset) AS log_start_offset,
               max(cleaned_to_offset) AS cleaned_to_offset, array_sort(collect_set(copy)) AS found
        FROM copies GROUP BY cluster, log_partition) AS copy
      ON replay.cluster = copy.cluster AND replay.log_partition <=> copy.log_partition
      LEFT JOIN events AS event
      ON replay.cluster = event.cluster AND replay.log_partition <=> event.log_partition
        AND replay.proven_from_log_offset = event.log_offset AND event.misplaced IS NULL AND event.timestamp >= 0)
    GROUP BY cluster, log_partition, proven_from_log_offset, next_log_offset, absences, abandoned, contradictions, problem
    """,
    {
        "proven_from_at": "When the record there was written, UTC; null if it has no time.",
        "log_start_offset": "The highest log start offset that a copy's checkpoint says; null if none does.",
        "cleaned_to_offset": "How far the cleaner of any copy had come, by its checkpoint: below it keys may be gone; null if none "
        "says.",
        "copies": "The copies that the evidence rests on.",
    },
)

VIEWS: Final = (
    _MOVED_GROUPS,
    _UNREAD_KEYS,
    _CURRENT_OFFSETS,
    _CURRENT_GROUPS,
    _CURRENT_MEMBERS,
    _OWNERSHIP,
    _WITHOUT_COMMIT,
    _ASSIGNMENTS,
    _COVERAGE,
)
