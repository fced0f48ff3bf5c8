"""Groups at a moment, a row each.

A group that the log does not prove has a row with `is_proven` False, without state and members.
"""

from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, Unproven
from offsets_tool.replay.changes import Group, GroupOf, OffsetOf
from offsets_tool.rows import Row

_ATTRIBUTES: Final = ("generation", "epoch", "assignment_epoch", "protocol_type", "protocol", "leader")
GROUP_FIELDS: Final = ("kind", "state", *_ATTRIBUTES, "members")
"""The fields of a group's state, in the order in which every table and history shows them."""


def group_rows(snapshot: Snapshot, wanted: Wanted | None = None) -> list[Row]:
    """Return the groups of a snapshot, a dictionary each, by name; `wanted` chooses some.

    >>> from offsets_tool import snapshot_of
    >>> rows = group_rows(snapshot_of("fixtures/corpora/4.3.1-kip848/segments"))
    >>> [f"{row['kind']} {row['state']} {row['members']}" for row in rows if row["group"] == "search-cons-f689"]
    ['consumer Stable 2']
    """
    asked = wanted or Wanted()
    rows = [
        _row(p, name, unknown)
        for p in snapshot
        for unknown in [p.unknown]
        for name in _names(p, unknown)
        if asked.has_group(name)
    ]
    return sorted(rows, key=lambda row: row["group"])


def _names(p: PartitionSnapshot, unknown: Unproven) -> set[str]:
    return p.state.groups.keys() | {subject.group for subject in unknown if isinstance(subject, GroupOf)}


def _row(p: PartitionSnapshot, name: str, unknown: Unproven) -> Row:
    group = p.state.groups.get(name)
    subject = GroupOf(name)
    known = subject not in unknown
    # A group's own record may be known where a member's is not; without one, even the kind may have been another.
    shown = group if subject not in p.coverage.unknown or p.coverage.proves_kind(name) else None
    return {
        "group": name,
        "kind": shown.kind if shown else None,
        "state": shown.state if shown and known else None,
        **_attributes(shown),
        "members": shown.members if shown and known else None,
        "log_partition": p.log_partition,
        "log_offset": shown.log_offset if shown else None,
        **_details(p, shown, unknown),
        "is_proven": known,
        "proven_again_from": unknown.get(subject),
        "proven_from": p.coverage.proven_from,
    }


def _attributes(group: Group | None) -> Row:
    return {name: getattr(group, name) if group else None for name in _ATTRIBUTES}


def _details(p: PartitionSnapshot, group: Group | None, unknown: Unproven) -> Row:
    """Return the fields of a group beyond the common columns, such as a streams group's topology epoch; empty without a group.

    How many offsets it has is not known where one of them is not.
    """
    topology = group.topology.data if group and group.topology else None
    is_counted = group and not any(
        isinstance(subject, OffsetOf) and subject.group == group.group for subject in unknown
    )
    return {
        "offsets": len(p.state.offsets.get(group.group, ())) if group and is_counted else None,
        "current_state_timestamp": group.current_state_timestamp if group else None,
        "topology_epoch": topology.epoch if topology else None,
        "coordinator": p.coordinator.rules,
    }


def why_unknown(row: Row, what: str) -> str:
    """Return words on what the log proves of a group that has an unproven row; `what` is the pronoun of what is asked for."""
    again = row["proven_again_from"]
    if again is None:
        return "a record of it was not understood, or copies of its log contradict each other: the notes say which"
    return f"the log proves {what} from {again} on"
