"""Which of Kafka's two coordinators wrote a log: the classic one (to 3.9) or the new one (KIP-848: 4.x; 3.7-3.9 where enabled).

They differ in what tombstones remove and in which groups stay. No other module of replay decides between them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from offsets_tool.events import Event, Value
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.kinds import CLASSIC_TYPES, COMMITS, GROUP_METADATA
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.rows import Batch
from offsets_tool.wire.schema import schema_of

_Place = TypeVar("_Place")

TOPIC_ID_VERSION: Final = next(
    field.versions.low for field in schema_of(OffsetCommitValue).fields if field.name == "topic_id"
)
"""Version of a commit's value that only the new coordinator writes."""
FIRST_JOIN: Final[Mapping[str, object]] = {"protocol_type": "", "generation": 0}
"""Fields that only the new coordinator writes into a classic group's record so: as the group's first member joins."""


class Rules(StrEnum):
    """The rules by which a coordinator replays its log.

    `classic` is GroupMetadataManager.doLoadGroupsAndOffsets, `new` is GroupCoordinatorShard.replay.
    """

    CLASSIC = "classic"
    NEW = "new"


class RulesUsed(NamedTuple):
    """The rules by which a partition was replayed in the end.

    `proved_at` is the offset that proved the new rules. `differed_at` is the first offset where the two would have differed while
    the classic rules were only assumed. Both are None where there is none.
    """

    rules: Rules
    proved_at: int | None
    differed_at: int | None

    @property
    def is_partly_classic(self) -> bool:
        """Whether the classic rules were applied somewhere that the new ones differ."""
        is_new_from_start = self.rules is Rules.NEW and self.proved_at is None
        return self.differed_at is not None and not is_new_from_start


def to_replay_again(partitions: Mapping[_Place, RulesUsed], *, is_new: bool = False) -> list[_Place]:
    """Return the partitions that were replayed by classic rules and need the new ones, as other partitions proved since.

    One cluster has one kind of coordinator at a time: what one of its `partitions` proves, or `is_new` says, holds for all.
    """
    if not is_new and all(used.rules is Rules.CLASSIC for used in partitions.values()):
        return []
    return [place for place, used in partitions.items() if used.is_partly_classic]


def proves_new(event: Event) -> bool:
    """Return whether only the new coordinator writes such a record."""
    if event.type_id is None or event.key is None:
        return False
    return is_of_new(event.type_id, event.value, has_sequence=_has_sequence(event.record.batch))


def is_of_new(type_id: int, value: Value | None, *, has_sequence: bool) -> bool:
    """Return what proves_new says of a record of this type, whose key reads, with this value.

    `has_sequence` says whether its batch has a sequence. The new coordinator alone writes record types from 3 on, commits of
    version 4, a classic group of generation 0 without protocol type, and group metadata in a batch that has a sequence. The classic
    one writes its own records, other than clients' commits, without sequence (-1).
    """
    if type_id not in CLASSIC_TYPES:
        return True
    if type_id in COMMITS:
        return value is not None and value.version == TOPIC_ID_VERSION
    return has_sequence or _is_first_join(value)


def _has_sequence(batch: Batch | None) -> bool:
    return batch is not None and is_sequence(batch.magic, batch.base_sequence)


def is_sequence(magic: int | None, sequence: int | None) -> bool:
    """Return whether a batch of this format has a sequence, given its first one; -1, or None where it is not known, is none."""
    return magic == 2 and sequence is not None and sequence >= 0


def proves_classic(event: Event) -> bool:
    """Return whether only the classic coordinator writes such a record.

    It alone writes group metadata, and tombstones that no client asked for, in a batch without sequence, and message formats
    before 2.
    """
    batch = event.record.batch
    if event.type_id not in CLASSIC_TYPES or batch is None:
        return False
    of_its_own = event.type_id == GROUP_METADATA or event.tombstone
    return batch.magic < 2 or (of_its_own and batch.base_sequence < 0 and not batch.is_transactional)


def wrote_new(event: Event) -> bool | None:
    """Return whether the new coordinator wrote an offset's tombstone, by its batch's sequence; None where no sequence tells.

    The classic one writes its own clean-up, which all tombstones outside transactions are, without a sequence (-1).
    """
    batch = event.record.batch
    if batch is None:
        return None
    return wrote_new_by(batch.magic, batch.base_sequence, is_transactional=batch.is_transactional)


def wrote_new_by(magic: int, sequence: int | None, *, is_transactional: bool) -> bool | None:
    """Return what wrote_new says of an offset's tombstone, by the format of its batch and its sequence, of which -1 is none."""
    return None if is_transactional else is_sequence(magic, sequence)


def _is_first_join(value: Value | None) -> bool:
    data = value.data if value else None
    if not isinstance(data, GroupMetadataValue):
        return False
    return all(getattr(data, name) == wanted for name, wanted in FIRST_JOIN.items())
