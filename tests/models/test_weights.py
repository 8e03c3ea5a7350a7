import json
import os
import pickle
import re
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save_file

from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD
from hardy.models.weight_files import packed
from hardy.models.weights import load_checkpoint
from hardy.train.nets import make_net
from tests.models.tiny import IMAGES, tiny
from tests.photos import random_images

NAME = "torch:tests.models.tiny:tiny"
WEIGHTS = tiny(seed=1).state_dict()
TODO = "take another file"


def expected():
    return load_model(tiny(seed=1)).logits(IMAGES)


WRAPPED = {
    "bare": WEIGHTS,
    "state_dict": {"state_dict": WEIGHTS, "epoch": 3},
    "model": {"model": WEIGHTS, "optimizer": {"lr": 0.1}},
    "model_state_dict": {"model_state_dict": WEIGHTS},
    "parallel": OrderedDict((f"module.{name}", tensor) for name, tensor in WEIGHTS.items()),
    "both": {"state_dict": {f"module.{name}": tensor for name, tensor in WEIGHTS.items()}},
    "old": {name: tensor for name, tensor in WEIGHTS.items() if "tracked" not in name},
    "any name": {"weights": WEIGHTS, "epoch": 3, "args": {"lr": 0.1}},
    "prefixes": {"net": {f"module.model.{name}": tensor for name, tensor in WEIGHTS.items()}},
    "compiled": {f"_orig_mod.net.{name}": tensor for name, tensor in WEIGHTS.items()},
}


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_weights_in_every_usual_wrapping(wrapped, tmp_path):
    torch.save(wrapped, tmp_path / "weights.pt")
    model = load_model(NAME, checkpoint=tmp_path / "weights.pt")
    np.testing.assert_array_equal(model.logits(IMAGES), expected())
    save_file(WEIGHTS, tmp_path / "bare.safetensors")
    assert model.identity == load_model(NAME, checkpoint=tmp_path / "bare.safetensors").identity
    assert model.identity != load_model(NAME).identity


def prefixed():
    """A model whose own names begin like a prefix."""
    return torch.nn.ModuleDict({"model": tiny(seed=2)})


def test_prefixes_that_are_the_models_own_stay(tmp_path):
    for start in ("", "module.", "model."):
        torch.save(
            {f"{start}model.{name}": tensor for name, tensor in WEIGHTS.items()},
            tmp_path / "weights.pt",
        )
        module = prefixed()
        load_checkpoint(module, tmp_path / "weights.pt", TODO)
        assert torch.equal(module.model.conv.weight, WEIGHTS["conv.weight"])


def test_a_released_checkpoint_of_a_known_net(torchvision, tmp_path):
    """The bare net's weights under one key, to be evaluated and to be trained further."""
    net = make_net("torchvision:squeezenet1_1", 1000)
    torch.save({"model_state_dict": net.state_dict()}, tmp_path / "released.pth")
    model = load_model("torchvision:squeezenet1_1", checkpoint=tmp_path / "released.pth")
    mean, std = (torch.tensor(side).view(3, 1, 1) for side in (IMAGENET_MEAN, IMAGENET_STD))
    images = random_images(2, 224, 224)
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2) / 255
    with torch.no_grad():
        wanted = net.eval()((pixels - mean) / std).numpy()
    np.testing.assert_allclose(model.logits(images), wanted, atol=1e-4)
    fresh = make_net("torchvision:squeezenet1_1", 1000)
    load_checkpoint(fresh, tmp_path / "released.pth", TODO)
    assert all(map(torch.equal, fresh.state_dict().values(), net.state_dict().values()))
    message = (
        r"1\.weight is \(1000, 512, 1, 1\) .*: it is for 1000 classes and the model for 10; "
        "take another file$"
    )
    with pytest.raises(InputError, match=message):
        load_checkpoint(make_net("torchvision:squeezenet1_1", 10), tmp_path / "released.pth", TODO)


def test_the_file_is_part_of_the_name(tmp_path):
    torch.save(WEIGHTS, tmp_path / "epoch 9.pt")
    assert load_model(NAME, checkpoint=tmp_path / "epoch 9.pt").name == f"{NAME} @ epoch 9.pt"
    assert load_model(NAME, checkpoint=tmp_path / "epoch 9.pt", name="mine").name == "mine"


def test_safetensors(tmp_path):
    save_file(WEIGHTS, tmp_path / "weights.safetensors")
    model = load_model(NAME, checkpoint=str(tmp_path / "weights.safetensors"))
    np.testing.assert_array_equal(model.logits(IMAGES), expected())


class Malicious:
    def __reduce__(self):
        return os.mkdir, (os.environ["TRAP"],)


@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: {"state_dict": WEIGHTS, "x": bad}])
def test_a_pickle_that_runs_code_is_refused_and_not_run(wrap, tmp_path, monkeypatch):
    trap = tmp_path / "sprung"
    monkeypatch.setenv("TRAP", str(trap))
    torch.save(wrap(Malicious()), tmp_path / "weights.pt")
    with pytest.raises(InputError, match=r"holds more than weights.*never does.*state_dict\(\)"):
        load_model(NAME, checkpoint=tmp_path / "weights.pt")
    assert not trap.exists()
    torch.load(tmp_path / "weights.pt", weights_only=False)
    assert trap.exists()  # the trap was a real one


def test_a_whole_module_is_refused_too(tmp_path):
    torch.save(tiny(), tmp_path / "model.pt")
    with pytest.raises(InputError, match="holds more than weights: reading it would run code"):
        load_model(NAME, checkpoint=tmp_path / "model.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (torch.ones(3), "expected a dictionary of tensors.*got Tensor"),
        ({"epoch": 3, "best": 0.7}, "got dict of epoch, best"),
        ({"one": WEIGHTS, "ema": WEIGHTS}, "the only one under another name; got dict of one, ema"),
        (
            {**WEIGHTS, **{f"module.{name}": tensor for name, tensor in WEIGHTS.items()}},
            "holds conv.weight twice, by itself and behind a prefix",
        ),
        (
            tiny(classes=9).state_dict(),
            r"2 misshapen \(head.weight is \(9, 4\) instead of \(5, .*\): it is for 9 classes and "
            "the model for 5; name the model it was saved from, or write a factory that makes it: "
            "torch:package.module:factory$",
        ),
        (
            {**WEIGHTS, "conv.weight": torch.ones(4, 3, 5, 5)},
            r"1 misshapen \(conv.weight is \(4, 3, 5, 5\) instead of \(4, 3, 3, 3\)\); name the",
        ),
        (
            {"conv.weight": WEIGHTS["conv.weight"], "fc.weight": torch.ones(2, 2)},
            r"of 9 expected tensors 7 missing \(conv.bias, norm.weight, norm.bias, \.\.\.\), "
            r"1 unknown \(fc.weight\); name the model",
        ),
    ],
    ids=["tensor", "no tensors", "two", "twice", "classes", "shapes", "names"],
)
def test_what_does_not_fit_is_named(content, message, tmp_path):
    torch.save(content, tmp_path / "weights.pt")
    with pytest.raises(InputError, match=message):
        load_model(NAME, checkpoint=tmp_path / "weights.pt")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (torch.Tensor.to_sparse, "of torch.float32, got one of sparse torch.float32; save"),
        (lambda weight: weight.to("meta"), "got one of meta torch.float32"),
        (
            lambda weight: torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8),
            "got one of torch.qint8",
        ),
        (lambda weight: weight + 1j, "got one of torch.complex64"),
        (lambda weight: weight > 0, "got one of torch.bool"),
        (lambda weight: weight / 0, "expected numbers, got weights that are none"),
        (lambda weight: weight.double() * 1e300, r"infinite as torch\.float32"),
    ],
    ids=["sparse", "meta", "quantised", "complex", "bool", "infinite", "too large"],
)
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quant:DeprecationWarning")
def test_values_that_are_no_weights_are_named(spoil, message, tmp_path):
    torch.save({**WEIGHTS, "conv.weight": spoil(WEIGHTS["conv.weight"])}, tmp_path / "weights.pt")
    with pytest.raises(InputError, match=rf"weights\.pt: conv\.weight: .*{message}"):
        load_model(NAME, checkpoint=tmp_path / "weights.pt")


def test_half_precision_and_the_infinities_of_a_mask_are_taken(tmp_path):
    masked, mask = torch.nn.Linear(2, 2), torch.tensor([0.0, -torch.inf])
    masked.register_buffer("mask", mask)
    torch.save({**masked.half().state_dict(), "mask": mask}, tmp_path / "weights.pt")
    load_checkpoint(masked.float(), tmp_path / "weights.pt", TODO)
    assert torch.equal(masked.mask, mask)


@pytest.mark.parametrize("name", ["weights.pt", "weights.safetensors"])
@pytest.mark.parametrize(
    "content",
    [b"", b"not weights at all" * 9, b"\x08\x08\x12\x07an onnx", pickle.dumps({"a": 1}, 4)],
    ids=["empty", "text", "onnx", "pickle"],
)
def test_a_file_of_something_else_is_refused(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"{name} is no (checkpoint|safetensors file) that"):
        load_model(NAME, checkpoint=tmp_path / name)


def test_a_damaged_legacy_file_is_refused(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(WEIGHTS, path, _use_new_zipfile_serialization=False)
    data = path.read_bytes()
    place = data.rindex(b"ctorch\nFloatStorage")
    key = re.compile(rb"X.\0\0\0(\d+)").search(data, place)  # the first storage is called so
    path.write_bytes(data[: key.start(1)] + b"x" + data[key.start(1) + 1 :])
    with pytest.raises(InputError, match=r"is no checkpoint that can be read \(\w+.*expected a"):
        load_model(NAME, checkpoint=path)


def test_a_cut_off_file_is_refused(tmp_path):
    torch.save(WEIGHTS, tmp_path / "weights.pt")
    whole = (tmp_path / "weights.pt").read_bytes()
    (tmp_path / "weights.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"no checkpoint that can be read .*made by torch\.save"):
        load_model(NAME, checkpoint=tmp_path / "weights.pt")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"expected a checkpoint, got .*none\.pt, which is no"):
        load_model(NAME, checkpoint=tmp_path / "none.pt")


def test_a_module_that_is_lent_takes_no_checkpoint(tmp_path):
    with pytest.raises(InputError, match="Tiny takes no checkpoint: load the weights into the mod"):
        load_model(tiny(), checkpoint=tmp_path / "weights.pt")


def test_the_same_weights_are_the_same_bytes():
    """The library has notes in an order that differs from process to process."""
    notes = {letter: letter for letter in "they are in no order of their own"}
    content = packed(WEIGHTS, notes, Path("x"))
    end = 8 + int.from_bytes(content[:8], "little")
    assert end % 8 == 0
    head = json.loads(content[8:end])
    assert list(head["__metadata__"]) == sorted(head["__metadata__"])
    assert content == packed(dict(reversed(WEIGHTS.items())), notes, Path("x"))
    found = load(content)
    assert all(torch.equal(found[name], tensor) for name, tensor in WEIGHTS.items())
