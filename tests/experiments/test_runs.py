"""The way from images to a page, by the code that a GPU runs, with a narrow net and few cells."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from experiments import runs, score_files, sections, table
from experiments.cifar10 import main
from experiments.measures import shifted, speed
from experiments.plan import TUNED, Configuration, select
from hardy.errors import InputError
from tests.train.small import CPU, NARROW, narrow, small_data

__all__ = ["narrow"]


@pytest.fixture
def place(tmp_path, monkeypatch, narrow):
    draws = np.random.default_rng(0)
    for split, count in (("train", 60), ("test", 40)):
        labels = np.arange(count) % 10
        images = draws.integers(0, 60, (count, 32, 32, 3)) + 19 * labels[:, None, None, None]
        np.savez(tmp_path / f"{split}.npz", images=images.astype(np.uint8), labels=labels)
    monkeypatch.setattr(runs, "COUNTED", ["contrast", "gaussian_noise"])
    monkeypatch.setattr(runs, "VALIDATION", ["saturate"])
    monkeypatch.setattr(runs, "PERTURBED", ["brightness"])
    return runs.Place(
        work=tmp_path / "work",
        data=str(tmp_path / "train.npz"),
        test=str(tmp_path / "test.npz"),
        recipe=replace(NARROW, epochs=2),
        device=CPU,
        batch="auto",
        tuning_epochs=1,
        frames_images=10,
        defence_images=20,
    )


def run(place, *words) -> list[str]:
    said: list[str] = []
    runs.run(select(words), place, said.append)
    return said


def mean_error(record) -> float:
    return next(s["value"] for s in record["scores"] if s["name"] == "mean error")


def test_a_method_its_choice_and_a_defence(place, capsys) -> None:
    assert run(place, "standard+median")[0].startswith("standard+median: waits for standard")
    assert "waits for the trainings tune-gauss_single-*" in run(place, "gauss_single")[0]
    run(
        place, "tune-gauss_single-*", "standard", "gauss_single", "standard+none", "standard+median"
    )
    records = score_files.read([place.results])
    assert set(records) == {
        *(c.name for c in select(["tune-gauss_single-*"])),
        *("standard", "gauss_single", "standard+none", "standard+median"),
    }
    tuned = records["tune-gauss_single-0.1"]
    assert tuned["recipe"]["epochs"] == len(tuned["log"]) == 1
    assert {s["name"] for s in tuned["scores"]} >= {"validation error"}
    assert "mean error" not in {s["name"] for s in tuned["scores"]}
    errors = score_files.validation_errors(records)
    best = min(errors, key=errors.__getitem__)
    assert records["gauss_single"]["settings"] == records[best]["settings"]
    scores = {s["name"]: score_files.restore(s) for s in records["standard"]["scores"]}
    assert scores["mean error"].circumstances.names == ("gaussian_noise", "contrast")
    assert scores["error without noise"].value == scores["error contrast"].value
    assert scores["flip probability"].circumstances.images == 10
    assert len(scores["shift flips"].replicates) == 1000
    assert "shift flips" not in {s["name"] for s in records["standard+median"]["scores"]}
    out = place.work / "page"
    assert main(["table", str(place.results), "-o", str(out)]) == 0
    page = (out / "cifar10.md").read_text()
    assert page in capsys.readouterr().out
    assert "gauss_single − standard" in page
    (row,) = [line for line in page.splitlines() if line.startswith("| median ")]
    none, median = (mean_error(records[name]) for name in ("standard+none", "standard+median"))
    assert f"{median - none:+.1f}" in row
    assert "20 of 40 images" in page
    figures = json.loads((out / "cifar10.json").read_text())
    assert figures["chosen"]["gauss_single"] in records[best]["settings"].values()
    assert "replicates" not in (out / "cifar10.json").read_text()


def test_again_is_quick_and_another_schedule_is_refused(place, monkeypatch) -> None:
    first = run(place, "standard")[0].rpartition(";")[0]

    def never(*words, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr(runs, "run_training", never)
    assert run(place, "standard")[0].rpartition(";")[0] == first
    longer = replace(place, recipe=replace(place.recipe, epochs=3))
    assert "run with the recipe " in run(longer, "standard")[0]
    assert "name another --work" in run(longer, "standard")[0]
    with np.load(place.test) as file:
        images, labels = file["images"], file["labels"]
    np.savez(place.work / "other.npz", images=images[::-1], labels=labels)
    more = {"test": str(place.work / "other.npz"), "frames_images": 11}
    for option, value in more.items():
        changed = replace(place, **{option: value})
        assert "run with the measured " in run(changed, "standard")[0]
    fewer = replace(place, defence_images=10)  # of which no training is a part
    assert run(fewer, "standard")[0].rpartition(";")[0] == first
    run(place, "standard+none")
    assert "name another --work" in run(fewer, "standard+none")[0]


def test_stylised_images_are_mixed_in_once_there_are_any(place, monkeypatch) -> None:
    monkeypatch.setattr(runs, "chosen", lambda errors, method: "2.77")
    monkeypatch.setitem(TUNED, "ant", "epsilon")
    assert "waits for a set that `hardy stylise` makes" in run(place, "ant+stylised")[0]
    with np.load(place.data) as file:
        images, labels = file["images"], file["labels"]
    np.savez(place.work.parent / "styled.npz", images=255 - images, labels=labels)
    there = replace(place, stylised=str(place.work.parent / "styled.npz"))
    (mixed,) = select(["ant+stylised"])
    quick = replace(mixed, settings={"restart_steps": "1"})
    said: list[str] = []
    assert runs.run([quick], there, said.append) == 0, said
    record = score_files.read([place.results])["ant+stylised"]
    about = json.loads((place.work / "models/ant+stylised/run.json").read_text())
    assert record["stylised"] == about["stylised"] is not None
    np.savez(place.work.parent / "styled.npz", images=images, labels=labels)
    runs.run([quick], there, said.append)
    assert "was run with the stylised " in said[-1]


def test_what_adapts_has_the_usual_batch_whatever_the_others_have(place) -> None:
    few = replace(place, batch=8, defence_images=20)
    run(few, "standard", "standard+none", "standard+bn_adapt")
    records = score_files.read([place.results])
    assert records["standard+bn_adapt"]["adapts_in"] == [64]
    assert records["standard+none"]["adapts_in"] == []
    (store,) = (place.work / "runs" / "standard+bn_adapt").glob("*--cifar10_c--*")
    about = json.loads((store / "run.json").read_text())
    assert "statistics of up to 64 test images" in about["defence"][0]["words"]
    (row,) = [line for line in table.page(records).splitlines() if line.startswith("| bn_adapt")]
    assert row.startswith("| bn_adapt (adapts, N = 16, n = 64) |")


def test_one_that_fails_costs_the_others_nothing(place) -> None:
    said: list[str] = []
    broken = Configuration("broken", "methods", "patch_gaussian", {"size": "0"})
    assert runs.run([broken, *select(["standard"])], place, said.append) == 1
    assert "broken: failed: expected a patch size" in said[0]
    assert said[1].startswith("standard: clean error")


def test_noise_against_what_has_been_trained(place, monkeypatch) -> None:
    monkeypatch.setattr(runs, "attack", partial(runs.attack, steps=2))
    for module in (runs, sections):
        monkeypatch.setattr(module, "ATTACKED", ("standard", "ant", "augmix"))
    run(place, "standard", "augmix")
    said: list[str] = []
    with pytest.raises(InputError, match="no ε has been chosen yet"):
        runs.run_attack(place, None, said.append)
    runs.run_attack(place, 3.0, said.append)
    records = score_files.read([place.results])
    found = {r["model"]: r for r in records.values() if r["group"] == "attack"}
    assert set(found) == {"standard", "augmix"}
    for record in found.values():
        difference, low, high = record["difference"]
        assert difference == pytest.approx(record["adversarial"][0] - record["gaussian"][0])
        assert low <= difference <= high
        assert (record["steps"], record["images"]) == (2, 40)
    assert found["standard"]["clean"] != found["augmix"]["clean"]
    starts = ("attack on standard at 3:", "attack on ant: waits for ant", "attack on augmix at 3:")
    assert all(line.startswith(start) for line, start in zip(said, starts, strict=True))
    section = table.page(records).partition("## Noise learned against the nets")[2]
    (row,) = [line for line in section.splitlines() if line.startswith("| augmix ")]
    assert f"{found['augmix']['median_distance'][0]:.2f} [" in row


def test_training_on_from_the_standard_net(place) -> None:
    assert "waits for the trainings tune-gauss" in run(place, "fine-gauss_single")[0]
    run(place, "tune-gauss_single-*")
    assert run(place, "fine-gauss_single") == ["fine-gauss_single: waits for standard"]
    run(place, "standard", "fine-gauss_single")
    records = score_files.read([place.results])
    fine = records["fine-gauss_single"]
    assert (fine["recipe"]["lr"], fine["recipe"]["weight_decay"]) == (1e-3, 0)
    about = json.loads((place.work / "models/fine-gauss_single/run.json").read_text())
    assert about["init"] is not None
    first, then = (records[name]["log"] for name in ("standard", "fine-gauss_single"))
    assert then[0]["loss"] < first[0]["loss"]
    page = table.page(records)
    assert "for 2 more epochs, with a learning rate of 0.001" in page
    (row,) = [line for line in page.splitlines() if line.startswith("| fine-gauss_single")]
    assert f" {mean_error(fine) - mean_error(records['standard']):+.1f} ±" in row


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "expected JSON that can be read"), ("[3]", "writes")],
)
def test_what_is_wrong_is_said_in_a_line(content, said, tmp_path, capsys) -> None:
    if content:
        (tmp_path / "broken.json").write_text(content)
    assert main(["table", str(tmp_path / "broken.json"), "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert not (tmp_path / "out").exists()


def test_shifts_move_by_whole_pixels_and_let_black_in() -> None:
    images = np.full((300, 32, 32, 3), 9, np.uint8)
    moved = shifted(images, np.random.default_rng(0))
    black = (moved == 0).all(3)
    rows, columns = black.all(2).sum(1), black.all(1).sum(1)
    assert set(rows) == set(columns) == {0, 1, 2, 3, 4}
    inner = (32 - rows) * (32 - columns)
    assert np.array_equal((moved == 9).all(3).sum((1, 2)), inner)


def test_speed_has_all_that_the_page_says(tmp_path, narrow) -> None:
    data = small_data(tmp_path, count=48)
    found = speed(data, NARROW, CPU, 2)
    assert found["epochs"] == 2
    assert found["step"] * 2 == pytest.approx(found["epoch"])
    assert found["outside"] == pytest.approx(1 - found["forward_backward"] / found["step"])
    assert min(found["augmix_mixing"], found["augmix_net"], found["forward_backward"]) > 0
    record = {"format": 1, "name": "speed", "group": "speed", "speed": found}
    page = table.page({"speed": record | {"session": runs.session(commit="abc")}})
    assert f"{found['images_per_second']:,.0f} images/s" in page
    assert f"minutes: {100 * found['epoch'] / 60:.2f}" in page
