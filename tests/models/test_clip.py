"""Zero-shot classifiers of transformers; those of open_clip are in tests/extras."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.models import load_model, text_cache
from hardy.models.adapters import zero_shot
from hardy.models.adapters.torch_model import prepared
from hardy.models.prompts import read_prompts
from tests.photos import photos, random_images

pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
pytestmark = pytest.mark.usefixtures("torchvision")

SQUARES = photos(40)
FRUIT = ("apple", "sea_lion", "Cherry pie")
FRUITS = tuple((name,) for name in FRUIT)
WORDS = ["apple", "sea lion", "Cherry pie"]
TEN = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture(scope="module")
def folders(torchvision: None) -> Any:
    """Imported late, since transformers import torchvision."""
    from tests.models import clip_folders

    return clip_folders


@pytest.fixture(scope="module")
def made(folders: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folders.save(tmp_path_factory.mktemp("clip") / "m")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """One that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "m"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(text_cache, "text_cache", lambda: tmp_path / "text_features")
    return tmp_path / "text_features"


@pytest.mark.parametrize("make", ["clip", "siglip"])
def test_logits_are_those_of_the_library(make: str, folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", getattr(folders, make))
    out = load_model(f"clip:{folder}", classes=FRUITS, prompts="single", batch=3).logits(SQUARES)
    assert np.ptp(out, axis=0).max() > 0.01, "images are told apart"
    assert np.ptp(out, axis=1).max() > 0.01, "and classes"
    texts = [f"a photo of a {word}." for word in WORDS]
    for image, logits in zip(SQUARES, out, strict=True):
        wanted = folders.by_the_library(folder, Image.fromarray(image), texts)
        np.testing.assert_allclose(logits[None], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", ["clip", "siglip"])
def test_several_sentences_are_averaged(make: str, folders: Any, tmp_path: Path) -> None:
    """The recipe by hand: each text to length 1, their mean, to length 1 again."""
    import transformers

    folder = folders.save(tmp_path / "m", getattr(folders, make))
    out = load_model(f"clip:{folder}", classes=FRUITS).logits(SQUARES)
    module = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    classes = []
    with torch.no_grad():
        for word in WORDS:
            texts = [one.replace("{}", word) for one in read_prompts("varied").templates]
            tokens = tokenizer(texts, padding="max_length", max_length=60, return_tensors="pt")
            each = module.get_text_features(**tokens).pooler_output.numpy()
            mean = (each / np.linalg.norm(each, axis=1, keepdims=True)).mean(0)
            classes.append(mean / np.linalg.norm(mean))
        pixels = processor(list(map(Image.fromarray, SQUARES)), return_tensors="pt")
        images = module.get_image_features(**pixels).pooler_output.numpy()
        scale = module.logit_scale.exp().item()
        bias = module.logit_bias.item() if make == "siglip" else 0.0
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    wanted = scale * images @ np.array(classes).T + bias
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("side", [24, 57])
def test_resizing_is_the_librarys_to_the_byte(side: int, folders: Any, folder: Path) -> None:
    import transformers

    spoken = json.loads((folder / "preprocessor_config.json").read_text())
    spoken |= {"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}}
    (folder / "preprocessor_config.json").write_text(json.dumps(spoken))
    model = load_model(f"clip:{folder}", classes=FRUITS)
    assert model.preprocessing is not None
    assert (model.preprocessing.size, model.preprocessing.interpolation) == (side, "bicubic")
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    ours = prepared(torch.tensor(SQUARES), model.preprocessing).numpy()
    for image, pixels in zip(SQUARES, ours, strict=True):
        theirs = processor(Image.fromarray(image), return_tensors="np")["pixel_values"][0]
        np.testing.assert_allclose(pixels, theirs, atol=1e-5)  # a level is 0.014


def test_blue_may_come_first(folders: Any, folder: Path) -> None:
    own = {"image_processor_type": "MobileViTImageProcessor", "resample": 2, "size": 32}
    (folder / "preprocessor_config.json").write_text(json.dumps(own | {"crop_size": 32}))
    model = load_model(f"clip:{folder}", classes=FRUITS, prompts="single")
    texts = [f"a photo of a {word}." for word in WORDS]
    wanted = folders.by_the_library(folder, Image.fromarray(SQUARES[0]), texts)
    np.testing.assert_allclose(model.logits(SQUARES[:1]), wanted, rtol=1e-4, atol=1e-4)
    assert ", blue first (" in str(model.preprocessing)


def test_settings_of_a_whole_processor(folders: Any, folder: Path, made: Path) -> None:
    """As CLIPProcessor.save_pretrained writes them."""
    said = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").unlink()
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": said}))
    model = load_model(f"clip:{folder}", classes=FRUITS)
    assert "(processor_config.json; its crop is left to the suite)" in str(model.preprocessing)
    assert model.identity == load_model(f"clip:{made}", classes=FRUITS).identity
    (folder / "processor_config.json").write_text("{}")
    with pytest.raises(InputError, match=r"expected the settings of an image processor, got none"):
        load_model(f"clip:{folder}", classes=FRUITS)


def test_facts_and_names(made: Path, tmp_path: Path) -> None:
    model: Any = load_model(f"clip:{made}", classes=FRUITS)
    assert model.name == f"clip:{made}"
    assert model.facts.class_names == FRUIT
    assert model.facts.prompts.startswith("varied (8 sentences, ")
    assert 'CLIPModel of transformers, 3 classes by name ("apple", "sea lion", …)' in (
        model.facts.found
    )
    (tmp_path / "mine.txt").write_text("the {}\n")
    mine: Any = load_model(f"clip:{made}", classes=FRUITS, prompts=tmp_path / "mine.txt")
    assert mine.name == f"clip:{made} with mine.txt"
    assert mine.facts.prompts == 'mine.txt ("the {}")'
    twins: Any = load_model(f"clip:{made}", classes=(*FRUITS, ("apple",)))
    assert "some share one (apple)" in twins.facts.found


def test_the_text_tower_is_let_go_of(made: Path) -> None:
    model: Any = load_model(f"clip:{made}", classes=FRUITS)
    names = [name for name, _ in model.module.named_parameters()]
    assert any("vision_model" in name for name in names)
    assert not any("text" in name or "token" in name for name in names)


def test_identity(made: Path, folder: Path, folders: Any, tmp_path: Path) -> None:
    def identity(where: Path = made, **how: Any) -> str:
        return load_model(f"clip:{where}", **{"classes": FRUITS, **how}).identity

    first = identity()
    assert identity(folder, batch=2) == first
    (tmp_path / "copy.txt").write_text("\n".join(read_prompts("varied").templates))
    assert identity(prompts=tmp_path / "copy.txt") == first, "they are the same sentences"
    other = folders.save(tmp_path / "other", seed=1)
    differing = {
        first,
        identity(prompts="single"),
        identity(classes=FRUITS[::-1]),
        identity(classes=(*FRUITS[:2], ("cherry_tart",))),
        identity(other),
        identity(preprocessing=hardy.models.Override(mean=(0.5,) * 3)),
    }
    assert len(differing) == 6


def test_how_a_config_is_written_is_no_part_of_the_identity(made: Path, folder: Path) -> None:
    said = json.loads((folder / "config.json").read_text())
    for part in ("text_config", "vision_config"):
        said[part].pop("dtype", None)
        said[part] |= {"torch_dtype": "float32", "transformers_version": "4.9", "id2label": {}}
    (folder / "config.json").write_text(json.dumps(said))
    first = load_model(f"clip:{made}", classes=FRUITS).identity
    assert load_model(f"clip:{folder}", classes=FRUITS).identity == first
    said["vision_config"]["hidden_act"] = "gelu"
    (folder / "config.json").write_text(json.dumps(said))
    assert load_model(f"clip:{folder}", classes=FRUITS).identity != first


def test_texts_are_read_once(made: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
    (kept,) = cache.iterdir()

    def refuse(*_: Any) -> None:
        raise AssertionError("texts are read again")

    with monkeypatch.context() as patch:
        patch.setattr("hardy.models.adapters.clip_model.text_features", refuse)
        again = load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
        np.testing.assert_array_equal(again, wanted)
        with pytest.raises(InputError, match="texts are read again"):
            load_model(f"clip:{made}", classes=FRUITS, prompts="single")
    kept.write_bytes(kept.read_bytes()[:-100])
    again = load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
    np.testing.assert_array_equal(again, wanted)


def test_many_texts_go_in_parts(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
    monkeypatch.setattr(zero_shot, "_AT_ONCE", 9)  # one class of eight sentences at a time
    monkeypatch.setattr(
        "hardy.models.adapters.clip_model.cached_features", lambda k, n, make: make()
    )
    parts = load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
    np.testing.assert_allclose(parts, wanted, rtol=1e-5, atol=1e-6)


def test_lower_precision_keeps_the_last_step_whole(made: Path) -> None:
    whole = load_model(f"clip:{made}", classes=FRUITS)
    half = load_model(f"clip:{made}", classes=FRUITS, precision="bfloat16")
    assert half.identity != whole.identity
    out = half.logits(SQUARES)
    np.testing.assert_allclose(out, whole.logits(SQUARES), atol=0.1)
    assert (out != torch.tensor(out).bfloat16().float().numpy()).any()


def test_gradients_reach_the_pixels(made: Path) -> None:
    model: Any = load_model(f"clip:{made}", classes=FRUITS)
    pixels = torch.rand(2, 3, 32, 32, requires_grad=True)
    with model.from_pixels() as logits:
        logits(pixels).sum().backward()
    assert pixels.grad is not None
    assert pixels.grad.abs().max() > 0


def test_it_says_nothing_of_its_own(made: Path, capfd: Any) -> None:
    capfd.readouterr()
    load_model(f"clip:{made}", classes=FRUITS).logits(SQUARES)
    assert capfd.readouterr() == ("", "")


def test_two_sets_of_prompts_are_two_runs(run: Any, made: Path) -> None:
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 10)
    given = ("--suite", "cifar10_c", "--images", "set.npz", "--only", "fog", "--severities", "1")
    rest = (*given, "--store", "runs")
    for prompts in ((), ("--prompts", "single")):
        code, out, err = run("eval", f"clip:{made}", *rest, *prompts)
        assert code == 0, err
        assert '10 classes by name ("airplane", "automobile", …), prompts: ' in out
    assert len(list(Path("runs").iterdir())) == 2
    code, out, err = run("score", "runs")
    assert code == 0, err
    assert "with single" in out
    said = " ".join(out.split())  # lines are broken
    assert "zero-shot, with the prompts varied (8 sentences, " in said
    assert 'with single: zero-shot, with the prompts single ("a photo of a {}.")' in said
    code, out, err = run("report", "runs", "--output", "report.html")
    assert code == 0, err
    assert "single (&#34;a photo of a {}.&#34;)" in Path("report.html").read_text()


def test_a_list_of_models_has_prompts_for_each(run: Any, made: Path) -> None:
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 10)
    given = ("--suite", "cifar10_c", "--images", "set.npz", "--only", "fog", "--severities", "1")
    Path("mine.txt").write_text("some {}\n")
    tables = [
        f'[[model]]\nmodel = "clip:{made}"\nprompts = "{one}"\n' for one in ("single", "mine.txt")
    ]
    Path("models.toml").write_text("\n".join([*tables, '[[model]]\nmodel = "fake:10"\n']))
    code, out, err = run("eval", "models.toml", f"clip:{made}", *given, "--prompts", "varied")
    assert code == 0, err
    for name in ("with single", "with mine.txt", "with varied"):
        assert f"clip:{made} {name}: " in out
    code, out, err = run("eval", "fake:10", *given, "--prompts", "single")
    assert code == 2
    assert "expected --prompts for a model of images and texts, such as clip:DIR, got fake" in err


def test_a_probe_on_its_features(run: Any, made: Path, tmp_path: Path) -> None:
    images = random_images(40, 32, 32)
    images[::2] //= 3
    np.savez("set.npz", images=images, labels=np.arange(40) % 2)
    code, out, err = run("probe", f"clip:{made}", "--data", "set.npz", "--out", "p.safetensors")
    assert code == 0, err
    assert "12 features" in out
    model: Any = load_model("linear:p.safetensors")
    assert "12 features, the outputs of clip:" in model.facts.found
    features = hardy.models.load_model("linear:p.safetensors")
    assert (features.logits(images).argmax(1) == np.arange(40) % 2).mean() > 0.9
