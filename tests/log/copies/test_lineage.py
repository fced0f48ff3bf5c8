"""Which records of which leader epochs are on a branch: held against its definition, for all epochs and offsets of random logs."""

from random import Random

import pytest

from offsets_tool.log.copies.copy_facts import CopyFacts, EpochFacts
from offsets_tool.log.copies.lineage import NO_END, NO_EPOCH, Lineage


def facts(end: int, *epochs: tuple[int, int]) -> CopyFacts:
    return CopyFacts("a", 0, end, None, tuple(EpochFacts(epoch, start, 0, 0) for epoch, start in epochs))


@pytest.mark.parametrize("seed", range(20))
def test_a_record_is_on_a_branch_unless_a_later_epoch_of_it_began_at_or_before(seed: int) -> None:
    random = Random(seed)
    starts = {epoch: random.randrange(20) for epoch in random.sample(range(8), 5)}
    lineage = Lineage(starts.items())
    assert lineage.newest == max(starts)
    for of in range(8):
        branch = lineage.branch(of)
        for epoch in range(8):
            for log_offset in range(20):
                later = [each for each in starts if epoch < each <= of and starts[each] <= log_offset]
                assert branch.has(epoch, log_offset) == (epoch <= of and not later), (starts, of, epoch)


def test_what_knows_no_epoch_is_on_every_branch() -> None:
    assert Lineage().newest == NO_EPOCH
    assert Lineage([(3, 0)]).branch(1).has(None, 5)
    assert Lineage().branch().has(NO_EPOCH, 5)


def test_the_lowest_start_of_an_epoch_counts() -> None:
    """A copy whose log start has moved says a later one."""
    assert Lineage([(1, 0), (2, 9), (2, 5)]).branch().end_of(1) == 5


@pytest.mark.parametrize(
    ("copy", "epoch", "shared"),
    [
        (facts(10, (1, 0)), 3, 6),
        (facts(5, (1, 0)), 3, NO_END),
        (facts(10, (1, 0), (3, 6)), 3, NO_END),
        (facts(10, (1, 0), (3, 6)), 1, 6),
        (facts(10, (1, 0)), 1, NO_END),
        (facts(10, (1, 0), (2, 4)), 3, 6),
    ],
    ids=["beyond the fork", "before it", "after it", "asked for before", "the lone leader", "of its own"],
)
def test_how_far_a_copy_is_on_a_branch(copy: CopyFacts, epoch: int, shared: int) -> None:
    lineage = Lineage(
        [(1, 0), (2, 4), (3, 6)] if len(copy.epochs) > 1 and copy.epochs[1][0] == 2 else [(1, 0), (3, 6)]
    )
    assert copy.shares_to(lineage.branch(epoch)) == shared
