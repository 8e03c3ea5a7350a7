from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.report import published_points as published
from hardy.report.bars import bars
from hardy.report.figures import choose_figure, figures, notes
from hardy.report.gathered import StoreReport, gather
from hardy.report.headline import headline, headline_summary
from hardy.report.page import render_report
from hardy.report.palette import COLOURS, ink_on, shade, style
from hardy.report.reliability import calibration
from hardy.report.scatter import LETTER, LINE, Spot, choose_labels, scatter
from hardy.report.severity import curves, heat
from tests.report.conftest import LONG, MARKUP
from tests.report.stores import write_run


def test_bars_are_the_scores_of_each_corruption(report: StoreReport) -> None:
    (figure,) = bars(report.sections[0])
    own = [one for one in figure.panels[0].series if one.style is not None]
    entry = report.sections[0].entries[0]
    fog = own[0].y.index("fog")
    assert own[0].x[fog] == entry.scores["CE fog"].value
    assert own[0].low is not None
    assert own[0].low[fog] == entry.scores["CE fog"].interval.low
    assert figure.panels[0].line == 100.0


def test_published_models_stand_beside_the_suites_own_classes_only(
    report: StoreReport, tmp_path: Path
) -> None:
    (figure,) = bars(report.sections[0])
    names = [one.name for one in figure.panels[0].series if one.style is None]
    assert "ResNet-50 (published)" in names
    assert not any("AlexNet" in name for name in names)  # it is the reference, 100 everywhere
    for labels, there in (("suite", ["model", "published"]), ("own", ["model"])):
        write_run(tmp_path / labels, "model", "cifar10_c", images=20, classes=10, labels=labels)
        (scattered,) = scatter(gather(tmp_path / labels).sections[0])
        series = scattered.panels[0].series
        assert [one.name for one in series] == there
    assert [one.name for one in published.points("cifar10_c", "mean error")] == [
        "Group-wise Inhibition, ResNeXt-29"
    ]


@pytest.mark.parametrize(
    ("suite", "only", "severities", "why"),
    [
        ("imagenet_c", ("fog", "snow"), None, "means over all 15 corruptions, these over 2"),
        ("cifar10_c", ("counted",), (1, 3), "of the severities 1, 2, 3, 4, 5, these of 1, 3"),
    ],
)
def test_a_part_of_the_suite_is_not_set_beside_published_means(
    tmp_path: Path,
    suite: str,
    only: tuple[str, ...],
    severities: tuple[int, ...] | None,
    why: str,
) -> None:
    write_run(tmp_path, "model", suite, images=20, classes=10, only=only, severities=severities)
    (section,) = gather(tmp_path).sections
    for figure in scatter(section):
        assert all(one.style is not None for one in figure.panels[0].series)
        assert f"Published numbers are left out: they are {why}." in figure.sees
    (figure,) = bars(section)
    # Of single corruptions the papers' numbers mean the same.
    assert any(one.style is None for one in figure.panels[0].series) == (suite == "imagenet_c")


def test_scatter_has_the_papers_points(report: StoreReport) -> None:
    mce, relative = scatter(report.sections[0])
    flips, distance = scatter(report.sections[1])
    points = {
        figure.score: [(round(float(x), 1), y) for x, y in zip(one.x, one.y, strict=True)]
        for figure in (mce, relative, flips, distance)
        for one in figure.panels[0].series
        if one.name == "published"
    }
    assert (76.1, 76.7) in points["mCE"]
    assert (76.1, 105.0) in points["relative mCE"]
    assert (76.1, 58.0) in points["mFR"]
    assert (76.1, 78.3) in points["mT5D"]
    # Made on other images, so not comparable.
    assert not [value for _, value in points["mCE"] if value == pytest.approx(48.9, abs=0.1)]


def test_curves_start_at_the_clean_error_and_say_their_area(report: StoreReport) -> None:
    (figure,) = curves(report.sections[0])
    entry = report.sections[0].entries[0]
    panel = next(one for one in figure.panels if one.title == "fog")
    assert panel.series[0].x == (0, 1, 2, 3, 4, 5)
    assert panel.series[0].y[0] == entry.scores["clean error"].value
    area = entry.scores["AUDE fog"].value
    assert panel.note.startswith(f"AUDE {area:.1f} · ")


def test_heat_map_has_a_panel_per_model(report: StoreReport) -> None:
    (figure,) = heat(report.sections[0])
    assert [panel.title for panel in figure.panels] == [
        entry.label for entry in report.sections[0].entries
    ]
    assert figure.panels[0].columns == ("clean", "1", "2", "3", "4", "5")
    assert {len(row) for row in figure.panels[0].cells or ()} == {6}


def test_sentences_follow_the_numbers(report: StoreReport) -> None:
    section = report.sections[0]
    (before,) = bars(section)
    entry = section.entries[0]
    scores = dict(entry.scores.scores)
    worst = max((s.value, name) for name, s in scores.items() if name.startswith("CE "))[1]
    assert f"most from {worst.removeprefix('CE ').replace('_', ' ')} (" in before.sees
    scores["CE fog"] = replace(scores["CE fog"], value=999.0)
    changed = replace(entry, scores=replace(entry.scores, scores=scores))
    (after,) = bars(replace(section, entries=(changed, *section.entries[1:])))
    assert "most from fog (999.0)" in after.sees
    assert "best in 14 of 15" in after.sees


def test_summary_says_whether_the_lead_is_chance(report: StoreReport, tmp_path: Path) -> None:
    assert "p ≤ 0.002" in headline_summary(report.sections[0])
    for weights in ("these weights", "those weights"):
        write_run(tmp_path, "twin", images=40, classes=10, weights=weights)
    (section,) = gather(tmp_path).sections
    assert re.search(
        r"may be as good: it is .* behind, which is within chance", headline_summary(section)
    )


def test_intervals_of_a_column_share_a_scale(report: StoreReport) -> None:
    table = headline(report.sections[0])
    first = [cells[0] for _, cells in table.rows]
    ends = [cell.span for cell in first if cell is not None]
    assert min(strip.low for strip in ends) == 0
    assert max(strip.high for strip in ends) == 1
    assert all(strip.low <= strip.value <= strip.high for strip in ends)


def spot(x: float, y: float, across: float = 0.0, up: float = 0.0) -> Spot:
    return Spot(x, y, x - across, x + across, y - up, y + up)


def test_labels_go_where_there_is_room_or_nowhere() -> None:
    spots = [spot(0, 0), spot(50, 50), spot(50.5, 50), spot(51, 50), spot(51.5, 50), spot(100, 100)]
    names = ["own", *(letter * 20 for letter in "bcde"), "f"]
    written, *_ = choose_labels(spots, names, own=6)
    assert [(text[:1], position) for text, position in written] == [
        ("o", "top right"),
        ("b", "top right"),
        ("c", "bottom right"),
        ("d", "top left"),
        ("e", "bottom left"),
        ("f", "bottom left"),
    ]
    written, *_ = choose_labels([*spots, spot(52, 50)], [*names, "g" * 20], own=7)
    assert written[-1][0] == ""


def test_names_of_models_here_may_cover_published_points() -> None:
    spots = [spot(50, 50), *(spot(50 + x, 50 + y) for x in (-5, 5) for y in (-4.5, 4.5))]
    spots += [spot(0, 0), spot(100, 100)]
    names = ["a" * 20, *(letter * 20 for letter in "bcde"), "f", "g"]
    assert choose_labels(spots, names, own=1)[0][0] == ("a" * 20, "top right")
    assert choose_labels(spots, names, own=5)[0][0][0] == ""


def test_names_are_not_struck_through_by_whiskers() -> None:
    ends = [spot(0, 0), spot(100, 100)]
    clear = [spot(30, 50), spot(50, 54)]
    struck = [spot(30, 50), spot(50, 54, across=30)]
    for spots, position in ((clear, "top right"), (struck, "bottom right")):
        written, *_ = choose_labels([*spots, *ends], ["a name", "b", "c", "d"], own=4)
        assert written[0] == ("a name", position)
    crossed = [spot(30, 50), spot(33, 80, up=28)]
    written, *_ = choose_labels([*crossed, *ends], ["a name", "b", "c", "d"], own=4)
    assert written[0] == ("a name", "bottom right")


def test_no_two_names_of_many_models_meet(tmp_path: Path) -> None:
    for place in range(11):
        name = f"a model called {place}"
        skill = 2 + 0.1 * place
        write_run(tmp_path, name, "cifar10_c", images=40, classes=10, skill=skill, worst=False)
    (figure,) = scatter(gather(tmp_path).sections[0])
    (panel,) = figure.panels
    assert panel.x_range is not None
    assert panel.y_range is not None
    (left, right), (low, high) = panel.x_range, panel.y_range
    own = [one for one in panel.series if one.style is not None]
    assert all(left < min(one.x_low or ()) and max(one.x_high or ()) < right for one in own)
    boxes = []
    for one in own:
        ((label,), (position,)) = one.labels or (), one.positions
        if label:
            x, y = ((float(v) - a) / (b - a) for v, a, b in
                    ((one.x[0], left, right), (one.y[0], low, high)))  # fmt: skip
            length = LETTER * len(label) * (1 if position.endswith("right") else -1)
            middle = y + (LINE if position.startswith("top") else -LINE)
            boxes.append((min(x, x + length), max(x, x + length), middle))
    assert 3 <= len(boxes) < 11
    for place, (start, end, middle) in enumerate(boxes):
        assert start >= 0
        assert end <= 1
        for other_start, other_end, other in boxes[:place]:
            assert end < other_start or other_end < start or abs(middle - other) > 0.9 * LINE
    assert "Names that would cover others are left out; the legend has them all." in figure.sees


def test_the_caption_says_nothing_of_names_where_all_are_there(report: StoreReport) -> None:
    for figure in scatter(report.sections[0]):
        assert "the legend has them" not in figure.sees


def test_styles_repeat_only_after_all_colours_and_dashes() -> None:
    looks = {(style(number).colour, style(number).dash) for number in range(24)}
    assert len(looks) == 24
    assert style(None).colour not in COLOURS


def test_figures_are_chosen_by_kind_suite_and_score(report: StoreReport) -> None:
    assert choose_figure(report, "scatter", suite="imagenet_c").score == "mCE"
    assert choose_figure(report, "scatter", suite="imagenet_p").score == "mFR"
    assert choose_figure(report, "stability", score="T5D").name == "imagenet-p-bars-t5d"
    with pytest.raises(InputError, match=r'unknown figure "pie".*bars'):
        choose_figure(report, "pie")
    with pytest.raises(InputError, match="imagenet_p; these have stability, scatter"):
        choose_figure(report, "curves", suite="imagenet_p")
    with pytest.raises(InputError, match="unknown suite among these runs"):
        choose_figure(report, "bars", suite="cifar10_c")
    with pytest.raises(InputError, match='score of the plot scatter "mcE"; did you mean "mCE"'):
        choose_figure(report, "scatter", score="mcE")


def test_every_figure_says_what_to_see(report: StoreReport) -> None:
    for section in report.sections:
        for figure in figures(section):
            assert MARKUP in figure.sees or LONG in figure.sees
            assert figure.sees.endswith(".")


def test_equal_models_are_called_equal(report: StoreReport) -> None:
    section = report.sections[0]
    entry = section.entries[0]
    equal = replace(section, entries=(entry, replace(entry, label="its twin")))
    assert (
        headline_summary(equal)
        == f"{entry.label} and its twin are equal: mCE {entry.main.figure()}."
    )
    twins = f"{entry.label} and its twin are equal"
    assert f"{twins} in clean accuracy and in mCE." in scatter(equal)[0].sees
    assert "does best in 0 of 15, and as well as another in 15." in bars(equal)[0].sees
    three = replace(equal, entries=(*equal.entries, replace(entry, label="a third")))
    assert ", its twin and a third are equal: mCE" in headline_summary(three)


def test_confidence_that_fits_is_not_called_too_low(report: StoreReport) -> None:
    section = report.sections[0]
    entry = section.entries[0]
    assert entry.calibration is not None

    def told(*gaps: float) -> str:
        entries = []
        for number, gap in enumerate(gaps):
            fits = replace(entry.calibration.corrupted, excess=gap)
            kept = replace(entry.calibration, corrupted=fits)
            entries.append(replace(entry, label=f"model {number}", calibration=kept))
        figure = calibration(replace(section, entries=tuple(entries)))[-1]
        return figure.sees.partition("On corrupted images ")[2]

    assert told(-0.04) == "the confidence of model 0 fits its accuracy on average."
    assert told(0.04, -0.04) == "the confidence of every model fits its accuracy on average."
    assert told(-0.06) == "model 0 is underconfident by 0.1 points on average."
    worst = "model 1 is the furthest off: overconfident by 2.0 points on average."
    assert told(0.0, 2.0) == worst


def test_only_shared_corruptions_are_won(report: StoreReport) -> None:
    section = report.sections[0]
    best, second, _ = section.entries
    fewer = {name: one for name, one in second.scores.scores.items() if name != "CE fog"}
    changed = replace(second, scores=replace(second.scores, scores=fewer))
    (figure,) = bars(replace(section, entries=(best, changed)))
    assert "does best in 14 of 14." in figure.sees


def test_curves_of_one_corruption_of_falls_and_of_many_models(
    report: StoreReport, tmp_path: Path
) -> None:
    write_run(tmp_path, "model", images=20, classes=10, only=("fog",))
    sees = curves(gather(tmp_path).sections[0])[0].sees
    assert re.search(r"error of model changes [+-]\d+\.\d points under fog\. The area", sees)
    section = report.sections[0]
    entry = section.entries[0]
    assert entry.grid is not None
    falling = ((50.0, 44.0, 44.0, 44.0, 44.0), *entry.grid.errors[1:])
    changed = replace(entry, grid=replace(entry.grid, errors=falling))
    sees = curves(replace(section, entries=(changed,)))[0].sees
    assert "changes between -6.0 under gaussian noise and +" in sees
    assert "rises" not in sees
    sees = curves(replace(section, entries=(entry,) * 8))[0].sees
    assert sees.endswith(" and 2 models more in the table.")


def test_one_published_result_is_counted_as_one(tmp_path: Path) -> None:
    write_run(tmp_path, "model", "cifar10_c", images=20, classes=10, skill=0.0)
    (figure,) = scatter(gather(tmp_path).sections[0])
    assert "Of 1 published result 1 is lower in mean error." in figure.sees


def test_sequences_without_clean_accuracy_say_so(report: StoreReport) -> None:
    section = report.sections[1]
    assert notes(section) == []
    alone = replace(section, entries=tuple(replace(e, clean_error=None) for e in section.entries))
    assert scatter(alone) == []
    assert "sequences have no clean images of their own" in notes(alone)[0]
    assert b"No plot against clean accuracy" in render_report(StoreReport((alone,)))


def test_numbers_are_read_on_every_colour_of_the_heat_map() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for percent in range(101):
        low, high = sorted((light(shade(percent / 100)), light(ink_on(percent / 100))))
        assert (high + 0.05) / (low + 0.05) >= 4.5, percent
