"""The text formatter of group metadata, 0.9 to 3.9: `group::value`, one line a record.

Strings are printed raw, members in the order of the Scala map that Kafka loads them into. Loading refuses some groups
that decoded well; it does so here too. Source: Kafka's GroupMetadataManager, GroupMetadata, MemberMetadata.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.dialects.loaded_group import LoadedGroup, LoadedMember, load_group
from offsets_tool.dialects.output import NOTHING, Output
from offsets_tool.dialects.scala import map_of, option
from offsets_tool.dialects.text_records import TextReader, line
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import java_text


class TextGroupsFormatter:
    """GroupMetadataMessageFormatter of one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._reader = TextReader(release)
        self._show_group = newest(_GROUPS, release)
        self._show_member = newest(_MEMBERS, release)
        self._map = map_of(release)

    def text(self, text: str) -> str:
        return java_text(text)

    def format(self, record: LogRecord) -> Output:
        try:
            return self._format(record)
        except DecodeError as error:
            return Output(error=error.kafka)

    def _format(self, record: LogRecord) -> Output:
        key = None if record.key is None else self._reader.key(record.key)
        if key is None or key.type_id != GROUP_METADATA:
            return NOTHING
        group_id = java_text(key.data.group)
        if record.value is None:
            return line(group_id, "NULL")
        version, value = self._reader.group_metadata(record.value)
        group = load_group(group_id, version, value, self._release)
        members = self._map.show((member.member_id, self._show_member(member)) for member in group.members)
        return line(group_id, self._show_group(group, members))


def _group_09(group: LoadedGroup, members: str) -> str:
    return f"[{group.group_id},{group.protocol_type},{group.state},{members}]"


def _group_0101(group: LoadedGroup, members: str) -> str:
    return f"[{group.group_id},{option(group.protocol_type)},{group.state},{members}]"


def _group_011(group: LoadedGroup, members: str) -> str:
    return (
        f"GroupMetadata(groupId={group.group_id}, generation={group.generation}, "
        f"protocolType={option(group.protocol_type)}, currentState={group.state}, members={members})"
    )


def _member_09(member: LoadedMember) -> str:
    return f"[{member.member_id},{member.client_id},{member.client_host},{member.session_timeout}]"


def _member_011(member: LoadedMember) -> str:
    return f"MemberMetadata(memberId={member.member_id}, {_rest(member)}, )"


def _member_23(member: LoadedMember) -> str:
    return f"MemberMetadata(memberId={member.member_id}, groupInstanceId={member.instance_id}, {_rest(member)}, )"


def _member_30(member: LoadedMember) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={member.instance_id}, {_rest(member)})"
    )


def _rest(member: LoadedMember) -> str:
    return (
        f"clientId={member.client_id}, clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={member.rebalance_timeout}, supportedProtocols=List({member.protocol})"
    )


_GROUPS: Final[ByRelease[Callable[[LoadedGroup, str], str]]] = (
    ((0, 9), _group_09),
    ((0, 10, 1), _group_0101),
    ((0, 11), _group_011),
)
_MEMBERS: Final[ByRelease[Callable[[LoadedMember], str]]] = (
    ((0, 9), _member_09),
    ((0, 11), _member_011),
    ((2, 3), _member_23),
    ((3, 0), _member_30),
)
