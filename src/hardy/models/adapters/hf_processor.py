"""How a Hugging Face classifier takes its images. This file imports transformers."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from transformers import AutoImageProcessor

from hardy.documents import read_json
from hardy.errors import InputError, door, printable
from hardy.limits import SIDE
from hardy.models.adapters.hub_folder import CONFIG
from hardy.models.calling import normalised
from hardy.models.model import Preprocessing, Triple

_PROCESSOR = "preprocessor_config.json"
_TOGETHER = "processor_config.json"  # of models that take texts too, in newer folders
_PART = "image_processor"
_INTERPOLATIONS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # as Pillow counts
_STATED = ("image_mean", "image_std")  # figures that are too important to be a class's defaults
_TRIED = 256  # the side of the image that is shown to the processor
_ENDLESS = 10**9  # a side that is out of the question
_TODO = "wrap the model in a function of yours that prepares its images: torch:FILE.py:make"


def read_processor(folder: Path) -> Preprocessing:
    """What the folder says, as the library reads it: each of its classes has other defaults, and
    other forms of a size. The library's own processor is tried on an image, and must agree."""
    path = _settings_file(folder)
    stated = read_json(path, "the settings of an image processor", "take another copy of it")
    if path.name == _TOGETHER and isinstance(stated, Mapping):
        stated = stated.get(_PART)
    if not isinstance(stated, Mapping):
        raise InputError(f"{path}: expected the settings of an image processor, got none")
    if not isinstance(stated.get("resample"), int | None):
        raise InputError(
            f"{path}: expected resample as the number of a filter of Pillow, got "
            f"{printable(str(stated['resample'])[:80])}; take another copy of it"
        )
    _check_sides(stated, path)
    with door(path, _TODO):
        processor = AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, backend="pil"
        )
        said = _describe(processor, stated, path.name)
        side = _side(processor)
        mean, std = _normalisation(processor)
    interpolation = _INTERPOLATIONS.get(code := int(getattr(processor, "resample", None) or 0))
    if interpolation is None:
        interpolation = "bicubic"
        said += f", with bicubic resizing for Pillow's filter {code}"
    bgr = bool(getattr(processor, "do_flip_channel_order", False))
    own = Preprocessing(mean, std, side, interpolation, said, exact=True, bgr=bgr)
    _check(processor, own, path)
    return own


def _check_sides(stated: Mapping[str, Any], path: Path) -> None:
    """Refuse large images before the processor makes one."""
    sides: list[float] = [_TRIED]
    for name in ("size", "crop_size", "pad_size"):
        said = stated.get(name)
        inner = list(said.values()) if isinstance(said, Mapping) else said
        several = inner if isinstance(inner, list) else [inner]
        sides += [one for one in several if isinstance(one, int | float)]
    share = stated.get("crop_pct")  # the part that is kept of a larger image
    if isinstance(share, int | float) and 0 < share < 1:
        sides.append(max(sides) / share)
    SIDE.check(math.ceil(min(max(sides), _ENDLESS)), path)


def _settings_file(folder: Path) -> Path:
    for path in (folder / _PROCESSOR, folder / _TOGETHER):
        if path.is_file():
            return path
    raise InputError(
        f"{folder}: expected {_PROCESSOR} beside {CONFIG}, which says how images are resized "
        "and normalised; save it there: AutoImageProcessor.from_pretrained(MODEL)"
        ".save_pretrained(DIR)"
    )


def _describe(processor: Any, stated: Mapping[str, Any], said: str) -> str:
    kind = type(processor).__name__.removesuffix("Pil")
    missing = [key for key in _STATED if key not in stated] if processor.do_normalize else []
    if missing:
        said += f", which lacks {' and '.join(missing)}: {kind}'s own"
    crops = getattr(processor, "do_center_crop", False) or getattr(processor, "crop_pct", None)
    return f"{said}; its crop is left to the suite" if crops else said


def _side(processor: Any) -> int | None:
    """The side of what becomes of a square image; None: the image's own."""
    if not processor.do_resize and not getattr(processor, "do_center_crop", False):
        return None
    height, width = _shown(processor, np.zeros((_TRIED, _TRIED, 3), np.uint8)).shape[1:]
    if height != width:
        raise InputError(f"it makes {width} x {height} of a square image, which is not square")
    return int(height)


def _normalisation(processor: Any) -> tuple[Triple, Triple]:
    """Mean and std for pixels of 0..1, whatever is done to those of 0..255 one after the other."""
    unit = 255 * (processor.rescale_factor if processor.do_rescale else 1.0)
    mean, std = np.zeros(3), np.ones(3)
    if processor.do_normalize:
        mean, std = (np.broadcast_to(figures, 3) for figures in _figures(processor))
    if processor.do_rescale and getattr(processor, "rescale_offset", False):
        mean = mean + 1
    if getattr(processor, "include_top", False):  # EfficientNet's heads want it twice
        std = std * np.broadcast_to(_figures(processor)[1], 3)
    return tuple((mean / unit).tolist()), tuple((std / unit).tolist())


def _figures(processor: Any) -> tuple[Any, Any]:
    return processor.image_mean, processor.image_std


def _check(processor: Any, own: Preprocessing, path: Path) -> None:
    side = own.size or _TRIED
    image = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
    with door(path, _TODO):
        theirs = _shown(processor, image, do_resize=False, do_center_crop=False)
    ours = normalised(image[None], own)[0].transpose(2, 0, 1)
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-4, atol=1e-4):
        raise InputError(
            f"{path}: its {type(processor).__name__.removesuffix('Pil')} does something else to "
            f"pixels than to rescale and normalise them; {_TODO}"
        )


def _shown(processor: Any, image: npt.NDArray[np.uint8], **how: bool) -> npt.NDArray[Any]:
    found = processor(images=image, return_tensors="np", input_data_format="channels_last", **how)
    return np.asarray(found["pixel_values"][0])
