"""The command `offsets-spark package`: write this package to a file that spark-submit gives to executors."""

import click

from offsets_tool.cli.render import note, write_whole

_EPILOG = """
\b
Example:
  offsets-spark package -o offsets-tool.zip
  spark-submit --master yarn --deploy-mode cluster --py-files offsets-tool.zip main.py run s3://dumps --lake s3://lakes/offsets
"""


@click.command("package", epilog=_EPILOG)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False),
    help="The file to write; it is written whole or not at all.",
)
def package_command(*, output: str) -> None:
    """Write this package as a zip file for --py-files of spark-submit; docs/clusters.md says where it is needed.

    The commands send it to executors themselves. It holds no machine code: each executor compiles its own.
    """
    from spark.runtime.package import package_bytes  # noqa: PLC0415 - not needed for --help

    content = package_bytes()
    write_whole(output, content)
    note(f"{output}: {len(content):,} bytes")
