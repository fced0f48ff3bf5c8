"""A job that ends at a commit, as if it had been killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable


class Killed(BaseException):
    """The end of a job as by a kill: no code catches it."""


@contextmanager
def killed(step: int, *, before: bool) -> Iterator[list[str]]:
    """End a job before or after its n-th commit, as a kill would; yield the list of tables committed until then."""
    made: list[str] = []
    commit = DeltaTable.create_write_transaction

    def stopping(table: DeltaTable, *args: Any, **options: Any) -> None:
        if before and len(made) == step:
            raise Killed
        commit(table, *args, **options)
        made.append(Path(table.table_uri).name)
        if not before and len(made) == step + 1:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", stopping)
        yield made
