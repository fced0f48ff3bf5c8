"""Removals, and how long offsets have lived, as JSON and back: for rows of `removals` and for checkpoints.

Unpacking what is damaged raises KeyError, TypeError or ValueError.
"""

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Final
from uuid import UUID

from offsets_tool.expiry.lifetimes import ByGroup, Lifetime, Lifetimes
from offsets_tool.expiry.removals import DroppedCommit, KeptOffset, Removal, RemovedOffset
from offsets_tool.history.json_codec import (
    Packed,
    unpack_commit,
    unpack_group,
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


def pack_lifetimes(lifetimes: Lifetimes, now: State) -> Packed:
    """Return the lifetimes of the committed offsets of a state as JSON."""
    return {
        group: [_packed_lifetime(lifetimes.by_group[group][at]) for at in offsets]
        for group, offsets in now.offsets.items()
    }


def unpack_lifetimes(packed: Packed, now: State) -> Lifetimes:
    """Return the lifetimes from which `pack_lifetimes` made this JSON; `now` must equal the state given then."""
    by_group: ByGroup = {
        group: {
            at: _lifetime(commit, facts)
            for (at, commit), facts in zip(offsets.items(), packed[group], strict=True)
        }
        for group, offsets in now.offsets.items()
    }
    return Lifetimes(by_group)


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
