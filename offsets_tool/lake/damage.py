"""Finds what is damaged in a lake's files after a read has failed, and says what still holds and what to do. Mends nothing."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.lake.tables import ALL_TABLES, DERIVED_TABLES, ENDS, REPLAY_TABLES, TABLES, Table
from offsets_tool.log.archive.delta import damage_of_files
from offsets_tool.log.archive.delta_log import DELTA_LOG, Damage, why_no_parquet
from offsets_tool.log.storage import as_path


def damage_of_lake(root: Path, named: Iterable[Path] = ()) -> Damage | None:
    """Return the first damaged file of the lake's tables, by their logs, sizes and footers; of `named` files all bytes are read."""
    for table in ALL_TABLES:
        folder = root / table.name
        if os.path.lexists(folder / DELTA_LOG) and (found := damage_of_files(folder)):
            return found
    for path in named:
        if path.is_relative_to(root) and path.suffix == ".parquet" and (reason := why_no_parquet(path)):
            return Damage(path, reason)
    return None


def with_remedy(error: SourceError, lake: str) -> OffsetsToolError:
    """Return an error that adds to `error` what still holds and what to do; `error` itself for a file of no table."""
    remedy = remedy_for(as_path(lake).absolute(), as_path(error.path))
    return OffsetsToolError(f"{error}; {remedy}") if remedy else error


def remedy_for(root: Path, damaged: Path) -> str | None:
    """Return what still holds where this file is damaged, and what to do; None for a file that belongs to no table."""
    if not damaged.is_absolute() or not damaged.is_relative_to(root) or damaged == root:
        return None
    name = damaged.relative_to(root).parts[0]
    if name in [table.name for table in TABLES]:
        return "the lake's other tables hold: put it back from a backup, or ingest the same sources into a new lake"
    if name in [table.name for table in REPLAY_TABLES]:
        return (
            f"{_listed(TABLES)} hold: move all other folders of the lake away, and run offsets-spark replay, lag, expiry "
            "and findings, which make them anew"
        )
    if name in [table.name for table in DERIVED_TABLES]:
        others = f"{ENDS.name}, " if name == ENDS.name else ""
        return (
            f"{_listed(TABLES)} and the histories hold: move {others}lag, expiry, findings, rebalances and derivations out of the "
            "lake, and run offsets-spark lag, expiry and findings, which make them anew"
        )
    return None


def _listed(tables: Sequence[Table]) -> str:
    *first, last = (table.name for table in tables)
    return f"{', '.join(first)} and {last}"
