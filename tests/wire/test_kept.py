"""What was made of bytes is kept within a bound, what is asked for longest."""

from offsets_tool.wire.kept import Kept


def test_what_nobody_asks_for_is_forgotten() -> None:
    kept: Kept[int] = Kept(bound=100)
    kept.put("asked for", 0, size=10)
    for number in range(100):
        kept.put(number, number, size=10)
        assert kept.get("asked for") == 0
    assert kept.get(0) is None
    assert sum(kept.get(number) is not None for number in range(100)) <= 10


def test_what_is_large_is_not_kept() -> None:
    kept: Kept[int] = Kept(bound=100)
    kept.put("large", 1, size=51)
    assert kept.get("large") is None
