"""Replays evidence to a moment: every partition's events in order, with notes on the snapshot.

It reads what Kafka would read: set-aside files are left out. partition_logs knows which sources make one log.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, replay_events
from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.evidence import Evidence, open_evidence
from offsets_tool.evidence.filters import dated
from offsets_tool.evidence.joined_log import JoinedLog
from offsets_tool.evidence.lanes import rows_pay
from offsets_tool.evidence.listener import CommandStep, Listener, during, yields_during
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED
from offsets_tool.evidence.moments.moment_notes import moment_notes, number_text, topic_id_notes
from offsets_tool.evidence.moments.moment_texts import Clock, as_of_bound, parse_bound
from offsets_tool.evidence.partition_histories import EventHistories, PartitionHistories
from offsets_tool.evidence.partition_logs import EventsOf, PartitionLog, RowsOf, partition_logs, uncounted
from offsets_tool.evidence.understood_moments import note_moment
from offsets_tool.history.owners import NameOf
from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.copies.forks import Forks
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.log.names import not_replayed
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import NamesSoFar, TopicNames

if TYPE_CHECKING:
    from offsets_tool.findings.group_rows import AnyPartition

T = TypeVar("T")
Log = PartitionLog | JoinedLog
END: Final = AsOf()
"""The end of the log."""


def snapshot_of(
    *paths: str | os.PathLike[str],
    as_of: str | AsOf = END,
    zone: str | None = None,
    rules: Rules | None = None,
    topic_ids: Mapping[str, str] | None = None,
    bootstrap_server: str | None = None,
    listener: Listener | None = None,
    view: str = COPIES_ASKED.view,
    leader: Mapping[int, str] | None = None,
    cluster: str | None = None,
) -> Snapshot:
    """Replay the log below the paths, of a lake or a live topic; return what the coordinators held at its end or at a moment.

    `as_of` is a text such as "yesterday 14:05", "-2h" or "2026-11-21T14:05Z", in the time zone `zone` (else UTC), or an AsOf.
    `rules` are those of the coordinator that wrote the log, by default what the log proves. `topic_ids` names topics by id where
    no record does. `view`, `leader` and `cluster` are those of `open_evidence`. UsageError for texts with no or two meanings and
    for copies of two clusters; SourceError for paths that cannot be read.

    >>> from offsets_tool import offset_rows
    >>> snapshot = snapshot_of("fixtures/corpora/3.9.2-txn/segments", as_of="2026-11-21T12:22:55.400Z")
    >>> [(row["committed_offset"], len(row["pending"])) for row in offset_rows(snapshot) if row["group"] == "pricing-hang-43"]
    [(5, 1), (None, 1)]
    >>> nights = [f"fixtures/corpora-replicated/4.1.2-nightly/copies/{name}" for name in ("night-1", "final")]
    >>> [len(offset_rows(snapshot_of(*nights, view=view))) for view in ("coordinator", "evidence")]
    [24, 29]
    """
    evidence = open_evidence(
        *paths,
        bootstrap_server=bootstrap_server,
        listener=listener,
        view=view,
        leader=leader,
        cluster=cluster,
    )
    moment = moment_asked(evidence, as_of, Clock.in_zone(zone))
    with EvidenceReplay(evidence, moment, rules=rules, topic_ids=topic_ids) as replay:
        replay.take_states()
        return replay.run()


def moment_asked(evidence: Evidence, as_of: str | AsOf, clock: Clock) -> AsOf:
    """Return the moment that a text means, an AsOf unchanged, and note how it was understood. UsageError as `snapshot_of`."""
    if not isinstance(as_of, str):
        return as_of
    bound = parse_bound((as_of,), "as_of", clock, takes_epochs=True)
    note_moment(evidence, bound, "as_of", clock)
    return as_of_bound(bound)


class EvidenceReplay:
    """One replay of the evidence: `run` fills `snapshot`. Closes the sources at the end of a `with` block."""

    def __init__(
        self,
        evidence: Evidence,
        as_of: AsOf = END,
        *,
        rules: Rules | None = None,
        topic_ids: Mapping[str, str] | None = None,
        option: str = "--as-of",
    ) -> None:
        """Prepare a replay up to `as_of`, by the `rules` that the log proves unless given; `topic_ids` are names by topic id.

        `option` is what notes call whatever named the moment.

        UsageError where Kafka has set aside everything that is here.
        """
        self.evidence = evidence
        self.option = option
        """What notes call the option that named the moment."""
        self._copies = evidence.copies_asked
        self._facts: dict[int | None, list[CopyFacts]] = dict(evidence.copy_facts)
        """Of the copies of partitions that were joined."""
        self._forks: dict[int | None, Forks] = {}
        """Where these copies contradict each other, which is the same at every moment."""
        self.joined: dict[int | None, JoinedLog] = {}
        """After `run`, the logs of partitions that have several copies, and what joining them left out."""
        self._topic_ids = dict(topic_ids or {})
        self.snapshot = Snapshot(as_of, TopicNames(evidence.topic_names, self._topic_ids), rules)
        _leave_out_set_aside(evidence)

    def again(
        self, as_of: AsOf = END, log_partitions: Collection[int | None] | None = None
    ) -> "EvidenceReplay":
        """Return another replay of the same sources, to the end or another moment; its notes go to no listener.

        Only some log partitions are read, where they are named and the others are known without it.
        """
        evidence = self.evidence.again()
        if log_partitions is not None:
            evidence.narrow(log_partitions)
        replay = EvidenceReplay(evidence, as_of, rules=self.snapshot.rules, topic_ids=self._topic_ids)
        replay._forks = self._forks
        return replay

    def take_states(self, *, is_of_groups: bool = False) -> bool:
        """Have `run` replay nothing where the states at the moment are kept, and return whether they are.

        `is_of_groups` says that what is asked of a group rests on its own records alone.
        """
        return not self._topic_ids and self.evidence.take_states(self.snapshot, is_of_groups=is_of_groups)

    def kept_partitions(self, *, is_default: bool = True) -> "list[AnyPartition] | None":
        """Return the rows of all log partitions at the moment where they are kept, so that `run` replays nothing; else None.

        `is_default` says whether no settings of brokers are given.
        """
        is_asked = is_default and not self._topic_ids
        return self.evidence.kept_partitions(self.snapshot) if is_asked else None

    def reading(self, log_partitions: Collection[int | None]) -> "EvidenceReplay":
        """Return this replay, after `run`, or one to the same moment that has run, if it has not read these log partitions."""
        if self.evidence.reads(log_partitions):
            return self
        replay = self.again(self.snapshot.as_of, log_partitions)
        replay.run()
        return replay

    def __enter__(self) -> Self:
        self.evidence.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.evidence.__exit__(*error)

    def run(self) -> Snapshot:
        """Replay everything, where needed a second time, note what to know about the snapshot, and return it.

        UsageError where copies are of two clusters, or do not say of which partition they are.
        """
        self._replay_logs(self.replay_one)
        return self.noted()

    def replay_one(self, log: Log, lane: RowsOf | None) -> None:
        """Replay one log to the moment, by rows where there is a lane."""
        replay_log((self.snapshot,), log, lane)

    def ask(self, question: Callable[[PartitionHistories], T]) -> list[T]:
        """Run the replay; return the answers of its log partitions to a question, in their order, from the same reading.

        A partition is read again only if its rules turned out otherwise, or the name of a topic that was asked for. Errors are
        those of `run`.
        """
        answers: dict[int | None, T] = {}
        names: dict[int | None, NamesSoFar] = {}

        def replay(log: Log, lane: RowsOf | None) -> None:
            names[log.log_partition] = so_far = NamesSoFar(self.snapshot.names)
            answers[log.log_partition] = question(self._histories(log, lane, so_far.name))
            if isinstance(log, JoinedLog):
                self.snapshot.contradicted(log.log_partition, log.contradiction)

        self._replay_logs(replay)
        self.noted()
        renamed = {number for number, so_far in names.items() if not so_far.hold()}
        for histories in self.histories() if renamed else ():
            if histories.partition.log_partition in renamed:
                with during(CommandStep.REPLAY):
                    answers[histories.partition.log_partition] = question(histories)
        return list(answers.values())

    def _replay_logs(self, replay: Callable[[Log, RowsOf | None], object]) -> None:
        """Give `replay` all logs with the lane to read them by, and again those whose rules were proved wrong."""
        lane = self.lane()
        with during(CommandStep.REPLAY):
            self.evidence.stand_in(self.snapshot)
            for log in self.logs(self.evidence.counted).values():
                replay(log, lane)
                self.note_overlaps(log)
            self.replay_again(replay)

    def _histories(
        self, log: Log, lane: RowsOf | None, name_of: NameOf, replayed: PartitionSnapshot | None = None
    ) -> PartitionHistories:
        """Return the histories of a log up to the moment, with which its partition is replayed, if it was not before."""
        names, end = self.snapshot.names, log.end if isinstance(log, JoinedLog) else None
        partition = replayed or self.snapshot.begin(log.log_partition, log.begins, end)
        if lane is not None:
            from offsets_tool.relations.partitions import RowHistories  # noqa: PLC0415 - with Arrow, where it pays

            return RowHistories(partition, log.rows(lane), name_of, None if replayed else names)
        events = log.events()
        changes = _changes(partition, events) if replayed else partition.replayed(events, names.learn)
        return EventHistories(partition, changes, name_of)

    def note_overlaps(self, log: Log) -> None:
        """Note records of segments that reach into each other, and of copies that differ: no file's own ledger can tell."""
        for copy in log.copies if isinstance(log, JoinedLog) else [log]:
            if copy.left_out.records:
                self.evidence.overlaps += len(copy.left_out.sources)
                self.snapshot.names.candidates.distrust(log.log_partition)
                self.evidence.note(
                    f"partition {number_text(log.log_partition)}: {copy.left_out.records} record(s) of segments that reach into "
                    f"each other are left out, the first as {copy.left_out.first}"
                )
        if isinstance(log, JoinedLog):
            self.joined[log.log_partition] = log
            for text in log.notes():
                self.evidence.note_once(text)

    def replay_again(self, replay: Callable[[Log, RowsOf | None], object]) -> None:
        """Give `replay` once more the logs whose rules were proved wrong."""
        if again := self.snapshot.to_replay_again():
            lane, logs = self.lane(is_counted=False), self.logs(uncounted)
            for number in again:
                replay(logs[number], lane)

    def noted(self) -> Snapshot:
        """Note what to know about the snapshot after everything is replayed; return it."""
        evidence, snapshot = self.evidence, self.snapshot
        evidence.all_is_read()
        for damaged in {ledger.log_partition for ledger in evidence.ledgers if ledger.lacks_records}:
            snapshot.names.candidates.distrust(damaged)
            for partition in snapshot:
                partition.is_damaged |= partition.log_partition == damaged
        # The file of an archive does not say its partition: what was cut off may be of any.
        cut_off = {ledger.log_partition for ledger in evidence.ledgers if ledger.is_cut_off}
        for partition in snapshot:
            partition.is_cut_off = not cut_off.isdisjoint((partition.log_partition, None))
        for text in moment_notes(snapshot, self.option):
            evidence.note_once(text)
        return snapshot

    def logs(self, events_of: EventsOf) -> dict[int | None, Log]:
        """Return each partition's log: its one copy, or all its copies joined."""
        logs = partition_logs(self.evidence.sources, events_of)
        if unknown := [number for number in self._copies.leaders if number not in logs]:
            raise UsageError(
                f"--leader {unknown[0]}={self._copies.leaders[unknown[0]]}: partition {unknown[0]} is not here; "
                "correct the number, or drop it"
            )
        return {number: self._joined(copies) for number, copies in logs.items()}

    def _joined(self, copies: list[PartitionLog]) -> Log:
        as_of = self.snapshot.as_of
        number = copies[0].log_partition
        if len(copies) == 1 and number not in (as_of.epochs or {}) and number not in self._copies.leaders:
            return copies[0]
        known = self._facts.get(number), self._forks.get(number)
        joined = JoinedLog(copies, as_of, self._copies, *known, lane=self.lane(is_counted=False))
        self._facts[number], self._forks[number] = joined.facts, joined.forks
        return joined

    @property
    def joins(self) -> bool:
        """Whether copies are joined, or asked about, so that the log itself depends on the moment."""
        sources = self.evidence.sources
        copies = {(source.log_partition, source.copy) for source in sources}
        is_joined = len(copies) > len({source.log_partition for source in sources})
        return is_joined or bool(self.snapshot.as_of.epochs or self._copies.leaders)

    def lane(self, *, is_counted: bool = True) -> RowsOf | None:
        """Return what reads sources by rows, if that is possible and pays.

        `is_counted` False keeps records out of the ledgers, which have them already. Copies that a lake has are joined one event
        at a time: rows of commits do not keep their bytes, by which copies are compared.
        """
        is_stored = any(source.stored is not None for source in self.evidence.sources)
        if not rows_pay(self.evidence.sources) or (is_stored and self.joins):
            return None
        from offsets_tool.columns.reading import RowReader  # noqa: PLC0415 - with Arrow, where it pays

        return partial(self.evidence.rows, reader=RowReader(), is_counted=is_counted)

    def dated_ledgers(self) -> list[LedgerEntry]:
        """Return the sums of the files that were read, with times that other records of their log partitions do not contradict."""
        return dated(self.evidence.ledgers, {p.log_partition: p.cut.clock for p in self.snapshot})

    def closing_notes(self) -> Iterator[str]:
        """Yield which names were derived and which are missing: known only when all rows are made."""
        return topic_id_notes(self.snapshot.names)

    def histories(self) -> Iterator[PartitionHistories]:
        """After `run`: yield the histories of each partition up to the moment; one question of one partition at a time."""
        lane = self.lane(is_counted=False)
        logs = self.logs(uncounted)
        for partition in self.snapshot:
            if log := logs.get(partition.log_partition):
                yield self._histories(log, lane, self.snapshot.names.name, partition)


def _leave_out_set_aside(evidence: Evidence) -> None:
    aside = evidence.leave_out_set_aside()
    if not evidence.sources:
        raise UsageError(
            "all that is here Kafka has set aside (.deleted, -delete ...): name the files to read"
        )
    if aside:
        evidence.note(not_replayed(len(aside)))


@yields_during(CommandStep.REPLAY)
def _changes(
    partition: PartitionSnapshot, events: Iterable[Event]
) -> Iterator[tuple[Event, tuple[Change, ...]]]:
    """Yield the events of a partition that was replayed before, with their changes by the rules that were found to hold."""
    rules = None if partition.coordinator.auto else partition.coordinator.rules
    coordinator = Coordinator(partition.log_partition, rules)
    for event in events:
        # A live log may have grown since. Not by the cut, which would count late records once more.
        if event.record.log_offset < partition.read_to:
            yield event, coordinator.replay(event)


def replay_log(
    snapshots: Sequence[Snapshot],
    log: Log,
    by_rows: RowsOf | None = None,
) -> None:
    """Replay one log to each of the snapshots: by `by_rows` if given, else event by event."""
    end = log.end if isinstance(log, JoinedLog) else None
    if by_rows is not None:
        from offsets_tool.relations.moments import replay_rows  # noqa: PLC0415 - with Arrow, where it pays

        replay_rows(snapshots, log.log_partition, log.rows(by_rows), begins=log.begins, end=end)
    else:
        replay_events(snapshots, log.log_partition, log.events(), begins=log.begins, end=end)
    if isinstance(log, JoinedLog):
        for snapshot in snapshots:
            snapshot.contradicted(log.log_partition, log.contradiction)


def replay_both(before: EvidenceReplay, after: EvidenceReplay) -> tuple[Snapshot, Snapshot]:
    """Run two replays of one evidence to two moments, note what to know about each moment, and return both snapshots.

    Each is what a replay of its own gives: rules, notes and what the log proves. The log is read once, but where copies are joined:
    then it depends on the moment itself. Errors are those of `EvidenceReplay.run`.
    """
    is_one_log, both = not (before.joins or after.joins), (before, after)
    with during(CommandStep.REPLAY):
        for replay in both[:1] if is_one_log else both:
            is_counted, snapshots = (
                replay is before,
                [each.snapshot for each in (both if is_one_log else [replay])],
            )
            lane = replay.lane(is_counted=is_counted)
            for log in replay.logs(replay.evidence.counted if is_counted else uncounted).values():
                replay_log(snapshots, log, lane)
                replay.note_overlaps(log)
        for replay in both:
            replay.replay_again(replay.replay_one)
    return before.noted(), after.noted()
