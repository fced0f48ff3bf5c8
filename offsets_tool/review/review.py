"""Gather an incident review of an evidence in one call, with the results of the commands of the same names."""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import NameFilter, Wanted, exact_text
from offsets_tool.errors import UsageError
from offsets_tool.evidence.answers.cited_records import cited_records
from offsets_tool.evidence.answers.lag_over_time import group_lag
from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import GroupFindings, LogFindings
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED
from offsets_tool.evidence.moments.moment_texts import Clock, as_of_bound, parse_bound
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.understood_moments import note_range
from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding
from offsets_tool.lag.rows import LagRow
from offsets_tool.plans.commands import CommandWords, shell_word
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.review.asked import ReviewAsked, asked_about
from offsets_tool.review.citations import Citations, citations, places_to_cite
from offsets_tool.review.coverage import EvidenceCoverage, covered
from offsets_tool.review.plan_page import KafkaTools
from offsets_tool.review.stories import ExplainedGroup, explained_group, group_story, log_story
from offsets_tool.review.verdict import Verdict, verdict_of
from offsets_tool.review.way_back import PlanAsked, PlanCommand, PlanTools, WayBack, way_back
from offsets_tool.rows import Row
from offsets_tool.server_log.parse import ServerLogFile, read_server_logs
from offsets_tool.sizes.rows import group_rows
from offsets_tool.story.broker_loads import with_loads
from offsets_tool.story.limits import unsaid
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.timeline import in_time
from offsets_tool.story.verdict import Ranked

MOST_GROUPS: Final = 5
"""How many groups are told in detail, the worst first, unless the caller says."""
MOST_RECORDS: Final = 400
"""How many of the records that are named are kept, unless the caller says."""


class ReviewedGroup(NamedTuple):
    """A group in detail: its rows up to the end of the log, its findings, its story, its rebalances."""

    ranked: Ranked
    rows: GroupRows
    """For pictures and tables: offsets, states, members, transactions, expiry. Never cut to the range."""
    findings: Sequence[Finding]
    """Those in the range, the worst first."""
    explained: ExplainedGroup
    rebalances: Sequence[RebalanceRow]
    lag: Sequence[LagRow] = ()
    """By partition and time, where ends of its partitions are known from more than commits."""

    @property
    def group(self) -> str:
        """The group's name, as it was decoded."""
        return self.ranked.group


class Review(NamedTuple):
    """An incident review of an evidence. Names are as they were decoded: whoever shows them makes them visible."""

    asked: ReviewAsked
    verdict: Verdict
    coverage: EvidenceCoverage
    groups: Sequence[ReviewedGroup]
    """Those that are told in detail, the worst first."""
    timeline: Sequence[Sentence]
    """What happened to these groups, and to the log itself, in the order of time."""
    plan: WayBack | None
    """None where no moment was named and no finding says that offsets were lost or moved."""
    cited: Citations
    unsaid: str
    """What no record says, in words."""
    newest_at: int | None
    """Time of the newest record, epoch milliseconds."""
    sizes: Sequence[Row] = ()
    """Whose bytes the log is made of, rows of sizes.rows.group_rows; where the whole log is asked about and its bytes were read."""

    @property
    def headlines(self) -> list[str]:
        """The verdict in words: on each group that was asked for, else on the whole log."""
        return self.verdict.headlines(self.asked.wanted)

    @property
    def findings(self) -> list[Finding]:
        """All findings in the scope of the review, those about no group first."""
        return self.verdict.findings


class ReviewInputs(NamedTuple):
    """The inputs of a review beside the log (ends, brokers' logs, policy), and limits on how much it keeps."""

    ends: EndSources
    policy: PolicyOverrides = PolicyOverrides()
    server_logs: Sequence[ServerLogFile] = ()
    plan: PlanAsked | None = None
    """The plan that was asked for; None proposes one where offsets were lost or moved."""
    kafka: KafkaTools = KafkaTools()
    plan_command: PlanCommand = lambda to, group: ["offsets-tool", "plan"]
    most_groups: int = MOST_GROUPS
    most_records: int = MOST_RECORDS


def review_of(
    *paths: str | os.PathLike[str],
    group: str | Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    plan_as_of: str | None = None,
    server_logs: Sequence[str | os.PathLike[str]] = (),
    ends: Sequence[str | os.PathLike[str]] = (),
    policy: PolicyOverrides | None = None,
    view: str = COPIES_ASKED.view,
    leader: Mapping[int, str] | None = None,
    most_groups: int = MOST_GROUPS,
    cluster: str | None = None,
) -> Review:
    """Return the incident review of the log below `paths`: verdict, coverage, findings, stories, plan, cited records.

    `group` is a name, a pattern such as "orders-*", or several; without it the whole log is reviewed. At most `most_groups` of them
    are told in detail, the worst first. `since` and `until` choose findings and sentences, as a time ("2026-11-21T02:30Z",
    "yesterday 22:00", read in `zone`, else UTC) or a place "LOG_PARTITION:LOG_OFFSET". `plan_as_of` is the moment that the plan
    goes back to; without it one is proposed where offsets were lost or moved. `server_logs` are brokers' own logs, `ends` files of
    end offsets, `policy` what is known of the brokers' settings; `view`, `leader` and `cluster` are those of `open_evidence`.
    UsageError for texts that cannot be parsed; SourceError where a path cannot be read.

    >>> review = review_of("fixtures/incidents/reset-to-earliest/segments", group="payments")
    >>> review.headlines, [each.kind for each in review.findings]
    (['Group payments needs attention: 1 warning.'], ['reset'])
    >>> review.plan.to, [(row.partition, row.current_offset, row.new_offset) for row in review.plan.page.rows][:2]
    ('1:43', [(0, 80, 50), (1, 80, 50)])
    """
    clock, names = Clock.in_zone(zone), [os.fspath(path) for path in paths]
    asked = asked_about(clock, group=group, since=since, until=until)
    back = (
        None
        if plan_as_of is None
        else as_of_bound(parse_bound((plan_as_of,), "plan_as_of", clock), "plan_as_of")
    )
    evidence = open_evidence(
        *names, view=view, leader=leader, cluster=cluster, groups=asked.wanted.groups.texts
    )
    with EvidenceReplay(evidence) as replay:
        note_range(evidence, asked.range, clock)
        given = ReviewInputs(
            EndSources(names, stored=evidence.stored_ends, files=[os.fspath(path) for path in ends]),
            PolicyOverrides() if policy is None else policy,
            read_server_logs([os.fspath(path) for path in server_logs]),
            None if back is None else PlanAsked(back, asked.wanted),
            plan_command=_plan_command(names),
            most_groups=most_groups,
        )
        return review_replay(replay, asked, given)


def _plan_command(names: Sequence[str]) -> PlanCommand:
    def words(to: str, group: str | None) -> CommandWords:
        of = [] if group is None else [f"--group {shell_word(group)}"]
        return ["offsets-tool", "plan", *map(shell_word, names), f"--as-of {shell_word(to)}", *of]

    return words


def review_replay(replay: EvidenceReplay, asked: ReviewAsked, given: ReviewInputs) -> Review:
    """Run a replay to the end of its evidence, and return the review; the replay's sources must be open.

    UsageError for a replay to another moment: a review is of all that the evidence has.
    """
    if not replay.snapshot.as_of.is_end:
        raise UsageError("a review is of the whole log: choose what is told with --since and --until")
    found = LogFindings(replay, given.policy, given.server_logs, given.ends)
    verdict = verdict_of(found, replay.snapshot, asked)
    groups, stories = _groups(replay, found, asked, verdict.ranked[: given.most_groups], given.ends)
    timeline = with_loads(in_time(stories), found.server_log)
    plan = _plan(replay, found, asked, verdict, given)
    planned = [] if plan is None else plan.page.rows
    places, named = places_to_cite(worst_first(verdict.findings), timeline, planned, given.most_records)
    return Review(
        asked,
        verdict,
        EvidenceCoverage(
            replay.evidence.ledgers,
            [covered(each) for each in replay.snapshot],
            verdict.coverage,
            replay.evidence.notes,
            [each.name for each in given.server_logs],
        ),
        groups,
        timeline,
        plan,
        citations(cited_records(replay.evidence, places), places, named),
        unsaid(bool(found.server_log)),
        replay.snapshot.newest_timestamp,
        _sizes(replay) if asked.is_of_log else (),
    )


def _groups(
    replay: EvidenceReplay, found: LogFindings, asked: ReviewAsked, worst: Sequence[Ranked], ends: EndSources
) -> tuple[list[ReviewedGroup], list[list[Sentence]]]:
    """Return the groups in detail, by rank, and the stories in the range: of all wanted groups and of the log."""
    homes = {(each.group, each.log_partition): number for number, each in enumerate(worst)}
    stories = [log_story(found.of_log, asked)] if asked.is_of_log else []
    groups: dict[int, ReviewedGroup] = {}
    names = Wanted(NameFilter([exact_text(each.group) for each in worst]), *asked.wanted[1:])
    for each in found.groups(names) if worst else ():
        number = homes.get((each.rows.group, each.rows.log_partition))
        if number is not None:
            lag = group_lag(replay, each.rows, ends)
            groups[number] = _group(replay, found, asked, each, worst[number])._replace(lag=lag)
            stories.append(group_story(each, asked, found.server_log))
    return [groups[number] for number in sorted(groups)], stories


def _group(
    replay: EvidenceReplay, found: LogFindings, asked: ReviewAsked, each: GroupFindings, ranked: Ranked
) -> ReviewedGroup:
    return ReviewedGroup(
        ranked,
        each.rows,
        ranked.findings,
        explained_group(found, each, replay.snapshot, asked),
        found.rebalances(each.rows),
    )


def _sizes(replay: EvidenceReplay) -> list[Row]:
    """Return the bytes of the evidence by group, as rows of `size`; the evidence is read once more."""
    sizes = EvidenceSizes(replay.again().evidence)
    return group_rows(sizes.run(), sizes.newest_timestamp)


def _plan(
    replay: EvidenceReplay, found: LogFindings, asked: ReviewAsked, verdict: Verdict, given: ReviewInputs
) -> WayBack | None:
    plan = given.plan or PlanAsked.proposed(verdict.ranked)
    if plan is None:
        return None
    return way_back(replay, found, plan, PlanTools(given.ends, given.kafka, given.plan_command))
