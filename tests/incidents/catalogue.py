"""All incidents by name, from the modules of `stories`: one that is declared there is in the list by that alone."""

import importlib
import pkgutil

from tests.incidents import stories
from tests.incidents.incident import Incident


def catalogue() -> dict[str, Incident]:
    """Return every incident by its name, in the order of modules and of declaration."""
    modules = [
        importlib.import_module(f"{stories.__name__}.{each.name}")
        for each in pkgutil.iter_modules(stories.__path__)
    ]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, Incident)]
    return {each.name: each for each in declared}
