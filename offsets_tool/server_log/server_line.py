"""One line of a coordinator as a typed entry: its kind, the group, member or partition it names, and its file and line.

Which text says what is declared in `line_forms`.
"""

from enum import StrEnum
from typing import NamedTuple


class LineKind(StrEnum):
    """The kinds of lines that coordinators write."""

    PREPARING = "preparing"
    """A rebalance begins after generation `number`, from 2.1 on with its reason."""
    STABILIZED = "stabilized"
    """Everybody has joined generation `number`; from 2.6 on with the number of `members`."""
    ASSIGNED = "assigned"
    """The leader sent the assignment of generation `number`: now the group's record is written."""
    EMPTIED = "emptied"
    """The group has no members from generation `number` on."""
    DEAD = "dead"
    """The group is gone from the coordinator: it had neither members nor offsets."""
    JOINED = "joined"
    LEFT = "left"
    """The member asked to leave (LeaveGroup, or a heartbeat with epoch -1)."""
    AWAY = "away"
    """A static member said that it would be back."""
    EXPIRED = "expired"
    """The member's session timed out."""
    TOO_SLOW = "too_slow"
    """The member was removed because it did not rejoin, sync or give up partitions in time."""
    REPLACED = "replaced"
    """A member with the same group.instance.id took the place of `member_id`."""
    FENCED = "fenced"
    """A request of `member_id` was refused: another member has its group.instance.id, so both are running."""
    SUBSCRIBED = "subscribed"
    """The member asks for other topics."""
    TOPICS_CHANGED = "topics_changed"
    """Topics that the group reads, or its subscriptions, changed (KIP-848: metadata, or its hash, computed anew)."""
    EPOCH = "epoch"
    """The group has epoch `number` (KIP-848)."""
    CONVERTED = "converted"
    CONFIGURED = "configured"
    """The group's settings changed."""
    GROUPS_DELETED = "groups_deleted"
    """Clients asked to delete groups: their names are in `text`."""
    OFFSETS_DELETED = "offsets_deleted"
    """A client asked to delete offsets of the group: partitions in `text`."""
    TOPICS_DELETED = "topics_deleted"
    """Offsets of deleted topics were removed: partitions or topics in `text`."""
    OFFSETS_EXPIRED = "offsets_expired"
    """The broker's check of retention removed `number` offsets or wrote `number` tombstones, within `took_ms`."""
    LOADING = "loading"
    """The broker begins to load a log partition, as its new coordinator."""
    LOADED = "loaded"
    UNLOADED = "unloaded"
    TRANSACTION_BEGAN = "transaction_began"
    """A producer initialised its transactional id (`text`): producer id in `producer_id`, its epoch in `number`."""
    TRANSACTION_TIMED_OUT = "transaction_timed_out"
    """The coordinator aborted the transaction of a transactional id (`text`) that had timed out."""
    OTHER = "other"
    """Understood, and nothing that is asked for."""


class ServerLine(NamedTuple):
    """One line of a coordinator, parsed; fields that its pattern does not have are None."""

    kind: LineKind
    file: str
    line: int
    """Number of the line in its file, from 1."""
    at: int | None
    """When it was written, epoch milliseconds: by the file's own clock, once joined by that of the records; None if not known."""
    is_zoned: bool = False
    """Whether the line itself says its time zone."""
    group: str | None = None
    member_id: str | None = None
    instance_id: str | None = None
    number: int | None = None
    members: int | None = None
    reason: str | None = None
    """The broker's reason for a rebalance or a removal, in its own words."""
    text: str | None = None
    log_partition: int | None = None
    producer_id: int | None = None
    took_ms: int | None = None
    own_at: int | None = None
    """When it was written by the file's own clock, whatever that is worth: for times between lines of one file."""

    @property
    def source(self) -> str:
        """The line as FILE:LINE; a file whose name is a number gets its folder, to differ from a log partition's number."""
        return f"{'./' if self.file.isdecimal() else ''}{self.file}:{self.line}"
