"""What is said of partitions that stand still: since when, whether something waited there, also after the group has ended."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from offsets_tool.findings.context import Furthest, KnownEnds
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import TopicPartition
from tests.findings.made import (
    GROUP,
    HOUR,
    MINUTE,
    SECOND,
    START,
    TOPIC,
    commits,
    found,
    group,
    member,
    removed,
    states,
    until,
)

NOTICE, WARNING = "notice", "warning"
LIKELY, AMBIGUOUS = "likely", "ambiguous"
ALL: Final = tuple(f"{TOPIC}-{partition}" for partition in range(4))


class Said(NamedTuple):
    """Rows of a group; severity, confidence, partition of each stall, and what its title says."""

    what: str
    rows: Sequence[GroupRow]
    found: tuple[tuple[str, str, int | None], ...] = ()
    says: str = ""
    given: Mapping[str, Any] = MappingProxyType({})


def _reading(partition: int, number: int, *, apart: int = MINUTE, first: int = 0) -> list[OffsetHistoryRow]:
    """Return so many commits of a partition from log offset `first` on, which move it by ten each."""
    offsets = range(0, 10 * number, 10)
    return commits(first or 1_000 * (partition + 1), 0, apart, *offsets, partition=partition, member_id="m-1")


def _ended(*rows: GroupRow, assignment: tuple[str, ...] = ALL) -> list[GroupRow]:
    """Return a group that ended after two hours, and its commits."""
    after = 2 * HOUR
    return [
        *states(group(0, 0, 1), group(9_000, after, 0, generation=2)),
        until(member(0, 0, assignment=assignment), 9_000, after),
        *rows,
    ]


def _alive(*rows: GroupRow) -> list[GroupRow]:
    return [group(0, 0, 1), member(0, 0, assignment=ALL), *rows]


READ_ON: Final = [row for partition in (1, 2) for row in _reading(partition, 115)]
STOPPED: Final = _reading(0, 10)
"""Partition 0 stands at 90 from the ninth minute on."""
OF_END: Final = START + HOUR + SECOND
ENDS: Final = {TopicPartition(TOPIC, 0): 600}

CASES: Final = (
    Said(
        "it stands still until the group ends, while the others go on",
        _ended(*STOPPED, *READ_ON),
        ((NOTICE, AMBIGUOUS, 0),),
        r"did not move in topic payments in partition 0 from 2023-11-14T22:22:20Z on, for 1h 45m in which 2 other partitions moved "
        r"on, until the group had no members$",
        {"until_after": 3 * HOUR},
    ),
    Said(
        "another group has read on there",
        _ended(*STOPPED, *READ_ON),
        ((WARNING, LIKELY, 0),),
        "; group other has read 410 further in partition 0$",
        {"until_after": 3 * HOUR, "furthest": {TopicPartition(TOPIC, 0): Furthest(500, "other")}},
    ),
    Said(
        "most others stand still too",
        _ended(*STOPPED, *READ_ON, *_reading(3, 10), *_reading(4, 10)),
        given={"until_after": 3 * HOUR},
    ),
    Said("the only partition of a topic", _ended(*STOPPED), given={"until_after": 3 * HOUR}),
    Said(
        "it rested as long before",
        _ended(*_reading(0, 5, apart=20 * MINUTE), *READ_ON),
        given={"until_after": 3 * HOUR},
    ),
    Said(
        "a group that ended soon after",
        [
            *states(group(0, 0, 1), group(9_000, 20 * MINUTE, 0, generation=2)),
            until(member(0, 0, assignment=ALL), 9_000, 20 * MINUTE),
            *STOPPED,
            *(row for partition in (1, 2) for row in _reading(partition, 19)),
        ],
        given={"until_after": 3 * HOUR},
    ),
    Said(
        "nobody had the partition any more",
        [
            *states(group(0, 0, 1), group(9_000, 2 * HOUR, 0, generation=2)),
            until(member(0, 0, assignment=ALL), 900, 10 * MINUTE, "changed"),
            until(member(900, 10 * MINUTE, assignment=ALL[1:]), 9_000, 2 * HOUR),
            *STOPPED,
            *READ_ON,
        ],
        given={"until_after": 3 * HOUR},
    ),
    Said(
        "the group had no members for a while",
        [
            *states(
                group(0, 0, 1),
                group(1_500, 30 * MINUTE, 0, generation=2),
                group(1_600, 40 * MINUTE, 1, generation=3),
                group(9_000, 2 * HOUR, 0, generation=4),
            ),
            until(member(0, 0, assignment=ALL), 9_000, 2 * HOUR),
            *STOPPED,
            *READ_ON,
        ],
        given={"until_after": 3 * HOUR},
    ),
    Said(
        "at the end of the log, and its end says that much waits",
        _alive(*STOPPED),
        ((WARNING, LIKELY, 0),),
        r"has not moved .* in partition 0 since 2023-11-14T22:22:20Z, for 51m up to the newest record; 510 offsets were left to "
        r"read there at 2023-11-14T23:13:21Z$",
        {"ends": KnownEnds(ENDS, OF_END)},
    ),
    Said(
        "its end says that all was read",
        _alive(*STOPPED),
        given={"ends": KnownEnds({TopicPartition(TOPIC, 0): 90}, OF_END)},
    ),
    Said(
        "its end is of a later time: all may have come since",
        _alive(*STOPPED),
        ((NOTICE, AMBIGUOUS, 0),),
        "up to the newest record$",
        {"ends": KnownEnds(ENDS, OF_END + HOUR)},
    ),
    Said(
        "a few offsets may be the markers of transactions",
        _alive(*STOPPED),
        ((NOTICE, AMBIGUOUS, 0),),
        "up to the newest record$",
        {"ends": KnownEnds({TopicPartition(TOPIC, 0): 92}, OF_END)},
    ),
    Said(
        "two stand still since different times",
        _alive(*STOPPED, *_reading(1, 20)),
        ((NOTICE, AMBIGUOUS, None),),
        r"in partitions 0 to 1 since 2023-11-14T22:32:20Z, for 41m up to the newest record; in partition 0 since "
        r"2023-11-14T22:22:20Z$",
    ),
    Said(
        "two of which an end proves one",
        _alive(*STOPPED, *_reading(1, 20)),
        ((WARNING, LIKELY, 0), (NOTICE, AMBIGUOUS, 1)),
        r"in partition 1 since 2023-11-14T22:32:20Z, for 41m up to the newest record$",
        {"ends": KnownEnds(ENDS, OF_END)},
    ),
    Said(
        "what waits in two is a sum",
        _alive(*STOPPED, *_reading(1, 10)),
        ((WARNING, LIKELY, None),),
        "; 1,020 offsets in all were left to read there at",
        {"ends": KnownEnds({**ENDS, TopicPartition(TOPIC, 1): 600}, OF_END)},
    ),
    Said(
        "the topic was deleted: what another group read of it says nothing",
        _alive(*STOPPED, removed(8_000, HOUR, "topic_deleted", partition=7)),
        ((NOTICE, AMBIGUOUS, 0),),
        given={"furthest": {TopicPartition(TOPIC, 0): Furthest(500, "other")}},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_is_said_of_a_stall(case: Said) -> None:
    stalls = [each for each in found(list(case.rows), **case.given) if each.kind == "stalled"]
    assert sorted((each.severity, each.confidence, each.partition) for each in stalls) == sorted(
        case.found, key=str
    )
    assert all(GROUP in each.title and each.evidence for each in stalls)
    titles = [each.title for each in stalls]
    assert not titles or any(re.search(case.says, title) for title in titles), titles
