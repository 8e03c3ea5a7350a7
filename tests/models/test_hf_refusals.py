"""Folders of transformers that are damaged, or that are not read for good reason."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError, MissingResource
from hardy.models import load_model
from tests.models.spoiling import edit, leave_out_weights, pickle_weights, spoil
from tests.photos import photos

pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
pytestmark = pytest.mark.usefixtures("torchvision")


@pytest.fixture(scope="module")
def folders(torchvision: None) -> Any:
    """Imported late, since transformers import torchvision."""
    from tests.models import hf_folders

    return hf_folders


def test_code_that_comes_with_a_model_is_never_run(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    edit(folder / "config.json", auto_map={"AutoModelForImageClassification": "evil.Net"})
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    for trust in (False, True):
        with pytest.raises(InputError, match=r"code of its own \(auto_map.*torch:FILE\.py:make"):
            load_model(f"hf:{folder}", trust=trust)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_read_only_if_trusted(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    wanted = load_model(f"hf:{folder}")
    pickle_weights(folder)
    with pytest.raises(InputError, match=r"got pytorch_model\.bin, a pickle.*`trust=True`"):
        load_model(f"hf:{folder}")
    trusted = load_model(f"hf:{folder}", trust=True)
    assert trusted.identity == wanted.identity
    images = photos(40)
    np.testing.assert_array_equal(trusted.logits(images), wanted.logits(images))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no weights", r"expected weights in model\.safetensors, found none"),
        ("cut weights", r"cannot read .*m: "),
        ("no config", r"expected a folder that save_pretrained wrote, but it has no config\.json"),
        ("damaged config", r"config\.json: expected what a model is, but"),
        ("a list", r"expected what a model is, got a list"),
        ("another kind", r"cannot read .*is it an image classifier\?"),
        ("timm's", r"holds a model of timm; load it by that: timm:local-dir:"),
        ("no processor", r"expected preprocessor_config\.json beside config\.json.*save it there"),
        ("damaged processor", r"expected the settings of an image processor, but"),
        ("an unknown processor", r"cannot read .*preprocessor_config\.json: .*torch:FILE\.py:make"),
        ("a size of nothing", r"cannot read .*preprocessor_config\.json: .*torch:FILE\.py:make"),
        ("oblong", r"makes 48 x 32 of a square image, which is not square"),
        ("another head", r"cannot read .*is it an image classifier\?"),
    ],
)
def test_what_is_missing_or_damaged_is_told(
    what: str, message: str, folders: Any, tmp_path: Path
) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    spoil(folder, what)
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"hf:{folder}")
    assert "\n" not in str(caught.value)


def test_a_backbone_without_a_classifier_is_refused(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    leave_out_weights(folder, of="classifier")
    with pytest.raises(InputError, match=r"lack 2 of a ResNetForIm.*left to chance"):
        load_model(f"hf:{folder}")


def test_what_a_processor_does_besides_is_noticed(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import ViTImageProcessorPil

    folder = folders.save(tmp_path / "m", size=32)
    normal = ViTImageProcessorPil.normalize
    odd = lambda self, image, *rest, **how: normal(self, image**2, *rest, **how)  # noqa: E731
    monkeypatch.setattr(ViTImageProcessorPil, "normalize", odd)
    with pytest.raises(InputError, match="ViTImageProcessor does something else to pixels"):
        load_model(f"hf:{folder}")


def test_names_are_looked_for_in_the_cache_alone(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MissingResource, match=r"fetch it yourself.*: hf download nobody/nothing$"):
        load_model("hf:nobody/nothing")
    place = tmp_path / "models--ours--net"
    commit = "0123456789012345678901234567890123456789"
    (place / "refs").mkdir(parents=True)
    (place / "refs/main").write_text(commit)
    folder = folders.save(place / "snapshots" / commit, size=32)
    model = load_model("hf:ours/net")
    assert model.identity == load_model(f"hf:{folder}").identity
    for name in ("./nowhere", "a/b/c", str(folder / "config.json")):
        with pytest.raises(InputError, match="or a NAME of Hugging Face's hub"):
            load_model(f"hf:{name}")


def test_options_it_cannot_honour(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    with pytest.raises(InputError, match="takes no checkpoint: its weights lie in the folder"):
        load_model(f"hf:{folder}", checkpoint="a.pt")
