"""The page on Keras, JAX and others: its programs run, and do what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.store.reader import find_runs
from tests.pages import blocks

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    pytest.importorskip("jax", reason="needs jax: make test-extras")
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for language, text in blocks("docs/other-models.md"):
        if language == "python":
            exec(compile(text, "other-models.md", "exec"), found)
    return found


def test_one_shape_is_compiled_and_all_images_are_answered(names: dict[str, Any]) -> None:
    assert names["classify"]._cache_size() == 1
    (run,) = find_runs(Path("functions"))
    assert (run.model, len(run.ids)) == ("linear, seed 0", 100)
    images, weights = names["images"], np.asarray(names["weights"])
    by_hand = (images.reshape(100, -1).astype(np.float32) / 127.5 - 1) @ weights
    for batch in (images[:64], images[64:]):
        start = 0 if len(batch) == 64 else 64
        got = names["model"](batch)
        np.testing.assert_allclose(got, by_hand[start : start + len(batch)], atol=1e-4)


def test_a_model_as_a_function(names: dict[str, Any]) -> None:
    class Stand:
        def predict_on_batch(self, pixels: Any) -> Any:
            assert pixels.dtype == np.float32
            return np.array([[0.0, 1.0]] * len(pixels))

    logits = names["as_function"](Stand())(names["images"][:3])
    assert np.isfinite(logits).all()
    assert logits.argmax(axis=1).tolist() == [1, 1, 1]
