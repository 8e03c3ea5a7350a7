"""The matrix of suites on the page, and for a paper."""

from __future__ import annotations

from pathlib import Path

import pytest

import hardy
from hardy.errors import InputError
from hardy.progress import untracked
from hardy.report.figures import choose_figure, figures_across
from hardy.report.gathered import gather
from hardy.report.plotly_figures import draw_plotly
from hardy.report.write import as_markdown, render_store
from tests.report.stores import write_run, write_shift_run

# By suite, how well each of five models does; the third suite turns their order round.
CORRUPTED = [4.5, 4.0, 3.5, 3.0, 2.5]
SHIFTED = [350, 330, 310, 290, 270]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("agreement")
    for place, (skill, right) in enumerate(zip(CORRUPTED, SHIFTED, strict=True)):
        write_run(root, f"m{place}", skill=skill, images=200, worst=False)
        write_shift_run(root, f"m{place}", "imagenet_r", right=right, clean=380)
        write_shift_run(root, f"m{place}", "imagenet_a", right=SHIFTED[-1 - place], clean=380)
    return root


def test_ranks_agree_or_not(store: Path) -> None:
    found = {frozenset((one.first, one.second)): one for one in gather(store).correlations}
    assert len(found) == 3
    opposed = found[frozenset(("imagenet_a", "imagenet_r"))]
    assert (opposed.models, opposed.spearman) == (5, pytest.approx(-1))
    alike = found[frozenset(("imagenet_c", "imagenet_r"))]
    assert alike.spearman == pytest.approx(-found[frozenset(("imagenet_c", "imagenet_a"))].spearman)
    for one in hardy.correlate(store, track=untracked):
        same = found[frozenset((one.first, one.second))]
        assert (one.models, one.spearman) == (same.models, same.spearman)


def test_the_figure_says_who_agrees_most_and_least(store: Path) -> None:
    (drawn,) = figures_across(gather(store))
    assert "most alike on ImageNet-C and ImageNet-R (ρ = 1.00" in drawn.sees
    assert "least alike on ImageNet-C and ImageNet-A (ρ = -1.00" in drawn.sees
    assert "over 5 models" in drawn.sees
    heat, numbers = draw_plotly(drawn)[0].to_plotly_json()["data"]
    assert len(numbers["text"]) == 6  # three pairs, twice; none of a suite with itself
    shades = [list(row) for row in heat["z"]]
    assert [shades[k][k] for k in range(3)] == [None] * 3
    assert all(shades[a][b] == shades[b][a] for a in range(3) for b in range(3))


def test_page_markdown_and_paper_have_it(store: Path, tmp_path: Path) -> None:
    page = render_store(store).decode()
    assert page.index('id="agreement"') < page.index('id="imagenet-a"')
    assert "Correlation of accuracy drops" in as_markdown(gather(store))
    made = hardy.plot(store, "agreement", tmp_path / "a.svg", track=untracked)
    assert made.title == "Which shifts agree"
    assert (tmp_path / "a.svg").read_text().count("ImageNet-A") >= 1


def test_runs_without_clean_images_and_suites_without_drops_do_not_count(tmp_path: Path) -> None:
    for place, (skill, right) in enumerate(zip(CORRUPTED, SHIFTED, strict=True)):
        write_run(tmp_path, f"m{place}", skill=skill, worst=False)
        write_shift_run(tmp_path, f"m{place}", "imagenet_r", right=right, clean=None)
    report = gather(tmp_path)
    assert report.correlations == []
    assert figures_across(report) == []
    with pytest.raises(
        InputError, match="agreement can be made of: 5 models or more that were run"
    ):
        choose_figure(report, "agreement")
    assert b'id="agreement"' not in render_store(tmp_path)
