"""Observe rows of `log` as a piece is read: stretches of one leader epoch; for an archive, its partitions and offsets.

Reads columns of `log` only. What epochs say of a copy is decided in offsets_tool.log.copies.
"""

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.table_rows import ArchivedRange, EpochRun


class EpochRuns:
    """Stretches of batches of one leader epoch, in the order of the file; `runs` has those of all rows that were observed."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []
        self._base: int | None = None
        """First offset of the batch of the last row."""

    def observe(self, log: pa.RecordBatch) -> None:
        """Observe rows of `log`; misplaced records are skipped, and archives have no epochs."""
        has_epoch = pc.and_(
            pc.is_null(log.column("misplaced")), pc.is_valid(log.column("partition_leader_epoch"))
        )
        batches = log.select(["partition_leader_epoch", "base_offset"]).filter(has_epoch)
        epochs = pc.run_end_encode(batches.column(0))
        start = 0
        for epoch, end in zip(epochs.values.to_pylist(), epochs.run_ends.to_pylist(), strict=True):
            self._add(epoch, batches.column(1).slice(start, end - start))
            start = end

    def _add(self, epoch: int, bases: pa.Array) -> None:
        first = bases[0].as_py()
        changes: int = pc.not_equal(bases.slice(1), bases.slice(0, len(bases) - 1)).true_count
        batches = changes + (first != self._base)
        self._base = bases[-1].as_py()
        last = self.runs[-1] if self.runs else None
        if last is not None and last.leader_epoch == epoch:
            self.runs[-1] = last._replace(batches=last.batches + batches)
        else:
            self.runs.append(EpochRun(epoch, first, batches))


class ArchivedRanges:
    """The partitions of an archive, with their lowest and highest offsets; `ranges` has those of all rows that were observed."""

    def __init__(self) -> None:
        self._found: dict[int | None, ArchivedRange] = {}

    @property
    def ranges(self) -> list[ArchivedRange]:
        """A range for each partition, in the order in which they came."""
        return list(self._found.values())

    def observe(self, log: pa.RecordBatch) -> None:
        """Observe rows of `log` from an archive."""
        places = pa.table(log.select(["log_partition", "log_offset"]))
        for row in (
            places.group_by("log_partition")
            .aggregate([("log_offset", "min"), ("log_offset", "max")])
            .to_pylist()
        ):
            number, first, last = row["log_partition"], row["log_offset_min"], row["log_offset_max"]
            known = self._found.get(number, ArchivedRange(number, first, last))
            self._found[number] = ArchivedRange(
                number, min(first, known.first_offset), max(last, known.last_offset)
            )
