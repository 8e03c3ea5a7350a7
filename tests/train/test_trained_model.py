"""`hardy:DIR` of a net that was trained on filtered images is shown such ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.models import Model
from hardy.models.defences.input_filters import input_filter
from hardy.models.model import Options, Trained, in_words
from hardy.train import trained_model
from tests.models.tiny import tiny
from tests.photos import random_images
from tests.train.small import described

IMAGES = random_images(6, 32, 32)


def trained(monkeypatch: pytest.MonkeyPatch, **more: Any) -> Model:
    figures = {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}
    run = described("tiny", 10) | {"preprocessing": figures, "seen_corruptions": ["fog"], **more}
    monkeypatch.setattr(trained_model, "trained_net", lambda folder: (tiny(), run))
    return trained_model.trained_model("out", Options("hardy:out", device="cpu"))


def test_it_is_shown_what_it_was_trained_on(monkeypatch) -> None:
    plain = trained(monkeypatch)
    filtered = trained(monkeypatch, input="clahe")
    expected = plain.logits(input_filter("clahe")(IMAGES))
    np.testing.assert_allclose(filtered.logits(IMAGES), expected, rtol=1e-6, atol=1e-6)
    assert filtered.name == "hardy:out"
    assert filtered.identity != plain.identity
    assert filtered.facts.seen_corruptions == ("fog",)
    assert filtered.facts.trained_as == Trained("tiny")
    assert str(filtered.preprocessing) == str(plain.preprocessing)
    assert in_words(filtered.facts.defences).startswith("clahe: ")
    assert in_words(filtered.facts.defences).endswith(", as it was trained")


def test_an_input_that_nobody_knows(monkeypatch) -> None:
    with pytest.raises(InputError, match='unknown input "sharpen"; expected one of clahe, nlm'):
        trained(monkeypatch, input="sharpen")
