"""A group of any size, as the rows that pictures are drawn of: the same for the same numbers, with the facts to be shown."""

from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.lag.rows import LagRow
from tests.findings.made import (
    GROUP,
    LOG_PARTITION,
    SECOND,
    START,
    TOPIC,
    commits,
    group,
    member,
    states,
    transaction,
    until,
)

GENERATIONS = 5


class Made(NamedTuple):
    """A generated group."""

    rows: GroupRows
    lag: list[LagRow]
    rewinds: int
    losses: int


def made(partitions: int, members: int, *, steps: int = 30, topic: str = TOPIC) -> Made:
    """Return a group that commits so many times a minute apart, with rewinds, losses, rebalances and transactions."""
    random = Random(7)
    offsets = [_offsets(partition, steps, random) for partition in range(partitions)]
    length = steps * 60 * SECOND
    rows: list[GroupRow] = []
    losses = 0
    for partition, of in enumerate(offsets):
        at = 1000 + partition * steps * 2
        some = commits(at, random.randrange(30) * SECOND, 60 * SECOND, *of, topic=topic, partition=partition)
        if partition % 100 == 7:
            losses += 1
            end = {"to_log_offset": at + steps, "to_timestamp": some[-1].from_timestamp + SECOND}
            some[-1] = some[-1]._replace(**end, end_cause="deleted")
        rows += some
    rows += [*_members(partitions, members, length, topic), *_transactions(partitions)]
    gathered = gather(rows, LogStretch(LOG_PARTITION, newest_at=START + length))[GROUP]
    lag = [_lag(topic, partition, step, random) for partition in range(partitions) for step in range(steps)]
    return Made(
        gathered, lag, sum(after < before for of in offsets for before, after in pairwise(of)), losses
    )


def _offsets(partition: int, steps: int, random: Random) -> list[int]:
    """Return rising offsets, of one partition in fifty with a step back in the middle."""
    offsets, at = [], 500 + random.randrange(1000)
    for step in range(steps):
        at += -400 if step == steps // 2 and partition % 50 == 3 else random.randrange(1, 60)
        offsets.append(at)
    return offsets


def _members(partitions: int, members: int, length: int, topic: str) -> list[Any]:
    """Return generations in which partitions turn by one among the members."""
    found: list[Any] = []
    span = length // GENERATIONS
    for generation in range(GENERATIONS):
        at, after = 100 * generation + 1, generation * span
        for number in range(members):
            held = tuple(
                f"{topic}-{each}" for each in range(partitions) if (each + generation) % members == number
            )
            row = member(at, after, f"m-{number}", client_id=f"consumer-{number}", assignment=held)
            is_last = generation == GENERATIONS - 1
            found.append(row if is_last else until(row, at + 100, after + span, "changed"))
    groups = [
        group(100 * each + 1, each * span, members, generation=each + 1, kind="classic")
        for each in range(GENERATIONS)
    ]
    return [*found, *states(*groups)]


def _transactions(number: int) -> list[Any]:
    ended = [
        transaction(
            each * 5,
            each * 700,
            outcome="committed" if each % 9 else "aborted",
            producer_id=each % 12,
            marker_log_offset=each * 5 + 3,
            marker_timestamp=START + each * 700 + 90 + each % 300,
        )
        for each in range(number)
    ]
    return [*ended, transaction(7, 9000)]


def _lag(topic: str, partition: int, step: int, random: Random) -> LagRow:
    lag = random.randrange(0, 50 + partition * 10)
    known = {"group": GROUP, "topic": topic, "partition": partition, "timestamp": START + step * 60 * SECOND}
    return LagRow(
        **{**dict.fromkeys(LagRow._fields), **known, "lag": lag, "lag_min": lag, "method": "sampled"}
    )
