"""How many partitions `__consumer_offsets` has, as the groups in them tell; and where a group lives by that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.placement import (
    DEFAULT_PARTITIONS,
    MOST_PARTITIONS,
    find_homes,
    homes_of_moved,
    infer_mostly,
    infer_partitions,
    likely_counts,
    partition_for,
)

GROUPS = [f"team-{number % 7}.service-{number}" for number in range(400)]


def placed(count: int, groups: list[str] = GROUPS, only: int | None = None) -> list[tuple[str, int]]:
    places = [(group, partition_for(group, count)) for group in groups]
    return [(group, place) for group, place in places if only in (None, place)]


@pytest.mark.parametrize("count", [1, 2, 5, 7, 49, 50, 100, 200, 997])
def test_many_groups_prove_the_number(count: int) -> None:
    assert infer_partitions(placed(count), max(place for _, place in placed(count))) == (count,)


@pytest.mark.parametrize("count", [5, 50, 60])
def test_those_of_one_partition_do_too(count: int) -> None:
    """What divides the number fits as well."""
    fitting = infer_partitions(placed(count, [f"g{at}" for at in range(3_000)], only=1), 1)
    assert count in fitting and likely_counts(fitting, 3_000 // count) == (count,)


@given(st.integers(1, 120), st.lists(st.text(), max_size=8))
def test_the_true_number_always_fits(count: int, groups: list[str]) -> None:
    places = placed(count, groups)
    highest = max((place for _, place in places), default=0)
    fitting = infer_partitions(places, highest)
    assert count in fitting and all(partition_for(g, n) == p for g, p in places for n in fitting)


@given(st.integers(1, 60), st.integers(0, 12), st.integers(8, 60), st.sampled_from([0.5, 0.8, 0.9]))
def test_most_groups_prove_the_number_that_counting_all_of_them_for_each_number_proves(
    count: int, misplaced: int, groups: int, share: float
) -> None:
    places = placed(count, GROUPS[:groups])
    places = [(group, place + (at < misplaced)) for at, (group, place) in enumerate(places)]
    highest = max(place for _, place in places)
    fits = {
        number: sum(partition_for(group, number) == place for group, place in places)
        for number in range(highest + 1, 1001)
    }
    best = max(fits, key=lambda number: fits[number])
    assert infer_mostly(places, share, highest) == (best if fits[best] >= share * groups else None)


def test_a_log_partition_beyond_all_numbers_fits_none() -> None:
    assert infer_mostly([("group", MOST_PARTITIONS)], 0.5, MOST_PARTITIONS) is None


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.lists(st.text(), unique=True, max_size=12),
    st.lists(st.text(), unique=True, max_size=12),
)
def test_of_two_places_the_one_by_the_true_number_is_never_called_old(
    before: int, more: int, moved: list[str], came_later: list[str]
) -> None:
    """Partitions are added, never taken away: groups lie where the old number puts them and where the new one does."""
    places = [*placed(before, moved), *placed(before + more, moved), *placed(before + more, came_later)]
    homes = homes_of_moved(places, max((place for _, place in places), default=0))
    in_two = {group for group in moved if partition_for(group, before) != partition_for(group, before + more)}
    assert homes.keys() == in_two
    assert all(home in (None, partition_for(group, before + more)) for group, home in homes.items())


def test_many_groups_show_where_those_in_two_places_live() -> None:
    places = [*placed(8, GROUPS[:40]), *placed(50)]
    homes = homes_of_moved(places, 49)
    assert homes == {
        group: partition_for(group, 50)
        for group in GROUPS[:40]
        if partition_for(group, 8) != partition_for(group, 50)
    }


@pytest.mark.parametrize(
    ("fitting", "counts", "said"),
    [
        ((5,), (5,), "the groups here show the number"),
        ((5, 10, 25, 50), (50,), "the groups here show the number"),
        ((50, 73, 90), (50,), "50 is the default, which the groups here fit"),
        ((7, 11, 13), (7, 11, 13), "do not tell these numbers apart"),
        ((7, 11, 13, 17), (7, 11, 13), "do not tell these numbers from 1 other(s)"),
        ((), (DEFAULT_PARTITIONS,), "the groups here fit no number"),
    ],
)
def test_where_a_group_lives(fitting: tuple[int, ...], counts: tuple[int, ...], said: str) -> None:
    homes = find_homes("orders", fitting, 100)
    assert homes.of == {count: partition_for("orders", count) for count in counts} and said in homes.shown_by


@pytest.mark.parametrize("group", ["g", "b", "t1", "orders"])
def test_a_few_groups_prove_no_number_that_they_fit_by_chance(group: str) -> None:
    """A hash below a thousand, of a short name in partition 0, is such a number itself."""
    fitting = infer_partitions([(group, 0)])
    homes = find_homes("other", fitting, 1)
    assert len(fitting) > 1 and set(homes.of) == set(fitting[:3]) and "does not tell" in homes.shown_by


@pytest.mark.parametrize("fitting", [(5,), (50, 73, 90), (7, 11, 13), ()])
def test_one_group_is_no_groups(fitting: tuple[int, ...]) -> None:
    """A sentence speaks of as many groups as there are."""
    one, many = (find_homes("orders", fitting, count).shown_by for count in (1, 100))
    assert "the group here" in one and "groups" not in one and " they " not in one
    assert "the groups here" in many


def test_a_hostile_partition_number_costs_nothing() -> None:
    assert infer_partitions([("g", 2**31 - 1)], 2**31 - 1) == ()
