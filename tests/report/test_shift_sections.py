"""Natural shifts on the page: what their sections say, and what they are drawn beside."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.report.figures import choose_figure
from hardy.report.gathered import StoreReport, gather
from hardy.report.write import as_markdown, render_store
from hardy.suites import load


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model on ImageNet-A with clean images beside it, on pictures of noise."""
    root = tmp_path_factory.mktemp("shifts")
    random = np.random.default_rng(0)
    for wnid in load("imagenet_a").shift.kept:
        for place in (f"imagenet-a/{wnid}/a.png", f"val/{wnid}/ILSVRC2012_val_{wnid[1:]}.png"):
            path = root / place
            path.parent.mkdir(parents=True)
            pixels = random.integers(0, 256, (16, 16, 3), np.uint8)
            Image.fromarray(pixels).save(path)
    about = {"files": root, "images": root / "val", "store": root / "runs"}
    hardy.evaluate("fake:1000", suite="imagenet_a", **about)
    return root / "runs"


@pytest.fixture(scope="module")
def report(store: Path) -> StoreReport:
    return gather(store)


def test_the_section_has_accuracy_before_calibration_and_clean_images(report):
    (section,) = report.sections
    names = [score.name for score in section.entries[0].scores.headline]
    assert names == ["accuracy", "RMS calibration error", "clean accuracy"]
    text = as_markdown(report)
    assert "ImageNet-A" in text
    assert "official files, logits of 200 of 1,000 classes" in text
    assert "severity" not in text


def test_accuracy_is_drawn_against_that_on_clean_images_beside_published_ones(report):
    (entry,) = report.sections[0].entries
    assert entry.clean_error.value == 100 - entry.scores["clean accuracy"].value
    figure = choose_figure(report, "scatter")
    (own, others) = figure.panels[0].series
    assert own.x == (entry.scores["clean accuracy"].value,)
    assert own.y == (entry.scores["accuracy"].value,)
    assert (76.15, 1.77) in zip(others.x, others.y, strict=True)  # AlexNet


def test_the_page_has_no_gallery_of_images_that_nobody_made(store):
    photo = Path(__file__).parents[2] / "docs" / "corruptions.jpg"
    assert b"ImageNet-A" in render_store(store, photo)
