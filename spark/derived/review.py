"""What an incident review says of groups of a lake: from its tables, as `offsets_tool.review` gathers it from a log.

Findings, histories and rebalances are the lake's rows; sentences are made of them as those of a log are. Starts no Spark: what is
of these groups is read from the tables' files. A plan needs the log itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.evidence.findings.finding import GroupFindings
from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.findings.sentences import listed
from offsets_tool.lake.tables import FINDINGS
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.citations import citations, places_named
from offsets_tool.review.coverage import CoveredPartition, EvidenceCoverage
from offsets_tool.review.review import MOST_GROUPS, MOST_RECORDS, Review, ReviewedGroup
from offsets_tool.review.stories import ToldGroup, group_story
from offsets_tool.review.verdict import Verdict
from offsets_tool.server_log.join import NO_SERVER_LOG
from offsets_tool.story.limits import unsaid
from offsets_tool.story.sentence import when
from offsets_tool.story.shapes import group_events
from offsets_tool.story.state import state_sentences
from offsets_tool.story.story import GroupStory
from offsets_tool.story.timeline import in_time
from offsets_tool.story.verdict import ranked_group, ranking
from spark.derived.derive import known_derivations, replayed
from spark.derived.review_rows import ClusterTables, files_of, partitions_of
from spark.lake.folder import root_of

LACKS: Final = (
    "It is made from the tables of a lake: the way back, brokers' own logs, lag and the bytes of groups need the log itself.",
)


def review_of_lake(
    lake: str,
    asked: ReviewAsked,
    cluster: str | None = None,
    *,
    most_groups: int = MOST_GROUPS,
    most_records: int = MOST_RECORDS,
) -> Review:
    """Return the review of the groups that are asked for, of the only cluster of a lake, or of the one named.

    UsageError where the lake has several clusters and none is named, or an unknown one; where it has no findings yet; and where no
    group is asked for.
    """
    if not asked.wanted.groups:
        raise UsageError("a report of a lake is about groups: name them with --group")
    root = root_of(lake)
    with replayed(root) as replays:
        name = _chosen(cluster, sorted(replays))
        derived = known_derivations(root, FINDINGS).get(name)
        if derived is None or derived.basis.get("replay") != replays[name]:
            raise UsageError(
                f"the findings of cluster {name!r} are not those of its last replay: run offsets-spark findings first"
            )
        return _review(ClusterTables(root, name, asked), most_groups, most_records)


def _chosen(cluster: str | None, names: Sequence[str]) -> str:
    if cluster is None and len(names) > 1:
        raise UsageError(f"the lake has the clusters {listed(names)}: name one with --cluster")
    if cluster is not None and cluster not in names:
        raise UsageError(f"the lake has no cluster {cluster!r}: choose among {', '.join(names)}")
    return names[0] if cluster is None else cluster


def _review(of: ClusterTables, most_groups: int, most_records: int) -> Review:
    partitions = partitions_of(of)
    newest = max((each.newest_at for each in partitions if each.newest_at is not None), default=None)
    moment = f"At the end of the lake, {when(newest)}"
    groups = _groups(of, partitions)
    ranked = ranking(ranked_group(each.rows, each.findings, moment, None) for each in groups)
    numbers = {(each.group, each.log_partition): number for number, each in enumerate(ranked[:most_groups])}
    told = sorted(
        (each for each in groups if _home(each.rows) in numbers), key=lambda each: numbers[_home(each.rows)]
    )
    rebalances = of.rebalances()
    sentences = [
        _coverage(each) for each in partitions if each.log_partition in {row.log_partition for row in ranked}
    ]
    timeline = in_time([group_story(each, of.asked, NO_SERVER_LOG) for each in told])
    verdict = Verdict(ranked, [], sentences)
    places, named = places_named(worst_first(verdict.findings), timeline, (), most_records)
    return Review(
        of.asked,
        verdict,
        EvidenceCoverage(files_of(of), partitions, sentences, ()),
        [
            ReviewedGroup(
                ranked[numbers[_home(each.rows)]],
                each.rows,
                each.findings,
                _told(each, moment, of.asked),
                [row for row in rebalances if (row.group, row.log_partition) == _home(each.rows)],
            )
            for each in told
        ],
        timeline,
        None,
        citations(of.records(places), places, named),
        unsaid(False),
        newest,
    )


def _home(rows: GroupRows) -> tuple[str, int | None]:
    return rows.group, rows.log_partition


def _told(found: GroupFindings, moment: str, asked: ReviewAsked) -> ToldGroup:
    rows = found.rows
    state = list(state_sentences(rows, moment, asked.wanted))
    events, story = (
        group_events(rows, asked.wanted),
        GroupStory(rows, found.findings, asked.wanted).sentences(),
    )
    return ToldGroup(rows.group, rows.log_partition, events, story, state, [], unsaid(False))


def _groups(of: ClusterTables, partitions: Iterable[CoveredPartition]) -> list[GroupFindings]:
    stretches = {
        each.log_partition: LogStretch(each.log_partition, each.proven_from, each.end, each.newest_at)
        for each in partitions
    }
    rows: dict[int | None, list[GroupRow]] = defaultdict(list)
    for row in of.group_rows():
        rows[row.log_partition].append(row)
    findings: dict[tuple[str | None, int | None], list[Finding]] = defaultdict(list)
    for finding in of.findings():
        findings[finding.group, finding.log_partition].append(finding)
    return [
        GroupFindings(group, findings[_home(group)])
        for number, some in rows.items()
        for _, group in sorted(gather(some, stretches.get(number, LogStretch(number))).items())
    ]


def _coverage(partition: CoveredPartition) -> str:
    number = partition.log_partition
    if not partition.proven_from:
        return f"The evidence is complete: every record of partition {number} is here."
    return f"Every record of partition {number} is here from {number}:{partition.proven_from} on."
