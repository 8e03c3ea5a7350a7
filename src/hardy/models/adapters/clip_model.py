"""Zero-shot classifiers: CLIP and its kin, of open_clip and of transformers. This file imports
torch."""

from collections import Counter
from pathlib import Path

import torch

from hardy.errors import InputError, door, printable
from hardy.models.adapters.hub_folder import CONFIG, OPEN_CONFIG, OPEN_WEIGHTS, find_folder, has_any
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.adapters.torch_sources import find_device, finish_model
from hardy.models.adapters.zero_shot import (
    ImageFeatures,
    TwoTowers,
    ZeroShot,
    hash_tokens,
    text_features,
)
from hardy.models.model import ModelFacts, Options, digest
from hardy.models.prompts import class_words, read_prompts
from hardy.models.text_cache import cached_features
from hardy.models.torch_identity import hash_weights

_WANTED = "a folder of open_clip or of transformers"


def clip_model(rest: str, options: Options) -> TorchModel:
    """A zero-shot classifier of open_clip or transformers (CLIP, SigLIP), which knows classes by
    their names, from a folder or from the cache of Hugging Face's hub."""
    options.refuse(checkpoint="its weights lie in the folder")
    folder = find_folder("clip", rest, _WANTED)
    if options.backbone:
        towers = _read_towers(folder, options)
        facts = ModelFacts(found=f"{towers.words}: features of images")
        return finish_model(ImageFeatures(towers.image), options, towers.preprocessing, facts)
    prompts = read_prompts(options.prompts)
    names = class_words(options.classes, options.name)  # known before anything is loaded
    towers = _read_towers(folder, options)
    parts = {"config": towers.config, "weights": hash_weights(towers.module)}
    with door(folder, "do its tokenizer and its weights belong together?"):
        tokens = towers.tokenise(prompts.fill(names))
        parts["tokens"] = hash_tokens(tokens)
        features = cached_features(
            digest("text features", {**parts, "sentences": len(prompts.templates)}),
            len(names),
            lambda: text_features(towers, tokens, prompts, find_device(options)),
        )
    facts = ModelFacts(
        class_names=tuple(spelled[0] for spelled in options.classes or ()),
        found=f"{towers.words}, {_describe(names)}, prompts: {prompts}",
        prompts=str(prompts),
    )
    module: torch.nn.Module = ZeroShot(towers.image, features, *towers.scale_and_bias())
    model = finish_model(module, options, towers.preprocessing, facts)
    model.identity = digest(
        "clip",
        {
            **parts,
            "sentences": len(prompts.templates),
            "preprocessing": model.preprocessing,
            "precision": options.precision,
        },
    )
    return model


def _read_towers(folder: Path, options: Options) -> TwoTowers:
    """Some folders hold a model for both libraries: where open_clip's safetensors are, it reads
    them."""
    by_open_clip, by_transformers = has_any(folder, (OPEN_CONFIG,)), has_any(folder, (CONFIG,))
    if by_open_clip and (has_any(folder, OPEN_WEIGHTS) or not by_transformers):
        from hardy.models.adapters.open_clip_towers import read_open_clip

        return read_open_clip(folder, options)
    if by_transformers:
        from hardy.models.adapters.hf_towers import read_hf_towers

        return read_hf_towers(folder, options)
    raise InputError(
        f"{folder}: expected {_WANTED}, but it has neither {OPEN_CONFIG} nor {CONFIG}; check the "
        "path"
    )


def _describe(names: tuple[str, ...]) -> str:
    shown = ", ".join(f'"{printable(name[:40])}"' for name in names[:2])
    words = f"{len(names):,} classes by name ({shown}{', …' if len(names) > 2 else ''})"
    alike = [name for name, times in Counter(names).items() if times > 1]
    if alike:
        some = ", ".join(map(printable, alike[:3]))
        words += f", of which some share one ({some}) and cannot be told apart"
    return words
