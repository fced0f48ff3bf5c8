"""The right to write to a lake in storage, for one job at a time: held while the job renews it, and over soon after it has ended.

Its holder and its end are in the commits of a Delta table without rows, as Delta makes each commit by a conditional put: of two who
ask at the same time, one is refused. Whoever holds it no longer, without noticing, corrupts nothing: each commit of a run is
conditional too. Knows no other table of the lake.
"""

import getpass
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError

from offsets_tool.errors import LakeInUse, OffsetsToolError
from offsets_tool.log.archive.delta import history_of, open_delta, reading_delta
from offsets_tool.log.archive.delta_mirror import committing, has_commit, logs_listed_once, within_reach
from spark.lake.log_checkpoints import NOTHING_AFTER, checkpoint_log, clean_log

LEASE: Final = "_lease"
"""The folder of a lake in storage that has its lease."""
LASTS: Final = timedelta(seconds=120)
RENEWED: Final = timedelta(seconds=30)
_ATTEMPTS: Final = 4
"""How often a lease is asked for where storage fails."""
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further attempt to give a lease back."""
_APP: Final = "offsets-tool lease"
_SCHEMA: Final = Schema.from_arrow(pa.schema([("holder", pa.string())]))
# Of what was, nothing is needed: only the newest commit counts.
_PROPERTIES: Final = {"delta.logRetentionDuration": "interval 1 hours"}


class Holding(NamedTuple):
    """Who holds a lease, since when, and until when unless it is renewed; times in ISO 8601, UTC. `job` identifies the job."""

    job: str
    holder: str
    since: str
    until: str


@contextmanager
def leased(root: Path) -> Iterator[None]:
    """Hold the lease of a lake in storage. LakeInUse while somebody else holds it, errors of storage in one sentence."""
    table = root / LEASE
    now = datetime.now(UTC)
    mine = Holding(str(uuid4()), _holder(), now.isoformat(timespec="seconds"), (now + LASTS).isoformat())
    ended = threading.Event()
    lease = _Lease(table, mine)
    renewing = threading.Thread(target=_renew, args=(lease, ended), daemon=True)
    try:
        with logs_listed_once(table):
            _create(table)
            lease.take(now)
        renewing.start()
        yield
    finally:
        ended.set()
        if renewing.ident is not None:
            renewing.join()
        _give_back(lease)


@contextmanager
def unleased(root: Path) -> Iterator[None]:
    """Look at a lake in storage that nobody writes to. LakeInUse while somebody does, and at the end if somebody did meanwhile."""
    table = root / LEASE
    if not has_commit(table):
        yield
        return
    before = open_delta(table)
    held = _last_holding(table, before)
    if held is not None and datetime.fromisoformat(held.until) > datetime.now(UTC):
        raise _refused(root, held)
    yield
    if open_delta(table).version() != before.version():
        raise written_meanwhile(root)


def written_meanwhile(root: Path) -> LakeInUse:
    """Return the error of who looked at a lake while a job wrote to it."""
    return LakeInUse(f"a job wrote to {root} meanwhile, so what was seen may be of two moments: do it again")


def _create(table: Path) -> None:
    if not has_commit(table):
        # Of two who create it at once, one has.
        with (
            reading_delta(table),
            suppress(CommitFailedError),
            within_reach(table),
            committing(table) as place,
        ):
            about = LEASE, None, _PROPERTIES
            DeltaTable.create(place, _SCHEMA, "ignore", None, *about)


def _holder() -> str:
    return f"{getpass.getuser()} on {socket.gethostname()} (process {os.getpid()})"


class _Lease:
    """The lease of a lake for one job: its table, opened once, as our own newest commit has made it."""

    def __init__(self, table: Path, mine: Holding) -> None:
        self._table, self._mine = table, mine
        self._opened: DeltaTable | None = None
        """None where we have no answer on our own newest commit."""

    def take(self, now: datetime) -> None:
        """Take the lease; LakeInUse where somebody holds it.

        Of a commit whose answer was lost, the table says whether it was done.
        """
        failure: DeltaError | OSError | None = None
        for _ in range(_ATTEMPTS):
            there = open_delta(self._table)
            held = _last_holding(self._table, there)
            if held is not None and held.job == self._mine.job:
                return
            if held is not None and datetime.fromisoformat(held.until) > now:
                raise _refused(self._table.parent, held)
            try:
                self._put(there, self._mine)
            except (DeltaError, OSError) as error:
                failure = error
            else:
                return
        assert failure is not None
        if isinstance(failure, CommitFailedError):
            raise _refused(self._table.parent, None) from failure
        with reading_delta(self._table):
            raise failure

    def prolong(self, by: timedelta) -> bool:
        """Extend the lease; return False, and do nothing, where another job has taken it by now."""
        holding = self._mine._replace(until=(datetime.now(UTC) + by).isoformat())
        if self._opened is not None:
            # Each version is committed once: where the next one is ours too, nobody has taken the lease.
            with suppress(CommitFailedError):
                self._put(self._opened, holding)
                return True
        there = open_delta(self._table)
        held = _last_holding(self._table, there)
        if held is None or held.job != self._mine.job:
            return False
        self._put(there, holding)
        return True

    def _put(self, there: DeltaTable, holding: Holding) -> None:
        self._opened = None
        _put(self._table, there, holding)
        self._opened = there


def _give_back(lease: _Lease) -> None:
    """End the lease if it is held; it ends by itself too, where storage goes on failing, and nobody's work is less for it."""
    for pause in (0.0, *_PAUSES):
        time.sleep(pause)
        with suppress(DeltaError, OffsetsToolError, OSError):
            lease.prolong(timedelta())
            return


def _refused(root: Path, held: Holding | None) -> LakeInUse:
    who = (
        f"{held.holder} is writing to {root} since {held.since}"
        if held
        else f"another job began to write to {root}"
    )
    seconds = int(LASTS.total_seconds())
    return LakeInUse(f"{who}: wait until it is done, or {seconds} seconds where it was killed")


def _last_holding(table: Path, there: DeltaTable) -> Holding | None:
    """Return the last holder of the lease; None where there was none yet."""
    said = history_of(table, there, 1)[0].get("userMetadata")
    return Holding(**json.loads(said)) if said else None


def _put(table: Path, there: DeltaTable, holding: Holding) -> None:
    """Commit a holding to the table as it was opened. CommitFailedError if somebody else was faster."""
    properties = CommitProperties(
        custom_metadata={"userMetadata": json.dumps(holding._asdict())},
        # Two who commit the same number are a conflict, where nothing else would be one.
        app_transactions=[Transaction(_APP, there.version() + 1)],
        max_commit_retries=0,
    )
    with committing(table):
        there.create_write_transaction(
            [],
            "append",
            there.schema(),
            commit_properties=properties,
            post_commithook_properties=NOTHING_AFTER,
        )
        there.update_incremental()
    # The holding is committed, whatever becomes of the log.
    with suppress(DeltaError, OSError, OffsetsToolError):
        if checkpoint_log(there, table):
            clean_log(there, table)


def _renew(lease: _Lease, ended: threading.Event) -> None:
    """Renew a lease at intervals until its job has ended, or another job has taken it."""
    while not ended.wait(RENEWED.total_seconds()):
        # Storage that fails for a moment may answer before the lease is over.
        with suppress(DeltaError, OffsetsToolError, OSError):
            if not lease.prolong(LASTS):
                return
