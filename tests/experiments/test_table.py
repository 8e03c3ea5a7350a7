"""The page from made-up records: what it says follows from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import score_files
from experiments.circumstances import GROUPS
from experiments.comparisons import differences, judge, mean_flip_rate, scores_of
from experiments.plan import stability
from experiments.table import figures, page, write
from hardy.errors import InputError
from hardy.metrics import METRICS
from hardy.scores.score import Circumstances, Score, score_of

RECIPE = {
    "net": "wrn_40_2", "epochs": 30, "batch": 128, "lr": 0.1, "schedule": "cosine",
    "precision": "bfloat16", "momentum": 0.9, "weight_decay": 5e-4, "seed": 0,
}  # fmt: skip
SESSION = {
    "gpu": "a GPU", "cpu": "a CPU", "cores": 2, "versions": {"torch": "2", "numpy": "2"},
    "commit": "abcdef and what is longer than that", "git_commit": None,
}  # fmt: skip
NOISE = np.random.default_rng(0).normal(size=1000)


def score(name: str, value: float, names: tuple[str, ...] = (), spread: float = 0.3) -> Score:
    """All scores move together with the images, as those of real models do; `spread` by image."""
    metric = METRICS["error"]
    around = Circumstances(
        "cifar10_c", 1, "", "corruptions", names, (1, 2, 3, 4, 5), None, 10_000, "same", "none@1",
        "on the fly",
    )  # fmt: skip
    return score_of(name, value, value + spread * NOISE, around, "1,000 draws", metric=metric)


def record(name: str, error: float, *, group: str = "methods", flips=(2.0, 4.0), **more):
    names = ("tilt", "snow")
    scores = [
        score("clean error", error / 4),
        score("mean error", error, ("fog", "gaussian_noise")),
        score("error without noise", error - 1, ("fog",)),
        score("validation error", error + 1, ("saturate",)),
        score("flip probability", sum(flips) / 2, names, 0.01),
        *(score(f"FP {p}", f, (p,), 0.01 * f) for p, f in zip(names, flips, strict=True)),
        score("shift flips", more.pop("shifts", 5.0), spread=0.1),
    ]
    recipe = {**RECIPE, **more.pop("recipe", {})}
    return {
        "format": 1, "name": name, "group": group,
        "method": more.pop("method", name.rpartition("-")[2].partition("+")[0]),
        "recipe": recipe, "defend": None,
        "log": [{"seconds": 50.0}] + [{"seconds": 2.0}] * (recipe["epochs"] - 1),
        "scores": [score_files.keep(s) for s in scores], "seconds": {"training": 100.0},
        "session": SESSION, "settings": {}, "seen_corruptions": [], **more,
    }  # fmt: skip


def together(*records):
    return {each["name"]: each for each in records}


def bars(*records) -> dict[str, tuple[str, bool]]:
    return {bar.what: (bar.figures, bar.holds) for bar in judge(together(*records))}


def test_scores_survive_json() -> None:
    before = score("mean error", 12.5, ("fog",))
    after = score_files.restore(score_files.keep(before))
    assert after == before
    np.testing.assert_allclose(after.replicates, before.replicates, rtol=1e-6)
    assert not len(score_files.restore(score_files.keep(before, replicates=False)).replicates)


def test_the_mean_flip_rate_is_a_mean_of_ratios() -> None:
    ours, theirs = (
        {s["name"]: score_files.restore(s) for s in record(n, 20, flips=f)["scores"]}
        for n, f in (("augmix", (1.0, 3.0)), ("standard", (2.0, 4.0)))
    )
    rate = mean_flip_rate(ours, theirs)
    assert rate.value == pytest.approx(100 * (1 / 2 + 3 / 4) / 2)
    assert rate.interval.low < rate.value < rate.interval.high
    never = theirs | {"FP tilt": score("FP tilt", 0.0, ("tilt",), 0.0)}
    assert mean_flip_rate(ours, never) is None
    hardly = theirs | {"FP tilt": score("FP tilt", 0.01, ("tilt",), 0.02)}
    assert mean_flip_rate(ours, hardly) is None


def test_differences_are_paired() -> None:
    """Both move with the images alike, so that the difference hardly moves."""
    found = differences(together(record("standard", 30), record("augmix", 29.5)))
    one = found["standard", "augmix"]["mean error"]
    assert one.difference == pytest.approx(-0.5)
    assert one.interval.low == pytest.approx(-0.5, abs=1e-4)
    assert one.significant
    assert scores_of("standard", together(record("standard", 30)))["mFR"].value == 100


def test_a_full_disk_leaves_the_page_as_it_was(tmp_path, monkeypatch) -> None:
    first = write(together(record("standard", 30)), tmp_path)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(together(record("standard", 31)), tmp_path)
    assert (tmp_path / "cifar10.md").read_text() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cifar10.json", "cifar10.md"]


def test_two_schedules_are_not_compared() -> None:
    other = record("augmix", 29, recipe={"epochs": 31})
    with pytest.raises(InputError, match="epochs 30 and 31"):
        differences(together(record("standard", 30), other))


@pytest.mark.parametrize(("error", "holds"), [(28.5, True), (25.5, True), (28.6, False)])
def test_bands(error, holds) -> None:
    found = bars(record("band-standard", error, group="bands", recipe={"epochs": 100}))
    (band,) = [each for what, each in found.items() if "one training" in what]
    assert "within the published 27.0 ± 1.5 %" in next(iter(found))
    assert band[1] is holds
    assert band[0].startswith(f"{error}")


def test_ant_is_judged_whichever_way_it_falls() -> None:
    trio = [record("standard", 30), record("gauss_single", 25), record("ant", 25.5)]
    found = bars(*trio, record("antialias", 29, group="architecture", shifts=4.0))
    seeds = "of these trainings, one seed each"
    assert not found[f"ant better than gauss_single, {seeds}, mean -C error"][1]
    assert found[f"ant better than standard, {seeds}, mean -C error"][1]
    assert found[f"anti-aliasing lowers the share of flips between shifts, {seeds}"][1]
    text = page(together(*trio))
    assert "ant − gauss_single" in text
    assert f"Better than the standard training in mean error, {seeds}: gauss_single, ant." in text
    assert "They are not widened for the number of comparisons" in text


def test_what_a_repetition_is_off_tells_nothing() -> None:
    trained = [
        record("standard", 30),
        record("speckle", 29),
        record("alp", 30.9),
        record("ant", 20),
    ]
    again = record("standard-again", 31.2, group="repeats", method="standard", recipe={"seed": 1})
    text = page(together(*trained, again))
    assert [row_of(name, text)[1] for name in ("standard", "standard-again")] == ["-", "seed 1"]
    seeds = "of these trainings, one seed each, beyond the 1.2 points that its repetition is off"
    assert f"Better than the standard training in mean error, {seeds}: ant." in text
    assert (
        f"Not told apart from the standard training in mean error, {seeds}: speckle, alp." in text
    )
    assert "Worse than" not in text
    assert "standard-again − standard" in text


def row_of(name: str, text: str) -> list[str]:
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {name} ")][:1]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_figures_that_count_what_was_seen_are_marked() -> None:
    text = page(together(record("standard", 30), record("gauss_single", 25), record("augmix", 20)))
    _, _, seen, clean, mean, without, flips, *_ = row_of("gauss_single", text)
    assert "gaussian_noise" in seen
    assert [cell[-1] for cell in (clean, mean, without)] == ["%", "†", "%"]
    assert "†" not in flips
    assert "†" not in "".join(row_of("standard", text))


@pytest.mark.parametrize("recorded", [[], ["fog"], None])
def test_what_was_seen_is_the_same_on_the_page_and_as_json(recorded) -> None:
    """As the method is known today: what was recorded may be older, or unknown."""
    some = together(*(record(n, 30, seen_corruptions=recorded) for n in ("standard", "augmix")))
    attack = {"name": "attack", "group": "attack", "model": "augmix", "session": SESSION}
    made = figures({**some, "attack": attack})["records"]
    assert "seen_corruptions" not in made["attack"]
    text = page(some)
    for name in some:
        assert row_of(name, text)[2] == (", ".join(made[name]["seen_corruptions"]) or "-")
    assert "rotate" in made["augmix"]["seen_corruptions"]
    assert made["standard"]["seen_corruptions"] == []


def test_the_results_here_agree_on_what_was_seen() -> None:
    folder = Path(__file__).parents[2] / "results"
    records = json.loads((folder / "cifar10.json").read_text("utf-8"))["records"]
    _, text = (folder / "cifar10.md").read_text("utf-8").split("## Methods and architectures")
    shown = [name for name, one in records.items() if one["group"] in (*GROUPS, "repeats")]
    assert len(shown) == 16
    for name in shown:
        seen = records[name]["seen_corruptions"]
        assert row_of(name, text)[2] == (", ".join(seen) or "-"), name
    by_method = {name: records[name]["seen_corruptions"] for name in shown}
    for name, one in records.items():
        if one.get("method") in by_method:
            assert one["seen_corruptions"] == by_method[one["method"]], name


def test_a_repeated_choice_is_shown_and_chooses_nothing() -> None:
    later = {**SESSION, "commit": "fedcba"}
    kinds = {"group": "tuning", "method": "ant"}

    def tuned(errors, **more):
        values = ("2.77", "5.54", "11.1", "16.6")
        return together(*(
            record(f"tune-ant-{v}", e, **kinds, settings={"epsilon": v}, **more)
            for v, e in zip(values, errors, strict=True)
        ))  # fmt: skip

    first = {**tuned((20, 15, 18, 19)), **together(record("standard", 30))}
    assert "Other rounds" not in page(first)
    rounds = [tuned(errors, session=later) for errors in ((14, 16, 18, 19), (13, 17, 18, 19))]
    again = score_files.repeated_tuning(rounds)
    text = page({**first, **again})
    assert "Other rounds of the same trainings" in text
    rows = [line for line in text.splitlines() if line.startswith("| ant ")]
    assert "21.0 ± 0.6 %, 15.0 ± 0.6 %, 14.0 ± 0.6 %" in rows[0]
    assert ["chosen" in row for row in rows] == [False, True, False, False]
    assert rows[1].rstrip("| ").endswith("a, b, b")
    assert "--work again --net wrn_40_2 --epochs 30 --tuning-epochs 30 --only tuning" in text
    assert "cifar10 table work/results --again again/results" in text
    assert figures({**first, **again})["chosen"]["ant"] == "5.54"


def test_each_training_says_by_which_sources() -> None:
    later = {**SESSION, "commit": "fedcba"}
    text = page(together(record("standard", 30), record("speckle", 25, session=later)))
    assert "a abcdef and what is longer than that; b fedcba" in text
    assert row_of("standard", text)[-1] == "a"
    assert row_of("speckle", text)[-1] == "b"


@pytest.mark.parametrize(("high", "holds"), [(-0.5, True), (0.5, False)])
def test_the_attack_must_exclude_zero(high, holds) -> None:
    attack = {
        "format": 1, "name": "attack-standard", "group": "attack", "model": "standard",
        "epsilon": 5.5, "clean": [95, 94, 96], "adversarial": [40, 39, 41],
        "gaussian": [42, 41, 43], "difference": [-2, -3, high], "session": SESSION,
    }  # fmt: skip
    ((what, (text, held)),) = bars(attack, {**attack, "name": "b", "model": "ant"}).items()
    assert "norm 5.5" in what
    assert "40.0 % and 42.0 %" in text
    assert held is holds


def test_the_page_has_every_part() -> None:
    everything = [
        record("standard", 30),
        record("augmix", 20, seen_corruptions=["fog"]),
        record("standard+none", 29, group="defences"),
        record("standard+median", 33, group="defences", defend="median"),
        record("stability", 32, settings=stability(0.05, 0.05)),
        record(
            "stability-u0.01-w0.1",
            31,
            group="grid",
            method="stability",
            settings=stability(0.01, 0.1),
        ),
    ]
    for value, error in (("2.77", 20), ("5.54", 15), ("11.1", 18), ("16.6", 19)):
        tuned = record(f"tune-ant-{value}", error, group="tuning", recipe={"epochs": 10})
        everything.append({**tuned, "method": "ant", "settings": {"epsilon": value}})
    text = page(together(*everything))
    lines = text.splitlines()
    assert "30 epochs" in text
    assert "a GPU" in text
    assert "sources: a abcdef and what is longer than that." in text
    assert "on the test images themselves" in text
    assert "the candidates of σ before clipping" in text
    assert "images for independent, which those of one batch are not" in text
    assert "Stylised images, which `ant+stylised` mixes in, are in no row yet." in text
    assert text.count("one training each") == 1
    (row,) = [line for line in lines if line.startswith("| median")]
    assert "+4.0" in row
    (row,) = [line for line in lines if line.startswith("| ant ") and "5.54" in line]
    assert "| chosen |" in row
    assert sum("chosen" in line for line in lines if line.startswith("| ant ")) == 1
    (first, second) = [line for line in lines if line.startswith("| u = 0.01")]
    assert "31.0" in first
    assert "+1.0" in second
    assert any("32.0" in line for line in lines if line.startswith("| u = 0.05"))
    (missing,) = [line for line in lines if line.startswith("Not run: band-standard,")]
    (command,) = [line for line in lines if line.startswith("python -m experiments.cifar10 run")]
    assert command.endswith("--net wrn_40_2 --epochs 30 --tuning-epochs 10")
    assert " augmix," not in missing
    made = figures(together(*everything))
    assert made["chosen"] == {"gauss_single": None, "ant": "5.54"}
    assert made["records"]["standard"]["scores"]["mean error"]["value"] == 30
    assert any(d["second_run"] == "augmix" and d["difference"] == -10 for d in made["differences"])


def test_the_study_has_a_row_for_each_seed_and_c_bar_beside_c() -> None:
    trained = [
        record(f"study-prime{again}", 12.0 + seed, group="study", method="prime",
               recipe={"seed": seed})
        for seed, again in enumerate(("", "-seed1"))
    ]  # fmt: skip
    trained[0]["scores"].append(score_files.keep(score(score_files.C_BAR_MEAN, 17.25)))
    text = page(together(*trained))
    lines = [line for line in text.splitlines() if line.startswith("| prime ")]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert [row[2] for row in rows] == ["0", "1"]
    assert rows[0][3] == "elastic_transform, noc_elastic"
    assert rows[0][6].startswith("17.2")
    assert rows[1][6] == "-"
