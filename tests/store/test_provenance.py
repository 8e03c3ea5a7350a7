"""What is written down about a session."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np

from hardy.models.model import ModelFacts
from hardy.store.provenance import LIBRARIES, UNREADABLE, read_left_out, said, session


def test_session() -> None:
    found = session(batch=64, device="cpu")
    assert json.loads(json.dumps(found)) == found
    assert found["versions"]["numpy"] == np.__version__
    assert {"python", "pyarrow", "pillow"} <= found["versions"].keys()
    assert abs((datetime.now(UTC) - datetime.fromisoformat(found["started"])).seconds) < 60
    assert found["cores"] >= 1
    assert found["cpu"]
    assert (found["batch"], found["device"]) == (64, "cpu")


def test_what_computes_is_written_down_where_the_kind_of_model_leaves_it_open() -> None:
    assert said(ModelFacts(backend="jax"))["backend"] == "jax"
    assert "backend" not in said(ModelFacts())
    assert {"keras", "jax", "jaxlib", "torch"} <= set(LIBRARIES)


def test_images_left_out_are_the_most_of_any_session() -> None:
    """A session of a part of the images finds fewer; what cannot be read is tried again."""
    whole = {"left_out": {"without a label": 5, UNREADABLE: 2}}
    assert read_left_out([whole, {"left_out": {}}]) == {"without a label": 5}
    part = {"left_out": {"without a label": 1, UNREADABLE: 1}}
    assert read_left_out([whole, part, {}]) == {"without a label": 5, UNREADABLE: 1}
    assert read_left_out([{"left_out": "none"}, {}]) == {}


def test_images_that_a_session_leaves_out_may_be_there_by_another() -> None:
    """Those of fewer labels are stored already; with more labels, what was left out came in."""
    every = {"images": 12, "left_out": {"beside the class folders": 1}}
    fewer = {"images": 11, "left_out": {"without a label": 1, UNREADABLE: 3}}
    assert read_left_out([every, fewer]) == {"beside the class folders": 1, UNREADABLE: 3}
    assert read_left_out([fewer, every]) == {"beside the class folders": 1}
    of_0_1_0 = {"left_out": {"without a label": 2}}
    assert read_left_out([of_0_1_0, every])["without a label"] == 2
