"""Filters before a model: CLAHE, non-local means, a median; by OpenCV, on the host, image by image.

Settings that the papers leave open are decided here, and are part of a defended model's identity.
"""

from collections import deque
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from hardy.engine.door import UInt8
from hardy.engine.ops import is_tensor
from hardy.errors import InputError
from hardy.execute import Threads, processors
from hardy.models.calling import check_images
from hardy.models.defences import Defended, take_no_setting, unwrapped
from hardy.models.model import Model, Preprocessing

CLIP = 2.0  # times a bin of a flat histogram
TILES, LEAST_TILES, TILE = 8, 2, 28  # along a side: at most, at least; and pixels of a tile
PATCH, WINDOW = 7, 21  # pixels, along a side
_STRENGTH = 0.5  # h / σ
_FAINT = 1.0  # grey levels; quantisation alone makes an estimate of 0.74
TOGETHER = 16  # images that a thread takes at a time


class Filter(NamedTuple):
    one: Callable[[UInt8], UInt8]  # (H, W, 3)
    settings: dict[str, object]
    words: str

    def __call__(self, images: UInt8) -> UInt8:
        """uint8 (N, H, W, 3) -> uint8 (N, H, W, 3)."""
        out = np.empty(images.shape, np.uint8)

        def fill(start: int) -> None:
            for place in range(start, min(start + TOGETHER, len(images))):
                out[place] = self.one(np.ascontiguousarray(images[place]))

        starts = range(0, len(images), TOGETHER)
        with closing(Threads(processors()).run(lambda: fill, starts)) as done:
            deque(done, maxlen=0)
        return out


class _Filtered(Defended):
    """A model that is shown filtered images; one that was `trained` on them keeps its name."""

    def __init__(self, model: Model, name: str, filter: Filter, *, trained: bool = False) -> None:
        words = f"{filter.words}, as it was trained" if trained else filter.words
        super().__init__(model, name, filter.settings, words, name=model.name if trained else None)
        self.filter = name
        self.trained = trained
        self._apply = filter

    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any:
        check_images(images)
        return self.model.logits(self._filtered(images), preprocessing)

    def _filtered(self, images: Any) -> Any:
        if not is_tensor(images):
            return self._apply(images)
        import torch

        return torch.from_numpy(self._apply(images.cpu().numpy())).to(images.device)


def input_filter(name: str) -> Filter:
    """The filter by its name: training images go through it once, before anything else."""
    if name not in FILTERS:
        raise InputError(f'unknown input "{name}"; expected one of {", ".join(FILTERS)}')
    return FILTERS[name]


def clahe(image: UInt8) -> UInt8:
    """Contrast limited adaptive histogram equalisation of the luminance, L of L*a*b*.

    The L of a pixel becomes the level's rank in its tile, histograms cut at CLIP times their mean,
    between tiles bilinear. 8 x 8 tiles at 224, as is usual; of smaller images fewer, since in a
    histogram of 16 pixels, the 4 x 4 of 32 / 8, each is a level of its own.
    """
    import cv2

    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    tiles = tuple(min(TILES, max(LEAST_TILES, round(side / TILE))) for side in image.shape[1::-1])
    lab[..., 0] = cv2.createCLAHE(CLIP, tiles).apply(lab[..., 0])
    return np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), np.uint8)


def noise_level(image: UInt8) -> float:
    """σ in grey levels, as Donoho and Johnstone estimate it: median(|d|) / 0.6745 of the finest
    diagonal coefficients of the Haar wavelet, (a − b − c + d) / 2 of 2 x 2 pixels; the mean over
    the channels."""
    even = image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2].astype(np.int16)
    top, bottom = even[::2], even[1::2]
    diagonal = (top[:, ::2] - top[:, 1::2] - bottom[:, ::2] + bottom[:, 1::2]) / 2
    return float(np.median(np.abs(diagonal), axis=(0, 1)).mean() / 0.6745)


def non_local_means(image: UInt8) -> UInt8:
    """Non-local means, as strong as the noise that an image seems to have.

    A pixel becomes a mean of those whose 7 x 7 patch is like its own, within 21 x 21 pixels:
    weights exp(−d² / h²), h = σ / 2 of the noise that the image is estimated to have. On photos
    with Gaussian noise h = σ leaves more error, as it takes detail along.
    """
    import cv2

    level = noise_level(image)
    if level < _FAINT:
        return image
    strength = _STRENGTH * level
    blue_first = np.ascontiguousarray(image[..., ::-1])  # luminance is told from colour inside
    out = cv2.fastNlMeansDenoisingColored(blue_first, None, strength, strength, PATCH, WINDOW)
    return np.asarray(out[..., ::-1], np.uint8)


def median(image: UInt8) -> UInt8:
    """Median of 3 x 3 pixels, channel by channel; edges repeat."""
    import cv2

    return np.asarray(cv2.medianBlur(image, 3), np.uint8)


FILTERS = {
    "clahe": Filter(
        clahe,
        {"version": 1, "clip": CLIP, "tiles": [TILES, LEAST_TILES, TILE]},
        f"contrast limited adaptive histogram equalisation of L*, clip limit {CLIP:g}, "
        f"{TILES} x {TILES} tiles, fewer below {TILES * TILE} pixels",
    ),
    "nlm": Filter(
        non_local_means,
        {"version": 1, "patch": PATCH, "window": WINDOW, "strength": _STRENGTH, "faint": _FAINT},
        f"non-local means, strength {_STRENGTH:g} of the noise estimated by Haar wavelets, "
        f"unchanged below {_FAINT:g} grey level",
    ),
    "median": Filter(median, {"version": 1, "side": 3}, "3 x 3 median"),
}


def trained_behind(model: Model, name: str) -> Model:
    """A model that was trained on filtered images: it is shown filtered images in tests too."""
    return _Filtered(model, name, input_filter(name), trained=True)


def _behind(name: str) -> Callable[[Model, str | None], Model]:
    def behind(model: Model, setting: str | None) -> Model:
        take_no_setting(name, setting)
        if any(isinstance(one, _Filtered) and one.filter == name for one in unwrapped(model)):
            already = f"{model.name} is shown {name} images already"
            raise InputError(f"{already}; leave `defend={name}` out")
        return _Filtered(model, name, FILTERS[name])

    behind.__doc__ = FILTERS[name].one.__doc__  # of which lists take the first sentence
    return behind


behind_clahe, behind_nlm, behind_median = map(_behind, FILTERS)
