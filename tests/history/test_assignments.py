"""Rows of assignments hold where a member's rows hold the partition, and nowhere else; in every corpus."""

from collections import defaultdict

import pytest

from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.history.rows import MemberHistoryRow
from tests.corpora import corpora
from tests.history.state_from_rows import rows_of

NO_TIME = -1


def members_of(corpus: str) -> list[MemberHistoryRow]:
    rows = (row for row in rows_of(corpus) if isinstance(row, MemberHistoryRow))
    return sorted(rows, key=lambda row: row.from_log_offset)


def member(
    text: str, first: int, end: int | None, cause: str | None = None, **more: object
) -> MemberHistoryRow:
    none = dict.fromkeys(MemberHistoryRow._fields)
    held = {"assignment": tuple(text.split()), "pending_revocation": (), "group": "g", "member_id": "m"}
    place = {"from_log_offset": first, "to_log_offset": end, "from_timestamp": first * 10, "end_cause": cause}
    times = {"to_timestamp": None if end is None else end * 10, "log_partition": 0}
    return MemberHistoryRow(**{**none, **held, **place, **times, **more})


def brief(row: AssignmentRow) -> str:
    of = row.topic if row.subtopology is None else f"task {row.subtopology}"
    return f"{of}-{row.partition} {row.from_log_offset}-{row.to_log_offset} {row.end_cause}"


CASES = {
    "goes on": (
        [member("a-b-0", 0, 5, "changed"), member("a-b-0 t-1", 5, None)],
        ["a-b-0 0-None None", "t-1 5-None None"],
    ),
    "revoked": (
        [member("t-0 t-1", 0, 5, "changed"), member("t-1", 5, 9, "left")],
        ["t-0 0-5 revoked", "t-1 0-9 left"],
    ),
    "to give up": (
        [
            member("t-0", 0, 5, "changed"),
            member("", 5, 7, "changed", pending_revocation=("t-0",)),
            member("", 7, None),
        ],
        ["t-0 0-7 revoked"],
    ),
    "back": (
        [member("t-0", 0, 5, "changed"), member("", 5, 7, "changed"), member("t-0", 7, None)],
        ["t-0 0-5 revoked", "t-0 7-None None"],
    ),
    "left at one time": (
        [member("t-0", 0, 5, "changed", to_timestamp=60), member("", 5, 6, "left")],
        ["t-0 0-5 left"],
    ),
    "no times": (
        [
            member("t-0", 0, 5, "changed", to_timestamp=NO_TIME),
            member("", 5, 6, "left", to_timestamp=NO_TIME),
        ],
        ["t-0 0-5 revoked"],
    ),
    "task": ([member("1_2", 0, None, group_kind="streams")], ["task 1-2 0-None None"]),
}


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str) -> None:
    members, expected = CASES[name]
    assert [brief(row) for row in assignment_rows(members)] == expected


@pytest.mark.parametrize("corpus", [path.name for path in corpora()])
def test_rows_hold_where_members_hold_the_partition(corpus: str) -> None:
    members = members_of(corpus)
    expected = defaultdict[tuple[object, ...], set[tuple[int, int | None]]](set)
    for row in members:
        for text in {*row.assignment, *row.pending_revocation}:
            key = (row.log_partition, row.group, row.member_id, text)
            expected[key].add((row.from_log_offset, row.to_log_offset))
    found = defaultdict[tuple[object, ...], list[AssignmentRow]](list)
    for each in assignment_rows(members):
        text = (
            f"{each.topic}-{each.partition}"
            if each.subtopology is None
            else f"{each.subtopology}_{each.partition}"
        )
        found[each.log_partition, each.group, each.member_id, text].append(each)
    assert found.keys() == expected.keys()
    for key, stretches in expected.items():
        assert [(row.from_log_offset, row.to_log_offset) for row in found[key]] == _joined(stretches)


def _joined(stretches: set[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    joined: list[tuple[int, int | None]] = []
    for first, end in sorted(stretches):
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((first, end))
    return joined
