"""Replay the `events` of a lake into histories of offsets, groups and members, `anomalies` and `removals`, each record once.

Steps: finish an interrupted replay, learn names of topics, plan, replay each log partition in a task of its own, commit.
A replay that finds nothing new writes nothing. Holds no rules about groups (relations.replays), reads no rows (replay.rows).

What ingests have added since (new records by log partition, and names of topics) tasks find in some columns of files of `events`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import OffsetsToolError
from offsets_tool.job_rows import SUBSCRIPTIONS, ReplayRow
from offsets_tool.lake.checkpoints import CHECKPOINTS, absent_checkpoints
from offsets_tool.lake.copies import LakeCopy, copies_of, ends_before_retention
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import (
    AUTO,
    LakeRow,
    LogPartition,
    New,
    Work,
    failed,
    last_coordinators,
    latest,
    never_replayed,
    plan,
    to_name,
    to_replay_again,
)
from offsets_tool.lake.rows import ORIGIN, LakeRows, TableFile
from offsets_tool.lake.scan import file_rows
from offsets_tool.lake.tables import COPIES, EVENTS, REPLAYS, SOURCES, TOPIC_NAMES
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.log.archive.delta_mirror import files_in
from offsets_tool.records.kinds import TOPIC_LISTS
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.json import camel, uuid_text
from offsets_tool.wire.schema import ZERO_UUID, String
from spark.lake.commit import REPLAY, ArrowLake, Lake
from spark.lake.folder import opened_whole
from spark.lake.log_checkpoints import tidying
from spark.lake.parquet import NewFile
from spark.lake.replaced import Replaced
from spark.replay.notes import joined_notes, partition_text, replayed_from_start, set_aside_notes
from spark.replay.tasks import FewRows, ReplayJob, WorkDone, replay_work
from spark.replay.topic_ids import RECORD, Named, TopicIds, damaged_partitions, derived_names
from spark.runtime.rows import Progress, StartSpark, is_little, numbers_of, of_units, untold

Name = tuple[str, str, str]
"""A cluster, the id of a topic as text, and the topic's name."""
_LISTS: Final = sorted({camel(name) for names in TOPIC_LISTS.values() for name in names})
_NAMING: Final = pa.array(sorted(TOPIC_LISTS), pa.int16())
_NAMED: Final = ("cluster", "topic_id", "topic")
_COLUMNS: Final = (*ORIGIN, "log_partition", "log_offset", "record_type", "topic_id", "topic")


class News(NamedTuple):
    """What ingests have added since a replay: new records by log partition, and names of topics in them."""

    new: list[New]
    names: list[Name]


class _FileNews(NamedTuple):
    """The result of a task: what is new in its file (New, as JSON), and names (as JSON)."""

    new: String
    names: String


def news(rows: LakeRows, since: Mapping[str, int], start: StartSpark) -> News:
    """Return what ingests have added to each cluster after its run in `since`; SourceError for a file that cannot be read."""
    files = rows.since(since)
    is_here = is_little(sum(file.records for file in files))

    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            yield record_batch(_FileNews, [_news_of(rows, files[number], since)])

    results = of_units(start, len(files), is_here=is_here).through(task, arrow_schema(_FileNews)).collect()
    new, names = dict[LogPartition, New](), set[Name]()
    for found, named in results:
        for each in json.loads(found):
            _add(new, New(*each))
        names.update(map(tuple, json.loads(named)))
    return News(list(new.values()), sorted(names))


def _add(new: dict[LogPartition, New], more: New) -> None:
    key = more.cluster, more.log_partition
    known = new.get(key, more._replace(records=0))
    first = min(known.first_offset, more.first_offset)
    new[key] = New(*key, known.records + more.records, first)


def _news_of(rows: LakeRows, file: TableFile, since: Mapping[str, int]) -> _FileNews:
    new, names = dict[LogPartition, New](), set[Name]()
    for some in _new_rows(rows, file, since):
        for each in _new(some):
            _add(new, each)
        names.update(_of_commits(some))
        names.update(_of_lists(some))
    return _FileNews(json.dumps(list(new.values())), json.dumps(sorted(names)))


def _new_rows(rows: LakeRows, file: TableFile, since: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that count and are new; values as JSON only where there may be some that name topics."""
    greatest = file.facts.get("max.record_type")
    has_lists = greatest is not None and greatest >= min(TOPIC_LISTS)
    columns = (*_COLUMNS, "value_json") if has_lists else _COLUMNS
    for some in file_rows(file.path, EVENTS, columns):
        counted = rows.counted(some)
        yield counted.filter(_are_after(counted, since))


def _are_after(rows: pa.RecordBatch, since: Mapping[str, int]) -> pa.Array:
    """Return for each row whether its ingest came after the run that `since` has for its cluster."""
    clusters = rows.column("cluster")
    runs = pa.array([since.get(name, 0) for name in clusters.dictionary.to_pylist()], pa.int64())
    return pc.greater(rows.column("run"), runs.take(clusters.indices))


def _new(rows: pa.RecordBatch) -> Iterator[New]:
    offsets = pa.table(rows.select(["cluster", "log_partition", "log_offset"]))
    found = offsets.group_by(["cluster", "log_partition"]).aggregate(
        [("log_offset", "count"), ("log_offset", "min")]
    )
    for row in found.to_pylist():
        yield New(row["cluster"], row["log_partition"], row["log_offset_count"], row["log_offset_min"])


def _of_commits(rows: pa.RecordBatch) -> Iterator[Name]:
    is_named = pc.not_equal(rows.column("topic_id"), uuid_text(ZERO_UUID))
    results = pa.table(rows.filter(is_named).select(_NAMED)).group_by(list(_NAMED)).aggregate([]).to_pylist()
    return ((row["cluster"], row["topic_id"], row["topic"]) for row in results if row["topic"] is not None)


def _of_lists(rows: pa.RecordBatch) -> Iterator[Name]:
    """Yield the topic names and ids in values that list topics."""
    if "value_json" not in rows.schema.names:
        return
    results = rows.filter(pc.is_in(rows.column("record_type"), _NAMING)).select(["cluster", "value_json"])
    for cluster, text in {tuple(row.values()) for row in results.to_pylist()}:
        if text is not None:
            yield from ((cluster, *named) for named in _listed(json.loads(text)))


def _listed(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    lists: Iterable[Sequence[Mapping[str, str | None]]] = (value.get(name) or () for name in _LISTS)
    for topic_id, topic in ((each.get("topicId"), each.get("topicName")) for some in lists for each in some):
        if topic_id is not None and topic is not None:
            yield topic_id, topic


class Replayed(NamedTuple):
    """What a replay did: its run (None where nothing was new), its rows of `replays`, the rows that each table got, and notes."""

    run: int | None
    partitions: list[Row]
    rows: dict[str, int]
    notes: list[str]
    problems: tuple[str, ...] = ()
    """Which partitions could not be replayed, and why; all others were."""


def replay(
    lake: str | Lake,
    start: StartSpark,
    coordinator: str | None = None,
    topic_ids: Named = MappingProxyType({}),
    progress: Progress = untold,
    *,
    cluster: str | None = None,
) -> Replayed:
    """Replay what ingests have added to a lake since the last replay, and commit it; `progress` counts log partitions.

    `start` makes a session, and is called only if there is something to do. `coordinator` is auto, classic or new, for one cluster,
    or for all where `cluster` is None; None leaves each cluster what it was last replayed for. `topic_ids` are names for ids that
    no record names. A partition that cannot be replayed is named in `problems`; its histories stay as they were, and the next one
    tries again. UsageError for a folder that is no lake, and for an unknown cluster.
    """
    with opened_whole(lake) as open_lake:
        return _Replay(open_lake, start, topic_ids, progress).run(coordinator, cluster)


class _Done(NamedTuple):
    """The result of the replay of one log partition: its new files, and its row of `replays`."""

    files: list[NewFile]
    row: LakeRow
    settled: int
    """The log offset from which on earlier rows are replaced (Work.settled)."""


class _Replay:
    """One replay of a lake: what it was asked for, and what it has found so far."""

    def __init__(self, lake: Lake, start: StartSpark, topic_ids: Named, progress: Progress) -> None:
        self._topic_ids = topic_ids
        self._lake, self._root = lake, lake.root
        self._start = start
        self._progress = progress
        self._asked: dict[str, str] = {}
        """By cluster whose rules are asked for (plan.Coordinators)."""
        self._at = datetime.now(UTC)
        self._commits = ArrowLake(lake, REPLAY)
        self._sources = lake.rows(SOURCES)
        self._upto = max((row["run"] for row in self._sources), default=0)
        self._copies = copies_of(lake.rows(COPIES), self._sources)
        self._ends = ends_before_retention(self._sources)
        self._notes: list[str] = []
        self._failed: dict[LogPartition, str] = {}
        """The partitions whose replay has failed, and why."""
        self._few = FewRows()

    def run(self, coordinator: str | None, cluster: str | None) -> Replayed:
        """Run all steps of the replay, and return what it did; call it once. The arguments are those of `replay`."""
        self._commits.create()
        if note := self._commits.finish():
            self._notes.append(note)
        replays = self._lake.rows(REPLAYS)
        known, before = latest(replays), failed(replays)
        self._ask(coordinator, cluster, last_coordinators(replays))
        # In any case: a replay that was killed right after its commit has left old checkpoints behind.
        checkpoints = files_in(self._root / CHECKPOINTS)
        self._forget_checkpoints(known, checkpoints)
        since = self._since(known)
        lost = absent_checkpoints(self._root, known, {path.name for path in checkpoints})
        is_as_asked = all(row["coordinator"] == self._asked[of] for (of, _), row in known.items())
        names = TopicIds(self._lake.rows(TOPIC_NAMES))
        self._learn_from_caller(names, known)
        is_new = any(row["run"] > since[row["cluster"]] for row in self._sources)
        if not is_new and is_as_asked and not (lost or before or names.added):
            return Replayed(None, [], {}, self._notes)
        self._notes += (replayed_from_start(*key, why) for key, why in lost.items())
        self._notes += set_aside_notes(row for row in self._sources if row["run"] > since[row["cluster"]])
        rows = LakeRows.now(self._lake, self._sources)
        found = news(rows, since, self._start)
        for name in found.names:
            names.learn(*name, RECORD)
        from_start = {*lost, *before, *self._with_new_copies(known), *(self._ends.keys() - known.keys())}
        work = plan(self._asked, found.new, known, names.added, from_start)
        if not work:
            return Replayed(None, [], {}, self._notes)
        run = self._commits.next_run()
        done = self._replay(rows, work, run, names)
        known = {key: row for key, row in known.items() if key not in self._failed}
        again = to_replay_again(self._asked, known, {key: each.row for key, each in done.items()})
        if again:
            done |= self._replay_from_start(
                rows, [Work(*key, 0, Rules.NEW, None, 0, 0) for key in again], done, run, names
            )
        now = {**known, **{key: each.row for key, each in done.items()}}
        if named := self._derive_names(rows, now, names):
            done |= self._replay_from_start(rows, named, done, run, names)
        # What was replayed once more may have failed then.
        done = {key: each for key, each in done.items() if key not in self._failed}
        if not done and self._failed == before:
            return Replayed(None, [], {}, self._notes, self._problems())
        return self._commit(run, done, names, latest(replays))

    def _ask(self, coordinator: str | None, cluster: str | None, before: Mapping[str, str]) -> None:
        """Decide by whose rules each cluster is replayed; `before` is last_coordinators."""
        self._asked = dict.fromkeys((row["cluster"] for row in self._sources), AUTO) | dict(before)
        if cluster is not None and cluster not in self._asked:
            raise unknown_cluster(cluster, self._asked)
        if coordinator is not None:
            self._asked |= dict.fromkeys([cluster] if cluster is not None else self._asked, coordinator)

    def _since(self, known: Mapping[LogPartition, LakeRow]) -> dict[str, int]:
        """Return by cluster the last ingest that was replayed; 0 for a cluster without any replay."""
        since = dict.fromkeys((row["cluster"] for row in self._sources), 0)
        for (cluster, _), row in known.items():
            since[cluster] = max(row["ingest_run"], since.get(cluster, 0))
        return since

    def _copies_of(self, keys: Iterable[LogPartition]) -> dict[LogPartition, tuple[LakeCopy, ...]]:
        return {key: self._copies[key] for key in keys if key in self._copies}

    def _with_new_copies(self, known: Mapping[LogPartition, LakeRow]) -> Iterator[LogPartition]:
        """Yield the log partitions that have gained a copy since their last replay."""
        for key, copies in self._copies.items():
            row = known.get(key)
            if row is None or max(copy.run for copy in copies) > row["ingest_run"]:
                yield key

    def _learn_from_caller(self, names: TopicIds, now: Mapping[LogPartition, LakeRow]) -> None:
        """Learn the names that the caller gives, for topic ids that an earlier replay could not name."""
        for (cluster, _), row in now.items():
            for topic_id in self._topic_ids.keys() & set(row["unnamed_topic_ids"]):
                names.learn(cluster, topic_id, *self._topic_ids[topic_id])

    def _derive_names(
        self, rows: LakeRows, now: Mapping[LogPartition, LakeRow], names: TopicIds
    ) -> list[Work]:
        """Learn names that the caller or else subscriptions give, and return the partitions to be replayed with them."""
        self._learn_from_caller(names, now)
        clusters = {
            key[0] for key, row in now.items() if set(row["unnamed_topic_ids"]) - set(names.of(key[0]))
        }
        if clusters:
            damaged = damaged_partitions(self._sources)
            sound = [key for key in now if key[0] in clusters and key not in damaged]
            whole = [Work(*key, 0, None, None, 0, 0) for key in sound]
            begun = partial(of_units, self._start, is_here=_is_little(rows, whole))
            for named in derived_names(rows, sound, self._copies_of(sound), names, begun):
                names.learn(*named, SUBSCRIPTIONS)
        return to_name(self._asked, now, names.added)

    def _replay_from_start(
        self,
        rows: LakeRows,
        work: Sequence[Work],
        done: Mapping[LogPartition, _Done],
        run: int,
        names: TopicIds,
    ) -> dict[LogPartition, _Done]:
        """Replay partitions from their first record, and delete the files that this run has already made for them."""
        self._discard({each.key: done[each.key] for each in work if each.key in done})
        return self._replay(rows, work, run, names)

    def _replay(
        self, rows: LakeRows, work: Sequence[Work], run: int, names: TopicIds
    ) -> dict[LogPartition, _Done]:
        """Replay each partition in a task; from its first record where its checkpoint is lost or of another release.

        Partitions that fail are kept in `_failed`. OffsetsToolError where the disk or the storage is why a task failed.
        """
        shared = names.names, rows, self._copies_of(each.key for each in work), self._ends
        is_here = _is_little(rows, work)
        few = self._few if is_here else None
        job = ReplayJob(tuple(work), run, self._root.as_posix(), *shared, few)
        units = of_units(self._start, len(work), is_here=is_here, progress=self._progress)
        found = units.through(replay_work(job), arrow_schema(WorkDone)).collect()
        results = [WorkDone(*row) for row in found]
        if error := next((each.error for each in results if each.is_stopping), None):
            raise OffsetsToolError(error)
        self._failed |= {work[each.unit].key: each.error for each in results if each.error}
        sound = [each for each in results if not each.lost and not each.error]
        done = {work[each.unit].key: self._done(work[each.unit], each, run) for each in sound}
        if lost := {work[each.unit]: each.lost for each in results if each.lost}:
            self._notes += (replayed_from_start(*each.key, why) for each, why in lost.items())
            from_start = [each._replace(checkpoint=None, after_run=0, settled=0) for each in lost]
            done |= self._replay(rows, from_start, run, names)
        return done

    def _done(self, work: Work, result: WorkDone, run: int) -> _Done:
        files, facts = [NewFile(*file) for file in json.loads(result.files)], json.loads(result.facts)
        row = {
            "cluster": work.cluster,
            "log_partition": work.log_partition,
            "ingest_run": self._upto,
            "is_from_start": work.checkpoint is None,
            "coordinator": self._asked[work.cluster],
            "replayed_at": self._at,
            "run": run,
            **facts,
            "proven_from_log_offset": max(facts["proven_from_log_offset"], work.proven_from),
        }
        return _Done(files, row, work.settled)

    def _commit(
        self,
        run: int,
        done: Mapping[LogPartition, _Done],
        names: TopicIds,
        known: Mapping[LogPartition, LakeRow],
    ) -> Replayed:
        files = [file for each in done.values() for file in each.files]
        files += self._few.write(self._root, done.keys())
        rows = [each.row for each in done.values()]
        rows += [self._failed_row(key, known.get(key, {}), run) for key in self._failed]
        files += self._lake.new_file(TOPIC_NAMES, names.rows(run) if done else [])
        files += self._lake.new_file(REPLAYS, [ReplayRow(**row) for row in rows])
        self._commits.commit(run, files, [Replaced(*key, each.settled) for key, each in done.items()])
        with tidying():
            self._forget_checkpoints(latest(self._lake.rows(REPLAYS)), (self._root / CHECKPOINTS).glob("*"))
        counts = {table.name: sum(f.rows for f in files if f.table == table.name) for table in REPLAY.tables}
        self._notes += joined_notes((each.row for each in done.values()), self._copies)
        return Replayed(run, [dict(row) for row in rows], counts, self._notes, self._problems())

    def _failed_row(self, key: LogPartition, before: LakeRow, run: int) -> LakeRow:
        """Return the row of `replays` for a partition that failed: that of its last good replay, if any, with the problem."""
        return {
            **never_replayed(*key),
            **before,
            "ingest_run": self._upto,
            "coordinator": self._asked[key[0]],
            "records": 0,
            "problem": self._failed[key],
            "replayed_at": self._at,
            "run": run,
        }

    def _problems(self) -> tuple[str, ...]:
        return tuple(
            f"{partition_text(*key)} could not be replayed: {why}"
            for key, why in sorted(self._failed.items(), key=repr)
        )

    def _discard(self, done: Mapping[LogPartition, _Done]) -> None:
        """Delete files that no commit will name, and forget rows that are in no file yet."""
        for key, each in done.items():
            self._few.forget(key)
            for file in each.files:
                (self._root / file.table / file.path).unlink()

    def _forget_checkpoints(self, known: Mapping[LogPartition, LakeRow], checkpoints: Iterable[Path]) -> None:
        """Delete of these checkpoints all but those that the newest rows of `replays` name."""
        kept = {row["checkpoint"] for row in known.values()}
        for path in [each for each in checkpoints if each.name not in kept]:
            path.unlink()


def _is_little(rows: LakeRows, work: Iterable[Work]) -> bool:
    """Return whether the rows of some log partitions that are in no checkpoint are few."""
    since: dict[str, int] = {}
    for each in work:
        since[each.cluster] = min(each.after_run, since.get(each.cluster, each.after_run))
    return is_little(sum(file.records for file in rows.since(since)))
