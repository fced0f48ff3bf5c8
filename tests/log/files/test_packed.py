"""A compressed copy of a log is no longer than a log segment can be, whatever it was compressed with."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from offsets_tool.errors import SourceError
from offsets_tool.log.files.open_file import open_file
from offsets_tool.log.files.packed import LONGEST_SEGMENT, expand
from offsets_tool.log.names import Packing

PACKERS: dict[Packing, Callable[[bytes], bytes]] = {
    Packing.GZIP: gzip.compress,
    Packing.BZIP2: bz2.compress,
    Packing.XZ: lzma.compress,
    Packing.ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
    Packing.LZ4: lambda data: bytes(cramjam.lz4.compress(data)),
}


@pytest.mark.parametrize("packing", PACKERS)
def test_what_inflates_beyond_its_bound_is_refused(packing: Packing, tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(PACKERS[packing](bytes(9 << 20)))
    file = open_file(path.as_posix())
    with pytest.raises(SourceError, match="no log segment has so many"):
        expand(file, packing, "s", most=4 << 20)
    expanded = expand(file, packing, "s", most=LONGEST_SEGMENT)
    assert (expanded.file.size, expanded.problem) == (9 << 20, None)
