"""Keys of groups' records, each read once from its bytes, with how values of its kind are replayed."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.errors import DecodeError
from offsets_tool.events import Key
from offsets_tool.records import RecordType
from offsets_tool.records.kinds import Family
from offsets_tool.replay.coordinator import REPLAYS
from offsets_tool.replay.handling import ValueRules
from offsets_tool.wire.schema import Message


class GroupKey(NamedTuple):
    """A key of a record about a group; `rules` are None for a classic group, whose record is the whole group."""

    type: RecordType
    group: str
    member_id: str
    data: Message
    rules: ValueRules | None


KeyOf = Callable[[bytes | None], GroupKey | None]
"""Return the key of a group's record, from its bytes; None for bytes that are none."""


def kept_keys(decode_key: Callable[[bytes], Key]) -> KeyOf:
    """Return what reads keys, each once; `decode_key` does as events.decode_key."""
    return lru_cache(KEYS_KEPT)(partial(_key_of, decode_key))


def _key_of(decode_key: Callable[[bytes], Key], key: bytes | None) -> GroupKey | None:
    try:
        decoded = None if key is None else decode_key(key)
    except DecodeError:
        return None
    if decoded is None or decoded.type.family is Family.OFFSETS:
        return None
    type_, data = decoded.type, decoded.data
    if type_.family is Family.CLASSIC:
        return GroupKey(type_, data.group, "", data, None)
    return GroupKey(type_, data.group_id, getattr(data, "member_id", ""), data, REPLAYS[type_.id].value)
