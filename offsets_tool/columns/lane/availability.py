"""Whether the fast lane can be used here, and why not: it may be absent, and the tool then works without it."""

import sys
from functools import cache
from importlib.util import find_spec
from typing import cast


@cache
def lane_problem() -> str | None:
    """Return why the fast lane does not work here, as one sentence with a remedy; None where it works."""
    if sys.byteorder != "little":
        return "the fast lane is for little-endian machines; reading goes on without it, more slowly"
    if find_spec("numba") is None:
        return "Numba is not installed, so reading is slow: pip install 'offsets-tool[fast]'"
    try:
        # Only where the lane is asked for.
        from offsets_tool.columns.jit.native import Compiled  # noqa: PLC0415
        from offsets_tool.columns.lane.headers import read_headers  # noqa: PLC0415

        if cast(Compiled, read_headers).kept() is None:
            import numba  # noqa: PLC0415, F401 - is it whole?
    except (ImportError, OSError) as error:
        # OSError: a library of its own cannot be loaded.
        return f"the fast lane cannot be compiled here ({error}), so reading is slow: pip install 'offsets-tool[fast]' again"
    return None
