"""The speed at COCO's size: how it is judged, and what docs say of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench import coco
from bench.photos import photographs
from hardy.documents import read_document

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "bench/results/coco.md").read_text(encoding="utf-8")
DOCS = (ROOT / "docs/detection.md").read_text(encoding="utf-8")
RESULTS = json.loads(read_document(ROOT / "bench/results/coco.json"))


def test_the_page_is_made_of_the_results() -> None:
    assert coco.page(RESULTS, coco.judge(RESULTS)) == PAGE
    assert RESULTS["run"]["images"] == 100 * 15 * 5


@pytest.mark.parametrize(("factor", "held"), [(1.0, [True] * 4), (0.3, [True, True, False, False])])
def test_bars(factor: float, held: list[bool]) -> None:
    slower = json.loads(json.dumps(RESULTS))
    slower["run"]["cpu_s"] /= factor
    for row in slower["hardy"].values():
        for spread in row:
            spread["median"] /= factor
    assert [bar.holds for bar in coco.judge(slower)] == held


def test_docs_quote_it() -> None:
    whole = coco.whole_run_ms(RESULTS)
    for first, side in (("**", "hardy"), ("", "peer"), ("", "newest")):
        alone = coco.per_image(RESULTS[side])
        for ms in (alone, whole[side]):
            digits = 1 if side == "hardy" else 0
            assert f"{first}{ms:.{digits}f} ms{first} |" in DOCS
    ratio = coco.per_image(RESULTS["newest"]) / coco.per_image(RESULTS["hardy"])
    assert f"That is {ratio:.0f} times as fast as the newest peer, and " in DOCS
    assert f"and {whole['newest'] / whole['hardy']:.1f} times with the files" in DOCS
    gigabytes = 375_000 * RESULTS["run"]["bytes"] / RESULTS["run"]["images"] / 1e9
    assert f"about {gigabytes:.0f} GB as JPEG" in DOCS
    means = [f"{mean:.0f}" for mean, _ in RESULTS["moved"]["elastic_transform"]]
    assert f"{means[0]} and {means[1]} pixels, up to 56, at severities 1 and 2" in " ".join(
        DOCS.split()
    )


def test_photographs_are_distinct_views() -> None:
    views = photographs(14, 96, 64)
    assert {view.shape for view in views} == {(64, 96, 3)}
    assert len({view.tobytes() for view in views}) == 14
    assert min(float(np.std(view)) for view in views) > 5
