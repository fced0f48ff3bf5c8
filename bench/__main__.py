"""`make bench`: all tables, printed as they come and put into the README at the end. Linux only: it chooses its core."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.commands import answers_table, commands_table
from bench.inputs import megabytes
from bench.lake.lakes import lakes_table
from bench.lake.memory import answers_memory_table, memory_table, partition_table
from bench.lake.nights import nights_table
from bench.lake.questions import questions_table
from bench.lake.runs import little_table, runs_table
from bench.lake.scale import clusters_table, scale_table
from bench.machine import described
from bench.one_core import codecs_table, commits_table, mixes_table, one_core
from bench.replay import replay_table, sizes_table
from bench.table import Table, quoted
from offsets_tool.errors import OffsetsToolError
from offsets_tool.garbage import collect_seldom
from oracle.client import Oracle
from spark.runtime.jars import cache

README: Final = Path(__file__).resolve().parent.parent / "README.md"
_USUAL: Final = 100


def main() -> int:
    """Run all benchmarks and print their tables; return 1 if readers disagree or something is missing.

    The README is written only after a complete run with inputs of the usual size.
    """
    began = time.monotonic()
    collect_seldom()  # as the command line does
    try:
        parts = [f"{described()}\n"]
        for table in _tables():
            parts.append(table.markdown())
            print(parts[-1], flush=True)
        if megabytes() == _USUAL:
            README.write_text(quoted("\n".join(parts), README.read_text()))
    except OffsetsToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{parts[0]}\n{time.monotonic() - began:.0f} seconds")
    return 0


def _tables() -> Iterator[Table]:
    kept = cache() / "bench"
    kept.mkdir(parents=True, exist_ok=True)
    with one_core():
        with Oracle() as oracle:
            yield commits_table(oracle)
            yield mixes_table(oracle)
            yield codecs_table(oracle)
            yield replay_table(oracle)
        yield commands_table()
        yield answers_table()
        with TemporaryDirectory(dir=kept) as folder:
            yield sizes_table(Path(folder))
    with TemporaryDirectory(dir=kept) as folder:
        yield little_table(Path(folder))
        yield lakes_table(Path(folder))
        yield runs_table(Path(folder))
        yield nights_table(Path(folder))
        yield scale_table(Path(folder))
        yield clusters_table(Path(folder))
        yield questions_table(Path(folder))
        yield memory_table(Path(folder))
        yield answers_memory_table()
        yield partition_table(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
