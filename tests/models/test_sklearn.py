import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from hardy.errors import HardyError, InputError, MissingResource
from hardy.models import load_model
from tests.photos import random_images

IMAGES = random_images(30, 8, 8)
FEATURES = IMAGES.reshape(30, -1) / 255
DIGITS = np.arange(30) % 3
NAMES = np.array(["ant", "bee", "cat"])


def save(path: Path, model, labels=DIGITS) -> str:
    joblib.dump(model.fit(FEATURES, labels), path / "model.joblib")
    return f"sklearn:{path / 'model.joblib'}"


class Malicious:
    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self):
        return Path.touch, (self.trap,)


def test_a_file_that_may_run_code_needs_trust(tmp_path):
    joblib.dump(Malicious(tmp_path / "sprung"), tmp_path / "model.joblib")
    message = r"model\.joblib is a joblib file, and reading one runs whatever code.*`trust=True`"
    with pytest.raises(InputError, match=message):
        load_model(f"sklearn:{tmp_path / 'model.joblib'}")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("labels", [DIGITS, NAMES[DIGITS]], ids=["numbers", "names"])
def test_probabilities_become_their_logarithms(labels, tmp_path):
    model = LogisticRegression()
    ours = load_model(save(tmp_path, model, labels), trust=True)
    logits = ours.logits(IMAGES)
    assert logits.dtype == np.float32
    np.testing.assert_allclose(np.exp(logits), model.predict_proba(FEATURES), rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(logits.argmax(axis=1), DIGITS)


def test_a_probability_of_zero_stays_finite(tmp_path):
    logits = load_model(save(tmp_path, DecisionTreeClassifier()), trust=True).logits(IMAGES)
    assert np.isfinite(logits).all()
    assert (logits.argmax(axis=1) == DIGITS).all()
    assert logits.min() < -80


def test_a_device_it_does_not_have_is_refused(tmp_path):
    name = save(tmp_path, DecisionTreeClassifier())
    assert load_model(name, trust=True, device="cpu").device == "cpu"
    with pytest.raises(InputError, match="expected the device cpu, got 'cuda'"):
        load_model(name, trust=True, device="cuda")


def test_decisions_are_logits(tmp_path):
    model = RidgeClassifier()
    logits = load_model(save(tmp_path, model), trust=True, batch=7).logits(IMAGES)
    np.testing.assert_allclose(logits, model.decision_function(FEATURES), rtol=1e-3, atol=1e-5)


def test_two_classes_have_two_logits(tmp_path):
    model = RidgeClassifier()
    logits = load_model(save(tmp_path, model, DIGITS % 2), trust=True).logits(IMAGES)
    assert logits.shape == (30, 2)
    np.testing.assert_array_equal(logits.argmax(axis=1), model.predict(FEATURES))


def test_identity_is_content_not_place(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    first = load_model(save(tmp_path / "a", RidgeClassifier()), trust=True)
    moved = load_model(save(tmp_path / "b", RidgeClassifier()), trust=True, batch=5, name="b")
    other = load_model(save(tmp_path / "c", RidgeClassifier(alpha=9)), trust=True)
    assert first.identity == moved.identity != other.identity


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (LogisticRegression(), DIGITS + 1, r"expected classes 0 to 2, got \[1, 2, 3\]; train it"),
        (LogisticRegression(), DIGITS * 2, r"expected classes 0 to 2, got \[0, 2, 4\]"),
    ],
)
def test_numbers_that_leave_gaps_are_refused(model, labels, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load_model(save(tmp_path, model, labels), trust=True)


def test_what_is_no_classifier_is_refused(tmp_path):
    joblib.dump({"weights": 3}, tmp_path / "model.joblib")
    with pytest.raises(InputError, match=r"expected a fitted classifier with predict_proba.*dict"):
        load_model(f"sklearn:{tmp_path / 'model.joblib'}", trust=True)
    (tmp_path / "model.joblib").write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot be read by joblib"):
        load_model(f"sklearn:{tmp_path / 'model.joblib'}", trust=True)
    with pytest.raises(InputError, match="expected a file saved by joblib, got none"):
        load_model("sklearn:none", trust=True)


class Moody(DecisionTreeClassifier):
    def predict_proba(self, features):
        raise AttributeError("no attribute of an older version")


def test_what_it_raises_is_told_in_its_name(tmp_path):
    model = load_model(save(tmp_path, Moody()), trust=True)
    message = r"joblib raised AttributeError: no attr.*images \(30, 8, 8, 3\); was it saved"
    with pytest.raises(HardyError, match=message):
        model.logits(IMAGES)


def test_a_read_only_array_is_fine(tmp_path):
    images = IMAGES.copy()
    images.setflags(write=False)
    assert load_model(save(tmp_path, RidgeClassifier()), trust=True).logits(images).shape == (30, 3)


def test_images_of_another_size_are_refused(tmp_path):
    model = load_model(save(tmp_path, RidgeClassifier()), trust=True)
    with pytest.raises(InputError, match=r"expected 192 features, got 243 from images of \(9, 9"):
        model.logits(random_images(2, 9, 9))


def test_scores_of_pairs_are_refused(tmp_path):
    labels = np.arange(30) % 4
    model = load_model(save(tmp_path, SVC(decision_function_shape="ovo"), labels), trust=True)
    with pytest.raises(InputError, match=r'each of its 4 classes, got 6.*_shape="ovr"'):
        model.logits(IMAGES)


def test_without_scikit_learn(tmp_path, monkeypatch):
    name = save(tmp_path, RidgeClassifier())
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingResource, match=r'needs sklearn.*pip install .*\[demo\]"$'):
        load_model(name, trust=True)
