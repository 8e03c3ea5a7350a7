"""JPEG and pixelate are Pillow's, to the byte, at any size and whatever the picture."""

from __future__ import annotations

import numpy as np
import pytest

import hardy
from hardy.suites import SEVERITIES, edition, editions
from tests.corrupt.references import REFERENCES
from tests.photos import codec_pictures

SIZES = [(8, 8), (8, 9), (9, 8), (15, 16), (16, 16), (17, 31), (33, 24), (45, 37), (64, 48),
         (97, 130), (224, 224), (299, 299), (240, 321)]  # fmt: skip


def differing(name: str, size: tuple[int, int]) -> list[str]:
    wrong, images = [], codec_pictures(*size)
    rows = {
        tuple(edition(e).params(name, s).values()): (e, s)
        for e in editions(name)
        for s in SEVERITIES
    }
    for chosen, severity in rows.values():
        result = hardy.corrupt(images, name, severity, edition=chosen)
        params = edition(chosen).params(name, severity)
        for i, image in enumerate(images):
            if not np.array_equal(result[i], REFERENCES[name](image, {}, **params)):
                wrong.append(f"{params}, picture {i}")
    assert len(rows) > 10
    return wrong


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["jpeg_compression", "pixelate"])
def test_pillows_bytes(name, size):
    assert differing(name, size) == []


def test_every_remainder_of_the_jpeg_blocks():
    # 4:2:0 works on blocks of 16: all remainders of both sides.
    for extra in range(16):
        size = (16 + extra, 16 + (extra * 7 + 3) % 16)
        for image in codec_pictures(*size)[:4]:
            result = hardy.corrupt(image, "jpeg_compression", 3, edition="cifar")
            expected = REFERENCES["jpeg_compression"](image, {}, quality=58)
            np.testing.assert_array_equal(result, expected, err_msg=str(size))
