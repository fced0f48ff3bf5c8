"""A checkpoint at every position: what is restored is equal, and replays the next event alike."""

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.checkpoint import VERSION, restore, save
from offsets_tool.errors import SourceError
from offsets_tool.events import Event, decode
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.corpora import partitions
from tests.depth import DEEP
from tests.replay.hostile_sequences import logs

PARTITIONS = partitions()
RULES = (Rules.CLASSIC, Rules.NEW, None)


def facts(coordinator: Coordinator) -> dict[str, Any]:
    """Return the fields in which two equal coordinators agree."""
    return {name: value for name, value in vars(coordinator).items() if name != "state"} | {
        "subjects": list(coordinator.state.subjects())
    }


def check_every_position(events: Sequence[Event], rules: Rules | None, stride: int = 1) -> None:
    """Assert that at each offset the restored coordinator equals the saved one, and the last one restored goes on alike."""
    through, resumed = Coordinator(0, rules), Coordinator(0, rules)
    for number, event in enumerate(events):
        if number % stride == 0:
            checkpoint = restore(save(through, event.record.log_offset))
            assert checkpoint.position == event.record.log_offset
            resumed = checkpoint.coordinator
            assert facts(resumed) == facts(through)
            assert resumed.state == through.state
        assert resumed.replay(event) == through.replay(event)
    assert facts(resumed) == facts(through)


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs(partition: Path, rules: Rules | None) -> None:
    events = [decode(record) for record in plain_rows.records([partition])]
    check_every_position(events, rules, stride=max(1, len(events) // (40 if DEEP else 8)))


@given(logs(), st.sampled_from(RULES))
def test_any_sequence(log: list[LogRecord], rules: Rules | None) -> None:
    check_every_position([decode(record) for record in log], rules)


def rewritten(data: bytes, **changed: Any) -> bytes:
    parts = map(json.loads, gzip.decompress(data).splitlines())
    lines = ({name: changed.get(name, value) for name, value in part.items()} for part in parts)
    return gzip.compress("\n".join(map(json.dumps, lines)).encode())


def test_an_unknown_version_says_what_to_do() -> None:
    later = rewritten(save(Coordinator(3), 5), version=VERSION + 1)
    with pytest.raises(SourceError, match=rf"s3://b/c: .*version {VERSION + 1}.* from its start"):
        restore(later, "s3://b/c")


@pytest.mark.parametrize(
    "other",
    [b"", b"{}", *(gzip.compress(text, mtime=0) for text in (b"{}", b"[1]", b"\xff", b"[" * 100_000))],
)
def test_what_is_no_checkpoint(other: bytes) -> None:
    with pytest.raises(SourceError, match=r"checkpoint.* from its start"):
        restore(other)


@pytest.mark.parametrize(
    "changed", [{"rules": "old"}, {"groups": [[1]]}, {"groups": 3}, {"offsets": {"g": [["t"]]}}]
)
def test_content_of_another_shape(changed: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="from its start"):
        restore(rewritten(save(Coordinator(3), 5), **changed))


def test_any_damage_is_noticed() -> None:
    data = save(Coordinator(3), 5)
    for cut in range(len(data)):
        with pytest.raises(SourceError):
            restore(data[:cut])
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
        assert gzip_content(damaged) in (None, gzip.decompress(data))
        if gzip_content(damaged) is None:
            with pytest.raises(SourceError):
                restore(damaged)


def gzip_content(data: bytes) -> bytes | None:
    """Return the content of gzip data; None where a changed bit is found. A few bits of gzip mean nothing."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_it_is_small() -> None:
    """Of a real log's state, less than its records take."""
    partition = max(PARTITIONS, key=lambda path: sum(file.stat().st_size for file in path.iterdir()))
    records = list(plain_rows.records([partition]))
    through = Coordinator(0)
    for record in records:
        through.replay(decode(record))
    size = sum(len(record.key or b"") + len(record.value or b"") for record in records)
    assert len(save(through, records[-1].log_offset + 1)) < size / 4
