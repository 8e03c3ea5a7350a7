"""Tables that are computed once on the host: weights, laws of noise, shapes, plans of waves."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


def frozen(table: NDArray[Number]) -> NDArray[Number]:
    """The table, which nobody can write to: it is cached, and many read it."""
    table.setflags(write=False)
    return table
