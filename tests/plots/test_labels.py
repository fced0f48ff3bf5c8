"""Names in pictures are visible, short, and never alike."""

from unicodedata import bidirectional

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.plots.labels import LONGEST, Labels, elided, shortened

NAMES = st.text(max_size=50) | st.sampled_from(
    ["\u202egnp.exe", "\x1b[31m", "a" * 10**6, "a" * 10**6 + "b", "\udcff"]
)


@given(st.lists(NAMES, max_size=6))
def test_labels(names: list[str]) -> None:
    labels = Labels()
    shown = {name: labels.label(name) for name in names}
    assert len(set(shown.values())) == len(shown)
    assert all(labels.label(name) == label for name, label in shown.items())
    for label in shown.values():
        assert len(label) <= LONGEST + len(" (20)")
        assert label.isprintable() and not {bidirectional(each) for each in label} & {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
        }


def test_a_long_name_keeps_its_ends_and_a_long_sentence_its_beginning() -> None:
    assert (
        elided("consumer-orders-1-7c9e0d5e-0b60-4f10-a6c5-2d3f0f1c9f1e")
        == "consumer-orders-1-7c9e…-2d3f0f1c9f1e"
    )
    assert shortened("x" * 10**6) == "x" * 219 + "…"
