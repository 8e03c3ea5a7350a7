"""What `hardy train` made is said in result files and on the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardy.models.model import Trained
from hardy.report.leaderboard import find_results, render_leaderboard
from hardy.scores import score_run
from hardy.scores.result_files import result_of, write_results
from hardy.store.provenance import read_trained
from hardy.store.reader import StoredRun
from tests.records import read_unsealed
from tests.report.pages import Parsed, check_safe
from tests.scores.helpers import FEW, errors, run_in, write_run


def with_training(run: StoredRun, *said: Any) -> StoredRun:
    """As if the sessions had said so; None is a session of an older Hardy, which has no such
    field."""
    path = run.folder / "run.json"
    details = read_unsealed(path)
    details["sessions"] = [
        {"subset": None} if one is None else {"subset": None, "trained_as": one} for one in said
    ]
    path.write_text(json.dumps(details))
    return run_in(run.folder)


def said(net: str, *methods: str) -> dict[str, Any]:
    return {"net": net, "methods": list(methods)}


@pytest.mark.parametrize(
    ("methods", "defence", "standalone"),
    [
        (["augmix"], None, True),
        (["augmix", "antialias 3"], None, False),
        (["augmix"], "clahe: its words", False),
        (["standard", "antialias 3"], None, True),
        (["standard"], None, None),
        (["standard"], "clahe: its words", None),
    ],
)
def test_result_files_have_net_and_method(tmp_path, methods, defence, standalone) -> None:
    run = write_run(tmp_path, errors(), defence=defence)
    run = with_training(run, said("wrn_40_2", *methods), None)
    model = result_of(score_run(run, how=FEW))["model"]
    assert model["backbone"] == "wrn_40_2"
    assert model["standalone"] is standalone
    # What somebody states goes before what we know.
    stated = result_of(score_run(run, how=FEW), {"backbone": "a net", "standalone": None})["model"]
    assert (stated["backbone"], stated["standalone"]) == ("a net", None)


def test_stores_and_files_that_do_not_say_it(tmp_path: Path) -> None:
    run = write_run(tmp_path, errors())
    for sessions in ([None], [3], [{}], [{"net": 3}], [{"methods": ["ant"]}]):
        one = with_training(run, *sessions)
        assert one.trained is None
        model = result_of(score_run(one, how=FEW))["model"]
        assert (model["backbone"], model["standalone"]) == (None, None)
    for wrong in (None, 3, {}, [3], [{"trained_as": []}]):
        assert read_trained(wrong) is None
    assert read_trained([{"trained_as": {"net": "a", "methods": [1]}}]) == Trained("a", None)


def test_the_leaderboard_names_them(tmp_path: Path) -> None:
    trained = {
        "a": said("wrn_40_2", "augmix"),
        "b": said("<b>net", "ant", "<i>stylised"),
        "c": said("resnet_18", "standard"),
        "d": {"net": "resnet_18"},
        "e": None,
    }
    results = [
        result_of(score_run(with_training(write_run(tmp_path, errors(seed=k), model=name), one)))
        for k, (name, one) in enumerate(trained.items())
    ]
    path = tmp_path / "results.json"
    path.write_text(write_results(results))
    page = render_leaderboard(find_results([path]))
    parsed = Parsed(page)
    check_safe(parsed)
    rows = {row["data-text"][0]: row for row in parsed.all("tr") if "data-backbone" in row}
    assert {name: row["data-backbone"] for name, row in rows.items()} == {
        "a": "wrn_40_2", "b": "<b>net", "c": "resnet_18", "d": "resnet_18", "e": "not stated",
    }  # fmt: skip
    assert [rows[name]["data-standalone"] for name in "abcde"] == [
        "standalone", "combined", "not stated", "not stated", "not stated",
    ]  # fmt: skip
    text = page.decode()
    for words in ("augmix (standalone)", "ant + &lt;i&gt;stylised (combined)", "standard"):
        assert f'<td class="left">{words}</td>' in text
    assert "augmix" in rows["a"]["data-text"]
