"""Titles call a member as `explain` does: by its group.instance.id, else its client id, with its host where others have it too."""

from typing import Any, Final

import pytest

from offsets_tool.findings.group_rows import GroupRow
from tests.findings.made import HOUR, MINUTE, SECOND, commits, found, group, member, states, until

ID: Final = "2jovpRBlSwW2wnGpM4w1pQ"
OTHER: Final = "DSNILsFMRuGE7e9O8UYu6Q"
WHO: Final = (
    ({}, None, "reader"),
    ({"instance_id": "pod-1"}, None, "pod-1"),
    ({}, "reader", "reader on 10.0.0.1"),
    ({}, "writer", "reader"),
    ({"client_id": None}, None, ID),
)
"""Fields of the member, the client id of another that is there at the same time, and the name that a title has."""


def _members(fields: dict[str, Any], other: str | None, **more: Any) -> list[Any]:
    rows = [member(0, 0, ID, **{"client_id": "reader", "assignment": (), **fields, **more})]
    if other is not None:
        rows.append(member(0, 0, OTHER, client_id=other, client_host="/10.0.0.2", assignment=("payments-3",)))
    return rows


def _timed_out(fields: dict[str, Any], other: str | None) -> list[GroupRow]:
    first, *others = _members(fields, other)
    return [until(first, 9, 10 * SECOND + 20), *others]


def _idle(fields: dict[str, Any], other: str | None) -> list[GroupRow]:
    return [group(0, 0, 2), *_members(fields, other)]


def _slow(fields: dict[str, Any], other: str | None) -> list[GroupRow]:
    of_kind = {"kind": "consumer", "epoch": 2, "generation": None}
    return [
        *states(group(0, 0, 2, state="Reconciling", **of_kind), group(9, 5 * MINUTE, 2, **of_kind)),
        *_members(fields, other, pending_revocation=("payments-0",)),
    ]


def _rewound(fields: dict[str, Any], other: str | None) -> list[GroupRow]:
    rows = _members(fields, other, assignment=("payments-0",), group_kind="consumer")
    return [group(0, 0, 2), *rows, *commits(10, MINUTE, SECOND, 100, 40, member_id=ID)]


@pytest.mark.parametrize(("fields", "other", "name"), WHO)
@pytest.mark.parametrize(
    ("kind", "rows_of"),
    [
        ("member_timed_out", _timed_out),
        ("idle_members", _idle),
        ("slow_reconciliation", _slow),
        ("rewind", _rewound),
    ],
)
def test_a_title_names_the_member(
    kind: str, rows_of: Any, fields: dict[str, Any], other: str | None, name: str
) -> None:
    (finding,) = [each for each in found(rows_of(fields, other), until_after=HOUR) if each.kind == kind]
    assert name in finding.title
    assert name == ID or ID not in finding.title
