"""Zero-shot classifiers that are damaged, or that are not read for good reason."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError, MissingResource
from hardy.models import load_model, text_cache
from tests.models.spoiling import edit, pickle_weights, spoil

pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
pytestmark = pytest.mark.usefixtures("torchvision")

FRUITS = (("apple",), ("sea_lion",), ("Cherry pie",))


@pytest.fixture(scope="module")
def folders(torchvision: None) -> Any:
    """Imported late, since transformers import torchvision."""
    from tests.models import clip_folders

    return clip_folders


@pytest.fixture
def folder(folders: Any, tmp_path: Path) -> Path:
    return folders.save(tmp_path / "m")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_cache, "text_cache", lambda: tmp_path / "text_features")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no weights", r"expected weights in model\.safetensors, found none"),
        ("cut weights", r"cannot read .*m: "),
        ("no config", r"expected a folder of open_clip or of transformers, but it has neither"),
        ("damaged config", r"config\.json: expected what a model is, but"),
        (
            "another kind",
            r'of the type clip or siglip, got "bert"; is it a classifier\? Then hf:',
        ),
        ("code", r"code of its own \(auto_map.*torch:FILE\.py:make"),
        ("no tokenizer", r"expected a tokenizer beside config\.json, found none; save it there"),
        ("damaged tokenizer", r"cannot read the tokenizer in .*save it there"),
        ("no processor", r"expected preprocessor_config\.json beside config\.json"),
        ("no text tower", r"its weights lack \d+ of a CLIPModel .*left to chance"),
    ],
)
def test_what_is_missing_or_damaged_is_told(what: str, message: str, folder: Path) -> None:
    spoil(folder, what)
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"clip:{folder}", classes=FRUITS, trust="code" in what)
    assert "\n" not in str(caught.value)


def test_code_of_a_tokenizer_is_never_run(folder: Path) -> None:
    code = {"AutoTokenizer": ["evil.Tokens", "evil.Tokens"]}
    edit(folder / "tokenizer_config.json", auto_map=code, tokenizer_class="Tokens")
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with suppress(InputError):  # the library may do without it
        load_model(f"clip:{folder}", classes=FRUITS, trust=True)
    assert not (folder / "ran").exists()


def test_pickled_weights_are_read_only_if_trusted(folder: Path) -> None:
    wanted = load_model(f"clip:{folder}", classes=FRUITS).identity
    pickle_weights(folder)
    with pytest.raises(InputError, match=r"got pytorch_model\.bin, a pickle.*`trust=True`"):
        load_model(f"clip:{folder}", classes=FRUITS)
    trusted = load_model(f"clip:{folder}", classes=FRUITS, trust=True)
    assert trusted.identity == wanted


def test_classes_and_prompts_that_do_not_do(folder: Path) -> None:
    with pytest.raises(InputError, match="it knows classes by their names, and those of these"):
        load_model(f"clip:{folder}")
    with pytest.raises(InputError, match=r'names of classes in words, got "0", "1"'):
        load_model(f"clip:{folder}", classes=(("0",), ("1",)))
    with pytest.raises(InputError, match=r'as "varied" or "single", or a file'):
        load_model(f"clip:{folder}", classes=FRUITS, prompts="many")
    with pytest.raises(InputError, match=r'at most 60 tokens, got "a photo of a x.*shorten'):
        load_model(f"clip:{folder}", classes=(("cat",), ("x" * 99,)))
    with pytest.raises(InputError, match="takes no checkpoint: its weights lie in the folder"):
        load_model(f"clip:{folder}", checkpoint="a.pt", classes=FRUITS)
    with pytest.raises(InputError, match=r"^fake:3 takes no prompts: .*clip:DIR"):
        load_model("fake:3", prompts="single")


def test_names_are_looked_for_in_the_cache_alone(
    folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MissingResource, match=r"clip:nobody/nothing.*hf download nobody/nothing$"):
        load_model("clip:nobody/nothing", classes=FRUITS)
    place = tmp_path / "models--ours--net"
    commit = "0123456789012345678901234567890123456789"
    (place / "refs").mkdir(parents=True)
    (place / "refs/main").write_text(commit)
    folder = folders.save(place / "snapshots" / commit)
    model = load_model("clip:ours/net", classes=FRUITS)
    assert model.identity == load_model(f"clip:{folder}", classes=FRUITS).identity
    with pytest.raises(InputError, match="expected a folder of open_clip or of transformers, or a"):
        load_model("clip:./nowhere", classes=FRUITS)
