"""The kinds of findings that stories and verdicts know by name are kinds that there are."""

from offsets_tool.findings.finders import kinds
from offsets_tool.story import story, verdict


def test_kinds_that_are_named_are_there() -> None:
    of_stories = (
        *story._MOVES,
        *story._DELETIONS,
        *story._ENDINGS,
        *story._ANOMALIES,
        story._STORM,
        story._CONVERSION,
        story._REPLACEMENT,
        story._ABORTED,
    )
    assert {*of_stories, *verdict._MOVES_OFFSETS, *verdict._COSTS} <= kinds().keys()
