"""Settings that nobody named: found where removals speak for them, and for nothing less; naming what stands changes nothing."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.events import Event, Value
from offsets_tool.expiry.causes import Cause, Confidence, Deletion
from offsets_tool.expiry.forecast import ages, explained, live_ages
from offsets_tool.expiry.policy import Basis, ClusterFacts, by_removals
from offsets_tool.expiry.policy_search import Age, Ages, Fitting, Settings, search
from tests.expiry.corpus_truth import corpora
from tests.expiry.replayed_corpora import DAY, Logs, all_removals, moment_of, truth_of
from tests.history.state_from_rows import events_of

pytestmark = pytest.mark.slow

CORPORA = [
    corpus for corpus in corpora() if any(log.stat().st_size for log in corpus.glob("segments/*/*.log"))
]
by_name = pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)
EXPIRED = (Cause.RETENTION, Cause.EXPIRE_TIMESTAMP, Cause.UNSUBSCRIBED_TOPIC)
MINUTE = 60_000
WEEK = Settings(7 * DAY, 600_000)
DOUBT = WEEK._replace(is_in_doubt=True)
Row = dict[str, Any]


def unnamed(logs: Logs) -> tuple[Basis, list[Deletion]]:
    """Return the policy that the command line infers for a log, and the explanations under it."""
    moment, facts = moment_of(logs), ClusterFacts()
    lost = all_removals(moment, logs)
    for each in lost:
        facts.add(each.facts)
    basis = facts.basis(None, None, None)
    newest = moment.newest_timestamp
    found = by_removals(
        basis,
        ages(lost, basis.policy),
        lambda: live_ages(lost, newest, basis.policy),
        interval_given=False,
    )
    return found, explained(lost, newest, found.policy, found.known)


def wrong(corpus: Path, found: list[Deletion]) -> list[Deletion]:
    """Return wrongly explained removals, but for those by markers, and those in a log without times."""
    truth = truth_of(corpus)
    return [
        each
        for each in found
        if each.cause not in (Cause.ABORTED, Cause.SUPERSEDED)
        and (each.at is not None or not truth.deeds)
        and each.cause != truth.cause(each.group, each.topic, each.partition, each.at)
    ]


# ---- real logs


@by_name
def test_nothing_named_every_cause_is_that_of_the_story(corpus: Path) -> None:
    basis, found = unnamed(events_of(corpus.name))
    assert wrong(corpus, found) == []
    truth = truth_of(corpus)
    if truth.release >= (0, 9):
        assert basis.policy.retention_ms == truth.retention_ms
    if basis.interval_by:
        assert truth.check_interval_ms - 1_000 <= basis.policy.check_interval_ms <= truth.check_interval_ms


@pytest.mark.parametrize("times", [2, 3, 60])
@pytest.mark.parametrize(
    "corpus", ["2.1.1-expiry", "2.8.2-expiry", "3.9.2-expiry", "4.3.1-expiry", "2.4.1-mix"]
)
def test_another_retention_is_found_as_well(corpus: str, times: int) -> None:
    """The same logs, were all clocks so many times as fast: causes, retention and interval follow."""
    basis, found = unnamed(events_of(corpus))
    slow, slowly = unnamed(slowed(events_of(corpus), times))
    assert [(each.log_offset, each.cause) for each in slowly] == [
        (each.log_offset, each.cause) for each in found
    ]
    if basis.policy.retention_ms == MINUTE:
        assert slow.policy.retention_ms == times * MINUTE
    else:
        assert slow == basis


def slowed(logs: Logs, times: int) -> Logs:
    start = min(event.record.timestamp for events in logs.values() for event in events)

    def later(at: int) -> int:
        return at if at < start else start + times * (at - start)

    return {number: [_slowed(event, later) for event in events] for number, events in logs.items()}


def _slowed(event: Event, later: Any) -> Event:
    record = replace(event.record, timestamp=later(event.record.timestamp))
    value = event.value
    if value is not None:
        names = ("commit_timestamp", "expire_timestamp", "current_state_timestamp")
        changed = {name: later(at) for name in names if (at := getattr(value.data, name, None)) is not None}
        value = Value(value.version, value.layout, replace(value.data, **changed)) if changed else value
    return replace(event, record=record, value=value)


@by_name
def test_naming_what_stands_changes_nothing(corpus: Path) -> None:
    rows, note = _rows(corpus)
    if any(row["retention_ms"] is None for row in rows) or "as most values say" in note:
        return
    retention = rows[0]["retention_ms"]
    assert _rows(corpus, "--retention", f"{retention}ms")[0] == rows


def _rows(corpus: Path, *options: str) -> tuple[list[Row], str]:
    done = CliRunner().invoke(main, ["expiry", str(corpus / "segments"), *options, "--format", "jsonl"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_what_was_found_is_said() -> None:
    (corpus,) = (corpus for corpus in CORPORA if corpus.name == "4.3.1-expiry")
    rows, note = _rows(corpus)
    assert "as if offsets.retention.minutes were 1:" in note and "checks every 3s or sooner" in note
    assert {(row["retention_ms"], row["check_interval_ms"]) for row in rows} == {(MINUTE, 3_000)}


@by_name
def test_rows_of_one_event_agree(corpus: Path) -> None:
    """One batch is one request, or one pass; a topic that was deleted is so for all that lost it just then."""
    _, found = unnamed(events_of(corpus.name))
    batches, topics = defaultdict[Any, set[Any]](set), defaultdict[str, list[Deletion]](list)
    for each in found:
        if each.at is not None and each.cause not in (Cause.ABORTED, Cause.SUPERSEDED):
            cause = "expired" if each.cause in EXPIRED else each.cause
            batches[each.log_partition, each.group, each.at].add(cause)
            topics[each.topic].append(each)
    assert all(len(causes) == 1 for causes in batches.values())
    for some in topics.values():
        for deleted in some:
            if deleted.cause is Cause.TOPIC_DELETED and deleted.confidence is not Confidence.AMBIGUOUS:
                assert {
                    each.cause
                    for each in some
                    if abs(_at(each) - _at(deleted)) <= 1_000 and Cause.TOPIC_DELETED in each.alternatives
                } <= {Cause.GROUP_DELETED}


def _at(deletion: Deletion) -> int:
    assert deletion.at is not None
    return deletion.at


@by_name
def test_of_one_partition_alone_nothing_wrong_is_called_likely(corpus: Path) -> None:
    """There may be too little to find the settings by: then it is said to be in doubt."""
    for number, events in events_of(corpus.name).items():
        _, found = unnamed({number: events})
        assert all(each.confidence is Confidence.AMBIGUOUS for each in wrong(corpus, found))


# ---- how much is enough


def ages_of(minutes: tuple[int, int], late: int, removals: int = 4, apart: int = 5_000) -> Ages:
    """Return the ages of removals that fit a retention; the latest came `late` milliseconds after it."""
    found = Ages()
    found.fitting[minutes] = Fitting(removals, 0, apart)
    found.oldest = [Age(minutes[1] * MINUTE + late, DAY)]
    return found


def settings(gone: Ages, left: Ages | None = None, interval: bool = True) -> Settings:
    return search(WEEK, gone, lambda: left or Ages(), retention=True, interval=interval)


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (ages_of((0, 1), 2_400), Settings(MINUTE, 3_000, 4)),
        (ages_of((0, 3), 9_000), Settings(3 * MINUTE, 9_000, 4)),
        (ages_of((0, 30 * 1_440), 400_000), Settings(30 * DAY, 600_000, 4)),
        (ages_of((0, 10_080), 590_000, removals=1_000), WEEK),
        (ages_of((0, 1), 2_400, removals=2), DOUBT),
        (ages_of((0, 1), 2_400, removals=50, apart=900), DOUBT),
        (ages_of((0, 1), 9_000, removals=2), WEEK),
        (ages_of((0, 1), 50_000), WEEK),
        (ages_of((0, 0), 50), WEEK),
        (Ages(), WEEK),
    ],
)  # fmt: skip
def test_several_at_several_times_just_after_it_was_over(gone: Ages, expected: Settings) -> None:
    assert settings(gone) == expected


def test_what_is_left_and_older_speaks_against_it() -> None:
    left = Ages()
    left.oldest = [Age(MINUTE + 20_000, 30_000)]
    assert settings(ages_of((0, 1), 2_400), left) == WEEK
    left.oldest = [Age(DAY, 1_500)]
    assert settings(ages_of((0, 1), 2_400), left) == Settings(MINUTE, 3_000, 4)


def test_an_interval_that_was_named_stands() -> None:
    found = settings(ages_of((0, 1), 2_400), interval=False)
    assert (found.retention_ms, found.check_interval_ms) == (MINUTE, 600_000)


def test_ages_are_those_of_all_parts_together() -> None:
    together, one = Ages(), ages_of((0, 1), 2_000)
    together.add(one)
    together.add(ages_of((0, 1), 500, removals=3, apart=9_000))
    assert together.fits(MINUTE) == Fitting(7, 0, 9_000)
    assert together.lateness(MINUTE) == 2_000
    assert (together.fits(2 * MINUTE).removals, one.fits(MINUTE).removals) == (0, 4)
