"""Keep each table as soon as it is measured, and compare it with the one that is kept: by its ratios to peers of the same run.

A kept table is a section of the README, for readers, and a line of JSON, for the next run; both go into the same commit.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.machine import ROOT, Origin, committed
from bench.pace import Ratio
from bench.table import Table, number, placed

LINES: Final = ROOT / "bench" / "kept.jsonl"
README: Final = ROOT / "README.md"
_LEAST_SPREAD: Final = 0.05
"""What two processes of the same code may differ by, as memory and machine code lie elsewhere: rounds of one do not show it."""


class KeptTable(NamedTuple):
    """A table of an earlier run: its ratios by name, the seconds that it took to measure it, and where it comes from."""

    ratios: dict[str, Ratio]
    seconds: float
    origin: Origin


class Keeper:
    """Keeps tables in a document, each in its section, and in a file of JSON lines, one a table."""

    def __init__(self, lines: Path = LINES, document: Path = README) -> None:
        self._lines = lines
        self._document = document

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are written."""
        return self._lines, self._document

    def tables(self) -> dict[str, KeptTable]:
        """Return the tables to compare with, by name: as they were committed, so that a run again is compared with the same.

        One that was not committed yet is as the last run has kept it.
        """
        rows = (*self._rows(), *_parsed(committed(self._lines)))
        return {row["table"]: _table_of(row) for row in rows}

    def keep(self, name: str, table: Table, seconds: float, origin: Origin) -> None:
        """Keep a table instead of the one of that name. OffsetsToolError where the document has no section for it."""
        document = placed(f"{table.markdown()}\n{origin}", name, self._document.read_text())
        ratios = {row: [ratio.peer, *_rounded(ratio)] for row, ratio in table.ratios.items()}
        row = {"table": name, **origin._asdict(), "seconds": round(seconds), "ratios": ratios}
        rows = {line["table"]: line for line in self._rows()} | {name: row}
        _replace(self._lines, "".join(json.dumps(line) + "\n" for line in rows.values()))
        _replace(self._document, document)

    def _rows(self) -> list[dict[str, Any]]:
        return _parsed(self._lines.read_text() if self._lines.exists() else "")


def shared(table: Table, former: KeptTable) -> dict[str, tuple[Ratio, Ratio]]:
    """Return the ratios that a table and the one kept have both, to the same peer, by name: the new one and the former."""
    pairs = {
        name: (ratio, former.ratios.get(name, ratio._replace(peer="")))
        for name, ratio in table.ratios.items()
    }
    return {name: (ratio, before) for name, (ratio, before) in pairs.items() if ratio.peer == before.peer}


def worsened(table: Table, former: KeptTable) -> Iterator[str]:
    """Yield a sentence for each ratio that is worse than the one kept by more than the larger spread of the two."""
    for name, (ratio, before) in shared(table, former).items():
        spread = max(ratio.spread, before.spread, _LEAST_SPREAD)
        if ratio.value < before.value * (1 - spread):
            yield (
                f"{name}: {ratio.peer} takes {number(ratio.value)} times as much as this, and took {number(before.value)} times "
                f"at commit {former.origin.commit}: worse by {1 - ratio.value / before.value:.0%}, and the spread is {spread:.0%}"
            )


def _parsed(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _table_of(row: dict[str, Any]) -> KeptTable:
    ratios = {name: Ratio(*ratio) for name, ratio in row["ratios"].items()}
    return KeptTable(ratios, row["seconds"], Origin(**{field: row[field] for field in Origin._fields}))


def _rounded(ratio: Ratio) -> tuple[float, float]:
    return float(f"{ratio.value:.4g}"), round(ratio.spread, 3)


def _replace(path: Path, text: str) -> None:
    """Write a file at once: a run that is interrupted leaves the one before."""
    staged = path.with_name(f"{path.name}.making")
    staged.write_text(text)
    staged.replace(path)
