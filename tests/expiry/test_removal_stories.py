"""Records that leave one cause, or more than one: stories of deletions."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from offsets_tool.events import Event
from offsets_tool.expiry.causes import Cause, Confidence, PolicyConfidence
from offsets_tool.expiry.rules import Policy
from tests.expiry.replayed_corpora import (
    DAY,
    HOUR,
    START,
    Verdict,
    at,
    commit,
    explained,
    log_of,
    verdicts,
)
from tests.expiry.test_rules import subscribed_to
from tests.replay import story
from tests.replay.story import StoryRecord, group_metadata, group_tombstone, tombstone

GROUP, OFFSETS, TOPIC = Cause.GROUP_DELETED, Cause.OFFSETS_DELETED, Cause.TOPIC_DELETED
CERTAIN, LIKELY, AMBIGUOUS = Confidence.CERTAIN, Confidence.LIKELY, Confidence.AMBIGUOUS
WEEK = Policy((3, 9), 7 * DAY)


@pytest.fixture
def judge(tmp_path: Path) -> Any:
    """Return a function that explains the removals in one partition's log."""

    def judged(
        *steps: list[tuple[int, StoryRecord, int]],
        policy: Policy = WEEK,
        known: PolicyConfidence | None = None,
    ) -> list[Verdict]:
        return verdicts(explained({0: log_of(tmp_path, *steps)}, policy, known))

    return judged


def living(*topics: str, group: str = "g", generation: int = 1) -> StoryRecord:
    member = story.member("m", subscription=subscribed_to(*topics))
    return group_metadata(group, generation, member)


LATER = at(9 * DAY, commit("z", "other", after=9 * DAY))
"""Keeps the log going, so that what lives in it is known to."""


# ---- one group


def test_a_group_without_a_record_of_its_own(judge: Any) -> None:
    """DeleteGroups of a classic simple group, and OffsetDelete of all that it has, write the same."""
    deleted = at(HOUR, tombstone("g", "t", 0))
    assert judge(at(0, commit("g"), commit("h")), deleted, LATER) == [(GROUP, AMBIGUOUS, (OFFSETS,))]


def test_a_group_that_keeps_offsets_was_not_deleted(judge: Any) -> None:
    deleted = at(HOUR, tombstone("g", "t", 0))
    assert judge(at(0, commit("g"), commit("g", partition=1)), deleted, LATER) == [(OFFSETS, CERTAIN, ())]


def test_before_2_4_nobody_deletes_offsets(judge: Any) -> None:
    log = at(0, commit("g"), commit("h")), at(HOUR, tombstone("g", "t", 0)), LATER
    assert judge(*log, policy=Policy((2, 3), 7 * DAY)) == [(GROUP, CERTAIN, ())]
    assert judge(*log, policy=Policy((2, 3), 7 * DAY), known=PolicyConfidence(release=False)) == [
        (GROUP, LIKELY, ())
    ]


def test_nothing_that_is_known_writes_it(judge: Any) -> None:
    log = at(0, commit("g"), commit("h")), at(HOUR, tombstone("g", "t", 0)), LATER
    assert judge(*log, policy=Policy((0, 10, 1), 7 * DAY)) == [(Cause.UNKNOWN, AMBIGUOUS, ())]


def test_a_group_that_goes_with_its_record(judge: Any) -> None:
    """The classic coordinator also drops an Empty group when a client deletes its last offset."""
    empty = group_metadata("g", 2, current_state_timestamp=START)
    log = (
        at(0, commit("g"), commit("h"), empty),
        at(HOUR, tombstone("g", "t", 0), group_tombstone("g")),
        LATER,
    )
    assert judge(*log) == [(GROUP, LIKELY, (OFFSETS,))]


def test_the_new_coordinators_groups_go_with_their_record_alone(judge: Any) -> None:
    proof = at(0, group_metadata("p", 0, protocol_type="", current_state_timestamp=START), sequence=0)
    log = *proof, *at(0, commit("g"), commit("h"))
    gone = at(HOUR, tombstone("g", "t", 0), group_tombstone("g"), sequence=0)
    new = Policy((4, 0), 7 * DAY)
    assert judge(list(log), gone, LATER, policy=new) == [(GROUP, CERTAIN, ())]
    assert judge(list(log), gone[:1], LATER, policy=new) == [(OFFSETS, CERTAIN, ())]


def test_a_topic_made_again_is_another(judge: Any) -> None:
    """4.3 takes the offsets of the topic that is gone, and leaves those of its successor."""
    old, new = UUID(int=1), UUID(int=2)
    start = at(0, commit("g", topic_id=old), commit("g", partition=1, topic_id=new))
    found = judge(start, at(HOUR, tombstone("g", "t", 0)), LATER, policy=Policy((4, 3), 7 * DAY))
    assert found == [(TOPIC, AMBIGUOUS, (OFFSETS,))]
    same = at(0, commit("g", topic_id=old), commit("g", partition=1, topic_id=old))
    found = judge(same, at(HOUR, tombstone("g", "t", 0)), LATER, policy=Policy((4, 3), 7 * DAY))
    assert found == [(OFFSETS, CERTAIN, ())]


def test_what_members_read_only_a_topics_deletion_takes(judge: Any) -> None:
    log = at(0, living("t"), commit("g"), commit("g", "u")), at(HOUR, tombstone("g", "t", 0)), LATER
    assert judge(*log) == [(TOPIC, CERTAIN, ())]
    unread = at(0, living("u"), commit("g"), commit("g", "u"))
    assert judge(unread, *log[1:]) == [(TOPIC, AMBIGUOUS, (OFFSETS,))]


def test_what_members_of_another_protocol_have_only_a_topics_deletion_takes(judge: Any) -> None:
    """OffsetDelete of a connect group with members is refused, whatever they read."""
    connect = group_metadata("g", 1, story.member("m"), protocol_type="connect")
    start = at(0, connect, commit("g"), commit("g", "u"))
    assert judge(start, at(HOUR, tombstone("g", "t", 0)), LATER) == [(TOPIC, CERTAIN, ())]


def test_an_upgrade_parts_a_log_in_two(judge: Any) -> None:
    """What the classic coordinator wrote is judged by its code, also in a log that the new one goes on with."""
    old = at(0, group_metadata("p", 1), commit("g"), commit("h"))
    gone = at(HOUR, tombstone("g", "t", 0))
    new = at(HOUR + 1, group_metadata("q", 0, protocol_type=""), sequence=0)
    later = at(2 * HOUR, commit("i")), at(3 * HOUR, tombstone("i", "t", 0), sequence=0)
    found = judge(old, gone, new, *later, LATER, policy=Policy((4, 0), 7 * DAY))
    assert found == [(GROUP, AMBIGUOUS, (OFFSETS,)), (OFFSETS, CERTAIN, ())]


# ---- expiry


def test_expired_on_time_and_late(judge: Any) -> None:
    """A check that comes days after it was due may be a broker's that was down, and may be none."""
    start = at(0, commit("g"), commit("g", partition=1, after=6 * DAY))
    on_time = at(7 * DAY + HOUR // 10, tombstone("g", "t", 0))
    late = at(8 * DAY, tombstone("g", "t", 0))
    assert judge(start, on_time, LATER) == [(Cause.RETENTION, LIKELY, (OFFSETS,))]
    assert judge(start, late, LATER) == [(Cause.RETENTION, AMBIGUOUS, (OFFSETS,))]


def test_a_check_leaves_nothing_that_is_over(judge: Any) -> None:
    """Another partition of the group was committed with it and stayed: a client's choice."""
    start = at(0, commit("g"), commit("g", partition=1))
    assert judge(start, at(7 * DAY + 9_000, tombstone("g", "t", 0)), LATER) == [(OFFSETS, CERTAIN, ())]


def test_members_that_leave_set_the_time_anew(judge: Any) -> None:
    """An old commit of a group that has just become Empty goes a retention later, not at once."""
    left = group_metadata("g", 2, current_state_timestamp=START + 8 * DAY)
    start = at(0, living("t"), commit("g"), commit("h")), at(8 * DAY, left)
    soon = at(8 * DAY + HOUR, tombstone("g", "t", 0), group_tombstone("g"))
    then = at(15 * DAY + 9_000, tombstone("g", "t", 0), group_tombstone("g"))
    after = at(16 * DAY, commit("z", "other"))
    assert judge(*start, soon, after)[0][:2] == (GROUP, LIKELY)
    assert judge(*start, then, after)[0][:2] == (Cause.RETENTION, LIKELY)


def test_a_topic_that_is_no_longer_read_goes_at_once_if_it_is_old(judge: Any) -> None:
    start = at(0, living("t", "u"), commit("g"), commit("g", "u"))
    moved = at(10 * DAY, living("u", generation=2)), at(10 * DAY + 9_000, tombstone("g", "t", 0))
    after = at(11 * DAY, commit("z", "other"))
    assert judge(start, *moved, after) == [(Cause.UNSUBSCRIBED_TOPIC, LIKELY, (OFFSETS, TOPIC))]


def test_a_commit_that_was_over_when_it_came(judge: Any) -> None:
    """A client's own time, before its commit: the next check takes it."""
    start = at(0, commit("g", partition=1, expire_timestamp=START + 9 * DAY))
    over = at(DAY, commit("g", after=DAY, expire_timestamp=START))
    found = judge(start, over, at(DAY + 9_000, tombstone("g", "t", 0)), LATER, policy=Policy((1, 1), DAY))
    assert found == [(Cause.EXPIRE_TIMESTAMP, CERTAIN, ())]
    late = judge(start, over, at(2 * DAY, tombstone("g", "t", 0)), LATER, policy=Policy((2, 8), DAY))
    assert late == [(Cause.EXPIRE_TIMESTAMP, AMBIGUOUS, (OFFSETS,))]


def test_a_supposed_release_makes_nothing_certain(judge: Any) -> None:
    start = at(
        0,
        living("t"),
        commit("g", expire_timestamp=START + DAY),
        commit("g", partition=1, expire_timestamp=START + 9 * DAY),
    )
    log = start, at(DAY + 9_000, tombstone("g", "t", 0)), LATER
    old = Policy((1, 1), DAY)
    assert judge(*log, policy=old) == [(Cause.RETENTION, CERTAIN, ())]
    assert judge(*log, policy=old, known=PolicyConfidence(release=False)) == [(Cause.RETENTION, LIKELY, ())]


def test_what_is_pending_stays_until_it_no_longer_is(judge: Any) -> None:
    """The new coordinator keeps an old offset while a transaction that commits it is open."""
    proof = at(0, group_metadata("p", 0, protocol_type=""), sequence=0)
    start = at(0, commit("g"), commit("g", partition=1), commit("g", "u", after=8 * DAY))
    waiting = at(0, story.txn_commit(9, "g", "t", 1, 7, commit_timestamp=START))
    first = at(7 * DAY + 9_000, tombstone("g", "t", 0), sequence=0)
    ended = at(10 * DAY, story.abort_marker(9)), at(10 * DAY + 9_000, tombstone("g", "t", 1), sequence=0)
    found = judge(
        proof,
        start,
        waiting,
        first,
        *ended,
        at(11 * DAY, commit("z", "other")),
        policy=Policy((4, 0), 7 * DAY),
    )
    assert [verdict[:2] for verdict in found] == [
        (Cause.RETENTION, LIKELY),
        (Cause.ABORTED, CERTAIN),
        (Cause.RETENTION, LIKELY),
    ]


def test_a_retention_that_is_only_supposed(judge: Any) -> None:
    """Younger than it, but older than all that stayed: another retention would have taken just this."""
    start = at(0, commit("g"), commit("g", partition=1, after=HOUR))
    log = start, at(2 * HOUR, tombstone("g", "t", 0)), LATER
    supposed = PolicyConfidence(retention=False)
    assert judge(*log, known=supposed) == [(OFFSETS, AMBIGUOUS, (Cause.RETENTION,))]
    younger = at(2 * HOUR, tombstone("g", "t", 1))
    assert judge(start, younger, LATER, known=supposed) == [(OFFSETS, CERTAIN, ())]


def test_one_batch_of_an_old_format_is_a_run(judge: Any) -> None:
    """0.10 writes each tombstone as a message of its own: what goes with a check goes together."""
    start = at(0, *(commit("g", partition=each, expire_timestamp=START + DAY) for each in range(3)))
    run = at(DAY + 9_000, *(tombstone("g", "t", each) for each in range(3)))
    policy = Policy((0, 10, 1), DAY)
    assert judge(start, run, LATER, policy=policy) == [(Cause.RETENTION, CERTAIN, ())] * 3


def test_a_commit_that_compaction_took(judge: Any) -> None:
    """Only the tombstone is left: it may have expired, unless a member reads the topic."""
    (bare,) = judge(at(0, commit("h", "u")), at(HOUR, tombstone("g", "t", 0)), LATER)
    assert bare[:2] == (Cause.RETENTION, AMBIGUOUS) and {GROUP, OFFSETS, TOPIC} == set(bare[2])
    (with_group,) = judge(
        at(0, commit("h", "u")), at(HOUR, tombstone("g", "t", 0), group_tombstone("g")), LATER
    )
    assert with_group == (Cause.RETENTION, AMBIGUOUS, (GROUP, OFFSETS, TOPIC))
    new = Policy((4, 0), 7 * DAY)
    proof = at(0, group_metadata("p", 0, protocol_type="", current_state_timestamp=START), sequence=0)
    gone = at(HOUR, tombstone("g", "t", 0), group_tombstone("g"), sequence=0)
    assert judge(proof, gone, LATER, policy=new) == [(Cause.RETENTION, AMBIGUOUS, (GROUP,))]
    assert judge(proof, gone[:1], LATER, policy=new) == [(Cause.RETENTION, AMBIGUOUS, (OFFSETS, TOPIC))]
    (read,) = judge(at(0, living("t")), at(HOUR, tombstone("g", "t", 0)), LATER)
    assert Cause.RETENTION not in (read[0], *read[2])


# ---- topics


def test_a_topic_that_several_groups_lost(tmp_path: Path) -> None:
    def log(group: str, after: int) -> list[Event]:
        start = at(0, commit(group), commit(group, "u"))
        return log_of(tmp_path / group, start, at(HOUR + after, tombstone(group, "t", 0)), LATER)

    together = explained({0: log("g", 0), 1: log("h", 300)}, WEEK)
    assert verdicts(together) == [(TOPIC, LIKELY, (OFFSETS,))] * 2
    assert [each.evidence[-1] for each in together] == ["1:2", "0:2"]
    apart = explained({0: log("g", 0), 1: log("h", DAY)}, WEEK)
    assert verdicts(apart) == [(OFFSETS, CERTAIN, ()), (TOPIC, AMBIGUOUS, (OFFSETS,))]


def test_groups_that_expire_together_did_not_lose_their_topic(tmp_path: Path) -> None:
    """One check takes what several groups committed to a topic at one time."""

    def log(group: str) -> list[Event]:
        start = at(0, commit(group), commit(group, "u", after=6 * DAY))
        return log_of(tmp_path / group, start, at(7 * DAY + 9_000, tombstone(group, "t", 0)), LATER)

    found = explained({0: log("g"), 1: log("h")}, WEEK)
    assert verdicts(found) == [(Cause.RETENTION, LIKELY, (OFFSETS, TOPIC))] * 2


def test_a_topic_that_another_group_kept_is_there(tmp_path: Path) -> None:
    gone = at(0, commit("g"), commit("g", "u")), at(HOUR, tombstone("g", "t", 0)), LATER
    kept = at(0, commit("h"))
    alone = explained({0: log_of(tmp_path / "a", *gone)}, WEEK)
    both = explained({0: log_of(tmp_path / "a", *gone), 1: log_of(tmp_path / "b", kept)}, WEEK)
    assert verdicts(alone) == [(TOPIC, AMBIGUOUS, (OFFSETS,))]
    assert verdicts(both) == [(OFFSETS, CERTAIN, ())]
    # Clocks differ: what was committed just before may be of the topic's successor.
    just = log_of(tmp_path / "c", at(HOUR - 500, commit("h")))
    assert verdicts(explained({0: log_of(tmp_path / "a", *gone), 1: just}, WEEK)) == verdicts(alone)


def test_groups_deleted_together_are_no_topic(tmp_path: Path) -> None:
    """kafka-consumer-groups --delete --group g --group h: of groups that read one topic, the same records."""

    def log(group: str) -> list[Event]:
        return log_of(tmp_path / group, at(0, commit(group)), at(HOUR, tombstone(group, "t", 0)), LATER)

    found = explained({0: log("g"), 1: log("h")}, WEEK)
    assert verdicts(found) == [(GROUP, AMBIGUOUS, (OFFSETS, TOPIC))] * 2


def test_the_order_of_partitions_is_nothing(tmp_path: Path) -> None:
    logs_ = {
        number: log_of(
            tmp_path / group,
            at(0, commit(group), commit(group, "u")),
            at(HOUR, tombstone(group, "t", 0)),
            LATER,
        )
        for number, group in enumerate("ghi")
    }
    backwards = dict(reversed(logs_.items()))
    assert explained(logs_, WEEK) == explained(backwards, WEEK)
