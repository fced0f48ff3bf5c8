"""Copies of one partition, written by a test, and what commands answer of several."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from offsets_tool.cli import main
from tests.replay.story_segments import Placed, segment


def asked(*args: object) -> list[dict[str, Any]]:
    """Return the rows that a command prints as JSON lines."""
    result = CliRunner().invoke(main, [*map(str, args), "--format", "jsonl"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def stderr_of(*args: object) -> str:
    """Return what a command writes to stderr."""
    return CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False).stderr


def stdout_of(*args: object) -> str:
    """Return what a command prints."""
    return CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False).stdout


def offsets(*args: object) -> dict[tuple[str, str, int], int]:
    """Return the committed offsets that `offsets` shows, by group, topic and partition."""
    rows = asked("offsets", *args)
    return {
        (row["group"], row["topic"], row["partition"]): row["committed_offset"]
        for row in rows
        if row["committed_offset"] is not None
    }


def copy(
    folder: Path, log: Sequence[Placed] | bytes, *, cleaned_to: int | None = None, base: int = 0
) -> Path:
    """Write a copy of partition 3, with its cleaner's checkpoint, and return its folder."""
    directory = folder / "__consumer_offsets-3"
    directory.mkdir(parents=True)
    (directory / f"{base:020}.log").write_bytes(log if isinstance(log, bytes) else segment(list(log)))
    if cleaned_to is not None:
        text = f"0\n1\n__consumer_offsets 3 {cleaned_to}\n"
        (folder / "cleaner-offset-checkpoint").write_text(text)
    return folder


def rolled(folder: Path, log: Sequence[Placed], *, lost: int | None = None, cleaned_to: int = 0) -> Path:
    """Write a copy of partition 3 in segments of four records, without the one at base offset `lost`; return its folder."""
    copy(folder, log[:4], cleaned_to=cleaned_to)
    for base in range(4, len(log), 4):
        if base != lost:
            (folder / "__consumer_offsets-3" / f"{base:020}.log").write_bytes(
                segment(list(log[base : base + 4]))
            )
    return folder
