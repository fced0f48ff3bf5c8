"""The order of Scala's mutable.HashMap: growth, replaced keys, colliding hashes; as Kafka 1.1.1 and 2.8.2 printed them."""

import pytest

from offsets_tool.dialects.scala import java_hash, map_of, option

COLLIDING = ("Aa", "BB", "AaAa", "BBBB", "AaBB", "BBAa", "a")
NUMBERED = [f"m{number}" for number in range(13)]
SCALA_212 = (1, 1, 1)
SCALA_213 = (2, 8, 2)


def numbered(*order: int) -> list[str]:
    return [f"m{number}" for number in order]


@pytest.mark.parametrize(
    ("keys", "in_212", "in_213"),
    [
        (("m1", "m2", "m3"), numbered(3, 2, 1), numbered(1, 2, 3)),
        (
            COLLIDING,
            ["a", "BB", "Aa", "BBAa", "AaBB", "BBBB", "AaAa"],
            ["Aa", "BB", "a", "AaAa", "BBBB", "AaBB", "BBAa"],
        ),
        (NUMBERED[:11], numbered(3, 2, 5, 8, 7, 1, 4, 6, 10, 9, 0), NUMBERED[:11]),
        (
            NUMBERED[:12],
            numbered(3, 2, 5, 8, 7, 11, 1, 4, 6, 10, 9, 0),
            numbered(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10),
        ),
        (
            NUMBERED,
            numbered(3, 2, 12, 5, 8, 7, 1, 11, 4, 6, 9, 10, 0),
            numbered(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10, 12),
        ),
        (
            ("è", "\U0001f600", "中", "", "\ufffd"),
            ["\ufffd", "è", "\U0001f600", "中", ""],
            ["", "è", "\U0001f600", "中", "\ufffd"],
        ),
        (("a", "b", "a"), ["b", "a"], ["a", "b"]),
        ((), [], []),
    ],
)
def test_the_order_of_keys(keys: tuple[str, ...], in_212: list[str], in_213: list[str]) -> None:
    entries = [(key, at) for at, key in enumerate(keys)]
    assert map_of(SCALA_212).ordered(entries) == [(key, dict(entries)[key]) for key in in_212]
    assert map_of(SCALA_213).ordered(entries) == [(key, dict(entries)[key]) for key in in_213]


def test_a_key_put_again_can_grow_the_map_of_2_13() -> None:
    keys = [f"k10-{number}" for number in range(11)]
    before = [1, 2, 0, 5, 6, 3, 4, 9, 10, 7, 8]
    after = [5, 6, 3, 4, 9, 7, 8, 1, 2, 0, 10]
    assert map_of(SCALA_213).keys(keys) == [keys[number] for number in before]
    assert map_of(SCALA_213).keys([*keys, keys[0]]) == [keys[number] for number in after]


@pytest.mark.parametrize("release", [SCALA_212, SCALA_213])
def test_any_number_of_keys_is_kept_whole(release: tuple[int, ...]) -> None:
    keys = [f"consumer-{number}" for number in range(1000)]
    assert sorted(map_of(release).keys(keys)) == sorted(keys)
    assert map_of(release).keys(keys) != keys


@pytest.mark.parametrize(
    ("text", "value"), [("", 0), ("test", 3556498), ("polygenelubricants", 1 << 31), ("\U0001f600", 1772899)]
)
def test_java_hash(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_how_maps_and_options_print() -> None:
    assert map_of((2, 3, 1)).show([("k", 1)]) == "Map(k -> 1)"
    assert map_of((2, 4, 0)).show([("k", 1), ("l", 2)]) == "HashMap(k -> 1, l -> 2)"
    assert (option(None), option(""), option(0)) == ("None", "Some()", "Some(0)")
