"""The journal of a run: its first commit names, in its user metadata, the commits to come, so that an interrupted run can finish.

Knows no tables and makes no commits.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

JOURNAL: Final = "offsets-tool run"
REWRITTEN: Final = "offsets-tool rewrite"
"""What the user metadata of a commit by no run says."""
COMPACTED: Final = "offsets-tool compact"
"""What it says of a commit after which all files are sorted."""


def app_of(command: str) -> str:
    """Return the application id under which Delta keeps in a table the last run of a command that it has."""
    return f"offsets-tool {command}"


def packed(rows: pa.RecordBatch) -> str:
    """Return rows as text for a journal."""
    return b64encode(rows.serialize()).decode()


def unpacked(text: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of which `packed` made a text."""
    return pa.ipc.read_record_batch(b64decode(text), schema)


def journal_of(run: int, metadata: Iterable[str | None], part: str) -> Any:
    """Return the part of a run's journal that names what is left to commit; None if no commit has it any more."""
    for text in metadata:
        left = journal_in(text)
        if left.get("run") == run and part in left:
            return left
    return None


def journal_in(metadata: str | None) -> dict[str, Any]:
    """Return the journal in a commit's user metadata; empty without one."""
    if not metadata or not metadata.startswith("{"):
        return {}
    try:
        found = json.loads(metadata).get(JOURNAL)
    except (ValueError, RecursionError):
        # Others may say of their commits what they like.
        return {}
    return found if isinstance(found, dict) else {}


def run_of(metadata: str | None) -> int:
    """Return the run that made a commit, given the commit's user metadata; 0 for a commit of no run, such as OPTIMIZE."""
    if found := journal_in(metadata):
        return int(found.get("run", 0))
    said, _, run = (metadata or "").rpartition(" ")
    return int(run) if said == JOURNAL else 0


def finished(run: int) -> str:
    """Return the note that an interrupted run was finished."""
    return f"finished run {run}, which had been interrupted"


def interrupted_note(run: int) -> str:
    """Return the note that an interrupted run cannot be finished."""
    return f"run {run} was interrupted and cannot be finished here: its rows do not count, and its files are read again"
