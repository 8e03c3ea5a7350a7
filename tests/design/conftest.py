"""A finished experiment, which tests that spoil it copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.design.results import summarise
from hardy.errors import InputError
from tests.design.design_runs import NAMES, Killed, run_it


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """Killed as the third model was about to begin, after the proxy had been asked for alone."""
    patch = pytest.MonkeyPatch()
    from hardy.train import NETS
    from tests.train.small import make_narrow

    patch.setitem(NETS._objects, "narrow", make_narrow)
    folder = tmp_path_factory.mktemp("overlap")
    out = run_it(folder, clean_only=True)
    alone = summarise(out)
    assert alone.accuracy is None
    assert alone.overlaps == ()
    assert {kind: one.shape for kind, one in alone.similarities.items()} == dict.fromkeys(
        ("distance", "shift", "by_class", "by_image", "errors"), (4, 4)
    )
    given = alone.similarities["errors"]

    def kill(line: str) -> None:
        if line.startswith("model 3"):
            raise Killed

    with pytest.raises(Killed):
        run_it(folder, kill)
    with pytest.raises(InputError, match="but 3 are not finished, such as that of brightness"):
        summarise(out)
    said: list[str] = []
    run_it(folder, said.append)
    assert [line for line in said if line.startswith("model")] == [
        f"model {k} of 5: trained with {name}" for k, name in enumerate(NAMES[1:], 3)
    ]
    patch.undo()
    assert np.array_equal(summarise(out).similarities["errors"], given, equal_nan=True)
    return out
