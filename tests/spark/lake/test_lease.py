"""The right to write to a lake in storage: one job has it, it ends with its holder, and who comes second is told who has it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from offsets_tool.errors import LakeInUse
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.archive.delta_log import DELTA_LOG
from spark.lake import lease
from spark.lake.lease import LEASE, leased
from spark.lake.log_checkpoints import VERSIONS_BETWEEN


def test_a_second_job_is_told_who_writes_and_since_when(tmp_path: Path) -> None:
    with leased(tmp_path):
        for _ in range(2):
            with pytest.raises(LakeInUse) as error, leased(tmp_path):
                raise AssertionError("it was given to two")
        held = lease._last_holding(tmp_path / LEASE, open_delta(tmp_path / LEASE))
    assert held is not None
    assert str(error.value) == (
        f"{held.holder} is writing to {tmp_path} since {held.since}: "
        "wait until it is done, or 120 seconds where it was killed"
    )
    with leased(tmp_path):
        pass


def test_of_many_who_ask_at_once_one_has_it(tmp_path: Path) -> None:
    lease._create(tmp_path / LEASE)
    begun, ended, had = threading.Barrier(4), threading.Event(), list[int]()

    def ask(number: int) -> bool:
        begun.wait()
        try:
            with leased(tmp_path):
                had.append(number)
                ended.wait(20)
        except LakeInUse:
            return False
        finally:
            if len(had) != 1 or had != [number]:
                ended.set()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(4))) == [False, False, False, True]
    assert len(had) == 1


def test_a_lease_is_renewed_while_its_job_runs_and_not_when_it_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEWED", timedelta(seconds=0.02))
    with leased(tmp_path):
        first = open_delta(tmp_path / LEASE).version()
        waited = threading.Event()
        while open_delta(tmp_path / LEASE).version() < first + 2:
            waited.wait(0.02)
    table = tmp_path / LEASE
    held = lease._last_holding(table, open_delta(table))
    assert held is not None
    # Somebody else takes it meanwhile: it is not taken back.
    with leased(tmp_path):
        mine = lease._last_holding(table, open_delta(table))
        assert mine is not None
        assert mine.job != held.job
        assert not lease._Lease(table, held).prolong(lease.LASTS)


def test_the_lease_of_a_job_that_was_killed_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LASTS", timedelta(seconds=-1))
    monkeypatch.setattr(lease._Lease, "prolong", lambda *_: True)
    with leased(tmp_path), leased(tmp_path):
        pass


def test_each_pause_is_waited_for_another_attempt_to_give_a_lease_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_PAUSES", (0.0, 0.0))
    prolong, failures = lease._Lease.prolong, ["no", "not yet"]

    def failing(held: lease._Lease, by: timedelta) -> bool:
        if failures:
            raise OSError(failures.pop())
        return prolong(held, by)

    monkeypatch.setattr(lease._Lease, "prolong", failing)
    for _ in range(2):
        with leased(tmp_path):
            pass


def test_many_jobs_leave_a_log_that_is_opened_from_its_newest_checkpoint(tmp_path: Path) -> None:
    for _ in range(2 * VERSIONS_BETWEEN):
        with leased(tmp_path):
            pass
    table = open_delta(tmp_path / LEASE)
    log = tmp_path / LEASE / DELTA_LOG
    newest = max(int(path.name[:20]) for path in log.glob("*.checkpoint.parquet"))
    assert table.version() >= 4 * VERSIONS_BETWEEN
    assert table.version() - newest < VERSIONS_BETWEEN
    with leased(tmp_path), pytest.raises(LakeInUse, match="is writing to"), leased(tmp_path):
        raise AssertionError("it was given to two")
