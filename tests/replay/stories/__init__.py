"""The tables of stories. `STORIES` is all of them: whatever replays a log has to end where they do."""

from typing import Final

from tests.replay.stories import (
    classic,
    consumer,
    conversions,
    early_access,
    offsets,
    offsets_loaded,
    offsets_rules,
    share,
    streams,
    streams_life,
)
from tests.replay.story import Story

STORIES: Final[tuple[Story, ...]] = (
    *offsets.STORIES,
    *offsets_loaded.STORIES,
    *offsets_rules.STORIES,
    *classic.STORIES,
    *consumer.STORIES,
    *conversions.STORIES,
    *early_access.STORIES,
    *share.STORIES,
    *streams.STORIES,
    *streams_life.STORIES,
)
