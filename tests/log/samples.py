"""The real segments that the tests read, as they lie under fixtures/, and what Kafka's own tool printed for them."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.corpora import CORPORA, FIXTURES, corpora, segments

VECTORS = FIXTURES / "vectors" / "record_batches.jsonl"
SEGMENTS = segments()
SMALL = [path for path in SEGMENTS if 0 < path.stat().st_size < 5000]
TOOL_DIED = {CORPORA / "0.9.0.1-mix" / "oracle" / "dump-log-offsets-decoder-0.txt"}
"""Kafka 0.9's decoder met a value it could not print, and ended."""

_BATCH = re.compile(r"baseOffset: \d|offset: \d+ position: \d+ \w+: -?\d+ size: ")
_RECORD = re.compile(r"\| offset: \d+ \w+: |offset: \d+ position: \d+ ")
_TOKEN = re.compile(r"(\w+): (\S+)")

Line = dict[str, str]


def dumps() -> Iterator[tuple[Path, list[Line], list[Line]]]:
    """Yield each segment with the batch lines and the record lines that dump-log printed of it."""
    names = ("dump-log-plain-?.txt", "dump-log-offsets-decoder-?.txt")
    found = {path for corpus in corpora() for name in names for path in (corpus / "oracle").glob(name)}
    for dump in sorted(found - TOOL_DIED):
        parts = re.split(r"^Dumping (.*)$", dump.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            lines = [line.partition(" key: ")[0] for line in text.split("\n")]
            batches = [dict(_TOKEN.findall(line)) for line in lines if _BATCH.match(line)]
            records = [
                dict(_TOKEN.findall(line)) for line in lines if _RECORD.match(line) and not _BATCH.match(line)
            ]
            yield dump.parents[1] / name, batches, records
