"""Configs that somebody wrote to lead libraries astray."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.models import load_model

pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
pytestmark = pytest.mark.usefixtures("torchvision")

FRUITS = (("apple",), ("sea_lion",))
KERNEL = "evil/repo:fn"


@pytest.fixture
def classifier(torchvision: None, tmp_path: Path) -> Path:
    from tests.models import hf_folders

    return hf_folders.save(tmp_path / "m", hf_folders.vit, size=32, **hf_folders.HALF)


@pytest.fixture
def towers(torchvision: None, tmp_path: Path) -> Path:
    from tests.models import clip_folders

    return clip_folders.save(tmp_path / "t")


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the hub's kernels."""
    from transformers.integrations import hub_kernels

    found: list[str] = []

    def get_kernel(name: str, *_: Any, **__: Any) -> Any:
        found.append(name)
        raise ValueError("no kernel")

    monkeypatch.setattr(hub_kernels, "get_kernel", get_kernel)
    monkeypatch.setattr(hub_kernels, "is_kernels_available", lambda: True)
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"attn_implementation": KERNEL},
        {"_attn_implementation": KERNEL},
        {"_attn_implementation_internal": KERNEL},
        {"attn_implementation": {"": "eager", "vision_config": KERNEL}},
        {"attn_implementation": "flash_attention_2"},
        {"experts_implementation": KERNEL},
        {"attribute_map": {"plain": "_attn_implementation"}, "plain": KERNEL},
        {"vision_config": {"attn_implementation": KERNEL}},
        {"backbone_config": {"auto_map": {"AutoModel": "evil.Net"}}},
        {"backbone": "evil/repo"},
        {"architecture": "hf-hub:evil/repo"},
        {"use_pretrained_backbone": True},
        {"quantization_config": {"quant_method": "fp8"}},
    ],
    ids=str,
)
def test_what_leads_to_code_elsewhere_is_refused(
    changes: dict[str, Any], classifier: Path, asked: list[str]
) -> None:
    edited(classifier / "config.json", **changes)
    for trust in (False, True):
        with pytest.raises(InputError, match=r"leads to code or weights elsewhere \(") as caught:
            load_model(f"hf:{classifier}", trust=trust)
        assert "\n" not in str(caught.value)
    assert not asked


@pytest.mark.parametrize("part", ["vision_config", "text_config"])
def test_so_it_is_in_a_part_of_two_towers(part: str, towers: Path, asked: list[str]) -> None:
    said = json.loads((towers / "config.json").read_text())
    edited(towers / "config.json", **{part: said[part] | {"attn_implementation": KERNEL}})
    with pytest.raises(InputError, match=r"config\.json: .*elsewhere \(attn_implementation: evil"):
        load_model(f"clip:{towers}", classes=FRUITS)
    assert not asked


def test_ways_that_transformers_bring_are_honoured(classifier: Path) -> None:
    for way in ("eager", "sdpa"):
        edited(classifier / "config.json", _attn_implementation=way)
        model: Any = load_model(f"hf:{classifier}")
        assert model.module.config._attn_implementation == way


def test_an_adapter_names_another_model(classifier: Path) -> None:
    (classifier / "adapter_config.json").write_text('{"base_model_name_or_path": "evil/repo"}')
    with pytest.raises(InputError, match=r"expected a whole model, got an adapter beside it \("):
        load_model(f"hf:{classifier}")


def sharded(folder: Path, name: str) -> None:
    """Put the weights where an index says they are."""
    from safetensors import safe_open

    weights = folder / "model.safetensors"
    with safe_open(weights, "pt") as file:
        names = list(file.keys())
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, name)}
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    weights.rename(target)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_an_index_names_files_of_its_folder(classifier: Path, tmp_path: Path) -> None:
    wanted = load_model(f"hf:{classifier}").identity
    sharded(classifier, "model-00001-of-00001.safetensors")
    assert load_model(f"hf:{classifier}").identity == wanted
    inner = "model-00001-of-00001.safetensors"
    (tmp_path / "ok").mkdir()
    for name in (
        "../ok/model.safetensors",
        str(tmp_path / "ok" / "model.safetensors"),
        "model.bin",
    ):
        (classifier / inner).rename(classifier / "model.safetensors")
        sharded(classifier, name)
        with pytest.raises(InputError, match=r"index\.json: expected names of \.safetensors fil"):
            load_model(f"hf:{classifier}")
        (classifier / name).rename(classifier / inner)


@pytest.mark.parametrize("said", [[], {"weight_map": []}, {}, {"weight_map": {"a": 1}}], ids=str)
def test_an_index_without_names(said: Any, classifier: Path) -> None:
    sharded(classifier, "a.safetensors")
    (classifier / "model.safetensors.index.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"index\.json: expected names of \.safetensors files of"):
        load_model(f"hf:{classifier}")


@pytest.mark.parametrize("said", ["x", [2], {"a": 1}, 2.5], ids=str)
def test_a_filter_that_is_none(said: Any, classifier: Path) -> None:
    edited(classifier / "preprocessor_config.json", resample=said)
    with pytest.raises(InputError, match=r"preprocessor_config\.json: .*resample") as caught:
        load_model(f"hf:{classifier}")
    assert "\n" not in str(caught.value)


@pytest.fixture
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before weights are made."""
    from transformers import PreTrainedModel

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_labels": 10**10}, r"config\.json, num_labels: .* 1,000,000 as a figure"),
        ({"num_hidden_layers": 20_000}, r"num_hidden_layers: .* 1,000 layers in a row"),
        ({"depths": [1, 10**5]}, r"depths: .* 1,000 layers in a row"),
        ({"vision_config": {"image_size": 10**9}}, r"image_size: .* as a figure"),
        (
            {"hidden_size": 8000},
            r"m: .* one that claims [\d,]+ numbers, .* weights have [\d,]+ bytes",
        ),
        ({"image_size": 80_000}, r"m: .* one that claims [\d,]+ numbers"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_loading")
def test_what_claims_more_than_the_weights_hold(
    changes: dict[str, Any], message: str, classifier: Path
) -> None:
    path = classifier / "config.json"
    labels = ("id2label", "label2id")
    said = {key: value for key, value in json.loads(path.read_text()).items() if key not in labels}
    path.write_text(json.dumps(said | changes))
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"hf:{classifier}")
    assert "\n" not in str(caught.value)


def test_labels_are_no_figures(classifier: Path) -> None:
    labels = {"layer cake": 0, "attn_implementation": 1, "auto_map": 2, "backbone": 3, "a/b": 4}
    names = {place: name for name, place in labels.items()}
    edited(classifier / "config.json", label2id=labels, id2label=names)
    assert load_model(f"hf:{classifier}").facts.class_names == tuple(labels)


@pytest.mark.usefixtures("no_loading")
def test_towers_that_claim_more_than_the_weights_hold(towers: Path) -> None:
    said = json.loads((towers / "config.json").read_text())
    large = {**said["vision_config"], "hidden_size": 8000}
    edited(towers / "config.json", vision_config=large)
    with pytest.raises(InputError, match=r"t: .* one that claims [\d,]+ numbers"):
        load_model(f"clip:{towers}", classes=FRUITS)


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 60_000},
        {"size": {"height": 60_000, "width": 60_000}},
        {"size": [60_000, 60_000]},
        {"size": {"shortest_edge": 60_000}},
        {"do_center_crop": True, "crop_size": 60_000},
        {"image_processor_type": "ConvNextImageProcessor", "size": 300, "crop_pct": 0.001},
    ],
    ids=str,
)
def test_images_larger_than_any_network_takes(
    changes: dict[str, Any], classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardy.models.adapters import hf_processor

    monkeypatch.setattr(hf_processor, "_shown", None)
    edited(classifier / "preprocessor_config.json", **changes)
    with pytest.raises(InputError, match=r"preprocessor_config\.json: .* 4,096 pixels along a sid"):
        load_model(f"hf:{classifier}")
