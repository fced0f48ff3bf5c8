"""Bring what has arrived with a micro-batch through all jobs of the lake, one micro-batch at a time, and end between two.

Exactly once by the lake's ledger: a micro-batch that Spark's checkpoint does not know as done is done again, and finds nothing new.
Knows neither where rows come from nor how Spark runs them.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple

from offsets_tool.errors import LakeInUse, OffsetsToolError, SourceError
from spark.run import JobDone

Arrived = Callable[[], Sequence[str]]
"""Gives the sources that have something new, when it is asked for them as a micro-batch begins."""
Jobs = Callable[[Sequence[str]], Iterable[JobDone]]
"""Runs all jobs on these sources, and yields what each has done."""
ATTEMPTS: Final = 3
"""How often a source is read that was replaced meanwhile: Kafka's cleaner does that while a broker runs."""
PAUSE: Final = 1.0
"""Seconds before it is read again, or before a lake that another job writes to is asked for again."""


class BatchDone(NamedTuple):
    """What a micro-batch did: the run of each job (None where nothing was new), the sums of the ledger, rows by table."""

    batch: int
    runs: Mapping[str, int | None]
    ledger: Mapping[str, int]
    rows: Mapping[str, int]
    seconds: float
    notes: Sequence[str]
    problems: Sequence[str]
    """What could not be done, while all else is."""


class Stopped(OffsetsToolError):
    """A micro-batch that is not begun, because the stream is to end."""


class ErrorKept:
    """A context manager that keeps the error of its block and suppresses it; Spark would turn the error into a text."""

    error: BaseException | None = None

    def __enter__(self) -> None:
        self.error = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


class MicroBatches:
    """Does one micro-batch after the other: runs `jobs` on what has arrived, and calls `report` with each that is done.

    With `is_patient` it waits for a lake that another job writes to, and a micro-batch with problems is done all the same. Without,
    these are errors (LakeInUse, OffsetsToolError), so that the next stream does the micro-batch again.
    """

    def __init__(self, jobs: Jobs, report: Callable[[BatchDone], None], *, is_patient: bool) -> None:
        self.kept = ErrorKept()
        self._jobs, self._report = jobs, report
        self._is_patient = is_patient
        self._ending = threading.Event()
        self._at_work = threading.Lock()

    def __call__(self, arrived: Arrived, batch: int) -> None:
        """Do a micro-batch for Spark, which would turn its error into a text; Stopped where it fails, and the error is kept."""
        with self._at_work, self.kept:
            self._go_on()
            self.bring(arrived, batch)
        if self.kept.error is not None:
            raise Stopped("this micro-batch is not done: the next stream does it again")

    def bring(self, arrived: Arrived, batch: int) -> None:
        """Do a micro-batch and report it; errors are those of the jobs."""
        began = time.monotonic()
        steps = list(self._steps(arrived()))
        done = _summed(batch, steps, round(time.monotonic() - began, 1))
        self._report(done)
        if done.problems and not self._is_patient:
            raise OffsetsToolError(
                f"{len(done.problems)} part(s) of the work could not be done, as noted above: all others were; mend these "
                "and run it again"
            )

    def end(self) -> None:
        """Return once no micro-batch is at work and none will be begun."""
        self._ending.set()
        with self._at_work:
            pass

    def _go_on(self) -> None:
        if self._ending.is_set():
            raise Stopped("the stream ends: what has arrived is brought by the next one")

    def _steps(self, paths: Sequence[str]) -> Iterator[JobDone]:
        """Run the jobs and yield what each did; run them again if another job is writing to the lake, or a source was replaced."""
        attempts = 0
        while paths:
            try:
                yield from self._jobs(paths)
                return
            except LakeInUse:
                if not self._is_patient:
                    raise
            except SourceError:
                attempts += 1
                if attempts == ATTEMPTS:
                    raise
            self._ending.wait(PAUSE)
            self._go_on()


def _summed(batch: int, steps: Sequence[JobDone], seconds: float) -> BatchDone:
    """Return the sum of what the jobs of a micro-batch did; a job that ran twice did nothing twice, so all its runs add up."""
    rows, ledger = Counter[str](), Counter[str]()
    runs: dict[str, int | None] = {}
    for step in steps:
        rows.update(step.rows)
        ledger.update(step.ledger if step.job == "ingest" else {})
        runs[step.job] = step.run or runs.get(step.job)
    notes = dict.fromkeys(note for step in steps for note in step.notes)
    problems = dict.fromkeys(problem for step in steps[-len(runs) :] for problem in step.problems)
    return BatchDone(batch, runs, dict(ledger), dict(rows), seconds, list(notes), list(problems))
