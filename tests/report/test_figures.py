from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.report.bars import bars
from hardy.report.data import Report, gather
from hardy.report.figures import choose_figure, figures
from hardy.report.headline import headline, summary
from hardy.report.labels import choose_labels
from hardy.report.palette import COLOURS, style
from hardy.report.scatter import scatter
from hardy.report.severity import curves, heat
from tests.report.conftest import LONG, MARKUP
from tests.report.stores import write_run


def test_bars_are_the_scores_of_each_corruption(report: Report) -> None:
    (figure,) = bars(report.sections[0])
    own = [one for one in figure.panels[0].series if one.style is not None]
    entry = report.sections[0].entries[0]
    fog = own[0].y.index("fog")
    assert own[0].x[fog] == entry.scores["CE fog"].value
    assert own[0].low is not None
    assert own[0].low[fog] == entry.scores["CE fog"].interval.low
    assert figure.panels[0].line == (100.0, "AlexNet = 100")


def test_published_models_stand_beside_the_suites_own_classes_only(
    report: Report, tmp_path: Path
) -> None:
    (figure,) = bars(report.sections[0])
    names = [one.name for one in figure.panels[0].series if one.style is None]
    assert "ResNet-50 (published)" in names
    assert not any("AlexNet" in name for name in names)  # it is the reference, 100 everywhere
    for labels, there in (("suite", ["model", "published"]), ("own", ["model"])):
        write_run(tmp_path / labels, "model", "cifar10_c", images=20, classes=10, labels=labels)
        (scattered,) = scatter(gather(tmp_path / labels).sections[0])
        assert [one.name for one in scattered.panels[0].series] == there


def test_scatter_has_the_papers_points(report: Report) -> None:
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


def test_curves_start_at_the_clean_error_and_say_their_area(report: Report) -> None:
    (figure,) = curves(report.sections[0])
    entry = report.sections[0].entries[0]
    panel = next(one for one in figure.panels if one.title == "fog")
    assert panel.series[0].x == (0, 1, 2, 3, 4, 5)
    assert panel.series[0].y[0] == entry.scores["clean error"].value
    area = entry.scores["AUDE fog"].value
    assert panel.note.startswith(f"AUDE {area:.1f} · ")


def test_heat_map_has_a_panel_per_model(report: Report) -> None:
    (figure,) = heat(report.sections[0])
    assert [panel.title for panel in figure.panels] == [
        entry.label for entry in report.sections[0].entries
    ]
    assert figure.panels[0].columns == ("clean", "1", "2", "3", "4", "5")
    assert {len(row) for row in figure.panels[0].cells or ()} == {6}


def test_sentences_follow_the_numbers(report: Report) -> None:
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


def test_summary_says_whether_the_lead_is_chance(report: Report, tmp_path: Path) -> None:
    assert "p ≤ 0.002" in summary(report.sections[0])
    for weights in ("these weights", "those weights"):
        write_run(tmp_path, "twin", images=40, classes=10, weights=weights)
    (section,) = gather(tmp_path).sections
    assert re.search(r"may be as good: it is .* behind, which is within chance", summary(section))


def test_intervals_of_a_column_share_a_scale(report: Report) -> None:
    table = headline(report.sections[0])
    first = [cells[0] for _, cells in table.rows]
    ends = [cell.strip for cell in first if cell is not None]
    assert min(strip.low for strip in ends) == 0
    assert max(strip.high for strip in ends) == 1
    assert all(strip.low <= strip.value <= strip.high for strip in ends)


def test_labels_never_cover_points_or_each_other() -> None:
    places = [(0.0, 0.0), (50.0, 50.0), (50.5, 50.0), (51.0, 52.5), (100.0, 100.0)]
    written = choose_labels(places, ["own", "b" * 20, "c" * 20, "d" * 20, "e"], always=1)
    assert [bool(text) for text, _ in written] == [True, False, False, True, True]
    assert [left for _, left in written] == [False, False, False, False, True]


def test_styles_repeat_only_after_all_colours_and_dashes() -> None:
    looks = {(style(number).colour, style(number).dash) for number in range(24)}
    assert len(looks) == 24
    assert style(None).colour not in COLOURS


def test_figures_are_chosen_by_kind_suite_and_score(report: Report) -> None:
    assert choose_figure(report, "scatter").score == "mCE"
    assert choose_figure(report, "scatter", suite="imagenet_p").score == "mFR"
    assert choose_figure(report, "stability", score="T5D").name == "imagenet-p-bars-t5d"
    with pytest.raises(InputError, match=r'unknown kind of plot "pie".*bars'):
        choose_figure(report, "pie")
    with pytest.raises(InputError, match="imagenet_p; these have stability, scatter"):
        choose_figure(report, "curves", suite="imagenet_p")
    with pytest.raises(InputError, match="unknown suite among these runs"):
        choose_figure(report, "bars", suite="cifar10_c")
    with pytest.raises(InputError, match=r"score of the plot scatter.*relative mCE"):
        choose_figure(report, "scatter", score="mcE")


def test_every_figure_says_what_to_see(report: Report) -> None:
    for section in report.sections:
        for figure in figures(section):
            assert MARKUP in figure.sees or LONG in figure.sees
            assert figure.sees.endswith(".")
