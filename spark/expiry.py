"""Expiry: a cluster's log, replayed once more, becomes `expiry`: when each offset that is there goes, and why others went.

By whose rules is told by counts over `events`; a task a log partition writes what is there and tells what went; what went in all of
them together says why. A cluster's rows are made anew when it was replayed, or is asked about otherwise.
"""

import json
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.cli.expiry import basis_note
from offsets_tool.columns.expiry import ExpiryStart, explain_losses, replay_expiry
from offsets_tool.errors import OffsetsToolError
from offsets_tool.replay.causes import Known
from offsets_tool.replay.expiry import CHECK_INTERVAL_MS, Release
from offsets_tool.replay.expiry_policy import Basis, Signs
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, Int32, String
from spark.commit import ArrowLake, Chain
from spark.derive import Derived, Made, asked_before, derive, made_of, replayed, write_derived
from spark.plan import ARCHIVE, counts
from spark.replay_plan import Known as Replay
from spark.replay_plan import Place, Work, latest
from spark.replay_rows import LakeRows
from spark.replay_tasks import UNIT, once
from spark.tables import DERIVATIONS, EXPIRY, REPLAYS

OF_EXPIRY: Final = Chain("offsets-tool expiry", (EXPIRY, DERIVATIONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryRequest:
    """By whose rules (None: what the log proves) and after how long (none: what it says, else Kafka's default), milliseconds.

    What is gone is explained by the first retention.
    """

    release: Release | None = None
    retentions: Sequence[int] = ()
    check_interval_ms: int = CHECK_INTERVAL_MS


def as_before(lake: str) -> ExpiryRequest:
    """As it was last asked of the lake."""
    asked = asked_before(Path(lake).absolute(), EXPIRY)
    release = asked.pop("release", None)
    return ExpiryRequest(release=release and tuple(release), **asked)


def expiry(lake: str, start: Callable[[], SparkSession], request: ExpiryRequest) -> Derived:
    """Makes the rows of clusters where something is new; errors as `replayed` has them."""
    root = Path(lake).absolute()
    asked = {
        "release": request.release,
        "retentions": list(request.retentions),
        "check_interval_ms": request.check_interval_ms,
    }
    with replayed(root) as replays:
        basis = {cluster: {"replay": run, "asked": asked} for cluster, run in replays.items()}
        making = _Expiry(root, start, request)
        done = derive(root, OF_EXPIRY, basis, making.make)
        return done._replace(notes=[*making.notes, *done.notes])


class _Told(NamedTuple):
    """What a task tells: of which partition, why it could not be done; its files (JSON) and what went (a pickle)."""

    unit: Int32
    error: String | None
    files: String
    losses: Bytes


class _Expiry:
    """Has tasks write what is there, and writes what is gone."""

    def __init__(self, root: Path, start: Callable[[], SparkSession], request: ExpiryRequest) -> None:
        self._root, self._start, self._request = root, start, request
        self.notes: list[str] = []

    def make(self, clusters: Collection[str], run: int) -> list[Made]:
        replays = latest(ArrowLake(self._root).rows(REPLAYS))
        upto = max(row["ingest_run"] for row in replays.values())
        rows = LakeRows(self._start(), self._root.as_posix(), upto)
        signs = _signs(rows, replays)
        bases = {cluster: self._bases(cluster, signs[cluster]) for cluster in clusters}
        starts = _starts(self._root, upto, replays, bases, signs)
        work = [Work(*place, 0, None, None, 0, 0) for place in starts]
        task = _task(self._root, run, work, list(starts.values()))
        found = rows.for_tasks(work, has_odd=True).mapInArrow(task, from_arrow_schema(arrow_schema(_Told)))
        told = sorted((_Told(*row) for row in found.collect()), key=lambda each: each.unit)
        if error := next((each.error for each in told if each.error), None):
            raise OffsetsToolError(error)
        made = [one for each in told for one in made_of([(work[each.unit].cluster, each.files)])]
        known = Known(self._request.release is not None, bool(self._request.retentions))
        for cluster in clusters:
            lost = [pickle.loads(each.losses) for each in told if work[each.unit].cluster == cluster]
            gone = explain_losses(lost, signs[cluster].newest, bases[cluster][0].policy, known)
            for done in write_derived(self._root, EXPIRY, run, [(cluster, gone)]):
                made += made_of(zip(*done.to_pydict().values(), strict=True))
        return made

    def _bases(self, cluster: str, told: "_Signs") -> list[Basis]:
        asked = self._request
        retentions: Sequence[int | None] = asked.retentions or [None]
        bases = [told.signs.basis(asked.release, each, asked.check_interval_ms) for each in retentions]
        note = basis_note(bases[0])
        if note:
            self.notes.append(f"{cluster}: {note}" if cluster else note)
        return bases


class _Signs(NamedTuple):
    """What a cluster's log says of itself; `newest` in epoch milliseconds."""

    signs: Signs
    newest: int | None


def _signs(rows: LakeRows, replays: Mapping[Place, Replay]) -> dict[str, _Signs]:
    found: dict[str, list[Any]] = {}
    for row in rows.signs().collect():
        found.setdefault(row.cluster, []).append(row)
    new = {cluster for (cluster, _), row in replays.items() if row["rules"] == Rules.NEW}
    told = {}
    for cluster, some in found.items():
        signs = Signs()
        lasting = Counter[int]()
        for row in some:
            if row.lasting is not None:
                lasting[row.lasting] += row.records
        seen = {(row.type_id, row.version) for row in some if row.type_id is not None}
        signs.see_many(seen, lasting, is_new=cluster in new)
        told[cluster] = _Signs(
            signs, max((row.newest for row in some if row.newest is not None), default=None)
        )
    return told


def _starts(
    root: Path,
    upto: int,
    replays: Mapping[Place, Replay],
    bases: Mapping[str, Sequence[Basis]],
    signs: Mapping[str, _Signs],
) -> dict[Place, ExpiryStart]:
    """Each partition of the clusters in `bases`, as its replay left it."""
    begins: dict[Place, int] = {}
    for source in ArrowLake(root).sources():
        first = source["first_offset"] if source["base_offset"] is None else source["base_offset"]
        is_segment = counts(source["kind"], source["fate"]) and source["kind"] != ARCHIVE
        if source["run"] <= upto and is_segment and first is not None:
            place = source["cluster"], source["log_partition"]
            begins[place] = min(first, begins.get(place, first))
    starts = {}
    for place, row in replays.items():
        cluster, log_partition = place
        if cluster in bases:
            policies = tuple(basis.policy for basis in bases[cluster])
            is_new = row["rules"] == Rules.NEW
            # What was begun by the new rules is told by them from its first record on.
            given = row["coordinator"] != "auto" or (is_new and row["proved_at"] is None)
            rules = Rules(row["rules"]) if given else None
            starts[place] = ExpiryStart(
                log_partition, rules, is_new, begins.get(place, 0), policies, signs[cluster].newest
            )
    return starts


def _task(
    root: Path, run: int, work: Sequence[Work], starts: Sequence[ExpiryStart]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Takes the rows of one partition (LakeRows.for_tasks), gives a row of _Told."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        unit = first.column(UNIT)[0].as_py()
        try:
            live, lost = replay_expiry(starts[unit], once(chain([first], filled), work[unit]))
            files = [
                file
                for done in write_derived(root, EXPIRY, run, [(work[unit].cluster, live)])
                for text in done.column("files").to_pylist()
                for file in json.loads(text)
            ]
            told = _Told(unit, None, json.dumps(files), pickle.dumps(lost))
        except (OffsetsToolError, OSError) as error:
            told = _Told(unit, str(error), "[]", b"")
        yield record_batch(_Told, [told])

    return task
