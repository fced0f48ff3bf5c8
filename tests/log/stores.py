"""The kinds of object storage that the tests have a server of, and who of them is asked when: S3 always, Azure's in `make deep`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from tests.depth import DEEP
from tests.log.azure_store import azure_store
from tests.log.faults import FaultyStore
from tests.log.google_store import google_store
from tests.log.object_store import object_store

STORES: Final[dict[str, Callable[[], AbstractContextManager[FaultyStore]]]] = {
    "s3": object_store,
    "gs": google_store,
    "abfs": azure_store,
}


def in_each(
    cases: Sequence[object], every: int, least: Sequence[str] = ("s3", "gs")
) -> list[tuple[str, object]]:
    """Return each store with each case in `make deep`; otherwise those of `least` take the cases `every` by `every` in turn."""
    if DEEP:
        return [(store, case) for store in STORES for case in cases]
    return [(store, case) for at, store in enumerate(least) for case in cases[at % every :: every]]
