"""Removals, and the state of the removal tracker, as JSON and back: for rows of `removals` and for checkpoints.

Unpacking what is damaged raises KeyError, TypeError or ValueError.
"""

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Final
from uuid import UUID

from offsets_tool.expiry.lifetimes import ByGroup, Lifetime, Lifetimes
from offsets_tool.expiry.removal_tracker import LastChange, Open, TrackerState
from offsets_tool.expiry.removals import DroppedCommit, KeptOffset, Removal, RemovedOffset
from offsets_tool.history.json_codec import (
    Packed,
    pack_commit,
    pack_state,
    unpack_commit,
    unpack_group,
    unpack_state,
)
from offsets_tool.replay.changes import ChangeKind, PendingOf
from offsets_tool.replay.state import State

_REMOVAL: Final = "removal"
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=attrgetter("hex"))
"""Made once: `json.dumps` makes one for each text. Named tuples become lists, ids of topics texts."""


def pack_removal_facts(removals: Iterable[Removal | DroppedCommit]) -> str:
    """Return removals and dropped commits as JSON in ASCII."""
    packed = [
        _packed_removal(removal) if isinstance(removal, Removal) else _packed_dropped(removal)
        for removal in removals
    ]
    return _ENCODER.encode(packed)


def unpack_removal_facts(text: str) -> list[Removal | DroppedCommit]:
    """Return the removals and dropped commits from which `pack_removal_facts` made this text."""
    return [
        _removal(facts) if kind == _REMOVAL else _dropped(kind, facts) for kind, *facts in json.loads(text)
    ]


def _packed_removal(removal: Removal) -> Packed:
    return [_REMOVAL, *removal[:8], sorted(removal.partly_removed_topics), *removal[9:]]


def _removal(facts: Packed) -> Removal:
    (
        log_partition,
        at,
        group_id,
        group,
        is_by_new_coordinator,
        removed,
        group_deleted_at,
        left,
        topics,
        kept,
        changed_at,
    ) = facts
    return Removal(
        log_partition,
        at,
        group_id,
        group and unpack_group(group),
        is_by_new_coordinator,
        tuple(map(_removed, removed)),
        group_deleted_at,
        left,
        frozenset(topics),
        tuple(KeptOffset(*each) for each in kept),
        changed_at,
    )


def _packed_removed(removed: RemovedOffset) -> Packed:
    topic, partition, commit, *facts = removed
    return [topic, partition, commit and pack_commit(commit), *facts]


def _removed(packed: Packed) -> RemovedOffset:
    topic, partition, commit, *facts = packed
    return RemovedOffset(topic, partition, commit and unpack_commit(*commit), *facts)


def _packed_dropped(dropped: DroppedCommit) -> Packed:
    place = (dropped.log_partition, dropped.log_offset, dropped.at)
    return [dropped.kind, *place, dropped.pending, dropped.commit]


def _dropped(kind: str, facts: Packed) -> DroppedCommit:
    log_partition, log_offset, at, pending, commit = facts
    return DroppedCommit(
        log_partition, log_offset, at, ChangeKind(kind), PendingOf(*pending), unpack_commit(*commit)
    )


def pack_removals(saved: TrackerState, now: State) -> Packed:
    """Return the tracker's state as JSON; `now` is the coordinator's state, which holds the commits and the groups."""
    return {
        "lifetimes": {
            group: [_packed_lifetime(saved.lifetimes.by_group[group][at]) for at in offsets]
            for group, offsets in now.offsets.items()
        },
        "changed": saved.changed,
        "open": [_packed_open(group, opened) for group, opened in saved.open.items()],
        "place": saved.place,
    }


def unpack_removals(body: Packed, now: State) -> TrackerState:
    """Return the tracker's state from which `pack_removals` made this JSON; `now` must equal the state given then."""
    lifetimes: ByGroup = {
        group: {
            at: _lifetime(commit, facts)
            for (at, commit), facts in zip(offsets.items(), body["lifetimes"][group], strict=True)
        }
        for group, offsets in now.offsets.items()
    }
    state = now.of_groups()
    state.pending = {producer: dict(commits) for producer, commits in now.pending.items()}
    opened = dict(map(_open, body["open"]))
    return TrackerState(state, Lifetimes(lifetimes), body["changed"], opened, LastChange(*body["place"]))


def _packed_lifetime(lifetime: Lifetime) -> Packed:
    """Return a lifetime as JSON, without the topic id where the commit has the same one."""
    times = [lifetime.began_at, lifetime.committed_at]
    if lifetime.topic_id == lifetime.commit.topic_id and not lifetime.is_doubtful:
        return times
    return [*times, lifetime.topic_id.hex if lifetime.topic_id else None, lifetime.is_doubtful]


def _lifetime(commit: Packed, facts: Packed) -> Lifetime:
    began_at, committed_at, *more = facts
    if not more:
        return Lifetime(commit, began_at, committed_at, commit.topic_id)
    topic_id, doubtful = more
    return Lifetime(commit, began_at, committed_at, UUID(topic_id) if topic_id else None, doubtful)


def _packed_open(group: str, opened: Open) -> Packed:
    there = (
        State(groups={group: opened.group}, members={group: dict(opened.members)})
        if opened.group
        else State()
    )
    facts = [opened.at, opened.changed_at, opened.is_by_new_coordinator, opened.group_deleted_at]
    return [group, pack_state(there), *facts, list(map(_packed_removed, opened.removed))]


def _open(packed: Packed) -> tuple[str, Open]:
    group, there, at, changed_at, is_by_new_coordinator, group_deleted_at, removed = packed
    state = unpack_state(there)
    members = state.members.get(group, {})
    went = list(map(_removed, removed))
    return group, Open(
        at, state.groups.get(group), members, changed_at, is_by_new_coordinator, went, group_deleted_at
    )
