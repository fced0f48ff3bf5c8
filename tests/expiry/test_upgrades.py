"""Brokers that were upgraded: what was removed before goes by the earlier release and retention, the rest by the later."""

from pathlib import Path

import pytest

from offsets_tool.events import Event
from offsets_tool.expiry.causes import Cause, Deletion
from offsets_tool.expiry.forecast import live_rows
from tests.expiry.replayed_corpora import DAY, HOUR, START, at, commit, log_of, moment_of
from tests.expiry.test_policy_search import unnamed
from tests.expiry.test_rules import subscribed_to
from tests.replay import story
from tests.replay.story import StoryRecord, group_metadata, tombstone

MINUTE = 60_000
Steps = list[tuple[int, StoryRecord, int]]
OLD, NEW = 1, 3
"""Versions of group metadata of 2.0 and of 2.8."""


def written(group: str, after: int, lasting: int = DAY, partition: int = 0) -> StoryRecord:
    """Return a commit with an expire timestamp, as brokers up to 2.0 write it, and later ones for clients that ask for it."""
    return commit(group, partition=partition, after=after, expire_timestamp=START + after + lasting)


def steady(first: int, last: int, *, is_old: bool) -> Steps:
    """Return commits of another group, every two hours of some days, so that values say a retention and topics live on."""
    hours = range(24 * first, 24 * last, 2)
    return [
        step
        for hour in hours
        for step in at(hour * HOUR, written("s", hour * HOUR) if is_old else commit("s", after=hour * HOUR))
    ]


def group(version: int, after: int, *, has_members: bool) -> Steps:
    """Return the record of group g, with a member that reads the topic or without one."""
    members = (story.member("m", subscription=subscribed_to("t")),) if has_members else ()
    since = START + after if version >= 2 else -1
    return at(after, group_metadata("g", 1, *members, version=version, current_state_timestamp=since))


def by_time(*steps: Steps) -> Steps:
    return sorted((each for some in steps for each in some), key=lambda step: step[0])


def told(logs: dict[int | None, list[Event]]) -> list[tuple[Cause, int, tuple[int, ...]]]:
    """Return cause, retention and release of each removal of group g."""
    _, found = unnamed(logs)
    return [_verdict(each) for each in found if each.group == "g"]


def _verdict(found: Deletion) -> tuple[Cause, int, tuple[int, ...]]:
    assert found.policy is not None
    return found.cause, found.policy.retention_of(found.commit), found.policy.release


GONE = tombstone("g", "t", 0)
UPGRADED = [*group(NEW, 3 * DAY, has_members=True), *steady(3, 14, is_old=False)]
BEFORE = [
    *steady(0, 3, is_old=True),
    *group(OLD, 0, has_members=True),
    *at(0, written("g", 0)),
    *at(DAY + MINUTE, GONE),
]


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ((BEFORE,), (Cause.RETENTION, DAY, (2, 0))),
        ((BEFORE, UPGRADED), (Cause.RETENTION, DAY, (2, 0))),
        (
            (
                steady(0, 3, is_old=True),
                group(OLD, 0, has_members=True),
                at(3 * DAY - HOUR, written("g", 3 * DAY - HOUR)),
                group(NEW, 3 * DAY, has_members=False),
                at(4 * DAY - HOUR + MINUTE, GONE),
                steady(3, 14, is_old=False),
            ),
            (Cause.RETENTION, DAY, (3, 9)),
        ),
        (
            (
                steady(0, 3, is_old=True),
                group(OLD, 0, has_members=True),
                UPGRADED,
                at(4 * DAY, commit("g", after=4 * DAY)),
                group(NEW, 5 * DAY, has_members=False),
                at(12 * DAY + MINUTE, GONE),
            ),
            (Cause.RETENTION, 7 * DAY, (3, 9)),
        ),
        (
            (
                steady(0, 3, is_old=True),
                UPGRADED,
                at(5 * DAY, written("g", 5 * DAY)),
                group(NEW, 5 * DAY + HOUR, has_members=False),
                at(6 * DAY + MINUTE, GONE),
            ),
            (Cause.EXPIRE_TIMESTAMP, 7 * DAY, (3, 9)),
        ),
        (
            (
                steady(0, 3, is_old=True),
                at(0, written("g", 0)),
                at(DAY + MINUTE, GONE),
                steady(3, 14, is_old=False),
            ),
            (Cause.RETENTION, DAY, (2, 0)),
        ),
        (
            (at(0, written("g", 0, 20_000)), at(21_000, GONE), steady(1, 9, is_old=False)),
            (Cause.EXPIRE_TIMESTAMP, 7 * DAY, (3, 9)),
        ),
    ],
    ids=[
        "no upgrade",
        "lost before the upgrade, while it had members",
        "written before, lost after it",
        "lost after it",
        "a client asks for a day after it",
        "commits alone tell it",
        "a client asks for its own retention, and nothing was upgraded",
    ],
)
def test_each_removal_goes_by_the_brokers_of_its_time(
    tmp_path: Path, steps: tuple[Steps, ...], verdict: tuple[Cause, int, tuple[int, ...]]
) -> None:
    assert told({0: log_of(tmp_path, by_time(*steps))}) == [verdict]


def test_while_brokers_of_both_are_there_the_commit_tells(tmp_path: Path) -> None:
    """Partition 1 was led by a broker that was upgraded later: it removed what its own kind had written, of a living group."""
    upgraded = by_time(
        steady(0, 1, is_old=True), group(NEW, DAY, has_members=True), steady(1, 14, is_old=False)
    )
    behind = by_time(
        group(OLD, 0, has_members=True),
        at(HOUR, written("g", HOUR)),
        at(DAY + HOUR + MINUTE, GONE),
        group(OLD, 2 * DAY, has_members=True),
        group(NEW, 4 * DAY, has_members=True),
    )
    logs = {0: log_of(tmp_path / "0", upgraded), 1: log_of(tmp_path / "1", behind)}
    assert told(logs) == [(Cause.RETENTION, DAY, (2, 0))]


@pytest.mark.parametrize("days", [3, 5, 30])
def test_an_upgrade_that_comes_later_changes_no_verdict(tmp_path: Path, days: int) -> None:
    """More evidence makes no answer worse."""
    alone = told({0: log_of(tmp_path / "alone", by_time(BEFORE))})
    later = by_time(BEFORE, group(NEW, days * DAY, has_members=True), steady(days, days + 9, is_old=False))
    assert told({0: log_of(tmp_path / "later", later)}) == alone


def test_what_a_broker_wrote_is_no_wish_of_a_client_in_the_forecast(tmp_path: Path) -> None:
    steps = by_time(
        steady(0, 3, is_old=True),
        group(OLD, 0, has_members=False),
        at(3 * DAY - HOUR, written("g", 3 * DAY - HOUR)),
        group(NEW, 3 * DAY, has_members=False),
        at(3 * DAY, commit("h", after=3 * DAY), written("c", 3 * DAY + HOUR)),
    )
    logs = {0: log_of(tmp_path, steps)}
    basis, _ = unnamed(logs)
    rules = {
        row["group"]: (row["rule"], row["expires_at"])
        for row in live_rows(moment_of(logs), basis.policy, None)
    }
    assert rules["g"] == ("retention_since_commit", START + 4 * DAY - HOUR)
    assert rules["c"] == ("expire_timestamp", START + 4 * DAY + HOUR)
