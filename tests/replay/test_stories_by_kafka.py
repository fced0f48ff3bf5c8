"""Every story, told to Kafka's own loaders: they end where it says, and refuse a log where we say that they do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.events import Event
from offsets_tool.replay.changes import ChangeKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from oracle.client import Oracle
from tests.replay.kafka_picture import kafka_picture, tellable
from tests.replay.picture import picture
from tests.replay.stories import STORIES
from tests.replay.story import LOG_PARTITION, Story, events_of

pytestmark = pytest.mark.java

TOLD = [
    pytest.param(story, rules, story.asked[rules], id=f"{story}-{story.asked[rules]}")
    for story in STORIES
    for rules in story.rules
    if rules in story.asked
]


def refusals(events: list[Event], rules: Rules) -> Iterator[int]:
    """Yield where Kafka's load ends, by our anomalies; the classic loader names the batch instead of the record."""
    coordinator = Coordinator(LOG_PARTITION, rules)
    for event in events:
        for change in coordinator.replay(event):
            note = change.note or ""
            unread = change.is_unread and "unknown record type" not in note
            if change.kind is ChangeKind.ANOMALY and (unread or "Kafka refuses to load it" in note):
                yield event.record.log_offset if rules is Rules.NEW else _base_offset(event)


@pytest.mark.parametrize(("story", "rules", "release"), TOLD)
def test_kafka_ends_where_the_story_does(
    story: Story, rules: Rules, release: str, oracle: Oracle, tmp_path: Path
) -> None:
    events = events_of(story, tmp_path)
    [log] = tmp_path.iterdir()
    [loaded] = oracle.load(release, log, classic=rules is Rules.CLASSIC)
    refused = next(refusals(events, rules), None)
    assert (loaded.error and loaded.error.offset) == refused
    if refused is None:
        batches = {each.record.log_offset: _base_offset(each) for each in events}
        assert kafka_picture(loaded) == tellable(story.expected(rules), rules, batches)


@pytest.mark.parametrize("story", [each for each in STORIES if Rules.NEW in each.asked], ids=str)
def test_kafka_agrees_after_every_record(story: Story, oracle: Oracle, tmp_path: Path) -> None:
    """Up to where it refuses to go on. The classic loader is not asked: what it holds in between is no group's state."""
    events = events_of(story, tmp_path)
    [log] = tmp_path.iterdir()
    ends = [event.record.log_offset + 1 for event in events]
    coordinator = Coordinator(LOG_PARTITION, Rules.NEW)
    for event, loaded in zip(events, oracle.load(story.asked[Rules.NEW], log, ends), strict=True):
        coordinator.replay(event)
        if loaded.error:
            break
        assert kafka_picture(loaded) == tellable(picture(coordinator.state, ()), Rules.NEW, {})


def _base_offset(event: Event) -> int:
    assert event.record.batch is not None
    return event.record.batch.base_offset
