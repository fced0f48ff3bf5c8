"""The evidence that the tests read, and which of it a run takes: fixtures/, and in `make deep` another folder's corpora too.

`corpora()` are those over which a test of any corpus is run: all in `make deep`, else SAMPLE. Knows nothing of what they hold;
tests/test_fixtures.py sees to it that SAMPLE lacks nothing that another corpus has.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.depth import DEEP, ELSEWHERE

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
CORPORA: Final = FIXTURES / "corpora"
REPLICATED: Final = FIXTURES / "corpora-replicated"
COPIES: Final = REPLICATED / "4.1.2-replicas" / "brokers"
"""Three brokers' copies of the same partitions."""
VECTORS: Final = FIXTURES / "vectors"
LAG: Final = FIXTURES / "lag"
INCIDENTS: Final = FIXTURES / "incidents"

SAMPLE: Final = (
    "0.8.2.2-expiry",
    "0.8.2.2-gzip",
    "0.8.2.2-snappy",
    "0.8.2.2-to-0.11.0.3-upgrade",
    "0.9.0.1-expiry",
    "0.10.2.2-crash",
    "0.10.2.2-expiry",
    "0.10.2.2-format090-lz4",
    "0.10.2.2-logappend-gzip",
    "0.10.2.2-lz4",
    "0.11.0.3-mix",
    "1.1.1-connect",
    "1.1.1-streams",
    "2.1.1-expiry",
    "2.8.2-logappend-gzip",
    "3.7.2-kip848",
    "3.9.2-txn",
    "4.0.2-newgroups",
    "4.1.2-compaction",
    "4.2.1-newgroups",
    "4.3.1-codecs",
    "4.3.1-kip848",
)
"""Every line of releases, format of batches, codec, record type, version and layout of a value is in one of them."""


def corpora(*beyond: str) -> list[Path]:
    """Return the folders of the corpora that this run takes: the sample with these others of ours, or all there are."""
    return [path for path in every_corpus() if DEEP or path.name in (*SAMPLE, *beyond)]


def every_corpus() -> list[Path]:
    """Return the folders of all our corpora, and in `make deep` those of the other folder whose names ours do not have."""
    ours = _folders(CORPORA)
    others = _folders(ELSEWHERE) if DEEP and ELSEWHERE else []
    return ours + [path for path in others if path.name not in {each.name for each in ours}]


def folder_of(corpus: str) -> Path:
    """Return the folder of a corpus by its name: one of ours, or else of the other folder's."""
    ours = CORPORA / corpus
    return ELSEWHERE / corpus if ELSEWHERE and not ours.is_dir() else ours


def partitions(of: Iterable[Path] | None = None) -> list[Path]:
    """Return the directories of log partitions in these corpora, or in all that this run takes."""
    return sorted(path for each in of or corpora() for path in each.glob("segments/__consumer_offsets-*"))


def segments() -> list[Path]:
    """Return the segments in the corpora that this run takes."""
    return sorted(path for each in corpora() for path in each.glob("segments/__consumer_offsets-*/*.log"))


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if (path / "segments").is_dir())
