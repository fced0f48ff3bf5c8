"""The click commands that all of `offsets-spark` are made of: they check what is needed and turn failures into one sentence.

Imports neither Spark nor deltalake itself: --help works without them, and a command says what is missing.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click

from offsets_tool.cli.options import Option, debug_option
from offsets_tool.cli.render import note
from offsets_tool.errors import LakeInUse, SetupError
from offsets_tool.evidence.times import parse_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED: Final = ("pyspark", "deltalake", "pandas", "numpy")
"""The packages of the extra `spark` that this package imports."""
_REMEDY: Final = "pip install 'offsets-tool[spark]'"
MASTER: Final = "master"
"""The option of a SparkCommand, and where its value is kept while it runs."""
WAIT: Final = "wait"
wait_option: Final = click.option(
    f"--{WAIT}",
    metavar="SPAN",
    help="Wait so long, 10m say, for a lake that another job is writing to. Default: end at once, with exit code 75.",
)
"""The option of a LakeCommand that writes to the lake."""


class ExtraCommand(click.Command):
    """A click command that needs the packages of the extra `spark`, with the option --debug."""

    def __init__(self, *arguments: Any, **options: Option) -> None:
        super().__init__(*arguments, **options)
        debug_option(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; SetupError where a package is missing."""
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise SetupError(f"offsets-spark needs {' and '.join(missing)}, not installed here: {_REMEDY}")
        try:
            return self.run(ctx)
        except ImportError as error:
            raise SetupError(
                f"offsets-spark needs a package that cannot be imported ({error}): {_REMEDY}"
            ) from error

    def run(self, ctx: click.Context) -> Any:
        """Run the command, whose packages are there."""
        return super().invoke(ctx)


class LakeCommand(ExtraCommand):
    """An ExtraCommand that works on the lake that its option `--lake` names; `is_in_parts` as for `in_one_sentence`."""

    def __init__(self, *arguments: Any, is_in_parts: bool = False, **options: Option) -> None:
        super().__init__(*arguments, **options)
        self._is_in_parts = is_in_parts

    def run(self, ctx: click.Context) -> Any:
        """Run the command, which waits for the lake with `wait_option`; OffsetsToolError in one sentence for known failures."""
        from spark.lake.failures import in_one_sentence  # noqa: PLC0415 - Spark
        from spark.lake.folder import waiting  # noqa: PLC0415

        can_wait = WAIT in ctx.params
        span = ctx.params.pop(WAIT, None)
        seconds = parse_duration(span, f"--{WAIT}") / 1000 if span else 0
        try:
            told = in_one_sentence(ctx.params["lake"], is_in_parts=self._is_in_parts)
            with told, waiting(seconds, note):
                return super().run(ctx)
        except LakeInUse as error:
            if span or not can_wait:
                raise
            raise LakeInUse(f"{error}; --{WAIT} 10m waits for it") from error


class SparkCommand(LakeCommand):
    """A LakeCommand that may start Spark (see `starting`) on the cluster that its option `--master` names."""

    def __init__(self, *arguments: Any, **options: Option) -> None:
        super().__init__(*arguments, **options)
        self.params.append(
            click.Option(
                [f"--{MASTER}"],
                metavar="URL",
                help="Where Spark runs: spark://HOST:PORT, yarn, k8s://..., sc://HOST:PORT (Spark Connect), local[N]. "
                "Default: what spark-submit or spark-defaults.conf names, else all cores here.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with `--master` known to `starting`; errors are those of LakeCommand."""
        ctx.meta[MASTER] = ctx.params.pop(MASTER)
        return super().invoke(ctx)


def starting(**conf: str) -> "Callable[[], SparkSession]":
    """Return a function that makes the session of the running SparkCommand; it takes Spark's own settings.

    SetupError at once for a master that cannot be reached: little work would never ask for it, and not say that the name is wrong.
    """
    from spark.runtime.session import is_awaited, session  # noqa: PLC0415 - Spark
    from spark.runtime.settings import require_reachable  # noqa: PLC0415

    here = click.get_current_context()
    if here.meta[MASTER]:
        require_reachable(here.meta[MASTER])
    start = partial(session, f"offsets-spark {here.info_name}", master=here.meta[MASTER], **conf)
    if is_awaited():
        start()
    return start
