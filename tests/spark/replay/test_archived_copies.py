"""An archive beside segments of the same partition: the lake says what the command line does, whatever piece of the log it has."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.evidence.copies import copy
from tests.expiry.log_cleaner import cleaned
from tests.replay.random_logs import CONTROL, READERS, TRANSACTIONAL, Placed, RandomLog, segment
from tests.spark.histories import histories
from tests.spark.lakes import ingest_here
from tests.spark.replay.test_copies import by_evidence, replay_here


def archived(log: Sequence[Placed], *, is_bare: bool) -> Iterator[dict[str, Any]]:
    """Yield records as a sink archives them: without markers and producers, unless the sink copies batches."""
    for batch in log:
        is_control = bool(batch.attributes & CONTROL)
        of_batch = {
            "producer_id": batch.producer[0],
            "producer_epoch": batch.producer[1],
            "is_transactional": bool(batch.attributes & TRANSACTIONAL),
            "is_control": is_control,
        }
        for offset, key, value in batch.records:
            row = {"partition": 3, "offset": offset, "timestamp": 1000, "key": key, "value": value}
            if not (is_bare and is_control):
                yield row if is_bare else row | of_batch


def archive(folder: Path, rows: Sequence[dict[str, Any]], *, is_parquet: bool) -> Path:
    folder.mkdir()
    if is_parquet:
        pq.write_table(pa.Table.from_pylist(list(rows)), folder / "rows.parquet")
        return folder / "rows.parquet"
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, default=_text) + "\n" for row in rows))
    return folder / "rows.jsonl"


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def evidence(folder: Path, log: Sequence[Placed], random: Random) -> Iterator[Path]:
    """One night or two, cleaned or not, and one archive or two: of all of the log, of a piece, or of what its cleaner left."""
    for name in "ab"[: random.randrange(1, 3)]:
        so_far = log[: random.randrange(len(log) // 2, len(log) + 1)]
        cleaned_to = random.choice([None, so_far[-1].base_offset])
        kept = so_far if cleaned_to is None else cleaned(list(so_far), random)
        yield copy(folder / name, segment(list(kept)), cleaned_to=cleaned_to)
    is_bare = random.random() < 0.5
    for number in range(random.randrange(1, 3)):
        start, end = (0, len(log)) if number else sorted(random.sample(range(len(log) + 1), 2))
        piece = cleaned(list(log[start:end]), random) if random.random() < 0.3 else log[start:end]
        if rows := list(archived(piece, is_bare=is_bare)):
            yield archive(folder / f"archive-{number}", rows, is_parquet=random.random() < 0.5)


@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(3, 60))]
)
def test_archives_beside_segments(tmp_path: Path, seed: int) -> None:
    """In any order, replayed in between or not."""
    random, lake = Random(seed), tmp_path / "lake"
    paths = list(evidence(tmp_path, RandomLog(seed, READERS["2.8.2"]).grow(40).placed, random))
    expected = by_evidence(paths)
    random.shuffle(paths)
    for path in paths:
        ingest_here(lake, path, cluster="c")
        if random.random() < 0.4:
            assert not replay_here(lake).problems
    replay_here(lake)
    assert histories(lake) == expected
