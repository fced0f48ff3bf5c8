"""What differs between two moments turns the views of the first into those of the second; a moment does not differ from itself."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.differences import Compared, Difference, difference_rows
from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.as_of.snapshot import Snapshot, replay_events
from offsets_tool.as_of.views_describe import described_offsets, owned_partitions
from offsets_tool.as_of.views_groups import group_rows
from offsets_tool.as_of.views_members import member_rows
from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.events import Event, decode
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.replay.topic_names import TopicNames
from tests import plain_rows
from tests.expiry.log_cleaner import cleaned
from tests.history.state_from_rows import events_of
from tests.replay.random_logs import READERS, RandomLog, segment

Logs = dict[int, list[Event]]
CORPORA = ("3.7.2-compaction", "4.3.1-txn", "4.3.1-newgroups", "4.3.1-kip848")
MIRRORED = {Difference.APPEARED: Difference.GONE, Difference.GONE: Difference.APPEARED}


def replayed(logs: Logs, *moments: AsOf) -> list[Snapshot]:
    """Return a snapshot for each of several moments, from one pass over the events."""
    snapshots = [Snapshot(moment, TopicNames()) for moment in moments]
    for number, log in logs.items():
        replay_events(snapshots, number, log)
    return snapshots


def random_logs(folder: Path) -> Iterator[Logs]:
    path = folder / "00000000000000000000.log"
    for seed, release in enumerate(("4.3.1", "2.8.2", "4.3.1", "4.1.2")):
        placed = RandomLog(seed, READERS[release], 0.01 * (seed % 2)).grow(120).placed
        for log in (placed, cleaned(placed, Random(seed))):
            path.write_bytes(segment(log))
            yield {0: [decode(record) for record in plain_rows.records([path])]}


def moments_of(logs: Logs, random: Random) -> Iterator[tuple[AsOf, AsOf]]:
    for _ in range(3):
        first, second = (
            {number: random.randint(0, log[-1].record.log_offset + 1) for number, log in logs.items()}
            for _ in range(2)
        )
        yield AsOf(ends=first), AsOf(ends=second)
    yield AsOf(), AsOf(ends={number: ends_of(log)[len(log) // 2] for number, log in logs.items()})


def ends_of(log: Sequence[Event]) -> list[int]:
    return [event.record.log_offset + 1 for event in log]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> list[Logs]:
    return [*random_logs(tmp_path_factory.mktemp("logs")), *map(events_of, CORPORA)]


@pytest.mark.slow
def test_differences_turn_the_first_moment_into_the_second(evidence: list[Logs]) -> None:
    found: set[tuple[str, str]] = set()
    for number, logs in enumerate(evidence):
        for asked in moments_of(logs, Random(number)):
            before, after = replayed(logs, *asked)
            rows = difference_rows(before, after)
            unproven = {
                row["group"]
                for moment in (before, after)
                for row in group_rows(moment)
                if not row["is_proven"]
            }
            for compared in Compared:
                held, holds = (known(moment, compared, rows, unproven) for moment in (before, after))
                assert patched(held, compared, rows) == holds, asked
            assert difference_rows(before, before) == difference_rows(after, after) == []
            assert difference_rows(after, before) == [mirrored(row) for row in rows]
            found |= {(row["subject"], row["difference"]) for row in rows}
    assert found == {(compared, each) for compared in Compared for each in Difference} - {
        # Of a group that is unknown its own row says so.
        (Compared.MEMBER, Difference.UNKNOWN),
        (Compared.OWNER, Difference.UNKNOWN),
    }


def patched(held: dict[Any, Any], compared: Compared, rows: list[dict[str, Any]]) -> dict[Any, Any]:
    for row in rows:
        if row["subject"] != compared or row["difference"] == Difference.UNKNOWN:
            continue
        place = key(row)
        if row["from"] is None:
            assert place not in held
        else:
            assert held.pop(place) == row["from"]
            assert row["to"] is None or {
                name for name in row["to"] if row["to"][name] != row["from"][name]
            } == set(row["fields"])
        if row["to"] is not None:
            held[place] = row["to"]
    return held


def known(
    moment: Snapshot, compared: Compared, rows: list[dict[str, Any]], unproven: set[str]
) -> dict[Any, Any]:
    """Return the compared fields of a view's rows by key, without keys that are unknown at either moment."""
    left_out = {
        key(row) for row in rows if row["subject"] == compared and row["difference"] == Difference.UNKNOWN
    }
    names = next((row[side] for side in ("from", "to") for row in rows if has(row, compared, side)), {})
    held = {
        key(row): {name: row[name] for name in names}
        for row in VIEWS[compared](moment)
        if row["is_proven"] and (compared is Compared.OFFSET or row["group"] not in unproven)
    }
    return {place: fields for place, fields in held.items() if place not in left_out}


def has(row: dict[str, Any], compared: Compared, side: str) -> bool:
    return row["subject"] == compared and row[side] is not None


def owner_rows(moment: Snapshot) -> Iterator[dict[str, Any]]:
    """Yield a row for each member that a partition is assigned to; `describe` shows one of them."""
    described = {key(row | {"member_id": None}): row for row in described_offsets(moment, Wanted())}
    for p in moment:
        owned: dict[OffsetOf, list[dict[str, Any]]] = {}
        for offset, owner in owned_partitions(moment, p, Wanted()):
            owned.setdefault(offset, []).append(owner)
        for offset, owners in owned.items():
            row = {**offset._asdict(), "log_partition": p.log_partition, "is_proven": True}
            assert any(described[key(row)].items() >= owner.items() for owner in owners)
            yield row | {"owners": sorted(owners, key=lambda owner: owner["member_id"])}


def offset_view(moment: Snapshot) -> Iterator[dict[str, Any]]:
    for row in offset_rows(moment):
        yield row | {"pending": sorted(row["pending"], key=lambda each: each["producer_id"])}


VIEWS: dict[Compared, Any] = {
    Compared.GROUP: group_rows,
    Compared.MEMBER: member_rows,
    Compared.OWNER: owner_rows,
    Compared.OFFSET: offset_view,
}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["group"], row["log_partition"], row.get("topic"), row.get("partition"), row.get("member_id")


def mirrored(row: dict[str, Any]) -> dict[str, Any]:
    swapped = {
        f"{one}{rest}": row[f"{other}{rest}"]
        for one, other in (("from", "to"), ("to", "from"))
        for rest in ("", "_log_offset", "_is_proven")
    }
    delta = None if row["delta"] is None else -row["delta"]
    difference = MIRRORED.get(row["difference"], row["difference"])
    return row | swapped | {"delta": delta, "difference": difference}


def test_wanted_groups_and_topics_are_those_of_all_rows(evidence: list[Logs]) -> None:
    for logs in evidence[-2:]:
        before, after = replayed(logs, AsOf(ends={}), AsOf())
        rows = difference_rows(before, after)
        group = rows[0]["group"]
        topic = next(row["topic"] for row in rows if row["subject"] == Compared.OFFSET)
        of_group = difference_rows(before, after, Wanted(groups=NameFilter([group])))
        of_topic = difference_rows(before, after, Wanted(topics=NameFilter([topic])))
        assert of_group == [row for row in rows if row["group"] == group] != rows
        assert of_topic == [row for row in rows if row["topic"] == topic] != []
