"""Zero-shot classifiers of open_clip itself: tiny ones, made on the spot; nothing is fetched."""

from __future__ import annotations

import json
import logging
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.errors import InputError
from hardy.images.labels import imagenet_classes, spoken_class
from hardy.models import load_model, text_cache
from hardy.models.adapters.torch_model import prepared
from hardy.models.prompts import class_words, read_prompts
from tests.photos import photos, random_images

# It and timm warn of one another, and of torch, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")
SQUARES = photos(40)
FRUITS = (("apple",), ("sea_lion",), ("Cherry pie",))
WORDS = ["apple", "sea lion", "Cherry pie"]
VISION = {"image_size": 32, "layers": 1, "width": 64, "patch_size": 8}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 8, "heads": 2, "layers": 1}
PLAIN = {"embed_dim": 12, "vision_cfg": VISION, "text_cfg": TEXT}
BIASED = {**PLAIN, "custom_text": True, "init_logit_bias": -3.0}
RESNET = {
    **PLAIN,
    "embed_dim": 16,
    "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None},
}
TIMM = {**PLAIN, "vision_cfg": {"timm_model_name": "resnet10t", "image_size": 32}}
HALF: dict[str, Any] = {"mean": [0.5, 0.4, 0.3], "std": [0.25, 0.3, 0.2]}


@pytest.fixture(scope="module")
def open_clip(torchvision: None) -> Any:
    return pytest.importorskip("open_clip", reason="needs open_clip: make test-extras")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(text_cache, "text_cache", lambda: tmp_path / "text_features")
    return tmp_path / "text_features"


@pytest.fixture
def save(open_clip: Any, tmp_path: Path) -> Any:
    """Write a folder as `push_to_hf_hub` has it."""

    def save(
        model: dict[str, Any] | None = None,
        name: str = "m",
        weights: str = "open_clip_model.safetensors",
        **prepare: Any,
    ) -> Path:
        from safetensors.torch import save_file

        folder = tmp_path / name
        folder.mkdir()
        config = {"model_cfg": model or PLAIN, "preprocess_cfg": prepare}
        (folder / "open_clip_config.json").write_text(json.dumps(config))
        torch.manual_seed(0)
        module = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
        with torch.no_grad():  # so that images and texts are told apart
            for tensor in module.parameters():
                tensor.add_(torch.randn_like(tensor) * (0.2 if tensor.ndim else 0.5))
        state = {name: tensor.contiguous() for name, tensor in module.state_dict().items()}
        if weights.endswith(".safetensors"):
            save_file(state, folder / weights)
        else:
            torch.save(state, folder / weights)
        return folder

    return save


def by_the_library(open_clip: Any, folder: Path, images: Any, templates: Any) -> Any:
    """Logits by the library's own zero-shot classifier and transform."""
    module, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    module.eval()
    with torch.no_grad():
        classes = open_clip.build_zero_shot_classifier(module, tokenizer, WORDS, templates)
        pixels = torch.stack([transform(Image.fromarray(image)) for image in images])
        logits = module.logit_scale.exp() * module.encode_image(pixels, normalize=True) @ classes
        return (logits if module.logit_bias is None else logits + module.logit_bias).numpy()


@pytest.mark.parametrize("prompts", ["single", "varied"])
@pytest.mark.parametrize(
    ("config", "prepare"),
    [
        (PLAIN, {}),
        (PLAIN, {**HALF, "interpolation": "bilinear", "resize_mode": "squash"}),
        (BIASED, {**HALF, "resize_mode": "longest"}),
        (RESNET, HALF),
        (TIMM, HALF),
    ],
)
def test_logits_are_those_of_the_library(
    config: dict[str, Any], prepare: dict[str, Any], prompts: str, open_clip: Any, save: Any
) -> None:
    folder = save(config, **prepare)
    model = load_model(f"clip:{folder}", classes=FRUITS, prompts=prompts, batch=3)
    out = model.logits(SQUARES)
    assert np.ptp(out, axis=0).max() > 0.01, "images are told apart"
    assert np.ptp(out, axis=1).max() > 0.01, "and classes"
    wanted = by_the_library(open_clip, folder, SQUARES, read_prompts(prompts).templates)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("side", [24, 56])
def test_resizing_is_the_librarys_to_the_byte(side: int, open_clip: Any, save: Any) -> None:
    folder = save({**PLAIN, "vision_cfg": {**VISION, "image_size": side}}, **HALF)
    model = load_model(f"clip:{folder}", classes=FRUITS)
    assert model.preprocessing is not None
    assert str(model.preprocessing).endswith(
        "(open_clip_config.json; its crop is left to the suite)"
    )
    ours = prepared(torch.tensor(SQUARES), model.preprocessing)
    transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")[2]
    for image, pixels in zip(SQUARES, ours, strict=True):
        theirs = transform(Image.fromarray(image))
        torch.testing.assert_close(pixels, theirs, rtol=0, atol=1e-5)  # a level is 0.013


def test_names_of_imagenets_classes_are_the_librarys(open_clip: Any) -> None:
    classes = tuple((name, spoken_class(name)) for name in imagenet_classes())
    assert class_words(classes, "clip:m") == open_clip.IMAGENET_CLASSNAMES


def test_what_is_left_to_defaults_is_said(save: Any) -> None:
    model: Any = load_model(f"clip:{save()}", classes=FRUITS)
    assert "which lacks mean and std: CLIP's own" in str(model.preprocessing)
    assert 'CLIP of open_clip, 3 classes by name ("apple", "sea lion", …), prompts: varied' in (
        model.facts.found
    )
    names = [name for name, _ in model.module.named_parameters()]
    assert not any("token" in name or "text" in name for name in names)


def test_identity(save: Any) -> None:
    one, same, biased = save(), save(name="same"), save(BIASED, name="biased")
    first = load_model(f"clip:{one}", classes=FRUITS).identity
    assert load_model(f"clip:{same}", classes=FRUITS, batch=2).identity == first
    others = {
        load_model(f"clip:{one}", classes=FRUITS, prompts="single").identity,
        load_model(f"clip:{one}", classes=FRUITS[::-1]).identity,
        load_model(f"clip:{biased}", classes=FRUITS).identity,
    }
    assert len({first, *others}) == 4


def test_pickled_weights_are_read_only_if_trusted(save: Any) -> None:
    folder = save(weights="open_clip_pytorch_model.bin")
    with pytest.raises(InputError, match=r"got open_clip_pytorch_model\.bin, a pickle.*safetenso"):
        load_model(f"clip:{folder}", classes=FRUITS)
    trusted = load_model(f"clip:{folder}", classes=FRUITS, trust=True)
    assert trusted.identity == load_model(f"clip:{save(name='safe')}", classes=FRUITS).identity


def test_a_folder_for_both_libraries_is_read_by_open_clip(save: Any) -> None:
    from tests.models import clip_folders

    folder = save()
    clip_folders.save(folder)
    both: Any = load_model(f"clip:{folder}", classes=FRUITS)
    assert "CLIP of open_clip" in both.facts.found
    (folder / "open_clip_model.safetensors").unlink()
    both = load_model(f"clip:{folder}", classes=FRUITS)
    assert "CLIPModel of transformers" in both.facts.found


def spoil(folder: Path, what: str) -> None:
    weights, config = folder / "open_clip_model.safetensors", folder / "open_clip_config.json"
    said = json.loads(config.read_text())
    model = said["model_cfg"]
    match what:
        case "no weights":
            weights.unlink()
        case "cut weights":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "no model":
            del said["model_cfg"]
        case "other weights":
            model["embed_dim"] = 13
        case "a text tower of the hub":
            model["text_cfg"]["hf_model_name"] = "nobody/nothing"
        case "an image tower of the hub":
            model["vision_cfg"]["timm_model_name"] = "hf-hub:nobody/nothing"
        case "another kind":
            model |= {"multimodal_cfg": {}, "custom_text": True}
        case "a tokenizer of the hub":
            model["text_cfg"]["hf_tokenizer_name"] = "nobody/nothing"
        case "a vocabulary elsewhere":
            (folder / "bpe.txt.gz").write_bytes(b"")
            model["text_cfg"]["tokenizer_kwargs"] = {"bpe_path": str(folder / "bpe.txt.gz")}
        case "wide":
            model["vision_cfg"]["width"] = 128_000
        case "a list for a tokenizer":
            model["text_cfg"]["tokenizer_kwargs"] = ["clean"]
        case "an unknown filter":
            said["preprocess_cfg"]["interpolation"] = "random"
    config.write_text("{" if what == "damaged config" else json.dumps(said))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no weights", r"expected weights in open_clip_model\.safetensors, found none"),
        ("cut weights", r"cannot read .*open_clip_model\.safetensors: .*Take another copy"),
        ("damaged config", r"open_clip_config\.json: expected what a model is, but"),
        ("no model", r"expected model_cfg with text_cfg and vision_cfg; take another copy"),
        ("other weights", r"cannot read .*does it belong to the config beside it\?"),
        ("a text tower of the hub", r"own two towers, got one with text_cfg\.hf_model_name"),
        ("an image tower of the hub", r"got one with vision_cfg\.timm_model_name"),
        ("another kind", r"got one with multimodal_cfg, which Hardy does not load"),
        ("a tokenizer of the hub", r"cannot read .*m: .*is it open_clip's\?"),
        ("a vocabulary elsewhere", r"got one with text_cfg\.tokenizer_kwargs of bpe_path, which"),
        ("a list for a tokenizer", r"got one with text_cfg\.tokenizer_kwargs of list, which"),
        ("wide", r"m: .* one that claims [\d,]+ numbers, where the weights have [\d,]+ bytes"),
        ("oblong", r"expected a model of square images, got"),
        ("an unknown filter", r"expected an interpolation of nearest, .*got 'random'"),
    ],
)
def test_what_is_missing_or_damaged_is_told(what: str, message: str, save: Any) -> None:
    oblong = {**PLAIN, "vision_cfg": {**VISION, "image_size": [32, 48]}}
    folder = save(oblong if what == "oblong" else None)
    spoil(folder, what)
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"clip:{folder}", classes=FRUITS)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_in_the_folder(open_clip: Any, save: Any) -> None:
    """As SigLIP's models have one; code that comes with it is not run, whatever the config says."""
    from tests.models import clip_folders

    text = {**TEXT, "vocab_size": 128, "hf_tokenizer_name": "nobody/nothing"}
    folder = save({**BIASED, "text_cfg": text})
    clip_folders.siglip()[2].save_pretrained(folder)
    templates = read_prompts().templates
    out = load_model(f"clip:{folder}", classes=FRUITS).logits(SQUARES)
    wanted = by_the_library(open_clip, folder, SQUARES, templates)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["tokenizer_kwargs"] = {"trust_remote_code": True}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    said = json.loads((folder / "tokenizer_config.json").read_text())
    code = {"AutoTokenizer": ["evil.Tokens", "evil.Tokens"]}
    said |= {"auto_map": code, "tokenizer_class": "Tokens"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with suppress(InputError):  # the library may do without it
        load_model(f"clip:{folder}", classes=FRUITS, trust=True)
    assert not (folder / "ran").exists()


def test_a_text_that_would_be_cut_is_refused(save: Any) -> None:
    folder = save()
    long = " ".join(["elephant"] * 80)
    with pytest.raises(InputError, match=r"at most 77 tokens, got .* and 7 others with more"):
        load_model(f"clip:{folder}", classes=(("cat",), (long,)))


def test_it_says_nothing_of_its_own(save: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # without pytest's
    capfd.readouterr()
    load_model(f"clip:{folder}", classes=FRUITS).logits(SQUARES)
    assert "".join(capfd.readouterr()).strip() == ""  # bars that other tests left end with a line
    assert logging.getLogger().handlers == []


def test_runs_and_probes(run: Any, save: Any) -> None:
    folder = save()
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 10)
    rest = ("--suite", "cifar10_c", "--images", "set.npz", "--only", "fog", "--severities", "1")
    code, out, err = run("eval", f"clip:{folder}", *rest, "--prompts", "single")
    assert code == 0, err
    assert 'note: zero-shot, with the prompts single ("a photo of a {}.")' in out
    code, out, err = run("probe", f"clip:{folder}", "--data", "set.npz", "--out", "p.safetensors")
    assert code == 0, err
    model: Any = load_model("linear:p.safetensors")
    assert "12 features, the outputs of clip:" in model.facts.found
