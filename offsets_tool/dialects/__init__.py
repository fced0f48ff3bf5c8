"""Kafka's own tools' output, byte for byte, by release: the console consumer's formatters and kafka-dump-log.

`formatter` finds a formatter by its short name or by Kafka's class name, as operators have it in their scripts. Each answers one
record with an Output: what Kafka writes, and what its exception says. Nothing here stops at an exception; the caller decides.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from offsets_tool.dialects.formatters.group_text import TextGroupsFormatter
from offsets_tool.dialects.formatters.json import JsonFormatter
from offsets_tool.dialects.formatters.offset_text import TextOffsetsFormatter
from offsets_tool.dialects.output import Formatter, Output
from offsets_tool.dialects.versions import NEWEST, name_of, parse_release
from offsets_tool.errors import UsageError
from offsets_tool.wire.json import Release

__all__ = ["Formatter", "Output", "formatter"]

OFFSETS: Final = "offsets"
GROUP_METADATA: Final = "group-metadata"
SHARE_GROUP: Final = "share-group"


class _Family(NamedTuple):
    """A class of Kafka's, and the first and last release that ship it; the first family of a kind has its short name."""

    kind: str
    class_name: str
    first: Release
    last: Release
    make: Callable[[Release], Formatter]


def _json(kind: str) -> Callable[[Release], Formatter]:
    return lambda release: JsonFormatter(kind, release)


_LAST: Final = 999
_JAVA: Final = "org.apache.kafka.tools.consumer."
_GROUP: Final = "kafka.coordinator.group.GroupMetadataManager$"
_COORDINATOR: Final = "kafka.coordinator.GroupMetadataManager$"
_OFFSETS_CLASS: Final = "OffsetsMessageFormatter"
_GROUPS_CLASS: Final = "GroupMetadataMessageFormatter"
_TEXT_LAST: Final = (3, 9, _LAST)

# Newest first: where a release ships two families of a kind (3.9), the short name means the first of them.
_FAMILIES: Final = (
    _Family(OFFSETS, _JAVA + _OFFSETS_CLASS, (3, 9), NEWEST, _json(OFFSETS)),
    _Family(OFFSETS, _GROUP + _OFFSETS_CLASS, (0, 11), _TEXT_LAST, TextOffsetsFormatter),
    _Family(OFFSETS, _COORDINATOR + _OFFSETS_CLASS, (0, 9), (0, 10, 2, _LAST), TextOffsetsFormatter),
    _Family(
        OFFSETS,
        "kafka.server.OffsetManager$" + _OFFSETS_CLASS,
        (0, 8, 2),
        (0, 8, 2, _LAST),
        TextOffsetsFormatter,
    ),
    _Family(GROUP_METADATA, _JAVA + _GROUPS_CLASS, (3, 9), NEWEST, _json(GROUP_METADATA)),
    _Family(GROUP_METADATA, _GROUP + _GROUPS_CLASS, (0, 11), _TEXT_LAST, TextGroupsFormatter),
    _Family(GROUP_METADATA, _COORDINATOR + _GROUPS_CLASS, (0, 9), (0, 10, 2, _LAST), TextGroupsFormatter),
    _Family(SHARE_GROUP, _JAVA + "ShareGroupMessageFormatter", (4, 1), NEWEST, _json(SHARE_GROUP)),
)


def formatter(name: str, kafka_version: str | None = None, besides: Sequence[str] = ()) -> Formatter:
    """Return the formatter `name` (`offsets`, `group-metadata`, `share-group` or Kafka's class name) of a Kafka release.

    Without a release, the newest one that ships it. Raises UsageError for a name, a release or a pair of them that cannot be;
    it lists all names, and those that the caller knows `besides`.
    """
    families = _families_named(name.replace("\\", ""), besides)
    if kafka_version is None:
        return families[0].make(families[0].last)
    release = parse_release(kafka_version)
    for family in families:
        if family.first <= release <= family.last:
            return family.make(release)
    raise UsageError(
        f"Kafka {kafka_version} has no formatter {name}: give {_alternatives(families, release)}"
    )


def _families_named(name: str, besides: Sequence[str]) -> list[_Family]:
    families = [family for family in _FAMILIES if name in (family.kind, family.class_name)]
    if not families:
        kinds = ", ".join(dict.fromkeys([*(family.kind for family in _FAMILIES), *besides]))
        classes = ", ".join(family.class_name for family in _FAMILIES)
        raise UsageError(f"no formatter is called {name!r}: give {kinds}, or Kafka's class: {classes}")
    return families


def _alternatives(families: list[_Family], release: Release) -> str:
    spans = ", ".join(f"{name_of(family.first)} to {name_of(family.last)}" for family in reversed(families))
    others = [f.class_name for f in _FAMILIES if f.kind == families[0].kind and f.first <= release <= f.last]
    return f"--kafka-version {spans}" + "".join(f", or --formatter {other}" for other in others)
