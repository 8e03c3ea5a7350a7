"""Nets of libraries, trained and cut like Hardy's own."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from hardy.errors import MissingResource
from hardy.models import load_model
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD
from hardy.train.checkpoint import write_tensors
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.loop import run_training
from hardy.train.nets import cut_in_two, make_net, normalisation
from hardy.train.record import begin_run
from hardy.train.run_folder import MODEL
from hardy.train.trained_model import trained_net
from tests.photos import random_images
from tests.train.small import described, small_data


@pytest.mark.parametrize("name", ["torchvision:squeezenet1_1", "timm:test_resnet"])
def test_nets_of_libraries_are_trained_and_loaded_again(name, torchvision, tmp_path) -> None:
    torch.manual_seed(0)
    net = make_net(name, 5).eval()
    begin_run(tmp_path / "out", described(name, 5))
    write_tensors(tmp_path / "out" / MODEL, net.state_dict(), {})
    images = random_images(3, 64, 64)
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(side).view(3, 1, 1) for side in (IMAGENET_MEAN, IMAGENET_STD))
    with torch.no_grad():
        wanted = net((pixels - mean) / std)
    assert wanted.shape == (3, 5)
    found = torch.from_numpy(load_model(f"hardy:{tmp_path / 'out'}").logits(images))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_a_run_starts_from_released_weights_of_a_library_net(torchvision, tmp_path) -> None:
    torch.manual_seed(0)
    name, released = "torchvision:squeezenet1_1", tmp_path / "released.pth"
    started = make_net(name, 3).state_dict()
    torch.save({"weights": {f"module.{key}": t for key, t in started.items()}}, released)
    still = Hyperparameters(net=name, epochs=1, batch=32, lr=1e-30)
    run_training("standard", small_data(tmp_path, side=32), tmp_path / "out", still, init=released)
    made, run = trained_net(tmp_path / "out")
    for key, weight in made.named_parameters():
        torch.testing.assert_close(weight.detach(), started[key], rtol=0, atol=1e-25)
    assert run["preprocessing"] == {"mean": [*IMAGENET_MEAN], "std": [*IMAGENET_STD]}
    assert load_model(f"hardy:{tmp_path / 'out'}").preprocessing.mean == IMAGENET_MEAN


def test_nets_of_libraries_have_their_own_normalisation(torchvision) -> None:
    tvision, timms = (make_net(name, 2) for name in ("torchvision:squeezenet1_1", "timm:test_vit"))
    assert normalisation("torchvision:squeezenet1_1", tvision) == (IMAGENET_MEAN, IMAGENET_STD)
    assert normalisation("timm:test_vit", timms) == ((0.5,) * 3, (0.5,) * 3)
    assert normalisation("wrn_40_2", nn.Identity()) == ((0.5,) * 3, (0.5,) * 3)


def test_second_heads_are_left_out(torchvision) -> None:
    """Training would get a tuple from them."""
    net = make_net("torchvision:googlenet", 2)
    assert net(torch.rand(2, 3, 64, 64)).shape == (2, 2)


@pytest.mark.parametrize("name", ["torchvision:resnet18", "timm:test_resnet"])
def test_resnets_of_libraries_are_cut_too(name, torchvision) -> None:
    net = make_net(name, 3).eval()
    before, after = cut_in_two(net)
    x = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        features = before(x)
        assert torch.equal(after(features), net(x))
        assert torch.equal(features, nn.Sequential(*[*net.children()][:7])(x))
    assert cut_in_two(make_net("torchvision:squeezenet1_1", 2)) is None


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_library_that_is_not_installed(library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"{library}:resnet18 needs {library}, .*\[{library}\]"
    with pytest.raises(MissingResource, match=message):
        make_net(f"{library}:resnet18", 10)
