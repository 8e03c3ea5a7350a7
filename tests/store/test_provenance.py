"""What is written down about a session."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np

from hardy.store.provenance import session


def test_session() -> None:
    found = session(batch=64, device="cpu")
    assert json.loads(json.dumps(found)) == found
    assert found["versions"]["numpy"] == np.__version__
    assert {"python", "pyarrow", "pillow"} <= found["versions"].keys()
    assert abs((datetime.now(UTC) - datetime.fromisoformat(found["started"])).seconds) < 60
    assert found["cores"] >= 1
    assert found["cpu"]
    assert (found["batch"], found["device"]) == (64, "cpu")
