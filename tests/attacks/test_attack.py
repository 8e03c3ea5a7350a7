"""`hardy.attack` and `hardy eval --attack`: from images to a file, a table and a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import InputError
from hardy.report.gathered import gather
from hardy.report.page import render_report
from hardy.store.attack_files import Attacked, hash_set, read_attacks
from hardy.store.reader import find_runs
from tests.attacks.coloured import IMAGES, LABELS, QUICK, ByColour, coloured, stored
from tests.report.pages import Parsed, check_safe


def test_attack_leaves_its_numbers_beside_the_run() -> None:
    net = ByColour().train()
    got = hardy.attack(net, images=IMAGES, labels=LABELS, noise="ant3x3", **QUICK)
    assert net.training
    assert all(weight.grad is None for weight in net.parameters())
    assert (got.images, got.fitted_on) == (20, "20 other images of the same set")
    assert got.epsilon == pytest.approx(19.29, abs=0.01)
    run = stored()
    assert read_attacks(run) == (got,)
    assert got.model == run.model == "ByColour"
    for one in (got.clean, got.adversarial, got.gaussian, got.median_distance):
        assert one.low <= one.value <= one.high
    assert got.difference.value == pytest.approx(got.adversarial.value - got.gaussian.value)
    assert sum(got.shares) == pytest.approx(100, abs=0.1)
    # The same again, from the same seed.
    again = hardy.attack(net, images=IMAGES, labels=LABELS, noise="ant3x3", **QUICK)
    assert replace(again, session={}) == replace(got, session={})
    assert len(read_attacks(run)) == 1


def test_one_track_follows_predictions_and_steps() -> None:
    units = []

    def track(items: Iterable[Any], total: int, unit: str = "", *how: object) -> Iterable[Any]:
        units.append(unit)
        return items

    hardy.attack(ByColour(), images=IMAGES, labels=LABELS, track=track, **QUICK)
    assert units == ["predictions", "steps"]


@pytest.mark.parametrize("option", ["only", "severities", "dry_run"])
def test_what_chooses_among_corruptions_is_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"expected an attack without `{option}`, got both"):
        hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK, **{option: 1})


def test_a_list_of_models_gives_a_list() -> None:
    (attacked,) = hardy.attack([ByColour()], images=IMAGES, labels=LABELS, **QUICK)
    assert attacked.model == "ByColour"


def test_no_attack_takes_the_place_of_another() -> None:
    made = [
        hardy.attack(ByColour(), **({"images": IMAGES, "labels": LABELS} | QUICK | changes))
        for changes in (
            {},
            {"epsilon": 4.0},
            {"steps": 1},
            {"seed": 1},
            {"noise": "ant3x3"},
            {"images": IMAGES[:30], "labels": LABELS[:30]},
        )
    ]
    assert made[3].shares != made[0].shares  # another seed, other noise
    found = [one for run in find_runs(Path("runs")) for one in read_attacks(run)]
    assert sorted(map(repr, found)) == sorted(map(repr, made))
    assert len({one.digest for one in made}) == 6
    assert len({one.measured_hash for one in made}) == len({one.fitted_hash for one in made}) == 2


def test_shorter_attacks_are_told_apart() -> None:
    for steps in (3, 1):
        hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **(QUICK | {"steps": steps}))
    assert [one.steps for one in read_attacks(stored())] == [1, 3]
    page = Parsed(render_report(gather(Path("runs"))))
    text = " ".join(page.text)
    assert "ByColour, 1 × 1, ε 19.29, 1 step " in text
    assert "ByColour, 1 × 1, ε 19.29, 3 steps " in text
    assert "the same generator, ε and steps" in text


def test_a_set_of_images_is_known_in_any_order() -> None:
    pixels, labels = np.array([5, 2**64 - 1, 7], np.uint64), np.array([0, 1, 2])
    known = hash_set(pixels, labels)
    assert hash_set(pixels[::-1], labels[::-1]) == known
    assert hash_set(pixels, labels[::-1]) != known
    assert hash_set(pixels + np.uint64(1), labels) != known


def test_halves_have_no_image_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.attacks import measurement as work

    shown: dict[str, list[bytes]] = {"fit": [], "measure": []}
    fit, measure = work.fit_generator, work.measure_attack

    def watch(kind: str, images: torch.Tensor) -> None:
        shown[kind] += [image.numpy().tobytes() for image in images]

    def watched_fit(classify, images, *rest, **options):
        watch("fit", images)
        return fit(classify, images, *rest, **options)

    def watched_measure(classify, images, *rest, **options):
        watch("measure", images)
        return measure(classify, images, *rest, **options)

    monkeypatch.setattr(work, "fit_generator", watched_fit)
    monkeypatch.setattr(work, "measure_attack", watched_measure)
    hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK)
    assert [len(images) for images in shown.values()] == [20, 20]
    assert len({*shown["fit"], *shown["measure"]}) == 40


def test_images_to_fit_on_can_be_named() -> None:
    np.savez("more.npz", images=coloured(12, seed=3), labels=LABELS[:12])
    got = hardy.attack(
        ByColour(), images=IMAGES, labels=LABELS, attack_images="more.npz", epsilon=4.0, **QUICK
    )
    assert (got.images, got.fitted_on) == (40, "12 images named for it")
    assert got.epsilon == 4
    assert got.fitted_hash != got.measured_hash


def test_an_image_that_is_there_twice_is_not_fitted_on_and_measured() -> None:
    images, labels = np.concatenate([IMAGES, IMAGES[:10]]), np.concatenate([LABELS, LABELS[:10]])
    got = hardy.attack(ByColour(), images=images, labels=labels, **QUICK)
    assert got.images == 25
    assert int(got.fitted_on.split()[0]) < 25
    twice = np.repeat(IMAGES[:1], 4, axis=0)
    with pytest.raises(InputError, match="expected images that differ"):
        hardy.attack(
            ByColour(),
            images=twice,
            labels=np.repeat(LABELS[:1], 4),
            **(QUICK | {"store": "other"}),
        )


def test_the_run_of_an_attack_goes_on_as_any_other() -> None:
    hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK)
    assert [str(cell) for cell in stored().cells] == ["clean:0"]
    hardy.evaluate(
        ByColour(), suite="cifar10_c", images=IMAGES, labels=LABELS, only="contrast", severities=1
    )
    assert [str(cell) for cell in stored().cells] == ["clean:0", "contrast:1"]
    assert len(read_attacks(stored())) == 1


def test_the_page_shows_the_noise() -> None:
    hardy.attack(ByColour(), images=IMAGES, labels=LABELS, name="<b>net", **QUICK)
    report = gather(Path("runs"))
    page = Parsed(render_report(report))
    check_safe(page)
    text = " ".join(page.text)
    assert "Adversarial noise" in text
    assert "Fitted on 20 other images of the same set, 2 steps" in text
    alts = [image["alt"] for image in page.all("img")]
    assert sum("noise" in alt.lower() for alt in alts) == 6
    assert any(one["id"] == "cifar10-c-noise-0" for one in page.all("div") if "id" in one)
    assert "<b>net, 1 × 1, ε 19.29" in " ".join(" ".join(page.text).split()).replace(" ,", ",")
    assert len([one for one in page.all("div") if one.get("aria-label", "").startswith("Adv")]) == 1
    # What was measured on other images stands apart.
    np.savez("more.npz", images=coloured(12, seed=3), labels=LABELS[:12])
    hardy.attack(
        ByColour(), images=IMAGES, labels=LABELS, name="<b>net", attack_images="more.npz", **QUICK
    )
    apart = Parsed(render_report(gather(Path("runs"))))
    check_safe(apart)
    assert [
        one["aria-label"][-7:] for one in apart.all("div") if "Adv" in one.get("aria-label", "")
    ] == ["group 1", "group 2"]
    assert "Measured on 40 images (" in " ".join(apart.text)
    # Without an attack there is nothing of it.
    for path in stored().folder.glob("attack-ant-*.json"):
        path.unlink()
    assert "Adversarial noise" not in " ".join(Parsed(render_report(gather(Path("runs")))).text)


def test_command(run, tmp_path: Path) -> None:
    np.savez("set.npz", images=IMAGES, labels=LABELS)
    (tmp_path / "colours.py").write_text("from tests.attacks.coloured import made\n")
    few = ("--suite", "cifar10_c", "--images", "set.npz")
    short = ("--attack", "ant", "--attack-steps", "2")
    code, out, err = run("eval", "torch:colours:made", *short, "--epsilon", "5", *few)
    assert (code, err) == (0, "")
    assert "adversarial noise, ant" in out
    assert "accuracy on 20 images under noise of L2 norm 5; 95 % intervals" in out
    assert out.splitlines()[-1] == "stored in runs; `hardy report runs` shows the noise"
    assert "fitted on 20 other images of the same set, 2 steps" in out
    assert [(one.epsilon, one.steps) for one in read_attacks(stored())] == [(5, 2)]
    for words, message in (
        (("fake:10", "--attack", "ant"), "torch can differentiate"),
        (("fake:10", "--attack", "ant", "--only", "fog"), "an attack without --only"),
        (("fake:10", "--attack", "ant", "--dry-run"), "an attack without --dry-run"),
        (("fake:10", "--epsilon", "5"), "--epsilon with --attack"),
        (("fake:10", "--attack-steps", "5"), "--attack-steps with --attack"),
        (("fake:10", "--attack", "ant", "--attack-steps", "0"), "at least 1 step to fit"),
        (("torch:colours:made", "--attack", "ant", "--epsilon", "1e300"), "which no noise reaches"),
    ):
        code, _, err = run("eval", *words, *few)
        assert code == 2
        assert message in err


def test_stopping_says_that_noise_is_fitted_anew(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hardy.attacks import measurement as work

    def stop(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "fit_generator", stop)
    np.savez("set.npz", images=IMAGES, labels=LABELS)
    (tmp_path / "colours.py").write_text("from tests.attacks.coloured import made\n")
    few = ("--suite", "cifar10_c", "--images", "set.npz")
    code, _, err = run("eval", "torch:colours:made", "--attack", "ant", *few)
    assert code == 130
    assert err.endswith("what is finished is kept, and the same command fits all noise anew\n")


def test_learned_is_said_only_by_the_interval() -> None:
    got = hardy.attack(ByColour(), images=IMAGES, labels=LABELS, **QUICK)
    assert isinstance(got, Attacked)
    clearly = replace(got, difference=got.difference._replace(value=-9.0, low=-12.0, high=-5.0))
    perhaps = replace(got, difference=got.difference._replace(value=-9.0, low=-12.0, high=0.0))
    assert clearly.learned
    assert not perhaps.learned
    assert "gaussian_patches" in asdict(got)
