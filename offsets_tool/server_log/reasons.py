"""Declarations of the broker's words for a rebalance: why it began, which member caused it, and what the client said.

The words are those of GroupCoordinator (Scala) and GroupMetadataManager (Java); a client's own reason is KIP-800.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from offsets_tool.server_log.server_line import LineKind, ServerLine


class RebalanceCause(StrEnum):
    """Why a group rebalanced, by the broker's words."""

    JOINED = "member_joined"
    LEFT = "member_left"
    """A member asked to leave."""
    AWAY = "static_member_away"
    EXPIRED = "session_expired"
    """A member was not heard of for its session timeout: it was killed, vanished or hung."""
    TOO_SLOW = "rebalance_timeout"
    """A member did not rejoin, sync or give up partitions in time."""
    REPLACED = "static_member_replaced"
    RESUBSCRIBED = "member_resubscribed"
    """A member asks for other topics."""
    TOPICS_CHANGED = "topics_changed"
    """Partitions were added, or topics created or deleted, among those that the group reads."""
    GIVEN_UP = "partitions_given_up"
    """Members gave partitions up, so that others can be given them (KIP-429)."""
    REJOINED = "member_rejoined"
    """A member joined again: a leader that asks for a rebalance, or a member whose metadata is another.

    That may be its topics, the partitions that it still owns, or a Connect worker's configuration.
    """
    CONVERTED = "group_converted"
    CONFIGURED = "group_configured"
    FAILED = "failed"
    """The coordinator could not keep what a member sent, or the group is larger than it may be."""
    UNKNOWN = "unknown"
    """The line has no reason, as up to 2.0, or none that is known here."""


class Reason(NamedTuple):
    """Why a rebalance began, as one line says it."""

    cause: RebalanceCause
    entry: ServerLine
    member_id: str | None = None
    client_reason: str | None = None

    @property
    def words(self) -> str | None:
        """The broker's own words; None if the line has none."""
        return self.entry.reason

    @property
    def is_about_topics(self) -> bool:
        """Whether a classic group's leader joined again because it knows other topics or partitions than it assigned.

        A topic may have changed, or another member brought or took one (ConsumerCoordinator.rejoinNeededOrPending).
        """
        is_rejoining = self.cause is RebalanceCause.REJOINED
        return is_rejoining and (self.client_reason or "").rstrip(".") in _METADATA_CHANGED


_CLIENT: Final = r"(?:; client reason: ?(?P<client>.*))?"
_C: Final = RebalanceCause
_WORDS: Final = tuple(
    (cause, re.compile(pattern + _CLIENT, re.DOTALL))
    for cause, pattern in (
        (_C.JOINED, r"Adding new member (?P<member>.*?)(?: with group instance ?id .*?)?"),
        (_C.LEFT, r"[Rr]emoving member (?P<member>.*) on LeaveGroup"),
        (_C.LEFT, r"explicit `LeaveGroup` request for \((?P<member>.*)\) members\.?"),
        (_C.EXPIRED, r"removing member (?P<member>.*) on heartbeat expiration\.?"),
        (_C.TOO_SLOW, r"Removing (?P<member>.*) on pending sync request expiration\.?"),
        (_C.REJOINED, r"[Ll]eader (?P<member>.*) re-joining group during \w+"),
        (_C.REJOINED, r"Updating metadata for member (?P<member>.*?)(?: during \w+)?"),
        (_C.REPLACED, r"Updating metadata for static member (?P<member>.*?) with instance id .*?"),
        (
            _C.REPLACED,
            r"Group's selectedProtocol will change because static member (?P<member>.*?) with .*?",
        ),
        (_C.REJOINED, r"Member (?P<member>.*) is joining group during \w+"),
        (_C.CONVERTED, r"Downgrade group .*"),
        (_C.FAILED, r"Freshly-loaded group .*"),
        (
            _C.FAILED,
            r"Error .* when storing group assignment ?during SyncGroup \(member: (?P<member>.*)\)\.?",
        ),
    )
)
_OF_CLIENT: Final = {
    "subscription has changed": _C.RESUBSCRIBED,
    "need to revoke partitions and re-join": _C.GIVEN_UP,
}
"""What a client's own words tell where the broker's only say that it joined again (ConsumerCoordinator)."""
_METADATA_CHANGED: Final = ("cached metadata has changed", "topic metadata has changed")
"""A leader's words where the topics that it knows are others than those that it assigned."""
_OF_LINE: Final = {
    LineKind.JOINED: _C.JOINED,
    LineKind.LEFT: _C.LEFT,
    LineKind.AWAY: _C.AWAY,
    LineKind.EXPIRED: _C.EXPIRED,
    LineKind.TOO_SLOW: _C.TOO_SLOW,
    LineKind.REPLACED: _C.REPLACED,
    LineKind.SUBSCRIBED: _C.RESUBSCRIBED,
    LineKind.CONVERTED: _C.CONVERTED,
    LineKind.CONFIGURED: _C.CONFIGURED,
    LineKind.TOPICS_CHANGED: _C.TOPICS_CHANGED,
}
"""Lines that precede a new epoch, and tell why it is there (KIP-848); the first of them is the reason of the others."""


def reason_of(entry: ServerLine) -> Reason | None:
    """Return why a rebalance began, from the line that announces it or that precedes a new epoch; None for other lines."""
    if entry.kind is not LineKind.PREPARING:
        cause = _OF_LINE.get(entry.kind)
        return None if cause is None else Reason(cause, entry, entry.member_id)
    for cause, pattern in _WORDS:
        match = pattern.fullmatch(entry.reason or "")
        if match is not None:
            fields = match.groupdict()
            client = fields["client"]
            said = _OF_CLIENT.get((client or "").rstrip(".")) if cause is _C.REJOINED else None
            return Reason(said or cause, entry, fields.get("member"), client)
    return Reason(_C.UNKNOWN, entry)
