"""Folders as Hugging Face's hub has them: where they lie, and what is read of them."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hardy.documents import read_json, without_fields
from hardy.errors import InputError, MissingResource, door, need, printable
from hardy.models.adapters.config_checks import AS_FACTORY, check_claim, check_config
from hardy.models.model import Options

CONFIG = "config.json"
_SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_NOTHING_ELSE = {"local_files_only": True, "trust_remote_code": False}
_SHARD = r"[^/\\:\0]+\.safetensors"
_ADAPTER = "adapter_config.json"
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
OPEN_CONFIG = "open_clip_config.json"
OPEN_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
# Of a config: what changes no output, or is told apart otherwise.
_IDLE = (
    "_name_or_path",
    "transformers_version",
    "dtype",
    "torch_dtype",  # as it was called before
    "id2label",
    "label2id",
)


def find_folder(kind: str, rest: str, what: str) -> Path:
    """The folder itself, or that of the hub's cache: nothing is fetched here."""
    folder = Path(rest)
    if folder.is_dir():
        return folder
    if folder.exists() or rest.startswith((".", "/", "~")) or rest.count("/") > 1:
        raise InputError(
            f"expected {what}, or a NAME of Hugging Face's hub, got "
            f"{rest}, which is {'a file' if folder.exists() else 'neither'}; check the path"
        )
    hub = need("huggingface_hub", kind, f"{kind}:{rest}")
    try:
        return Path(hub.snapshot_download(rest, local_files_only=True))
    except Exception as error:  # of many kinds, for names as for the cache
        raise MissingResource(
            f"{kind}:{rest}: there is no such folder, and Hugging Face's cache does not have it "
            f"({type(error).__name__}); fetch it yourself, as Hardy does not: hf download {rest}"
        ) from error


def read_config(folder: Path, name: str = CONFIG) -> Mapping[str, Any]:
    """What the folder says of itself, unless its model comes with code."""
    config = read_json(folder / name, "what a model is", "take another copy of it")
    if not isinstance(config, Mapping):
        raise InputError(f"{folder / name}: expected what a model is, got a list")
    if config.get("auto_map"):
        raise InputError(
            f"{folder}: the model comes with code of its own (auto_map in {name}), which Hardy "
            f"does not run, not even with `trust=True`; where you trust it, {AS_FACTORY}"
        )
    check_config(config, folder / name)
    return config


def decisive(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a config that changes a model's output."""
    kept: dict[str, Any] = without_fields(config, _IDLE)
    return kept


def has_any(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in names)


def check_weights_there(
    folder: Path,
    options: Options,
    safe: tuple[str, ...] = _SAFE_WEIGHTS,
    pickled: tuple[str, ...] = _PICKLED,
    todo: str = "save it anew, by save_pretrained",
) -> None:
    """Refuse a folder without weights, or with pickled ones that nobody trusts."""
    if has_any(folder, safe):
        _weight_files(folder, safe)
        return
    if not has_any(folder, pickled):
        raise InputError(f"{folder}: expected weights in {safe[0]}, found none; is it all there?")
    if not options.trust:
        raise InputError(
            f"{folder}: expected weights in {safe[0]}, got {pickled[0]}, a pickle, which "
            f"may run code when it is read; {todo}, or, if you trust it, say `trust=True`"
        )


def _weight_files(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """The file that libraries read, or those that its index names, all of them in the folder."""
    path = next(folder / name for name in names if (folder / name).is_file())
    if path.suffix != ".json":
        return [path]
    index = read_json(path, "where weights are", "take another copy of it")
    said = index.get("weight_map") if isinstance(index, Mapping) else None
    parts: list[Any] = list(said.values()) if isinstance(said, Mapping) else [None]
    odd = [one for one in parts if not isinstance(one, str) or not re.fullmatch(_SHARD, one)]
    if odd or not parts:
        raise InputError(
            f"{path}: expected names of .safetensors files of its own folder, got "
            f"{printable(str(odd[0])[:80]) if odd else 'none'}; take another copy of the folder"
        )
    return [folder / name for name in sorted(set(parts))]


def load_pretrained(
    kind: Any,
    folder: Path,
    *,
    unread: str,
    lacking: str,
    may_lack: Callable[[Any, list[str]], bool] = lambda module, missing: False,
) -> Any:
    """The model of a folder, by a class of transformers; refused where weights are missing that it
    may not lack. What to do then is said by `unread` and `lacking`."""
    if has_any(folder, (_ADAPTER,)):  # it names another model, and is honoured where peft is there
        raise InputError(
            f"{folder}: expected a whole model, got an adapter beside it ({_ADAPTER}); merge them "
            "and save what comes out, or remove that file"
        )
    with door(folder, unread):
        _check_size(kind, folder)
        module, report = kind.from_pretrained(
            folder,
            **_NOTHING_ELSE,
            use_safetensors=has_any(folder, _SAFE_WEIGHTS) or None,
            output_loading_info=True,
        )
    missing = sorted(report["missing_keys"])
    if missing and not may_lack(module, missing):
        raise InputError(
            f"{folder}: its weights lack {len(missing)} of a {type(module).__name__} "
            f"({', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}), which would be left "
            f"to chance; {lacking}"
        )
    module.name_or_path = ""  # where it lay is no part of what it is
    return module.float()


def _check_size(kind: Any, folder: Path) -> None:
    """Build the model without memory for its numbers, and count them."""
    import torch
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, **_NOTHING_ELSE)
    with torch.device("meta"):
        empty = kind.from_config(config, trust_remote_code=False)
    numbers = sum(one.numel() for one in (*empty.parameters(), *empty.buffers()))
    safe = has_any(folder, _SAFE_WEIGHTS)
    files = _weight_files(folder, _SAFE_WEIGHTS) if safe else folder.glob("pytorch_model*")
    check_claim(numbers, sum(file.stat().st_size for file in files), folder)


@contextmanager
def quietly() -> Iterator[None]:
    """Hold back bars and remarks of transformers; what matters is in its errors and reports."""
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
