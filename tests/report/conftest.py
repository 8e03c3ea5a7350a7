"""A store that all tests of reports read, with names that try to break out of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardy.report.gathered import StoreReport, gather
from tests.report.stores import write_noise, write_run

MARKUP = "</script ><script>alert(1)</script ><img src=x onerror=alert(2)>"
QUOTES = "\"🥶><svg onload='alert(3)'> & $x_1$ | `code` [link](javascript:alert(4))"
LONG = "long-" + "x" * 295
CLASSES = (*(f"<b>class {number}</b>" for number in range(9)), QUOTES)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on ImageNet-C, the best and the worst of them on ImageNet-P too."""
    folder = tmp_path_factory.mktemp("runs")
    for model, skill in ((MARKUP, 4.0), (QUOTES, 2.0), (LONG, 0.5)):
        run = write_run(folder, model, skill=skill, classes=10, names=CLASSES)
        if model != LONG:
            write_noise(run, model)
    for model, skill in ((MARKUP, 4.0), (LONG, 0.5)):
        write_run(folder, model, "imagenet_p", skill=skill, images=12, classes=10)
    return folder


@pytest.fixture(scope="session")
def report(store: Path) -> StoreReport:
    return gather(store)
