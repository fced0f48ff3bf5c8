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

from bench.generator.batches import repeated
from bench.inputs import Input, write_large
from bench.lake.lakes import MASTER
from bench.lake.scale import watched
from bench.ours import write_tables
from bench.processes import measured
from bench.table import Table, number

_TIMES: Final = 10
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
_SEGMENTS: Final = 20
_MEGABYTE: Final = 1 << 20


def memory_table(folder: Path) -> Table:
    """Return the table of peak memory for segments of ten times the usual size, each in a worker of its own."""
    rows = [_row(Input(mix), folder) for mix in ("commits", "rich", "rebalances")]
    title = "Peak memory of a worker that reads a whole segment and writes both tables:"
    return Table(title, ("", "segment, MB", "peak, MB"), rows)


def answers_memory_table() -> Table:
    """Return the table of peak memory of commands, each of which asks one question to a log of plain commits."""
    inputs = [Input("commits", share) for share in _SHARES]
    heads = ("", *(f"{number(input_.path().stat().st_size / _MEGABYTE)} MB" for input_ in inputs))
    rows = [(command, *(_of_command(command, input_.path()) for input_ in inputs)) for command in _COMMANDS]
    return Table("Peak memory of a command on a log of plain commits, MB:", heads, rows)


def _of_command(command: str, log: Path) -> str:
    asked = [sys.executable, "-c", _ASK, command, str(log)]
    done = subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return number(int(done.stderr.split()[-1]) / 1024)


def partition_table(folder: Path) -> Table:
    """Return the table of all jobs on one partition of twenty of the usual segments, which is made in `folder` and removed."""
    rows = [_of_partition(Input(mix), folder / "partition") for mix in ("commits", "rich")]
    heads = ("", "MB", "records", "µs a record", "driver, MB", "JVM, MB", "workers, MB")
    return Table(f"`run` on one log partition, Spark {MASTER}:", heads, rows)


def _of_partition(input_: Input, folder: Path) -> tuple[str, ...]:
    partition = folder / "clusters" / "large" / "__consumer_offsets-0"
    partition.mkdir(parents=True)
    for content in repeated(input_.path().read_bytes(), _SEGMENTS):
        (partition / f"{int.from_bytes(content[:8]):020d}.log").write_bytes(content)
    size = sum(path.stat().st_size for path in partition.iterdir())
    [night], peaks = watched(folder / "clusters", folder / "lake")
    shutil.rmtree(folder)
    cost = night["seconds"] / night["records"] * 1e6
    memory = (number(peaks[kind] / _MEGABYTE) for kind in ("driver", "java", "workers"))
    return input_.mix, number(size / _MEGABYTE), f"{night['records']:,}", number(cost), *memory


def _row(input_: Input, folder: Path) -> tuple[str, str, str]:
    with TemporaryDirectory(dir=folder) as held:
        path = Path(held) / "__consumer_offsets-0" / "00000000000000000000.log"
        size = write_large(input_, _TIMES, path)
        said = measured([sys.executable, "-m", "bench.lake.memory", str(path), held]).output
    return input_.mix, number(size / _MEGABYTE), number(float(said))


def main() -> int:
    segment, lake = sys.argv[1:]
    write_tables(Path(segment), Path(lake))
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert peak
    print(int(peak[1]) / 1024)
    return 0


if __name__ == "__main__":
    sys.exit(main())
