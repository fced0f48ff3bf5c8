"""The lines of the file that kafka-consumer-groups --reset-offsets --from-file reads, and names that no line can have.

Since 2.4 (KIP-379) a line is group,topic,partition,offset; before, the file is of one group and lacks the first column. Writes no
file, and knows nothing of why an offset is to be set.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from offsets_tool.findings.offsets.lost import NO_GROUP, NO_GROUP_REMEDY
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import is_clean

MANY_GROUPS_FROM: Final[Release] = (2, 4)
"""The first release whose file names groups (KIP-379); any newer tool reads it, whatever the release of the brokers."""


class Unsayable(StrEnum):
    """Why a line cannot be in the file."""

    LINE_FEED = "line feed"
    """The tool would refuse the whole file: OffsetsUtils.parseResetPlan cuts it at every line feed, quoted or not."""
    NEGATIVE = "negative"
    """The tool would refuse the whole file: OffsetAndMetadata has no negative offset."""
    NO_GROUP = "no group"
    """The tool resets nothing of the empty group id: brokers refuse it with INVALID_GROUP_ID, and its file would have a line that
    begins with a comma. Old clients commit with it all the same (GroupCoordinator.validateGroupId)."""
    NOT_TEXT = "not text"
    """Group or topic are not UTF-8: of other bytes Java makes U+FFFD, which may be the name of another group."""


class Unsaid(NamedTuple):
    """What is said of a line that cannot be in the file, as two parts of a sentence."""

    why: str
    remedy: str


UNSAID: Final = {
    Unsayable.LINE_FEED: Unsaid(
        "kafka-consumer-groups reads no name with a line feed from a file",
        "set it by --group with --topic and --to-offset, if the shell can write the name",
    ),
    Unsayable.NEGATIVE: Unsaid(
        "kafka-consumer-groups sets no negative number, which is no offset",
        "decide where the group is to read, and set that with --to-earliest, --to-latest or --to-datetime",
    ),
    Unsayable.NO_GROUP: Unsaid(NO_GROUP, NO_GROUP_REMEDY),
    Unsayable.NOT_TEXT: Unsaid(
        "kafka-consumer-groups can be given no names that are not UTF-8, and no broker writes such names",
        "look at the records with `offsets-tool decode`",
    ),
}


class ResetLine(NamedTuple):
    """One line of the file: the offset that a group is to have in a partition."""

    group: str
    topic: str
    partition: int
    offset: int

    @property
    def unsayable(self) -> Unsayable | None:
        """Why the file cannot have this line; None where it can."""
        if self.group == "":
            return Unsayable.NO_GROUP
        if self.offset < 0 or self.partition < 0:
            return Unsayable.NEGATIVE
        if "\n" in self.group or "\n" in self.topic:
            return Unsayable.LINE_FEED
        is_text = is_clean(self.group) and is_clean(self.topic)
        return None if is_text else Unsayable.NOT_TEXT

    def cells(self, release: Release | None = None) -> tuple[str | int, ...]:
        """Return the cells of the line for the tool of a release; None is any from 2.4 on."""
        return self[1:] if is_of_one_group(release) else self


def is_of_one_group(release: Release | None) -> bool:
    """Return whether the tool of a release reads files of one group only, which do not name it."""
    return release is not None and release < MANY_GROUPS_FROM
