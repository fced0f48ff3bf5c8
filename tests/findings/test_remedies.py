"""What is advised against a loss of offsets can help against that loss: it goes by what the offset expired."""

from typing import Any

import pytest

from tests.findings.made import HOUR, LOG_PARTITION, MINUTE, START, commit, found, group, removed, states

DAY = 24 * HOUR
RAISE = "raise offsets.retention.minutes"


@pytest.mark.parametrize(
    ("cause", "given", "words", "never"),
    [
        ("retention", {"rule": "retention_since_empty"}, RAISE, "time without a commit"),
        ("retention", {"rule": "retention_since_commit"}, "time without a commit", "without members"),
        ("retention", {"rule": "retention_since_commit", "release": "1.1"}, "Before 2.1", "pause of"),
        ("retention", {"rule": None, "release": "0.10"}, "Before 2.1", "without members"),
        ("unsubscribed_topic", {"rule": "unsubscribed_topic"}, "let a member subscribe", RAISE),
        (
            "expire_timestamp",
            {"rule": "expire_timestamp", "expire_timestamp": 5},
            "the client asks for",
            RAISE,
        ),
        ("expire_timestamp", {"rule": "expire_timestamp", "release": "1.1"}, "the client asks for", RAISE),
        ("retention", {"rule": "retention_since_commit", "commit_timestamp": 0}, "send its real time", RAISE),
        (
            "unsubscribed_topic",
            {"rule": "unsubscribed_topic", "commit_timestamp": 0},
            "send its real time",
            RAISE,
        ),
        (
            "retention",
            {"rule": "retention_since_commit", "commit_timestamp": START - 8 * DAY, "release": "1.1"},
            "send its real time",
            RAISE,
        ),
        ("retention", {"rule": "retention_since_empty", "commit_timestamp": 0}, RAISE, "send its real time"),
        (
            "retention",
            {"rule": "retention_since_commit", "commit_timestamp": START - DAY},
            RAISE,
            "real time",
        ),
    ],
)
def test_an_expired_offset(cause: str, given: dict[str, Any], words: str, never: str) -> None:
    lost = removed(
        20,
        MINUTE,
        cause,
        **{"commit_timestamp": START, "evidence": (f"{LOG_PARTITION}:3", f"{LOG_PARTITION}:20")} | given,
    )
    [finding] = [each for each in found([commit(3, 0, 100), lost]) if each.kind == "offsets_expired"]
    assert words.lower() in finding.remedy.lower() and never.lower() not in finding.remedy.lower()
    assert "--reset-offsets" in finding.remedy and finding.remedy.endswith(".")


@pytest.mark.parametrize(
    ("kind", "tool"), [("classic", "consumer"), ("consumer", "consumer"), ("streams", "streams")]
)
def test_offsets_are_set_again_with_the_tool_for_the_kind_of_the_group(kind: str, tool: str) -> None:
    rows = [group(0, 0, 0, kind=kind), commit(3, 0, 100), removed(20, MINUTE, "retention")]
    [finding] = [finding for finding in found(rows) if finding.kind == "offsets_expired"]
    assert f"kafka-{tool}-groups" in finding.remedy and finding.remedy.count("-groups") == 1


@pytest.mark.parametrize(
    "cause", ["retention", "expire_timestamp", "offsets_deleted", "group_deleted", "unknown"]
)
def test_the_empty_group_id_is_not_to_be_reset(cause: str) -> None:
    [finding] = [
        each
        for each in found([removed(20, MINUTE, cause, group="")])
        if "offsets" in each.kind or "group" in each.kind
    ]
    assert "INVALID_GROUP_ID" in finding.remedy and "--reset-offsets" not in finding.remedy


def test_a_share_group_has_no_offsets_here_to_go_back_to() -> None:
    rows = states(group(1, 0, 0, kind="share", end_cause="deleted"))
    rows = [rows[0]._replace(to_log_offset=9, to_timestamp=START + MINUTE, end_cause="deleted", kind="share")]
    [finding] = [each for each in found(list(rows)) if each.kind == "group_deleted"]
    assert "--as-of" not in finding.remedy and "kafka-share-groups" in finding.remedy
