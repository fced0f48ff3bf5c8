"""Run `offsets-tool` as `python -m offsets_tool.cli`, where the script is not on the path."""

from offsets_tool.cli import program

program()
