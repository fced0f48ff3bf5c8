"""Every story ends where it says by column too, however its rows are cut."""

from pathlib import Path

import pytest

from offsets_tool.columns.replay.state import ColumnCoordinator
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from tests.columns.replay.test_state import cut, rows_of
from tests.replay.picture import as_told, picture
from tests.replay.stories import STORIES
from tests.replay.story import LOG_PARTITION, Story, events_of

TOLD = [pytest.param(story, rules, id=f"{story}-{rules}") for story in STORIES for rules in story.rules]


@pytest.mark.parametrize(("story", "rules"), TOLD)
def test_a_story_ends_as_told(story: Story, rules: Rules, tmp_path: Path) -> None:
    rows = rows_of(event.record for event in events_of(story, tmp_path))
    expected = story.expected(rules)
    for size in (1, 2, 100):
        columns = ColumnCoordinator(Coordinator(LOG_PARTITION, rules))
        replayed = [each for batch in cut(rows, [size]) for each in columns.replay(batch)]
        changes = [change for _, made in replayed for change in made]
        assert as_told(expected, picture(columns.settle().state, changes)) == expected
