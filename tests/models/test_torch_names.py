"""Models by name: torchvision, timm, and a factory of one's own."""

import importlib
import linecache
import sys
from urllib.error import URLError

import pytest
import torch

from hardy.errors import HardyError, InputError, MissingResource
from hardy.models import Preprocessing, load_model
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD
from tests.photos import photos

SMALL = "squeezenet1_1"


@pytest.fixture
def offline(monkeypatch):
    """No network, as the libraries see it."""

    def refuse(*arguments, **options):
        raise URLError("no route to host")

    monkeypatch.setattr("torch.hub.load_state_dict_from_url", refuse)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", refuse)
    monkeypatch.setattr("timm.models._builder.load_state_dict_from_hf", refuse)
    monkeypatch.setattr("timm.models._builder.load_state_dict_from_url", refuse)


@pytest.fixture
def checkpoint(torchvision, tmp_path):
    from torchvision.models import get_model

    torch.save(get_model(SMALL).state_dict(), tmp_path / "weights.pt")
    return tmp_path / "weights.pt"


def test_torchvision_with_a_checkpoint(checkpoint, tmp_path):
    model = load_model(f"torchvision:{SMALL}", checkpoint=checkpoint)
    logits = model.logits(photos(64)[:2])
    assert logits.shape == (2, 1000)
    assert model.preprocessing == Preprocessing(IMAGENET_MEAN, IMAGENET_STD, 224)
    assert "torchvision's IMAGENET1K_V1" in str(model.preprocessing)
    assert model.facts.known_accuracy is None  # these are not the weights that torchvision measured
    elsewhere = checkpoint.rename(tmp_path / "moved.pth")
    assert (
        load_model(f"torchvision:{SMALL}", checkpoint=elsewhere, batch=1).identity == model.identity
    )


def test_torchvisions_own_weights_bring_their_known_accuracy(checkpoint, monkeypatch):
    from torchvision.models import SqueezeNet1_1_Weights

    weights = torch.load(checkpoint, weights_only=True)
    monkeypatch.setattr(SqueezeNet1_1_Weights, "get_state_dict", lambda *a, **k: weights)
    model = load_model(f"torchvision:{SMALL}")
    assert model.facts.known_accuracy == pytest.approx(0.58178)
    assert load_model(f"torchvision:{SMALL}.IMAGENET1K_V1").identity == model.identity
    assert load_model(f"torchvision:{SMALL}", checkpoint=checkpoint).identity == model.identity
    other = Preprocessing((0, 0, 0), (1, 1, 1), 224)
    assert load_model(f"torchvision:{SMALL}", preprocessing=other).facts.known_accuracy is None


def test_timm_with_a_checkpoint(torchvision, tmp_path):
    import timm

    torch.save(timm.create_model("test_vit").state_dict(), tmp_path / "weights.pt")
    model = load_model("timm:test_vit", checkpoint=tmp_path / "weights.pt")
    assert model.logits(photos(64)[:2]).shape == (2, 1000)
    assert model.preprocessing == Preprocessing((0.5,) * 3, (0.5,) * 3, 160, "bicubic")
    assert "timm config" in str(model.preprocessing)
    assert model.facts.known_accuracy is None


@pytest.mark.parametrize(
    ("side", "tested", "size", "source"),
    [
        (224, 224, 224, "timm config, test size"),
        (224, 288, 160, "timm config"),  # which would enlarge the suite's images
        (None, 224, 160, "timm config"),  # nobody knows what images come
    ],
)
def test_timm_is_shown_images_of_the_size_it_is_tested_at(
    side, tested, size, source, torchvision, tmp_path, monkeypatch
):
    import timm

    module = timm.create_model("test_resnet")
    module.pretrained_cfg = {**module.pretrained_cfg, "test_input_size": (3, tested, tested)}
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    monkeypatch.setattr(timm, "create_model", lambda name: module)
    named = load_model("timm:test_resnet", checkpoint=tmp_path / "weights.pt", side=side)
    assert (named.preprocessing.size, named.preprocessing.source) == (size, source)
    assert load_model(module, side=side).preprocessing.size == size


@pytest.mark.parametrize("name", ["torchvision:squeezenet1_1", "timm:test_vit"])
def test_without_a_network_the_way_out_is_named(name, torchvision, offline):
    with pytest.raises(MissingResource, match=f"{name}.*no route to host.*by `checkpoint`"):
        load_model(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchvision:resnet51", 'unknown torchvision model "resnet51"; did you mean resnet50 or'),
        ("torchvision:zzz", r'unknown torchvision model "zzz"; it has \d+ others'),
        (
            "torchvision:resnet50.IMAGENET1K_V9",
            r"unknown weights of torchvision's resnet50 \"IMAGENET1K_V9\"; did you mean IMAGENET1K",
        ),
        ("torchvision:fasterrcnn_resnet50_fpn", "unknown torchvision model"),
        ("timm:resnet5O", 'unknown timm model "resnet5O"; did you mean resnet50'),
    ],
)
def test_unknown_names(name, message, torchvision):
    with pytest.raises(InputError, match=message):
        load_model(name)


def test_a_factory_in_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "lonely_factory.py").write_text(
        "import torch\n"
        "def plain():\n    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    before = list(sys.path)
    assert load_model("torch:lonely_factory:plain").logits(photos(8)).shape == (8, 2)
    assert sys.path == before


def test_the_file_of_a_factory_belongs_to_the_identity(tmp_path, monkeypatch):
    identities = set()
    for scale in (1, 1, 2):
        (tmp_path / "scaling_factory.py").write_text(
            "import torch\n"
            f"SCALE = {scale}\n"
            "class Scaled(torch.nn.Flatten):\n"
            "    def forward(self, pixels):\n        return SCALE * super().forward(pixels)\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.delitem(sys.modules, "scaling_factory", raising=False)
        linecache.clearcache()
        importlib.invalidate_caches()
        identities.add(load_model("torch:scaling_factory:Scaled").identity)
    assert len(identities) == 2


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("torch:tests.models.tiny", InputError, 'expected "torch:package.module:factory"'),
        ("torch:tests.models.none:tiny", InputError, "none cannot be imported from .*No module"),
        ("torch:tests.models.tiny:tyny", InputError, "unknown factory in .*did you mean tiny"),
        ("torch:tests.models.tiny:broken", HardyError, r"the factory raised KeyError\('no such"),
        ("torch:tests.models.tiny:leaves", HardyError, r"the factory raised SystemExit\(0\)"),
        (
            "torch:tests.models.tiny:lazy",
            InputError,
            "weights, but 1.weight is lazy and has",
        ),
        ("torch:tests.models.tiny:on_meta", InputError, "conv.weight lies on the device meta and"),
        ("torch:tests.models.tiny:number", InputError, "return a torch.nn.Module, got int"),
    ],
)
def test_factories_that_cannot_be_used(name, error, message):
    with pytest.raises(error, match=message):
        load_model(name)


FACTORIES = """
from dataclasses import dataclass
import torch
from torch import nn
from beside import CLASSES

SCALE = 2

@dataclass
class Recipe:
    size: int = 8

def plain():
    return nn.Sequential(nn.Flatten(), nn.Linear(192, CLASSES))

def sized(width, *, depth, bias=True):
    return nn.Linear(width, depth, bias)

class Net(nn.Flatten):
    pass
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file called as a library, in a folder that Python does not look into."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "beside.py").write_text("CLASSES = 3")
    (folder / "torch.py").write_text(FACTORIES)
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    return folder / "torch.py"


def test_a_factory_in_a_file(file, monkeypatch):
    before = list(sys.path)
    model = load_model(f"torch:{file}:plain")
    assert model.logits(photos(8)).shape == (8, 3)
    assert model.name == f"torch:{file}:plain"
    assert sys.path == before
    assert sys.modules["torch"] is torch
    monkeypatch.chdir(file.parent)
    assert load_model("torch:torch.py:Net").logits(photos(8)).shape == (8, 192)


def test_the_source_of_a_file_belongs_to_the_identity_and_its_place_does_not(file, tmp_path):
    here = load_model(f"torch:{file}:Net").identity
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(FACTORIES)
    (tmp_path / "beside.py").write_text("CLASSES = 3")
    assert load_model(f"torch:{elsewhere}:Net").identity == here
    elsewhere.write_text(FACTORIES.replace("SCALE = 2", "SCALE = 30"))
    assert load_model(f"torch:{elsewhere}:Net").identity != here


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (
            "plane",
            r"unknown factory in .*torch.py \"plane\"; did you mean plain\?.*has Net, plain, s",
        ),
        ("zzz", r"unknown factory in .*torch.py \"zzz\"; it has Net, plain, sized$"),
        ("SCALE", r"unknown factory in .*torch.py \"SCALE\"; it has Net, plain, sized$"),
        ("sized", r"sized needs arguments \(width, depth\).*write a function without any"),
    ],
)
def test_factories_of_a_file_that_cannot_be_used(file, factory, message):
    with pytest.raises(InputError, match=message):
        load_model(f"torch:{file}:{factory}")


def test_files_that_cannot_be_imported(file, tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*gone.py"):
        load_model(f"torch:{tmp_path / 'gone.py'}:net")
    (file.parent / "beside.py").write_text("1 / 0")
    with pytest.raises(HardyError, match=r"importing .*torch.py raised ZeroDivisionError"):
        load_model(f"torch:{file}:plain")
    (file.parent / "beside.py").unlink()
    with pytest.raises(InputError, match=r"torch.py cannot be imported .*No module named 'beside'"):
        load_model(f"torch:{file}:plain")
