"""Every story ends where it says: under either rules, cut in two anywhere, and rebuilt from its changes alone."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from offsets_tool.events import Event
from offsets_tool.replay.changes import Change, ChangeKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State
from tests.replay.picture import picture, with_expected_notes
from tests.replay.stories import STORIES
from tests.replay.story import LOG_PARTITION, Story, believed, events_of

each_story = pytest.mark.parametrize("story", STORIES, ids=str)
TOLD = [pytest.param(story, rules, id=f"{story}-{rules}") for story in STORIES for rules in story.rules]
each_telling = pytest.mark.parametrize(("story", "rules"), TOLD)


def replayed(events: list[Event], rules: Rules | None) -> tuple[Coordinator, list[Change]]:
    coordinator = Coordinator(LOG_PARTITION, rules)
    return coordinator, [change for event in events for change in coordinator.replay(event)]


def copy_of(state: State) -> State:
    copied = State(unread=deepcopy(state.unread))
    for subject, value in state.subjects():
        copied.put(subject, value)
    return copied


def test_names_are_told_once() -> None:
    names = [story.name for story in STORIES]
    assert sorted(names) == sorted(set(names))


@each_telling
def test_a_story_ends_as_told(story: Story, rules: Rules, tmp_path: Path) -> None:
    coordinator, changes = replayed(events_of(story, tmp_path), rules)
    expected = story.expected(rules)
    assert with_expected_notes(expected, picture(coordinator.state, changes)) == expected


@pytest.mark.slow
@each_telling
def test_a_story_cut_in_two_ends_the_same(story: Story, rules: Rules, tmp_path: Path) -> None:
    events = events_of(story, tmp_path)
    whole, changes = replayed(events, rules)
    for cut in range(1, len(events)):
        prefix, before = replayed(events[:cut], rules)
        rest = Coordinator(LOG_PARTITION, rules, copy_of(prefix.state))
        after = [change for event in events[cut:] for change in rest.replay(event)]
        assert (rest.state, before + after) == (whole.state, changes)


@each_telling
def test_changes_alone_rebuild_the_state(story: Story, rules: Rules, tmp_path: Path) -> None:
    check_changes(events_of(story, tmp_path), rules)


@pytest.mark.parametrize("step", [1, -1], ids=["forwards", "backwards"])
@pytest.mark.parametrize("rules", [*Rules, None])
def test_all_stories_are_one_log(step: int, rules: Rules | None, tmp_path: Path) -> None:
    """Nothing raises, whatever follows on what: they tell of the same few groups."""
    told = tuple(event for story in STORIES for event in story.events)[::step]
    check_changes(events_of(Story(name="all", events=told, new=believed()), tmp_path), rules)


def check_changes(events: list[Event], rules: Rules | None) -> None:
    """Assert that the newest `after` of every subject is its state, and `before` the one before.

    What was not understood is no value: a change only says that the value before is not known to hold.
    """
    whole, changes = replayed(events, rules)
    rebuilt = State()
    for change in changes:
        assert rebuilt.get(change.subject) == change.before
        assert change.kind is not ChangeKind.ANOMALY or change.after == change.before
        rebuilt.put(change.subject, change.after)
    assert replace(rebuilt, unread=whole.state.unread) == whole.state


@each_story
def test_where_the_rules_would_differ_is_told(story: Story, tmp_path: Path) -> None:
    """Auto ends as one of the two; where the two end apart and nothing proves which, it says from where on."""
    events = events_of(story, tmp_path)
    auto, _ = replayed(events, None)
    classic, new = (replayed(events, rules)[0].state for rules in Rules)
    if auto.proved_at is None:
        assert auto.state == classic
        assert classic == new or auto.differed_at is not None
    else:
        assert auto.state == new or auto.differed_at is not None
