"""The plan: everything that can be trained is in it, and what it says is understood."""

from __future__ import annotations

import pytest

from experiments.plan import TUNED, chosen, plan, select
from hardy.errors import InputError
from hardy.train import METHODS
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.method import make_method

ASKED = {
    *("standard", "gauss_single", "gauss_mult", "speckle", "ant", "ant3x3", "augmix"),
    *("patch_gaussian", "patch_uniform", "stability", "alp", "noise2net"),
    "groupwise_inhibition",
}


def test_every_method_is_run_under_the_common_schedule() -> None:
    methods = [c for c in plan() if c.group == "methods"]
    assert {c.method for c in methods} == ASKED
    assert set(METHODS) >= ASKED
    assert all("epochs" not in c.recipe for c in methods)


@pytest.mark.parametrize("configuration", plan(), ids=lambda c: c.name)
def test_settings_and_recipes_are_understood(configuration) -> None:
    make_method(configuration.method, configuration.settings)
    Hyperparameters(**configuration.recipe)


def test_the_standard_training_is_repeated_with_another_seed() -> None:
    first, again = select(["standard"])[0], select(["standard-again"])[0]
    assert (first.method, first.settings) == (again.method, again.settings)
    assert Hyperparameters(**first.recipe).seed != Hyperparameters(**again.recipe).seed


def test_the_study_trains_newer_methods_by_the_papers_schedule_with_three_seeds() -> None:
    study = select(["study"])
    for seed in range(3):
        of_seed = [c for c in study if c.recipe["seed"] == seed]
        newer = {"hybrid_augment", "prime", "noisy_mix", "pix_mix", "trivial_augment", "afa",
                 "deep_augment"}  # fmt: skip
        assert {c.method for c in of_seed} == {"standard", "augmix", "apr", *newer}
        assert {c.settings.get("main") for c in of_seed} > {"prime", "augmix", "hybrid_augment"}
    assert all((c.recipe["net"], c.recipe["epochs"]) == ("wrn_40_2", 100) for c in study)


def test_stylised_images_are_mixed_in_beside_noise_of_the_chosen_norm() -> None:
    (mixed,) = (c for c in plan() if c.stylised)
    plain = select(["ant"])[0]
    assert (mixed.name, mixed.method, mixed.chosen_for) == ("ant+stylised", "ant", "ant")
    assert (mixed.group, mixed.settings, mixed.recipe) == (plain.group, {}, plain.recipe)


def test_names_are_apart_and_fit_for_files() -> None:
    names = [c.name for c in plan()]
    assert len(set(names)) == len(names) == 45 + 3 * 15
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.+-") for name in names)


def test_norms_are_those_of_gaussian_noise() -> None:
    sigmas, norms = (
        [float(c.settings[setting]) for c in select([f"tune-{method}-*"])]
        for method, setting in TUNED.items()
    )
    assert norms == pytest.approx([sigma * 3072**0.5 for sigma in sigmas], rel=5e-3)


def test_the_smallest_validation_error_chooses_once_all_are_there() -> None:
    names = [c.name for c in select(["tune-ant-*"])]
    errors = dict.fromkeys(names, 20.0) | {names[2]: 10.0}
    assert chosen(errors, "ant") == names[2].removeprefix("tune-ant-")
    del errors[names[0]]
    assert chosen(errors, "ant") is None


def test_selection_by_name_group_and_pattern() -> None:
    assert len(select([])) == len(plan())
    assert select(["ant", "bands"])[0].name == "ant"
    assert {c.group for c in select(["bands"])} == {"bands"}
    assert len(select(["stability-u*", "grid", "stability"])) == 9
    with pytest.raises(InputError, match="standard"):
        select(["standart"])
