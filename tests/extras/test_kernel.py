"""`hardy.evaluate` in a notebook: a real kernel shows the bar, which ends with the work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

CELL = """
import numpy as np
import hardy

images = np.zeros((50, 32, 32, 3), np.uint8)
labels = np.arange(50) % 10
some = dict(only=["contrast", "brightness"], warn=lambda text: None)
run = hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=labels, **some)
print("ended")
"""
REASON = "needs a kernel: make test-extras"


@pytest.mark.filterwarnings("default")
def test_the_bar_appears_and_ends(tmp_path: Path) -> None:
    nbformat, nbclient = (pytest.importorskip(n, reason=REASON) for n in ("nbformat", "nbclient"))
    for name in ("ipykernel", "ipywidgets"):
        pytest.importorskip(name, reason=REASON)
    seen: list[str] = []

    class Client(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
        def process_message(self, message: Any, *more: Any) -> Any:
            seen.append(f"{message['msg_type']} {message['content']}")
            return super().process_message(message, *more)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    place = {"metadata": {"path": str(tmp_path)}}
    Client(notebook, kernel_name="python3", resources=place).execute()
    bars = [place for place, text in enumerate(seen) if re.search(r"\d+/550", text)]
    assert bars
    # The bar is closed, and nothing of it is left behind what the cell prints.
    assert any(text.startswith("comm_close") for text in seen[bars[-1] :])
    assert notebook.cells[0].outputs[-1].text == "ended\n"
