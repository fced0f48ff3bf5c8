"""Measure the peak memory of a worker that reads a large segment and writes both tables, of all jobs on a large partition,
and of commands that answer one question to a log.

`python -m bench.lake.memory SEGMENT LAKE` prints the megabytes. Linux counts them for each program that a process runs; what
`getrusage` says of a child includes its parent at the moment of the fork.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench import plain
from bench.benchmark import Room
from bench.generator.batches import repeated
from bench.inputs import Input, write_large
from bench.lake.lakes import MASTER
from bench.lake.scale import KINDS, watched
from bench.ours import write_tables
from bench.pace import Ratio, ratio, timed
from bench.processes import measured
from bench.table import Table, number, times

_TIMES: Final = 10
_FIRST_BATCH: Final = 1e-9
_SHARES: Final = (0.05, 0.25, 1.0)
_COMMANDS: Final = ("groups", "offsets", "expiry", "findings", "diagnose")
_ASK: Final = """
import atexit, sys
from pathlib import Path
from offsets_tool.cli import main
peak = lambda: next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
atexit.register(lambda: print(peak(), file=sys.stderr))
main()
"""
"""A command of offsets-tool, whose last line on stderr is the peak of its memory in kB."""
_SEGMENTS: Final = 7
"""So many have more records than are replayed by one task without Spark's help."""
_MEGABYTE: Final = 1 << 20


def memory_table(room: Room) -> Table:
    """Return the table of peak memory for segments of ten times the usual size, each in a worker of its own."""
    rows, ratios = [], {}
    for mix in ("commits", "rich", "rebalances"):
        size, peak = _of_worker(Input(mix), _TIMES, room.folder)
        _, least = _of_worker(Input(mix, _FIRST_BATCH), 1, room.folder)
        ratios[mix] = ratio("a worker that reads one batch", [least], [peak])
        rows.append((mix, number(size / _MEGABYTE), number(peak), times(1 / ratios[mix].value)))
    title = "Peak memory of a worker that reads a whole segment and writes both tables:"
    return Table(title, ("", "segment, MB", "peak, MB", "one batch = 1"), rows, ratios)


def answers_memory_table(_: Room) -> Table:
    """Return the table of peak memory of commands, each of which asks one question to a log of plain commits."""
    paths = [Input("commits", share).path() for share in _SHARES]
    sizes = [f"{number(path.stat().st_size / _MEGABYTE)} MB" for path in paths]
    peaks = {command: [_of_command(command, path) for path in paths] for command in _COMMANDS}
    rows = [(f"`{command}`", *map(number, of_command)) for command, of_command in peaks.items()]
    least = peaks[_COMMANDS[0]][0]
    ratios = {
        f"{command}, {size}": ratio(f"{_COMMANDS[0]} on {sizes[0]}", [least], [peak])
        for command, of_command in peaks.items()
        for size, peak in zip(sizes, of_command, strict=True)
    }
    return Table("Peak memory of a command on a log of plain commits, MB:", ("", *sizes), rows, ratios)


def _of_command(command: str, log: Path) -> float:
    """Return the megabytes that a command has in memory at most."""
    words = [sys.executable, "-c", _ASK, command, str(log)]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return int(done.stderr.split()[-1]) / 1024


def partition_table(room: Room) -> Table:
    """Return the table of all jobs on one partition of several of the usual segments, which is made in the room's folder."""
    rows, ratios = [], {}
    for mix in ("commits", "rich"):
        row, ratios[mix] = _of_partition(Input(mix), room.folder / "partition")
        rows.append(row)
    heads = ("", "MB", "records", "µs a record", "driver, MB", "JVM, MB", "workers, MB", "one of them")
    return Table(f"`run` on one log partition, Spark {MASTER}:", heads, rows, ratios)


def _of_partition(input_: Input, folder: Path) -> tuple[tuple[str, ...], Ratio]:
    content = input_.path().read_bytes()
    walked = timed(lambda: plain.walk([content]))() * _SEGMENTS
    partition = folder / "clusters" / "large" / "__consumer_offsets-0"
    partition.mkdir(parents=True)
    for segment in repeated(content, _SEGMENTS):
        (partition / f"{int.from_bytes(segment[:8]):020d}.log").write_bytes(segment)
    size = sum(path.stat().st_size for path in partition.iterdir())
    [night], peaks = watched(folder / "clusters", folder / "lake")
    shutil.rmtree(folder)
    cost = night["seconds"] / night["records"] * 1e6
    memory = (number(peaks[kind] / _MEGABYTE) for kind in KINDS)
    row = (input_.mix, number(size / _MEGABYTE), f"{night['records']:,}", number(cost), *memory)
    return row, ratio(plain.WALKER, [walked], [night["seconds"]])


def _of_worker(input_: Input, many: int, folder: Path) -> tuple[int, float]:
    """Return the bytes of an input that is repeated, and the megabytes that a worker on it has in memory at most."""
    with TemporaryDirectory(dir=folder) as held:
        path = Path(held) / "__consumer_offsets-0" / "00000000000000000000.log"
        size = write_large(input_, many, path)
        said = measured([sys.executable, "-m", "bench.lake.memory", str(path), held]).output
    return size, float(said)


def main() -> int:
    segment, lake = sys.argv[1:]
    write_tables(Path(segment), Path(lake))
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert peak
    print(int(peak[1]) / 1024)
    return 0


if __name__ == "__main__":
    sys.exit(main())
