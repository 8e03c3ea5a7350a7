"""Where Triton kernels are tested: on a GPU if there is one, else in Triton's interpreter.

The interpreter has to be chosen before triton is first imported: import kernels below this module.
"""

from __future__ import annotations

import os
import sys

import pytest
import torch

if not torch.cuda.is_available():
    if "triton" in sys.modules and "TRITON_INTERPRET" not in os.environ:
        raise RuntimeError("something imported triton before its interpreter could be chosen")
    os.environ["TRITON_INTERPRET"] = "1"

pytest.importorskip("triton")
