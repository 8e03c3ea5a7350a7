"""Models of images and texts out of transformers' folders. This file imports transformers."""

from pathlib import Path
from typing import Any

import torch

from hardy.errors import InputError, door, need
from hardy.models.adapters.hub_folder import (
    CONFIG,
    check_weights_there,
    decisive,
    has_any,
    load_pretrained,
    quietly,
    read_config,
)
from hardy.models.adapters.zero_shot import Tokens, TwoTowers, refuse_cut_texts
from hardy.models.model import Options

_TYPES = ("clip", "siglip")
_VOCABULARIES = ("tokenizer.json", "vocab.json", "spiece.model", "tokenizer.model")


def read_hf_towers(folder: Path, options: Options) -> TwoTowers:
    """What `save_pretrained` writes of a CLIPModel or a SiglipModel, and of its processor."""
    need("transformers.image_utils", "clip", options.name)  # which imports torchvision, if there
    from transformers import AutoModel, AutoTokenizer

    from hardy.models.adapters.hf_processor import read_processor

    config = read_config(folder)
    if (kind := config.get("model_type")) not in _TYPES:
        raise InputError(
            f"{folder / CONFIG}: expected a model of images and texts, of the type "
            f'{" or ".join(_TYPES)}, got "{kind}"; is it a classifier? Then hf:{folder}'
        )
    check_weights_there(folder, options)
    todo = "save it there: AutoTokenizer.from_pretrained(MODEL).save_pretrained(DIR)"
    if not has_any(folder, _VOCABULARIES):
        raise InputError(f"{folder}: expected a tokenizer beside {CONFIG}, found none; {todo}")
    with quietly():
        own = read_processor(folder)
        with door(f"the tokenizer in {folder}", todo):
            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        module = load_pretrained(
            AutoModel,
            folder,
            unread="does its weights' file belong to its config? Take another copy of both",
            lacking="take another copy of it",
        )
    length = module.config.text_config.max_position_embeddings
    return TwoTowers(
        words=f"{type(module).__name__} of transformers",
        config=decisive(config),
        module=module,
        image=_ImageTower(module),
        tokenise=lambda texts: _tokens(tokenizer, texts, length),
        encode=lambda tokens: module.get_text_features(**tokens).pooler_output,
        preprocessing=own,
    )


class _ImageTower(torch.nn.Module):
    """The part of a model that sees."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.vision_model = module.vision_model
        self.projection = getattr(module, "visual_projection", torch.nn.Identity())

    def forward(self, pixels: torch.Tensor) -> Any:
        return self.projection(self.vision_model(pixel_values=pixels).pooler_output)


def _tokens(tokenizer: Any, texts: list[str], length: int) -> Tokens:
    """As long as the model reads, which SigLIP was trained with; more would be cut."""
    with quietly():
        found = tokenizer(texts, padding="max_length", max_length=length)
    cut = [t for t, ids in zip(texts, found["input_ids"], strict=True) if len(ids) > length]
    refuse_cut_texts(cut, length)
    return {name: torch.tensor(found[name]) for name in tokenizer.model_input_names}
