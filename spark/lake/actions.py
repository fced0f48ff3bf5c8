"""What a commit does to a table, in Delta's words: files that it adds, files that it removes. Commits nothing."""

import time

from deltalake.transaction import AddAction, RemoveAction

from spark.lake.replaced import Replacing

Action = AddAction | RemoveAction
"""One of Delta's actions: a file that a commit adds to a table, or removes."""


def changes(files: Replacing) -> list[Action]:
    """Return Delta's actions that remove and add files."""
    now = time.time_ns() // 1_000_000
    return [
        *(RemoveAction(path, True, now) for path in files.gone),
        *(AddAction(f.path, f.size, {}, f.modified_at, True, f.statistics) for f in files.kept),
    ]
