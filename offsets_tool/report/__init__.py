"""Write a review as one self-contained HTML page: without a network, light and dark, to be read, searched, printed and sent.

Computes no fact: all of it is said by the review. SetupError where the extra `report` is not installed.
"""

from offsets_tool.errors import SetupError

try:
    import jinja2 as jinja2

    import offsets_tool.plots.picture  # noqa: F401
except (ImportError, SetupError) as error:
    raise SetupError(
        f"reports are written with Jinja2, Altair and vl-convert ({error.__cause__ or error}): pip install 'offsets-tool[report]'"
    ) from error
