"""Folders of tiny models of images and texts, as transformers write them, with weights by chance.

They know letters only, so that a tokenizer can be made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from transformers.utils import logging

logging.disable_progress_bar()

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
LENGTH = 60  # tokens of a text
SIDE = 32
START, END = "<|startoftext|>", "<|endoftext|>"


def clip() -> tuple[Any, Any, Any]:
    letters = sorted(ByteLevel.alphabet())
    vocabulary = {
        one: place for place, one in enumerate([*letters, *(f"{c}</w>" for c in letters)])
    }
    vocabulary |= {START: len(vocabulary), END: len(vocabulary) + 1}
    end = vocabulary[END]
    text = {
        **SMALL,
        "vocab_size": len(vocabulary),
        "max_position_embeddings": LENGTH,
        "bos_token_id": vocabulary[START],
        "eos_token_id": end,
        "pad_token_id": end,
    }
    vision = {**SMALL, "image_size": SIDE, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=SIDE)
    tokenizer = transformers.CLIPTokenizer(vocab=vocabulary, merges=[])
    return transformers.CLIPModel(config), processor, tokenizer


def siglip() -> tuple[Any, Any, Any]:
    """Its tokenizer knows single letters; SigLIP's own is a file of 2 MB."""
    vocabulary = {chr(place): place for place in range(127)} | {"[PAD]": 127}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="~"))
    plain.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", model_input_names=["input_ids"]
    )
    ids = {"bos_token_id": 0, "eos_token_id": 127, "pad_token_id": 127}
    text = {**SMALL, **ids, "vocab_size": 128, "max_position_embeddings": LENGTH}
    vision = {**SMALL, "image_size": SIDE, "patch_size": 8}
    config = transformers.SiglipConfig(text_config=text, vision_config=vision)
    processor = transformers.SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    return transformers.SiglipModel(config), processor, tokenizer


def save(folder: Path, make: Any = clip, seed: int = 0) -> Path:
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    module, processor, tokenizer = make()
    with torch.no_grad():  # so that images and texts are told apart
        for tensor in module.parameters():
            tensor.add_(torch.randn_like(tensor) * (0.2 if tensor.ndim else 0.5))
    torch.random.set_rng_state(state)
    module.save_pretrained(folder)
    processor.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def by_the_library(folder: Path, image: Any, texts: list[str]) -> Any:
    """The logits of one image for some texts, by the library's model as a whole."""
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder).eval()
    words = tokenizer(texts, padding="max_length", max_length=LENGTH, return_tensors="pt")
    with torch.no_grad():
        return module(**processor(image, return_tensors="pt"), **words).logits_per_image.numpy()
