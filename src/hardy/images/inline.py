"""Pictures inside a page or a notebook: encoded small, as data URIs."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]

SHOWN = 12  # images of a batch
GREY = "#7d8785"  # at least 3.5 : 1 against white and against dark pages
QUALITY = 75
# Below this side a picture is stored without loss: it is shown enlarged, and small anyway.
TINY = 64


def encode(image: UInt8) -> bytes:
    from PIL import Image

    lossless = min(image.shape[:2]) <= TINY
    data = io.BytesIO()
    Image.fromarray(image).save(data, "WEBP", quality=QUALITY, lossless=lossless, method=2)
    return data.getvalue()


def data_uri(webp: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(webp).decode("ascii")


def batch_html(images: Any, names: Sequence[str] = ()) -> str:
    """Images (N, H, W, 3), or frames, beside each other; `names` stand below them."""
    shown = [np.asarray(image, np.uint8) for image, _ in zip(images, range(SHOWN), strict=False)]
    labels = [*names[: len(shown)], *(f"{place}" for place in range(len(names), len(shown)))]
    cards = "".join(
        '<figure style="display: inline-block; margin: 0 6px 6px 0">'
        f'<img src="{data_uri(encode(image))}" alt="{escape(label)}" '
        'style="width: 112px; image-rendering: auto">'
        f'<figcaption style="font-size: 11px; color: {GREY}">{escape(label)}</figcaption></figure>'
        for image, label in zip(shown, labels, strict=True)
    )
    more = len(images) - len(shown)
    return f"<div>{cards}</div>" + (f"<div>and {more:,} more</div>" if more > 0 else "")
