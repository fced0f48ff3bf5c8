"""Run `offsets-spark` as `python -m spark.cli`, where the script is not on the path."""

from spark.cli import main

main(prog_name="offsets-spark")
