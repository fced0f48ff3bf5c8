"""Measure the peak memory of a worker that reads a large segment and writes both tables.

`python -m bench.lake.memory SEGMENT LAKE` prints the megabytes. Linux counts them for each program that a process runs; what
`getrusage` says of a child includes its parent at the moment of the fork.
"""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.inputs import Input, write_large
from bench.ours import write_tables
from bench.processes import measured
from bench.table import Table, number

_TIMES = 10


def memory_table(folder: Path) -> Table:
    """Return the table of peak memory for segments of ten times the usual size, each in a worker of its own."""
    rows = [_row(Input(mix), folder) for mix in ("commits", "rich", "rebalances")]
    title = "Peak memory of a worker that reads a whole segment and writes both tables:"
    return Table(title, ("", "segment, MB", "peak, MB"), rows)


def _row(input_: Input, folder: Path) -> tuple[str, str, str]:
    with TemporaryDirectory(dir=folder) as held:
        path = Path(held) / "__consumer_offsets-0" / "00000000000000000000.log"
        size = write_large(input_, _TIMES, path)
        said = measured([sys.executable, "-m", "bench.lake.memory", str(path), held]).output
    return input_.mix, number(size / 2**20), number(float(said))


def main() -> int:
    segment, lake = sys.argv[1:]
    write_tables(Path(segment), Path(lake))
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert peak
    print(int(peak[1]) / 1024)
    return 0


if __name__ == "__main__":
    sys.exit(main())
