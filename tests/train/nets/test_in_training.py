"""Nets that take part in their training: a killed run of each resumes to the same weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from hardy.errors import InputError
from hardy.models import load_model
from hardy.train import loop
from hardy.train.loop import Training, run_training
from hardy.train.method import make_method
from hardy.train.nets import make_net
from hardy.train.trained_model import trained_net
from tests.photos import random_images
from tests.train.small import CPU, NARROW, small_data
from tests.train.test_loop import killed_in, same, weights

SMALL = {
    "multigrid": "r_mg_cifar:width=4",
    "plain multigrid": "mg_cifar:width=4",
    "msdnet": "msdnet_cifar:exits=2,base=2,step=2,channels=4,growth=2",
    "condensenet": "condensenet_86:layers=1,growth=4,lasso=0.001",
    "assemble": "assemble_resnet_50:small=yes,width=4",
    "shake-shake": "shake_shake_26:depth=8,width=4",
    "densenet": "densenet_40:depth=7,growth=2",
    "resnet": "resnet_20",
}
FEW = replace(NARROW, epochs=3, batch=8, deterministic=True)
IMAGES = random_images(6, 16, 16)


@pytest.fixture(autouse=True)
def _save_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)


@pytest.mark.parametrize("family", SMALL)
def test_a_killed_run_resumes_to_the_same_weights(family, tmp_path) -> None:
    data, recipe = small_data(tmp_path, count=16), replace(FEW, net=SMALL[family])
    run_training("standard", data, tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, tmp_path / "cut", recipe, track=killed_in(2))
    assert run_training("standard", data, tmp_path / "cut", recipe).epochs == 2
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert load_model(f"hardy:{tmp_path / 'cut'}").logits(IMAGES).shape == (6, 3)


def test_exits_of_a_trained_msdnet(tmp_path) -> None:
    net = "msdnet_cifar:exits=3,base=1,step=1,channels=4,growth=2"
    data = small_data(tmp_path, count=16)
    out = tmp_path / "out"
    run_training("augmix", data, out, replace(FEW, net=net, epochs=1, label_smoothing=0.1))
    last, third, second = (load_model(f"hardy:{out}{more}") for more in ("", ":exit=3", ":exit=2"))
    np.testing.assert_array_equal(last.logits(IMAGES), third.logits(IMAGES))
    assert not np.array_equal(second.logits(IMAGES), third.logits(IMAGES))
    assert len({model.identity for model in (second, third)}) == 2
    np.testing.assert_array_equal(
        load_model(f"hardy:{out}:confidence=1").logits(IMAGES), last.logits(IMAGES)
    )
    first = load_model(f"hardy:{out}:exit=1").logits(IMAGES)
    np.testing.assert_array_equal(load_model(f"hardy:{out}:confidence=0.1").logits(IMAGES), first)
    for wrong in ("exit=4", "confidence=2", "exit=1,confidence=0.5"):
        with pytest.raises(InputError, match="expected exit as 1 to 3, or confidence"):
            load_model(f"hardy:{out}:{wrong}")
    with pytest.raises(InputError, match="a trained msdnet_cifar:exits=3"):
        load_model(f"hardy:{out}:exits=2")


def test_a_net_with_one_way_to_answer_takes_no_settings(tmp_path) -> None:
    data = small_data(tmp_path, count=16)
    run_training("standard", data, tmp_path / "out", replace(FEW, net=SMALL["densenet"], epochs=1))
    with pytest.raises(InputError, match=r'densenet_40.* has one way to answer, got "exit=1"'):
        load_model(f"hardy:{tmp_path / 'out'}:exit=1")
    (tmp_path / "out").rename(tmp_path / "out:exit=1")
    assert load_model(f"hardy:{tmp_path / 'out:exit=1'}").logits(IMAGES).shape == (6, 3)


def test_a_trained_condensenet_is_converted(tmp_path) -> None:
    data, out = small_data(tmp_path, count=16), tmp_path / "out"
    # An average of weights does not blur what is read.
    run_training("standard", data, out, replace(FEW, net=SMALL["condensenet"], ema=0.5))
    plain, converted = (load_model(f"hardy:{out}{more}") for more in ("", ":converted=yes"))
    np.testing.assert_allclose(converted.logits(IMAGES), plain.logits(IMAGES), atol=1e-5)
    sizes = [model.facts.weight_bytes for model in (plain, converted)]
    assert sizes[1] < sizes[0]
    run_training(
        "standard",
        data,
        tmp_path / "short",
        replace(FEW, net=SMALL["condensenet"], epochs=1, batch=16),
    )
    with pytest.raises(InputError, match="got one whose training ended before"):
        load_model(f"hardy:{tmp_path / 'short'}:converted=yes")
    with pytest.raises(InputError, match="expected half_head=yes with converted=yes"):
        load_model(f"hardy:{out}:half_head=yes")


def test_all_exits_learn() -> None:
    """The loss of a step is the sum over all exits."""
    torch.manual_seed(0)
    net = make_net("msdnet_cifar:exits=2,base=1,step=1,channels=4,growth=2", 3).train()
    images, labels = torch.rand(4, 3, 16, 16), torch.tensor([0, 1, 2, 0])
    loss = functional.cross_entropy(net(images), labels) + net.added_loss(labels)
    both = net.all_exits(images)
    wanted = sum(functional.cross_entropy(one, labels) for one in both)
    torch.testing.assert_close(loss, wanted)
    loss.backward()
    learning = [weight.grad is not None for weight in net.classifiers.parameters()]
    assert all(learning)
    assert net.added_loss(labels) == 0  # what was shown has been counted


def test_the_loop_trains_all_exits(tmp_path) -> None:
    data = small_data(tmp_path, count=16)
    recipe = replace(FEW, net=SMALL["msdnet"], epochs=1, weight_decay=0.0)
    first = Training(make_method("standard"), data, recipe, CPU).net.state_dict()
    run_training("standard", data, tmp_path / "out", recipe)
    trained = weights(tmp_path / "out")
    heads = [name for name in trained if name.startswith("classifiers") and name.endswith("bias")]
    assert {name.split(".")[1] for name in heads} == {"2", "4"}
    assert not any(torch.equal(trained[name], first[name]) for name in heads)


def test_a_condensenet_is_condensed_by_the_end_of_a_run(tmp_path) -> None:
    data = small_data(tmp_path, count=16)
    run_training("standard", data, tmp_path / "out", replace(FEW, net=SMALL["condensenet"]))
    net, _ = trained_net(tmp_path / "out")
    for layer in net._learned():
        assert (layer.mask.sum(1) == layer.mask.shape[1] / 4).all()
