"""The newest formatters against golden vectors: what Kafka's own formatter classes printed or threw for a key and a value."""

import json
from typing import Any

import pytest

from offsets_tool.dialects import Output, formatter
from offsets_tool.rows import LogRecord
from tests.corpora import VECTORS

GOLDEN = [json.loads(line) for line in (VECTORS / "coordinator_records.jsonl").read_text().splitlines()]
KINDS = {
    "offsets": "offsets_formatter",
    "group-metadata": "group_metadata_formatter",
    "share-group": "share_group_formatter",
}
THREW = "EXCEPTION "


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vector", GOLDEN, ids=lambda vector: vector["name"])
def test_a_formatter_prints_or_says_what_kafkas_did(vector: dict[str, Any], kind: str) -> None:
    record = LogRecord(
        source="vectors",
        log_partition=0,
        log_offset=7,
        timestamp=0,
        key=unhex(vector.get("key_hex")),
        value=unhex(vector.get("value_hex")),
    )
    want: str = vector[KINDS[kind]] or ""
    expected = Output(error=want.removeprefix(THREW)) if want.startswith(THREW) else Output(want.encode())
    assert formatter(kind, "4.3").format(record) == expected
