"""The picture of stylising.md, photographs in drawn styles: `python -m docs.stylised`.

The photographs are Chelsea the cat by Stefan van der Walt and a cup of coffee by Rachel Michetti,
both released under CC0, and a portrait by NASA, in the public domain, all from scikit-image. The
styles are drawn here: strokes, a mosaic, waves. AdaIN's weights are fetched by pip.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from skimage import data

import hardy
from hardy.engine.door import UInt8
from hardy.images.recipes import eight_sevenths, resize

PICTURE = Path(__file__).parent / "stylised.png"
SIDE, SHOWN = 224, 150
ALPHAS = (0.3, 0.6, 1.0)
GAP = 4


def strokes(draws: np.random.Generator) -> Image.Image:
    """Short strokes in the blues and yellows of a night."""
    colours = ((25, 60, 120), (60, 110, 170), (240, 200, 70), (245, 235, 190), (15, 30, 70))
    picture = Image.new("RGB", (SIDE, SIDE), colours[0])
    pen = ImageDraw.Draw(picture)
    for _ in range(2500):
        x, y = draws.uniform(-10, SIDE + 10, 2)
        angle = 2.5 * np.sin(x / 45) + 1.5 * np.cos(y / 35)
        along, across = 9 * np.cos(angle), 9 * np.sin(angle)
        colour = colours[draws.choice(5, p=(0.3, 0.3, 0.15, 0.1, 0.15))]
        pen.line((x - along, y - across, x + along, y + across), colour, 3)
    return picture


def mosaic(draws: np.random.Generator) -> Image.Image:
    """Cells of warm colours with dark seams."""
    points = draws.uniform(0, SIDE, (220, 2))
    colours = draws.normal((190, 110, 60), (45, 45, 35), (220, 3)).clip(0, 255)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    apart = np.hypot(rows[..., None] - points[:, 0], columns[..., None] - points[:, 1])
    nearest = np.sort(apart, -1)
    seam = (nearest[..., 1] - nearest[..., 0] < 2)[..., None]
    pixels = np.where(seam, (30, 20, 25), colours[apart.argmin(-1)])
    return Image.fromarray(pixels.astype(np.uint8))


def waves(draws: np.random.Generator) -> Image.Image:
    """Bands of green, red and white that bend."""
    rows, columns = np.mgrid[:SIDE, :SIDE] / SIDE
    bent = rows + 0.08 * np.sin(14 * columns + 3 * rows) + 0.03 * np.sin(40 * columns)
    colours = np.array(((20, 110, 80), (230, 225, 205), (180, 40, 50), (15, 40, 45)))
    pixels = colours[(24 * bent).astype(int) % 4] + draws.normal(0, 12, (SIDE, SIDE, 1))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


STYLES = {"strokes": strokes, "mosaic": mosaic, "waves": waves}


def row_of(photo: UInt8, style: Image.Image, side: int) -> list[UInt8]:
    """The photograph at a side, the style, and the one in the other at each alpha."""
    clean = resize(eight_sevenths(SIDE).prepare(photo), side, side)
    found = [clean, np.asarray(style)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.savez(place / "photo.npz", images=clean[None], labels=[0])
        (place / "styles").mkdir()
        style.save(place / "styles" / "style.png")
        for alpha in ALPHAS:
            out = place / f"{alpha}"
            hardy.stylise(place / "photo.npz", place / "styles", out, alpha=alpha, device="cpu")
            found.append(np.load(out / "images.npy")[0])
    return found


def main() -> None:
    draws = np.random.default_rng(0)
    styles = [draw(draws) for draw in STYLES.values()]
    photos = (data.chelsea(), data.astronaut(), data.coffee())
    shown = [row_of(photo, style, SIDE) for photo, style in zip(photos, styles, strict=True)]
    shown.append(row_of(photos[0], styles[0], 32))  # as CIFAR's images are
    step = SHOWN + GAP
    size = (step * len(shown[0]) - GAP, step * len(shown) - GAP)
    sheet = Image.new("RGB", size, "white")
    for down, row in enumerate(shown):
        for across, pixels in enumerate(row):
            how = Image.Resampling.NEAREST if len(pixels) < SHOWN else Image.Resampling.LANCZOS
            picture = Image.fromarray(pixels).resize((SHOWN, SHOWN), how)
            sheet.paste(picture, (step * across, step * down))
    sheet.quantize(192).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
