"""The type of NumPy's arrays, for every module that computes with columns.

The kind of their elements is said where an array is made: code that is compiled, and Arrow's buffers, do not keep it in a type.
"""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of any shape, of any kind of element."""
