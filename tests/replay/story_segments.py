"""Records of a story at offsets and times of the test's choosing, as segments of a partition's directory: gaps, copies, clocks."""

import base64
import json
from pathlib import Path
from typing import NamedTuple

from tests.log.encoded_batches import message, record, v2
from tests.replay.story import StoryRecord


class Placed(NamedTuple):
    """A record with its log offset and time, for a batch of its own."""

    offset: int
    timestamp: int
    record: StoryRecord
    sequence: int = -1
    leader_epoch: int = 0


def in_order(*records: StoryRecord, start: int = 0, timestamp: int = 1_000) -> list[Placed]:
    """Return records placed one after the other, a second apart."""
    return [Placed(start + at, timestamp + 1_000 * at, each) for at, each in enumerate(records)]


def segment(placed: list[Placed]) -> bytes:
    """Return placed records as a segment with a batch for each."""
    return b"".join(
        v2(
            at.offset,
            [record(0, at.record.key, at.record.value)],
            attributes=at.record.attributes,
            base_timestamp=at.timestamp,
            max_timestamp=at.timestamp,
            producer=(at.record.producer_id, 0, 0) if at.record.producer_id != -1 else (-1, -1, at.sequence),
            leader_epoch=at.leader_epoch,
        )
        for at in placed
    )


def without_timestamps(placed: list[Placed]) -> bytes:
    """Return placed records as a segment in the oldest message format, which has no times."""
    return b"".join(message(0, at.offset, at.record.key, at.record.value) for at in placed)


def write_log(
    folder: Path, placed: list[Placed], *, partition: int = 3, base: int = 0, suffix: str = ""
) -> Path:
    """Write placed records as a segment into a partition's directory in `folder`, and return the directory."""
    directory = folder / f"__consumer_offsets-{partition}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{base:020}.log{suffix}").write_bytes(segment(placed))
    return directory


def archive_lines(placed: list[Placed], partition: int = 3) -> str:
    """Return placed records as the text of a JSON-lines archive."""
    lines = (
        {
            "partition": partition,
            "offset": at.offset,
            "timestamp": at.timestamp,
            "key": _text(at.record.key),
            "value": _text(at.record.value),
        }
        for at in placed
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
