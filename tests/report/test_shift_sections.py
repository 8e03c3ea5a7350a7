"""Natural shifts on the page: what their sections say, and what they are drawn beside."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.report.beside_section import beside_section
from hardy.report.figures import choose_figure, notes
from hardy.report.gathered import StoreReport, gather
from hardy.report.matplotlib_axes import draw_panel
from hardy.report.plotly_figures import draw_plotly
from hardy.report.write import as_markdown, render_store
from hardy.scores.effective_robustness import published_line
from hardy.suites import load
from tests.report.stores import write_run, write_shift_run


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
    figure = choose_figure(report, "effective")
    (own, counted, others) = figure.panels[0].series
    assert own.x == (entry.scores["clean accuracy"].value,)
    assert own.y == (entry.scores["accuracy"].value,)
    assert (76.15, 1.77) in zip(counted.x, counted.y, strict=True)  # AlexNet
    assert (91.86, 0.0) in zip(others.x, others.y, strict=True)  # ResNet-50: no logit
    assert (92.58, 3.77) in zip(others.x, others.y, strict=True)  # AugMix: not of standard training
    assert (counted.mark, others.mark) == (0, 1)
    with pytest.raises(InputError, match="that the plot scatter can be made of"):
        choose_figure(report, "scatter")  # the same points again


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("several")
    for model, right, clean in (("plain", 250, 300), ("tough", 330, 300)):
        write_run(store, model, "imagenet_c", images=60, worst=False)
        write_shift_run(store, model, "imagenet_v2", right=right, clean=clean)
    write_shift_run(store, "tough", "imagenet_r", right=240, clean=None)
    write_shift_run(store, "tough", "imagenet_real", right=240, clean=None)
    return store


def test_the_line_is_what_clean_accuracy_predicts(several):
    report = gather(several)
    figure = choose_figure(report, "effective", suite="imagenet_v2")
    (panel,) = figure.panels
    line = published_line("imagenet_v2").line
    assert len(panel.curve) > 50
    assert all(y == pytest.approx(line.predict(x), abs=0.01) for x, y in panel.curve)
    assert panel.curve[0][0] < 56.5 < 79.9 < panel.curve[-1][0]  # the ends of what is drawn
    assert panel.diagonal
    assert figure.sees.startswith(f"tough has +{82.5 - line.predict(75):.1f}")
    assert "over 9 models of standard training, which lie 0.6 points around it" in figure.sees
    for page in ("effective.svg", "effective.png"):
        hardy.plot(several, "effective", several.parent / page, suite="imagenet_v2")


def test_both_kinds_of_drawing_have_the_line(several):
    figure = choose_figure(gather(several), "effective", suite="imagenet_v2")
    first, second = draw_plotly(figure)[0].to_plotly_json()["data"][:2]
    assert list(zip(first["x"], first["y"], strict=True)) == list(figure.panels[0].curve)
    assert second["x"] == second["y"]
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown, axes = pyplot.subplots()
    draw_panel(axes, figure, figure.panels[0])
    drawn = [tuple(map(tuple, line.get_xydata())) for line in axes.get_lines()]
    pyplot.close(shown)
    assert figure.panels[0].curve in drawn


def test_points_of_a_file_move_the_line(several, tmp_path):
    (tmp_path / "points.csv").write_text(
        "model,suite,clean,accuracy\nmine,imagenet_v2,0.85,0.7\nyours,imagenet_v2,0.9,0.75\n"
    )
    options = {"suite": "imagenet_v2", "points": tmp_path / "points.csv"}
    figure = hardy.plot(several, "effective", tmp_path / "a.png", **options)
    assert "over 11 models" in figure.sees
    text = hardy.report(several, tmp_path / "a.md", points=tmp_path / "points.csv").read_text()
    assert "over 11 models" in text


def test_a_section_says_why_it_has_no_effective_robustness(several):
    told = {section.suite.name: notes(section) for section in gather(several).sections}
    assert told["imagenet_v2"] == told["imagenet_c"] == []
    assert "no clean images of the same classes" in told["imagenet_r"][0]
    assert told["imagenet_real"][0].startswith(
        "No effective robustness: expected at least 5 models of standard training"
    )


def test_the_page_begins_with_all_suites_side_by_side(several):
    tables = beside_section(gather(several))
    suites, effective = tables
    titles = [one.title for one in suites.columns]
    assert titles[:2] == ["Clean accuracy", "ImageNet-C"]
    assert {*titles[2:]} == {"ImageNet-R", "ImageNet ReaL", "ImageNetV2 (matched frequency)"}
    assert suites.columns[1].lines == ("mCE", "lower is better")
    cells = {entry.label: dict(zip(titles, row, strict=True)) for entry, row in suites.rows}
    assert cells["plain"]["ImageNet-R"] is None
    assert cells["tough"]["ImageNet-R"].score.value == 60
    assert cells["tough"]["Clean accuracy"].score.circumstances.images == 400
    (heading,) = effective.columns
    assert heading.lines == ("points", "higher is better")
    digits = {entry.label: row[0].digits for entry, row in effective.rows}
    line = published_line("imagenet_v2").line
    assert digits == {
        "tough": f"+{82.5 - line.predict(75):.1f}",
        "plain": f"{62.5 - line.predict(75):+.1f}",
    }
    page = render_store(several).decode()
    assert page.index('id="side-by-side"') < page.index('id="imagenet-c"')
    assert "400 of 30,000 images" in page
    assert "except in accuracy, accuracy" not in page
    assert "side by side" in as_markdown(gather(several))


def test_the_page_has_no_gallery_of_images_that_nobody_made(store):
    photo = Path(__file__).parents[2] / "docs" / "corruptions.jpg"
    assert b"ImageNet-A" in render_store(store, photo)
