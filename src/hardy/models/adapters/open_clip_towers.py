"""Models of images and texts out of open_clip's folders. This file imports open_clip."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from hardy.errors import InputError, door, need, printable
from hardy.models.adapters.config_checks import AS_FACTORY, check_claim
from hardy.models.adapters.hub_folder import (
    OPEN_CONFIG,
    OPEN_WEIGHTS,
    check_weights_there,
    read_config,
)
from hardy.models.adapters.zero_shot import Tokens, TwoTowers, refuse_cut_texts
from hardy.models.calling import normalised, resized
from hardy.models.model import Options, Preprocessing

_SAFE = (*OPEN_WEIGHTS, "model.safetensors")
_PICKLED = ("open_clip_pytorch_model.bin", "pytorch_model.bin")
_STATED = ("mean", "std")
_TRIED = 256  # the side of the image that is shown to the library's transform
_MODEL, _TEXT, _VISION, _HUB_TOKENS = "model_cfg", "text_cfg", "vision_cfg", "hf_tokenizer_name"
_TOKENIZER = "tokenizer_kwargs"
_BARE: dict[str, Any] = {"load_weights": False, "pretrained_text": False}
_SETTINGS = ("additional_special_tokens", "clean", "language", "reduction_mask", "strip_sep_token")


def read_open_clip(folder: Path, options: Options) -> TwoTowers:
    """What `push_to_hf_hub` writes of open_clip; nothing is fetched, and no code of it is run."""
    library = need("open_clip", "clip", options.name)
    config = read_config(folder, OPEN_CONFIG)
    text = _check_config(config, folder)
    todo = 'save its state_dict by safetensors: save_file(state, "open_clip_model.safetensors")'
    check_weights_there(folder, options, _SAFE, _PICKLED, todo)
    weights = next(folder / n for n in (*_SAFE, *_PICKLED) if (folder / n).is_file())
    safely: dict[str, Any] = {}
    if text.get(_HUB_TOKENS):
        need("transformers", "clip", options.name)
        safely = {"trust_remote_code": False, "local_files_only": True}
    where = f"local-dir:{folder}"
    with _quietly():
        with door(folder, f"is it open_clip's? Otherwise {AS_FACTORY}"):
            with torch.device("meta"):  # without memory for its numbers
                empty = library.create_model(where, device="meta", **_BARE)
            numbers = sum(one.numel() for one in (*empty.parameters(), *empty.buffers()))
            check_claim(numbers, weights.stat().st_size, folder)
            module, _, transform = library.create_model_and_transforms(where, **_BARE)
            tokenizer = library.get_tokenizer(where, **safely)
        with door(weights, "does it belong to the config beside it? Take another copy of both"):
            library.load_checkpoint(module, str(weights), weights_only=True)
    return TwoTowers(
        words=f"{type(module).__name__} of open_clip",
        config=config[_MODEL],
        module=module.float(),
        image=module.visual,
        tokenise=lambda texts: _tokens(tokenizer, texts),
        encode=lambda tokens: module.encode_text(tokens["text"]),
        preprocessing=_preprocessing(module, config, transform, folder / OPEN_CONFIG),
    )


def _check_config(config: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """What it says of texts; parts that would have to come from elsewhere are refused."""
    model = config.get(_MODEL)
    parts = [model.get(name) if isinstance(model, Mapping) else None for name in (_TEXT, _VISION)]
    text, vision = parts
    if not isinstance(text, Mapping) or not isinstance(vision, Mapping):
        raise InputError(
            f"{folder / OPEN_CONFIG}: expected {_MODEL} with {_TEXT} and {_VISION}; take another "
            "copy of it"
        )
    odd = _odd_settings(text.get(_TOKENIZER))
    unfit = {
        f"{_TEXT}.hf_model_name": text.get("hf_model_name"),
        f"{_VISION}.timm_model_name": ":" in str(vision.get("timm_model_name")),
        f"{_TEXT}.{_TOKENIZER} of {odd}": odd,
        "multimodal_cfg": "multimodal_cfg" in config[_MODEL],
    }
    for name, there in unfit.items():
        if there:
            raise InputError(
                f"{folder / OPEN_CONFIG}: expected a model of open_clip's own two towers, got one "
                f"with {name}, which Hardy does not load; {AS_FACTORY}"
            )
    return text


def _odd_settings(said: Any) -> str:
    """The first setting of a tokenizer that is not known to name no file."""
    if said is None or isinstance(said, Mapping):
        return next((printable(name[:40]) for name in said or () if name not in _SETTINGS), "")
    return type(said).__name__


def _tokens(tokenizer: Any, texts: list[str]) -> Tokens:
    """Texts that the library would cut without a word are refused."""
    length = tokenizer.context_length
    longer: torch.Tensor = tokenizer(texts, context_length=2 * length)
    # Behind a text that fits there is nothing but padding.
    cut = (longer[:, length:] != longer[:, -1:]).any(1)
    refuse_cut_texts([text for text, is_cut in zip(texts, cut, strict=True) if is_cut], length)
    return {"text": tokenizer(texts)}


def _preprocessing(
    module: Any, config: Mapping[str, Any], transform: Any, path: Path
) -> Preprocessing:
    """What the library makes of a square image; its own transform is tried, and must agree."""
    its = module.visual.preprocess_cfg
    stated = config.get("preprocess_cfg") or {}
    missing = [name for name in _STATED if name not in stated]
    said = OPEN_CONFIG + (f", which lacks {' and '.join(missing)}: CLIP's own" if missing else "")
    sides = set(its["size"]) if isinstance(its["size"], list | tuple) else {its["size"]}
    if len(sides) != 1:
        raise InputError(f"{path}: expected a model of square images, got {its['size']}")
    ours = Preprocessing(
        tuple(its["mean"]),
        tuple(its["std"]),
        sides.pop(),
        its["interpolation"],
        f"{said}; its crop is left to the suite",
        exact=True,
    )
    image = np.random.default_rng(0).integers(0, 256, (_TRIED, _TRIED, 3), np.uint8)
    with door(path, AS_FACTORY):
        theirs = transform(Image.fromarray(image)).numpy().transpose(1, 2, 0)
    prepared = normalised(resized(image[None], ours.size, ours.interpolation), ours)[0]
    if prepared.shape != theirs.shape or not np.allclose(prepared, theirs, rtol=1e-4, atol=1e-4):
        raise InputError(
            f"{path}: open_clip does something else to pixels than to resize and normalise them; "
            f"{AS_FACTORY}"
        )
    return ours


@contextmanager
def _quietly() -> Iterator[None]:
    """Hold back what the library says by the root of all loggers, to which it adds a handler."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(level)
        root.handlers[:] = handlers
