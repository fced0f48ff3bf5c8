"""Pictures of what rows say, drawn by Altair (Vega-Lite) the same for a notebook, a page and a file.

Computes no fact: what a rewind, a rebalance or a finding is, the rows say. SetupError where the extra `plots` is not installed.
"""

from offsets_tool.errors import SetupError

try:
    import altair as altair
    import vl_convert as vl_convert
except ImportError as error:
    raise SetupError(
        f"pictures are drawn by Altair and vl-convert ({error}): pip install 'offsets-tool[plots]'"
    ) from error
