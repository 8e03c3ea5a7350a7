"""Before a run each kind of model says what it found. Those with more to say have tests of their
own: hf, clip, keras, linear, zoo and MAITE's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from hardy.models import load_model
from hardy.models.model import facts_of
from tests.models import test_onnx, test_sklearn
from tests.models.tiny import tiny


def test_a_module_of_torch() -> None:
    count = sum(one.numel() for one in tiny().parameters())
    words = f"Tiny of torch, {count:,} weights"
    assert facts_of(load_model("torch:tests.models.tiny:tiny", device="cpu")).found == words
    assert facts_of(load_model(tiny(), name="mine", device="cpu")).found == words


def test_an_onnx_file(tmp_path: Path) -> None:
    free = load_model(f"onnx:{test_onnx.write(tmp_path / 'free.onnx')}")
    assert facts_of(free).found == "takes float32 (any, 3, any, any), gives (any, 4)"
    kind = test_onnx.TensorProto.UINT8
    fixed = test_onnx.write(tmp_path / "fixed.onnx", (2, 12, 12, 3), kind)
    found = facts_of(load_model(f"onnx:{fixed}")).found
    assert found == "takes uint8 (2, 12, 12, 3), gives (2, 4)"


def test_a_file_of_scikit_learn(tmp_path: Path) -> None:
    likely = load_model(test_sklearn.save(tmp_path, LogisticRegression()), trust=True)
    assert facts_of(likely).found == (
        "LogisticRegression of 3 classes, logits are the logarithms of its predict_proba"
    )
    decided = load_model(test_sklearn.save(tmp_path, RidgeClassifier()), trust=True)
    words = "RidgeClassifier of 3 classes, logits are its decision_function"
    assert facts_of(decided).found == words


def test_a_tflite_file(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    from tests.models.tflite_files import write, write_quantised

    plain = load_model(f"tflite:{write(tmp_path / 'plain.tflite', (-1, 12, 12, 3))}")
    taken = "takes float32 (any, 12, 12, 3)"
    assert facts_of(plain).found == f"{taken}, gives logits in float32 (any, 4)"
    soft = load_model(f"tflite:{write(tmp_path / 'soft.tflite', softmax=True)}")
    given = "gives probabilities in float32 (any, 4), whose logarithms are logits"
    assert facts_of(soft).found == f"{taken}, {given}"
    whole = write_quantised(tmp_path / "whole.tflite", kind=np.uint8, softmax=True)
    assert facts_of(load_model(f"tflite:{whole}")).found == (
        "takes uint8 (1, 12, 12, 3) in steps of 0.00784314 around 128, gives probabilities in "
        "uint8 (1, 4) in steps of 0.00390625 around 0, whose logarithms are logits"
    )
