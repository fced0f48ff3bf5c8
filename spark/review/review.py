"""Gather the incident review of a cluster of a lake from its tables, as `offsets_tool.review` does from a log.

Findings, histories and rebalances are the lake's rows; sentences are made of them as those of a log are. For a plan, the log
partitions of its groups are replayed from the lake's records.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.evidence.filters import dated
from offsets_tool.evidence.findings.finding import GroupFindings
from offsets_tool.findings.finder import log_offset_text
from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.rows import Finding
from offsets_tool.findings.sentences import listed
from offsets_tool.lake.tables import FINDINGS
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.log_clock import latest_of
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.citations import citations, places_to_cite
from offsets_tool.review.coverage import CoveredPartition, EvidenceCoverage, RecordsReach
from offsets_tool.review.review import MOST_GROUPS, MOST_RECORDS, Review, ReviewedGroup
from offsets_tool.review.stories import ExplainedGroup, group_story, log_story
from offsets_tool.review.verdict import Verdict, findings_here
from offsets_tool.review.way_back import PlanAsked, WayBack
from offsets_tool.server_log.join import NO_SERVER_LOG
from offsets_tool.story.limits import EvidenceLimits, completeness, unsaid
from offsets_tool.story.sentence import Sentence, when
from offsets_tool.story.shapes import group_events
from offsets_tool.story.state import state_sentences
from offsets_tool.story.story import GroupStory
from offsets_tool.story.timeline import in_time
from spark.derived.derive import known_derivations, last_runs, replayed
from spark.lake.folder import unknown_cluster
from spark.review.ranking import RankedGroups, groups_of, ranked_groups
from spark.review.rows import ClusterTables, GroupHome, files_of, replayed_cluster
from spark.review.way_back import lake_way_back

_LACKS: Final = (
    "It is made from the tables of a lake: brokers' own logs, lag and the bytes of groups need the log itself, for which "
    "LOG... stands in commands."
)
_TIES: Final = (
    "Of groups whose findings are equally grave, the report of a log tells that first which has most bytes; here it is that which "
    "rebalanced most often, then the order of names, and so the way back that is proposed may be another group's."
)


def review_of_lake(
    lake: str,
    asked: ReviewAsked,
    cluster: str | None = None,
    *,
    most_groups: int = MOST_GROUPS,
    most_records: int = MOST_RECORDS,
) -> Review:
    """Return the review of what is asked for, of the only cluster of a lake, or of the one named.

    UsageError where the lake has several clusters and none is named, or an unknown one, and where it has no findings yet.
    """
    with replayed(lake) as (open_lake, rows):
        replays = last_runs(rows)
        name = _chosen(cluster, sorted(replays))
        derived = known_derivations(open_lake, FINDINGS).get(name)
        if derived is None or derived.basis.get("replay") != replays[name]:
            raise UsageError(
                f"the findings of cluster {name!r} are not those of its last replay: run offsets-spark findings first"
            )
        return _review(ClusterTables(open_lake, name, asked), most_groups, most_records)


def lacks(review: Review) -> list[str]:
    """Return sentences on what a review of a lake lacks, compared with that of a log."""
    return [_LACKS, _TIES] if review.verdict.groups > 1 else [_LACKS]


def _chosen(cluster: str | None, names: Sequence[str]) -> str:
    if cluster is None and len(names) > 1:
        raise UsageError(f"the lake has the clusters {listed(names)}: name one with --cluster")
    if cluster is not None and cluster not in names:
        raise unknown_cluster(cluster, names)
    return names[0] if cluster is None else cluster


def _review(of: ClusterTables, most_groups: int, most_records: int) -> Review:
    asked, files, findings = of.asked, files_of(of), of.findings()
    partitions, clocks = replayed_cluster(of)
    newest = latest_of(each.newest_at for each in partitions)
    moment = f"At the end of the lake, {when(newest)}"
    of_groups = (each for each in findings if each.group is not None and asked.shows(each))
    found = ranked_groups(of, of_groups, partitions, moment)
    shown_groups = [found.rows[each.group, each.log_partition] for each in found.worst[:most_groups]]
    verdict = _verdict(
        RecordsReach(dated(files, clocks), asked.range), asked, found, findings, partitions, files=files
    )
    timeline = in_time(_stories(asked, verdict, shown_groups))
    plan = _plan(of, found, partitions, files)
    planned = [] if plan is None else plan.page.rows
    places, named = places_to_cite(worst_first(verdict.findings), timeline, planned, most_records)
    return Review(
        asked,
        verdict,
        EvidenceCoverage(files, partitions, verdict.coverage, ()),
        _reviewed(of, found, shown_groups, moment),
        timeline,
        plan,
        citations(of.records(places), places, named),
        unsaid(False),
        newest,
    )


def _verdict(
    reach: RecordsReach,
    asked: ReviewAsked,
    found: RankedGroups,
    findings: Iterable[Finding],
    partitions: Iterable[CoveredPartition],
    *,
    files: Iterable[LedgerEntry],
) -> Verdict:
    here = {each.log_partition for each in found.worst if asked.wanted.groups}
    of_log = [each for each in findings if each.group is None]
    reach = reach.of(here)
    completeness = _completeness(
        [each for each in partitions if not here or each.log_partition in here], files
    )
    return Verdict(
        found.worst,
        findings_here(of_log, asked, here),
        reach.coverage([completeness]),
        found.other_groups,
        reach,
    )


def _stories(
    asked: ReviewAsked, verdict: Verdict, shown_groups: Iterable[GroupFindings]
) -> list[list[Sentence]]:
    of_log = [log_story(verdict.of_log, asked)] if asked.is_of_log else []
    return [*of_log, *(group_story(each, asked, NO_SERVER_LOG) for each in shown_groups)]


def _reviewed(
    of: ClusterTables, found: RankedGroups, shown_groups: Iterable[GroupFindings], moment: str
) -> list[ReviewedGroup]:
    ranked = {(each.group, each.log_partition): each for each in found.worst}
    homes = {_home(each): each for each in shown_groups}
    rebalances = of.rebalances({group for group, _ in homes}) if homes else []
    return [
        ReviewedGroup(
            ranked[home],
            each.rows,
            ranked[home].findings,
            _explained(each, moment, of.asked),
            [row for row in rebalances if (row.group, row.log_partition) == home],
        )
        for home, each in homes.items()
    ]


def _home(found: GroupFindings) -> GroupHome:
    return found.rows.group, found.rows.log_partition


def _explained(found: GroupFindings, moment: str, asked: ReviewAsked) -> ExplainedGroup:
    rows = found.rows
    state = list(state_sentences(rows, moment, asked.wanted))
    events, story = (
        group_events(rows, asked.wanted),
        GroupStory(rows, found.findings, asked.wanted).sentences(),
    )
    return ExplainedGroup(rows.group, rows.log_partition, events, story, state, [], unsaid(False))


def _plan(
    of: ClusterTables,
    found: RankedGroups,
    partitions: Iterable[CoveredPartition],
    files: Iterable[LedgerEntry],
) -> WayBack | None:
    """Return the plan for one group that findings propose; None where they propose none."""
    plan = PlanAsked.proposed([*found.worst, *found.others])
    if plan is None or plan.proposal is None or plan.proposal.group is None:
        return None
    return lake_way_back(of, plan, groups_of(of, {plan.proposal.group}, partitions), files)


def _completeness(partitions: Sequence[CoveredPartition], files: Iterable[LedgerEntry]) -> str:
    """Return a sentence on from where on the evidence is complete; no table has the number of records missing before."""
    unread = sum(each.raw_records for each in files)
    numbers = [each.log_partition for each in partitions]
    cut = [log_offset_text(each.log_partition, each.proven_from) for each in partitions if each.proven_from]
    contradicted = [
        log_offset_text(each.log_partition, each.contradicted_from)
        for each in partitions
        if each.contradicted_from is not None
    ]
    damaged = [each.log_partition for each in partitions if each.is_damaged]
    return completeness(numbers, cut, "Records are gone", EvidenceLimits(contradicted, unread, damaged))
