"""Make incidents again: `python -m tests.incidents [NAME...] --into FOLDER`, one folder an incident; without names all of them."""

import argparse
import sys
from pathlib import Path

from tests.incidents.catalogue import catalogue
from tests.incidents.make import make
from tests.incidents.words import write_words


def main() -> int:
    """Make what is asked for, one after another, and say how long each took."""
    known = catalogue()
    parser = argparse.ArgumentParser(prog="python -m tests.incidents", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(known)}")
    parser.add_argument("--into", type=Path, required=True, help="what is there of these names is replaced")
    parser.add_argument("--words", action="store_true", help="write only story.md and expected.json again")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - known.keys()):
        parser.error(f"there is no incident {', '.join(unknown)}; there are {', '.join(known)}")
    for name in asked.names or known:
        if asked.words:
            write_words(known[name], asked.into / name)
        else:
            print(f"{name}: {make(known[name], asked.into / name):.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
