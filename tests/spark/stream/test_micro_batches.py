"""What a micro-batch does where something is in its way, without Spark: the jobs are lists of what they would have done."""

import threading
import time
from collections.abc import Iterable, Sequence

import pytest

from offsets_tool.errors import LakeInUse, OffsetsToolError, SourceError
from spark.run import JobDone
from spark.stream import micro_batches
from spark.stream.micro_batches import BatchDone, MicroBatches

INGEST = JobDone("ingest", 3, {"log": 5}, {"records": 5, "bytes": 90}, ["a note"], 0)
REPLAY = JobDone("replay", 2, {"offset_history": 4}, {"records": 5}, ["a note"], 0)
NOTHING = JobDone("ingest", None, {}, {"records": 0, "bytes": 0}, [], 0)
FAILED = REPLAY._replace(problems=["partition 3: no"])
BUSY, REPLACED = LakeInUse("another job writes"), SourceError("x.log", "was replaced")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micro_batches, "PAUSE", 0.001)


def arrived() -> list[str]:
    return ["x"]


class ScriptedBatches:
    """MicroBatches whose jobs do one thing after the other: yield what was done, and then raise what they were given."""

    def __init__(self, *outcomes: Sequence[JobDone | Exception], is_patient: bool = True) -> None:
        self._outcomes = list(outcomes)
        self.done: list[BatchDone] = []
        self.batches = MicroBatches(self._jobs, self.done.append, is_patient=is_patient)

    def _jobs(self, paths: Sequence[str]) -> Iterable[JobDone]:
        for each in self._outcomes.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each

    def fails(self) -> BaseException | None:
        """Run a micro-batch that must fail, and return the error that was kept."""
        with pytest.raises(OffsetsToolError, match="not done"):
            self.batches(arrived, 7)
        return self.batches.kept.error


def test_the_sums_of_all_jobs() -> None:
    scripted = ScriptedBatches([INGEST, REPLAY])
    scripted.batches(arrived, 7)
    (done,) = scripted.done
    assert (done.batch, done.runs) == (7, {"ingest": 3, "replay": 2})
    assert (done.ledger, done.rows) == ({"records": 5, "bytes": 90}, {"log": 5, "offset_history": 4})
    assert (done.notes, done.problems, scripted.batches.kept.error) == (["a note"], [], None)


@pytest.mark.parametrize("errors", [[BUSY] * 5, [REPLACED], [REPLACED, BUSY, REPLACED]])
def test_what_passes_is_waited_for(errors: list[Exception]) -> None:
    """What was done before counts once."""
    scripted = ScriptedBatches([INGEST, errors[0]], *([each] for each in errors[1:]), [NOTHING, REPLAY])
    scripted.batches(arrived, 7)
    (done,) = scripted.done
    assert (done.runs, done.ledger["records"]) == ({"ingest": 3, "replay": 2}, 5)


def test_what_does_not_pass_ends_it() -> None:
    assert ScriptedBatches(*([REPLACED] for _ in range(micro_batches.ATTEMPTS))).fails() is REPLACED
    assert ScriptedBatches([BUSY], is_patient=False).fails() is BUSY


def test_problems_are_told_and_only_a_stream_of_one_turn_ends_by_them() -> None:
    scripted = ScriptedBatches([INGEST, FAILED])
    scripted.batches(arrived, 7)
    assert scripted.done[0].problems == FAILED.problems
    scripted = ScriptedBatches([INGEST, FAILED], is_patient=False)
    assert "1 part(s)" in str(scripted.fails()) and scripted.done[0].problems == FAILED.problems
    scripted = ScriptedBatches([INGEST, FAILED, BUSY], [NOTHING, REPLAY])
    scripted.batches(arrived, 7)
    assert scripted.done[0].problems == [], "of the last turn"


def test_it_ends_between_two_or_while_it_waits() -> None:
    scripted = ScriptedBatches([INGEST])
    scripted.batches.end()
    assert "the stream ends" in str(scripted.fails()) and not scripted.done
    waiting = ScriptedBatches(*([BUSY] for _ in range(100_000)))
    at_work = threading.Thread(target=waiting.fails)
    at_work.start()
    time.sleep(0.01)
    waiting.batches.end()
    at_work.join()
    assert "the stream ends" in str(waiting.batches.kept.error) and not waiting.done
