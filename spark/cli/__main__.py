"""`python -m spark.cli`, for where the script is not on the path."""

from spark.cli import main

main(prog_name="offsets-spark")
