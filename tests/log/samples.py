"""The real segments that the tests read, as they lie under fixtures/, and what Kafka's own tool printed for them."""

import re
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
CORPORA = FIXTURES / "corpora"
VECTORS = FIXTURES / "vectors" / "record_batches.jsonl"
SEGMENTS = sorted(CORPORA.glob("*/segments/__consumer_offsets-*/*.log"))
SMALL = [path for path in SEGMENTS if 0 < path.stat().st_size < 5000]

_BATCH = re.compile(r"baseOffset: \d|offset: \d+ position: \d+ \w+: -?\d+ size: ")
_RECORD = re.compile(r"\| offset: \d+ \w+: |offset: \d+ position: \d+ ")
_TOKEN = re.compile(r"(\w+): (\S+)")

Line = dict[str, str]


def dumps() -> Iterator[tuple[Path, list[Line], list[Line]]]:
    """Segment, batch lines and record lines of every dump-log output."""
    for dump in sorted(CORPORA.glob("*/oracle/dump-log-plain-*.txt")):
        parts = re.split(r"^Dumping (.*)$", dump.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            lines = text.splitlines()
            batches = [dict(_TOKEN.findall(line)) for line in lines if _BATCH.match(line)]
            records = [
                dict(_TOKEN.findall(line)) for line in lines if _RECORD.match(line) and not _BATCH.match(line)
            ]
            yield dump.parents[1] / name, batches, records
