"""Values of groups that a replay to a state puts off make the state, group by group, that they make where they stand."""

from random import Random

import pytest

from offsets_tool.events import encode_key, encode_value
from offsets_tool.records.kinds import Family
from offsets_tool.rows import LogRecord
from tests.columns.replay.test_state import check, cut, rows_of
from tests.depth import DEEP
from tests.relations.test_generations import FAMILIES, of_epochs
from tests.replay.hostile_sequences import Writing, written
from tests.test_checkpoint import RULES


def _values_of_epochs(random: Random, many: int) -> list[LogRecord]:
    """Return a log of groups that have epochs, with few tombstones, in which groups seldom change their kind."""
    records: list[LogRecord] = []
    family = Family.CONSUMER
    while len(records) < many:
        family = family if random.randrange(100) else random.choice(FAMILIES)
        key, value = of_epochs(random, family)
        if value is None and random.randrange(10):
            continue
        at, raw = len(records), None if value is None else encode_value(value)
        records.append(
            written(Writing(-1, False, True, -1), at, at, 1_700_000_000_000, encode_key(key), raw, False)
        )
    return records


@pytest.mark.parametrize("seed", range(200) if DEEP else range(12))
def test_values_of_groups_replayed_late(seed: int) -> None:
    random = Random(seed)
    log = _values_of_epochs(random, 400)
    for rules in RULES:
        for sizes in ([1 << 20], [random.randrange(1, 200), 30]):
            check(log, cut(rows_of(log), sizes), rules)
