"""Classification by names: images and texts meet in one space. This file imports torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import torch
from torch.nn.functional import normalize

from hardy.errors import InputError, printable
from hardy.models.model import Preprocessing
from hardy.models.prompts import PromptSet
from hardy.models.text_cache import Features
from hardy.progress import watch

Tokens = Mapping[str, torch.Tensor]  # (texts, length) each

_AT_ONCE = 256  # texts


@dataclass(frozen=True)
class TwoTowers:
    """A model of images and texts, as one of the libraries read it."""

    words: str
    config: Mapping[str, Any]  # what changes its output, beside weights
    module: torch.nn.Module  # both towers
    image: torch.nn.Module  # the part that makes features of pixels
    tokenise: Callable[[list[str]], Tokens]
    encode: Callable[[Tokens], torch.Tensor]
    preprocessing: Preprocessing

    def scale_and_bias(self) -> tuple[float, float]:
        """What it learnt to do to cosines; a bias is SigLIP's way."""
        scale: Any = self.module.logit_scale
        bias: Any = getattr(self.module, "logit_bias", None)
        return float(scale.exp().item()), 0.0 if bias is None else float(bias.item())


def refuse_cut_texts(texts: Sequence[str], length: int) -> None:
    """Refuse texts of which the model would read the beginning only."""
    if texts:
        raise InputError(
            f'expected prompts that fill at most {length} tokens, got "{printable(texts[0][:200])}"'
            f" and {len(texts) - 1:,} others with more; shorten the `prompts` or the classes' names"
        )


def hash_tokens(tokens: Tokens) -> str:
    together = sha256()
    for name in sorted(tokens):
        together.update(f"{name} {tuple(tokens[name].shape)}".encode())
        together.update(tokens[name].contiguous().numpy())
    return together.hexdigest()


def text_features(
    towers: TwoTowers, tokens: Tokens, prompts: PromptSet, device: torch.device
) -> Features:
    """Each class's mean over its sentences: the features of each brought to length 1, and the mean
    again. Tokens are those of `prompts.fill`."""
    per_class = len(prompts.templates)
    count = len(next(iter(tokens.values())))
    step = max(1, _AT_ONCE // per_class) * per_class
    module, found = towers.module.to(device).eval(), []
    with torch.inference_mode():
        for start in watch(range(0, count, step), count, "sentences read", lambda _: step):
            some = {name: part[start : start + step].to(device) for name, part in tokens.items()}
            each = normalize(towers.encode(some).float(), dim=-1)
            mean = each.unflatten(0, (-1, per_class)).mean(1)
            found.append(normalize(mean, dim=-1).cpu())
    module.cpu()  # the text tower is not needed any more
    features: Features = torch.cat(found).numpy()
    return features


class ImageFeatures(torch.nn.Module):
    """Pixels to features of length 1."""

    def __init__(self, image: torch.nn.Module) -> None:
        super().__init__()
        self.image = image

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return normalize(self.image(pixels).float(), dim=-1)


class ZeroShot(torch.nn.Module):
    """scale · f Wᵀ + bias, with the features of classes as W, in float32 whatever the precision."""

    def __init__(
        self, image: torch.nn.Module, features: Features, scale: float, bias: float
    ) -> None:
        super().__init__()
        self.features = ImageFeatures(image)
        self.register_buffer("classes", torch.from_numpy(features))
        self.scale, self.bias = scale, bias

    def forward(self, pixels: torch.Tensor) -> Any:
        features = self.features(pixels)
        with torch.autocast(pixels.device.type, enabled=False):
            return self.scale * (features @ self.classes.T) + self.bias
