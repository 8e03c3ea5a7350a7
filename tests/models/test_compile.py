"""`compile=True`, with a wrapper in the place of torch's, whose compiler takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, get_ident
from typing import Any

import numpy as np
import pytest
import torch

from hardy import progress
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.models import load_model
from hardy.models.model import facts_of
from tests.models.tiny import IMAGES
from tests.suites.helpers import write_rows

NAME = "torch:tests.models.tiny:tiny"


class Wrapped(torch.nn.Module):
    """As torch wraps a module that it compiles when it is first called."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._orig_mod = module
        self.calls: list[tuple[int, tuple[int, ...]]] = []
        self.may_begin = Event()
        self.may_begin.set()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        self.may_begin.wait(10)
        self.calls.append((get_ident(), tuple(pixels.shape)))
        logits: torch.Tensor = self._orig_mod(pixels)
        return logits


@pytest.fixture
def wrapped(monkeypatch: pytest.MonkeyPatch) -> list[Wrapped]:
    made: list[Wrapped] = []

    def wrap(module: torch.nn.Module, **_: Any) -> Wrapped:
        made.append(Wrapped(module))
        return made[-1]

    monkeypatch.setattr(torch, "compile", wrap)
    return made


def test_a_named_model_is_compiled_while_others_work(
    wrapped: list[Wrapped], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(progress, "mention", said.append)
    model = load_model(NAME, device="cpu", batch=4, side=12, compile=True)
    assert facts_of(model).compiled
    plain = load_model(NAME, device="cpu")
    np.testing.assert_allclose(model.logits(IMAGES), plain.logits(IMAGES), rtol=1e-5, atol=1e-6)
    (ahead, shape), *later = wrapped[0].calls
    assert ahead != get_ident()
    assert {at for at, _ in later} == {get_ident()}
    assert {shape} == {one for _, one in later} == {(4, 3, 12, 12)}  # one shape, compiled once
    assert model.identity == plain.identity
    assert said == [f"compiling {NAME} by torch.compile, which can take a minute"]


def test_what_fails_while_it_is_compiled_is_told_when_it_is_called(wrapped: list[Wrapped]) -> None:
    model = load_model("torch:tests.models.tiny:failing", device="cpu", side=12, compile=True)
    with pytest.raises(Exception, match="by no means"):
        model.logits(IMAGES)


@pytest.mark.parametrize(
    "load",
    [
        lambda: load_model(lambda images: images, name="function", compile=True),
        lambda: load_model("fake:10", compile=True),
        lambda: load_model(torch.nn.Linear(1, 1), compile=True),
    ],
)
def test_what_cannot_be_compiled_says_so(load: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match="takes no compile: "):
        load()


def test_a_run_says_that_it_was_compiled(wrapped: list[Wrapped], tmp_path: Path) -> None:
    images = write_rows(tmp_path, 4)
    what: dict[str, Any] = {"suite": "cifar10_c", "only": "fog", "severities": 1, "images": images}
    lines: list[str] = []
    found = evaluate(
        "torch:tests.models.tiny:ten",
        compile=True,
        device="cpu",
        store=tmp_path / "runs",
        announce=lambda evaluation: lines.extend(evaluation.describe()),
        **what,
    )
    assert "by torch.compile" in found.stored.details["sessions"][0]["compiled"]
    assert any("on cpu, float32, compiled: " in line for line in lines)
    with pytest.raises(InputError, match="bn_adapt takes no compile"):
        evaluate(
            "torch:tests.models.tiny:ten",
            compile=True,
            device="cpu",
            defend="bn_adapt",
            store=tmp_path / "runs",
            **what,
        )
