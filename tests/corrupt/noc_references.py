"""The 23 corruptions of ImageNet-NOC as their definitions read: one image, slowly, with Pillow.

Each takes an image (H, W, 3), what was drawn for it, and the range, and gives bytes: a value y in
0..1 becomes floor(255 y). `unit` keeps whole levels whole where 255 (v / 255) would not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import cos, radians, sin, tan
from typing import Any

import numpy as np
from PIL import Image

import hardy

Fields = Mapping[str, Any]
Bytes = np.ndarray

HAIR = 1e-9  # far more than rounding, far less than a draw can miss a whole level by
DISC = {0: 6, 1: 6, 2: 5, 3: 5, 4: 4, 5: 3, 6: 1}


def to_bytes(unit: np.ndarray) -> Bytes:
    return np.floor(np.clip(unit, 0, 1) * 255 + HAIR).astype(np.uint8)


def sign(fields: Fields, name: str = "negative") -> int:
    return -1 if fields[name] else 1


def length(strength: int, image: Bytes, least: int = 1) -> int:
    return max(least, int(strength * min(image.shape[:2]) / 224 + 0.5))


def quantization(image: Bytes, fields: Fields) -> Bytes:
    n = int(fields["strength"])
    return to_bytes(np.round(n * (image / 255)) / n)


def gaussian(image: Bytes, fields: Fields) -> Bytes:
    return to_bytes(image / 255 + abs(fields["strength"] * fields["normal"]))


def salt_pepper(image: Bytes, fields: Fields) -> Bytes:
    """Add and take away 2, then clip."""
    q, hit, x = fields["strength"], fields["hit"], image / 255
    return to_bytes(x - 2.0 * (hit < q / 2) + 2.0 * (hit >= 1 - q / 2))


def blur(image: Bytes, fields: Fields) -> Bytes:
    x = image / 255
    mean = x
    for _ in range(length(5, image)):
        padded = np.pad(mean, ((1, 1), (1, 1), (0, 0)))
        height, width, _ = image.shape
        mean = (
            sum(padded[dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3)) / 9
        )
    w = fields["strength"]
    return to_bytes((1 - w) * x + w * mean)


def thumbnail_resize(image: Bytes, fields: Fields) -> Bytes:
    height, width, _ = image.shape
    small = (max(int(width / fields["strength"]), 1), max(int(height / fields["strength"]), 1))
    shrunk = Image.fromarray(image).resize(small, Image.Resampling.BILINEAR)
    return np.asarray(shrunk.resize((width, height), Image.Resampling.BILINEAR))


def pixelate(image: Bytes, fields: Fields) -> Bytes:
    a = length(int(fields["strength"]), image, least=2)
    height, width, _ = image.shape
    rows, columns = height // a, width // a
    pooled = (image[: rows * a, : columns * a] / 255).reshape(rows, a, columns, a, 3).mean((1, 3))
    large = pooled.repeat(a, 0).repeat(a, 1)
    down, along = height - rows * a, width - columns * a
    pad = ((down // 2, down - down // 2), (along // 2, along - along // 2), (0, 0))
    return to_bytes(np.pad(large, pad, mode="reflect"))


def artifacts(image: Bytes, fields: Fields) -> Bytes:
    """Row by row, as at 224; marks are thickened at the end."""
    assert image.shape[:2] == (224, 224)
    out, marks = image.copy(), []
    for k in range(int(fields["strength"])):
        r, x0, m = int(fields["row"][k]), int(fields["column"][k]), int(fields["trail"][k])
        marks += [(r, x0 + d) for d in range(-2, 3)]
        for _ in range(2 * m - 1):
            if x0 + 2 < 224 - 12:
                marks += [(r, x0 + 2 + d) for d in (4, 6, 8, 10, 12)]
            if x0 - 2 > 7:
                marks += [(r, x0 - 2 - d) for d in (0, 2, 4, 6, 8)]
    for r, c in marks:
        for row in (r - 1, r, r + 1):
            out[row, c] = fields["grey"]
    return out


def vertical_artifacts(image: Bytes, fields: Fields) -> Bytes:
    turned = {**fields, "row": fields["column"], "column": fields["row"]}
    return artifacts(image.transpose(1, 0, 2), turned).transpose(1, 0, 2)


def rhombus(image: Bytes, fields: Fields) -> Bytes:
    out, radius = image.copy(), length(7, image)
    for n in range(int(fields["strength"])):
        r, c, grey = (int(fields[name][n]) for name in ("row", "column", "grey"))
        for i in range(-radius, radius):
            for k in range(-(radius - abs(i)), radius - abs(i)):
                out[r + i, c + k] = grey
        out[r, c] = grey
    return out


def discs(image: Bytes, fields: Fields, paint: Callable[[np.ndarray, int], np.ndarray]) -> Bytes:
    assert image.shape[:2] == (224, 224)
    x = image / 255
    for n in range(int(fields["strength"])):
        r, c = int(fields["row"][n]), int(fields["column"][n])
        for i in range(-6, 7):
            hw = DISC[abs(i)]
            x[r + i, c - hw : c + hw + 1] = paint(x[r + i, c - hw : c + hw + 1], n)
    return to_bytes(x)


def rain(image: Bytes, fields: Fields) -> Bytes:
    return discs(image, fields, lambda x, n: 0.5 + 0.5 * x)


def circle(image: Bytes, fields: Fields) -> Bytes:
    return discs(image, fields, lambda x, n: np.full_like(x, fields["grey"][n] / 255))


def obstruction(image: Bytes, fields: Fields) -> Bytes:
    out, side = image.copy(), length(int(fields["strength"]), image)
    row, column = int(fields["row"]), int(fields["column"])
    assert row + side <= image.shape[0]
    assert column + side <= image.shape[1]
    out[row : row + side, column : column + side] = fields["grey"]
    return out


def border(image: Bytes, fields: Fields) -> Bytes:
    t = length(int(fields["strength"]), image)
    out = np.full_like(image, fields["grey"])
    out[t:-t, t:-t] = image[t:-t, t:-t]
    return out


def affine(image: Bytes, matrix: tuple[float, ...]) -> Bytes:
    height, width, _ = image.shape
    picture = Image.fromarray(image)
    moved = picture.transform(
        (width, height), Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST
    )
    return np.asarray(moved)


def about_the_centre(image: Bytes, a: float, b: float, d: float, e: float) -> Bytes:
    """As torchvision 0.6 does: half a pixel past the middle."""
    y, x = image.shape[0] * 0.5 + 0.5, image.shape[1] * 0.5 + 0.5
    return affine(image, (a, b, x - a * x - b * y, d, e, y - d * x - e * y))


def translation(image: Bytes, fields: Fields) -> Bytes:
    right = sign(fields, "left") * length(int(fields["right"]), image)
    down = sign(fields, "up") * length(int(fields["down"]), image)
    return affine(image, (1, 0, -right, 0, 1, -down))


def shear(image: Bytes, fields: Fields) -> Bytes:
    angle = radians(sign(fields) * int(fields["strength"]))
    return about_the_centre(image, 1, tan(angle), 0, 1)


def rotation(image: Bytes, fields: Fields) -> Bytes:
    angle = radians(sign(fields) * int(fields["strength"]))
    return about_the_centre(image, cos(angle), sin(angle), -sin(angle), cos(angle))


def elastic(image: Bytes, fields: Fields) -> Bytes:
    s = length(int(fields["strength"]), image)
    rest = image[:, s:] if fields["axis"] else image[s:]
    height, width, _ = image.shape
    picture = Image.fromarray(np.ascontiguousarray(rest))
    return np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))


def backlight(image: Bytes, fields: Fields) -> Bytes:
    x, side = image / 255, image.shape[1] if fields["axis"] else image.shape[0]
    split = side // 2 + (-side // 5) + int(fields["split"])
    delta = sign(fields) * fields["strength"]
    if fields["axis"]:
        return np.concatenate([to_bytes(x[:, :split] - delta), to_bytes(x[:, split:] + delta)], 1)
    return np.concatenate([to_bytes(x[:split] + delta), to_bytes(x[split:] - delta)])


def brightness(image: Bytes, fields: Fields) -> Bytes:
    return to_bytes(image / 255 + sign(fields) * fields["strength"])


def contrast(image: Bytes, fields: Fields) -> Bytes:
    x, c = image / 255, fields["strength"]
    return to_bytes((1 - c) * x + c * x.mean())


def color_disortion(image: Bytes, fields: Fields) -> Bytes:
    x = image / 255
    x[..., int(fields["channel"])] += fields["strength"]
    return to_bytes(x)


def gray_scale(image: Bytes, fields: Fields) -> Bytes:
    luma = np.asarray(Image.fromarray(image).convert("L"))[..., None] / 255
    w = fields["strength"]
    return to_bytes(w * luma + (1 - w) * (image / 255))


def hue(image: Bytes, fields: Fields) -> Bytes:
    hsv = np.array(Image.fromarray(image).convert("HSV"))
    hsv[..., 0] = (hsv[..., 0].astype(int) + sign(fields) * int(fields["strength"] * 255)) % 256
    return np.asarray(Image.frombytes("HSV", hsv.shape[1::-1], hsv.tobytes()).convert("RGB"))


REFERENCES: dict[str, Callable[[Bytes, Fields], Bytes]] = {
    f"noc_{one.__name__}": one
    for one in (
        *(quantization, gaussian, salt_pepper, blur, thumbnail_resize, pixelate, artifacts),
        *(vertical_artifacts, rhombus, rain, circle, obstruction, border, translation, shear),
        *(elastic, rotation, backlight, brightness, contrast, color_disortion, gray_scale, hue),
    )
}
# Written for 224 pixels; at other sizes their stamps are tested by themselves.
ONLY_224 = {"noc_artifacts", "noc_vertical_artifacts", "noc_rain", "noc_circle"}


def replay(image: np.ndarray, name: str, **drawn: Any) -> np.ndarray:
    """Use these draws; places beyond those given are drawn but not used."""
    fields = hardy.draw(f"noc_{name}", 1, image.shape[:2])
    for key, value in drawn.items():
        values = np.atleast_1d(value)
        if fields[key].ndim == 2:
            fields[key][0, : len(values)] = values
        else:
            fields[key][:] = values
    return hardy.replay(image, f"noc_{name}", 1, fields)
