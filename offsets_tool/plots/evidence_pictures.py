"""All pictures about an evidence as a whole in one call: when groups committed, and to which groups the log's bytes belong."""

import os
from typing import Any

from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.findings.finding import history_rows
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.plots.group_pictures import topic_pictures
from offsets_tool.plots.picture import Picture
from offsets_tool.sizes.rows import group_rows


def evidence_pictures(
    *paths: str | os.PathLike[str], since: int | None = None, until: int | None = None, **options: Any
) -> list[Picture]:
    """Return the pictures of the evidence below `paths`, from `since` to before `until` (epoch milliseconds).

    Options are those of `open_evidence`, but for `filters`. SourceError for a path that cannot be read, SetupError where what draws
    pictures is not installed.

    >>> [each.name for each in evidence_pictures("fixtures/incidents/reset-to-earliest/segments")]
    ['groups-cadence', 'topic-sizes']
    """
    with open_evidence(*paths, is_of_records=True, **options) as evidence:
        sizes = EvidenceSizes(evidence)
        sized = group_rows(sizes.run(), sizes.newest_timestamp)
    with EvidenceReplay(open_evidence(*paths, **options)) as replay:
        groups = (rows for partition in history_rows(replay) for rows in partition.groups())
        return topic_pictures(groups, sized, since=since, until=until)
