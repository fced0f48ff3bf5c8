"""A group as kafka-consumer-groups describes it: offsets with the owner of each partition, and the group's state.

End offsets are not known here: `log_end_offset`, `lag` and `beyond_end` are left None for others to fill.
`appears_later` explains why a group is not there.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.as_of.views_groups import group_rows
from offsets_tool.as_of.views_members import member_rows, named_partitions
from offsets_tool.as_of.views_offsets import (
    current_homes,
    empty_offset_row,
    rows_at_home,
)
from offsets_tool.replay.changes import GroupKind, OffsetOf
from offsets_tool.replay.member_records import assigned, client_of
from offsets_tool.rows import Row

_NOBODY: Final[Row] = dict.fromkeys(("member_id", "client_host", "client_id"))


def described_offsets(snapshot: Snapshot, wanted: Wanted) -> list[Row]:
    """Return a row for each committed offset, with the member that owns the partition, and for each owned partition without one.

    Of a group that lies in several log partitions it is what the one has where the group lives now, and unknown if nothing tells.
    """
    at_home = rows_at_home(snapshot, wanted, current_homes(snapshot))
    rows = {OffsetOf(row["group"], row["topic"], row["partition"]): row for row in at_home}
    for p in snapshot:
        for offset, owner in owned_partitions(snapshot, p, wanted):
            rows.setdefault(offset, empty_offset_row(p, offset)).update(owner)
    return [
        _NOBODY | rows[offset] | {"log_end_offset": None, "lag": None, "beyond_end": None}
        for offset in sorted(rows)
    ]


def owned_partitions(
    snapshot: Snapshot, p: PartitionSnapshot, wanted: Wanted
) -> Iterator[tuple[OffsetOf, Row]]:
    """Yield each partition that a member of a log partition's groups is assigned, with that member.

    A share group may have several members for one partition; tasks of streams groups are not partitions.
    """
    for name, members in p.state.members.items():
        group = p.state.groups.get(name)
        if group is None or group.kind is GroupKind.STREAMS or not wanted.has_group(name):
            continue
        for member_id, member in members.items():
            client = client_of(member)
            row = {"member_id": member_id, "client_host": client.client_host, "client_id": client.client_id}
            for topic, partition in named_partitions(snapshot.names, assigned(member, group.protocol_type)):
                if wanted.has_offset(topic, partition):
                    yield OffsetOf(name, topic, partition), row


def described_states(snapshot: Snapshot, wanted: Wanted) -> list[Row]:
    """Return the rows of groups, each with the assignor that the group uses.

    That is a classic group's protocol, or what most members of a consumer group ask for; None where the broker's own choice holds,
    which is not in the log (ConsumerGroup.preferredServerAssignor).
    """
    asked: dict[str, Counter[str]] = {}
    for row in member_rows(snapshot, wanted):
        if row["server_assignor"]:
            asked.setdefault(row["group"], Counter())[row["server_assignor"]] += 1
    rows = group_rows(snapshot, wanted)
    for row in rows:
        most = asked[row["group"]].most_common(1)[0][0] if row["group"] in asked else None
        row["assignor"] = row["protocol"] or most
    return rows


def appears_later(snapshot: Snapshot, group: str) -> tuple[int | None, int] | None:
    """Return where a group first appears behind the moment: log partition and offset; None if it does not."""
    for p in snapshot:
        at = [log_offset for subject, log_offset in p.coverage.later.items() if subject.group == group]
        if at:
            return p.log_partition, min(at)
    return None
