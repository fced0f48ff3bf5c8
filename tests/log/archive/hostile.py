"""Values that nobody expects, in any place of what Delta keeps as JSON or in a checkpoint."""

from typing import Any, Final

from hypothesis import strategies as st

Json = Any
VALUES: Final[tuple[Json, ...]] = (
    *(None, True, [], {}, [None], [5], ["nope"], ["offset", "offset"], {"nope": None}),
    *("", "x", "\0", "%00", "..", "/dev/zero", "s3://b/x", "{", "[]", "null", '{"type":"struct","fields":null}', "x" * 5000),
    *(-1, 0, 1, 7, 1 << 31, 1 << 63, 1 << 70, 1.5, 1e308, float("nan"), float("inf")),
)  # fmt: skip


def changed(node: Json, data: st.DataObject) -> Json:
    """Return a JSON value, or one somewhere in it, replaced by a hostile one, or without one of its fields."""
    if isinstance(node, list) and node and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(node) - 1))
        return [*node[:place], changed(node[place], data), *node[place + 1 :]]
    if not isinstance(node, dict) or not node or data.draw(st.integers(0, 4)) == 0:
        return data.draw(st.sampled_from(VALUES))
    name = data.draw(st.sampled_from(sorted(node)))
    if data.draw(st.integers(0, 6)) == 0:
        return {field: value for field, value in node.items() if field != name}
    return node | {name: changed(node[name], data)}
