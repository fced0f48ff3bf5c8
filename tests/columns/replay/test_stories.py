"""Every story ends where it says by column too, however its rows are cut; what was impossible on the way is not told there."""

from pathlib import Path

import pytest

from offsets_tool.columns.replay.state import StateReplay
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from tests.columns.replay.test_state import cut, rows_of
from tests.depth import sample
from tests.replay.picture import Picture, picture
from tests.replay.stories import STORIES
from tests.replay.story import LOG_PARTITION, Story, events_of

TOLD = [pytest.param(story, rules, id=f"{story}-{rules}") for story in STORIES for rules in story.rules]


@pytest.mark.parametrize(("story", "rules"), sample(TOLD, 3))
def test_a_story_ends_as_told(story: Story, rules: Rules, tmp_path: Path) -> None:
    rows = rows_of(event.record for event in events_of(story, tmp_path))
    expected = Picture(**(vars(story.expected(rules)) | {"anomalies": ()}))
    for size in (1, 2, 100):
        replay = StateReplay(Coordinator(LOG_PARTITION, rules))
        for batch in cut(rows, [size]):
            for _ in replay.replay(batch):
                pass
        assert picture(replay.materialize().state, ()) == expected
