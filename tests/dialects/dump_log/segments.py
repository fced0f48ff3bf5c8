"""Dumps of a segment made for the purpose, taken apart."""

from pathlib import Path

from offsets_tool.dialects import Output
from offsets_tool.dialects.dump_log.segment import dump_log
from offsets_tool.log.segment import read_segment
from tests.dialects.samples import COMMIT_KEY, commit
from tests.log import encoded_batches

NAME = "00000000000000000000.log"
COMMIT = encoded_batches.v2(0, [encoded_batches.record(0, COMMIT_KEY, commit(1))])


def dump(folder: Path, content: bytes, release: str, **view: bool) -> list[Output]:
    path = folder / NAME
    path.write_bytes(content)
    return list(dump_log(NAME, read_segment(path, verify=False), release, base_offset=0, **view))


def lines(outputs: list[Output]) -> list[str]:
    return b"".join(output.text for output in outputs).decode().splitlines()[2:]


def errors(outputs: list[Output]) -> list[str]:
    return [output.error for output in outputs if output.error is not None]


OLD_MESSAGE = encoded_batches.message(0, 0, COMMIT_KEY, commit(1))
