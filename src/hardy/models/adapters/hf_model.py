"""Image classifiers of Hugging Face's transformers. This file imports torch and transformers."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from hardy.documents import read_json
from hardy.errors import InputError, MissingResource, door, need
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.class_order import order_classes
from hardy.models.model import ModelFacts, Options, digest
from hardy.models.torch_identity import hash_weights

_CONFIG = "config.json"
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
# What changes no output, or is told apart otherwise.
_IDLE = ("_name_or_path", "transformers_version", "dtype", "id2label", "label2id")
_AS_FACTORY = "write a function that makes the model: torch:FILE.py:make"


def hf_model(rest: str, options: Options) -> TorchModel:
    """A classifier of Hugging Face's transformers, from a folder or from the cache of its hub."""
    options.refuse(checkpoint="its weights lie in the folder")
    need("transformers.image_utils", "hf", options.name)  # which imports torchvision, if there
    from hardy.models.adapters.hf_processor import PROCESSOR, read_processor

    folder = _folder(rest)
    config = _checked_config(folder, options)
    if not (folder / PROCESSOR).is_file():
        raise InputError(
            f"{folder}: expected {PROCESSOR} beside {_CONFIG}, which says how images are resized "
            "and normalised; save it there: AutoImageProcessor.from_pretrained(MODEL)"
            ".save_pretrained(DIR)"
        )
    with _quietly():
        intake = read_processor(folder)
        module = _loaded(folder, options)
    its = module.config
    labels = [str(its.id2label.get(place, place)) for place in range(its.num_labels)]
    order = order_classes(labels, options.classes, options.name)
    found = f"{type(module).__name__}, {order.words}"
    weights = hash_weights(module)
    if intake.bgr or order.columns is not None:
        module = _Adapted(module, intake.bgr, order.columns)
    facts = ModelFacts(class_names=order.names, found=found)
    model = finish_model(module, options, intake.preprocessing, facts)
    model.identity = digest(
        "hf",
        {
            "config": json.dumps({k: v for k, v in config.items() if k not in _IDLE}),
            "weights": weights,
            "order": order.columns,
            "bgr": intake.bgr,
            "preprocessing": model.preprocessing,
            "precision": options.precision,
        },
    )
    return model


class _Adapted(torch.nn.Module):
    """A classifier that is shown blue first, or whose classes are put into another order."""

    def __init__(self, module: torch.nn.Module, bgr: bool, columns: tuple[int, ...] | None) -> None:
        super().__init__()
        self.module = module
        self.bgr = bgr
        self.register_buffer("columns", None if columns is None else torch.tensor(columns))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.module(pixels.flip(1) if self.bgr else pixels).logits
        return logits if self.columns is None else logits[:, self.columns]


def _folder(rest: str) -> Path:
    """The folder itself, or that of the hub's cache: nothing is fetched here."""
    folder = Path(rest)
    if folder.is_dir():
        return folder
    if folder.exists() or rest.startswith((".", "/", "~")) or rest.count("/") > 1:
        raise InputError(
            f"expected a folder that save_pretrained wrote, or a NAME of Hugging Face's hub, got "
            f"{rest}, which is {'a file' if folder.exists() else 'neither'}; check the path"
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(rest, local_files_only=True))
    except Exception as error:  # of many kinds, for names as for the cache
        raise MissingResource(
            f"hf:{rest}: there is no such folder, and Hugging Face's cache does not have it "
            f"({type(error).__name__}); fetch it yourself, as Hardy does not: hf download {rest}"
        ) from error


def _checked_config(folder: Path, options: Options) -> Mapping[str, Any]:
    """What the folder says of itself; whatever would have to run code out of it is refused."""
    try:
        config = read_json(folder / _CONFIG, "what a model is", "take another copy of it")
    except FileNotFoundError:
        raise InputError(
            f"{folder}: expected a folder that save_pretrained wrote, but it has no {_CONFIG}"
        ) from None
    if not isinstance(config, Mapping):
        raise InputError(f"{folder / _CONFIG}: expected what a model is, got a list")
    if config.get("auto_map"):
        raise InputError(
            f"{folder}: the model comes with code of its own (auto_map in {_CONFIG}), which Hardy "
            f"does not run, not even with `trust=True`; where you trust it, {_AS_FACTORY}"
        )
    if "model_type" not in config and "architecture" in config:
        raise InputError(
            f"{folder} holds a model of timm; load it by that: timm:local-dir:{folder}"
        )
    if not _has(folder, _WEIGHTS):
        if not _has(folder, _PICKLED):
            raise InputError(
                f"{folder}: expected weights in {_WEIGHTS[0]}, found none; is it all there?"
            )
        if not options.trust:
            raise InputError(
                f"{folder}: expected weights in {_WEIGHTS[0]}, got {_PICKLED[0]}, a pickle, which "
                "may run code when it is read; save it anew, by save_pretrained, or, if you trust "
                "it, say `trust=True`"
            )
    return config


def _has(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in names)


def _loaded(folder: Path, options: Options) -> Any:
    from transformers import AutoModelForImageClassification

    with door(folder, f"is it an image classifier? Otherwise {_AS_FACTORY}"):
        module, report = AutoModelForImageClassification.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=_has(folder, _WEIGHTS) or None,
            output_loading_info=True,
        )
    missing = sorted(report["missing_keys"])
    last = {name.rpartition(".")[0] for name in missing}
    is_head = len(last) == 1 and isinstance(module.get_submodule(*last), torch.nn.Linear)
    if missing and not (options.backbone and is_head):
        raise InputError(
            f"{folder}: its weights lack {len(missing)} of a {type(module).__name__} "
            f"({', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}), which would be left "
            "to chance; is it a backbone without a classifier? Train one on it: "
            f"`hardy probe hf:{folder} --data SRC --out FILE`"
        )
    module.name_or_path = ""  # where it lay is no part of what it is
    return module.float()


@contextmanager
def _quietly() -> Iterator[None]:
    """Hold back bars and remarks; what matters is in the library's errors and reports."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
