"""A gap between two segments is a missing file unless something shows that a cleaner worked there."""

import pytest

from offsets_tool.log.copies.copy_facts import FileExtent, missing_files


def extent(base_offset: int, end: int, *, lost: int = 0, is_counted: bool = True) -> FileExtent:
    return FileExtent(base_offset, end, end - base_offset - lost, is_counted)


@pytest.mark.parametrize(
    ("files", "cleaned_to", "missing"),
    [
        ([], None, []),
        ([extent(0, 4), extent(4, 8)], None, []),
        ([extent(0, 4), extent(8, 12)], None, [(4, 8)]),
        ([extent(8, 12), extent(0, 4)], 0, [(4, 8)]),
        ([extent(0, 4), extent(8, 12), extent(20, 24)], None, [(4, 8), (12, 20)]),
        # Its own cleaner had been there, or up to somewhere in the gap.
        ([extent(0, 4), extent(8, 12)], 8, []),
        ([extent(0, 4), extent(8, 12)], 6, [(6, 8)]),
        # A follower has what its leader's cleaner had left, though its own has done nothing.
        ([extent(0, 4), extent(8, 12, lost=1)], 0, []),
        # Nobody knows whether compressed batches of the old formats are whole.
        ([extent(0, 4), extent(8, 12, lost=3, is_counted=False)], None, [(4, 8)]),
        # Segments without a batch cover nothing.
        ([extent(0, 4), FileExtent(4), extent(8, 12)], None, [(4, 8)]),
        ([extent(0, 9), extent(4, 8), extent(9, 12)], None, []),
    ],
)
def test_missing_files(
    files: list[FileExtent], cleaned_to: int | None, missing: list[tuple[int, int]]
) -> None:
    assert list(missing_files(files, cleaned_to)) == missing
