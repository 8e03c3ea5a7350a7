"""Makes the README's picture: one photograph, all nineteen corruptions at severity 3.

The photograph is Chelsea the cat by Stefan van der Walt, released under CC0, from scikit-image.
Run it with `make picture`.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage.data import chelsea

import hardy
from hardy.images.recipes import eight_sevenths
from hardy.suites import load

TARGET = Path(__file__).parent.parent / "docs" / "corruptions.jpg"
COLUMNS, SIDE, LINE, GAP = 5, 176, 20, 4


def main() -> None:
    clean = eight_sevenths(224).prepare(chelsea())
    names = ["clean", *load("imagenet_c").corruptions]
    pictures = [clean, *(hardy.corrupt(clean, name, severity=3) for name in names[1:])]
    rows = -(-len(names) // COLUMNS)
    size = (COLUMNS * (SIDE + GAP) - GAP, rows * (SIDE + LINE + GAP) - GAP)
    sheet = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=13)
    for k, (name, picture) in enumerate(zip(names, pictures, strict=True)):
        x, y = k % COLUMNS * (SIDE + GAP), k // COLUMNS * (SIDE + LINE + GAP)
        draw.text((x + SIDE / 2, y + LINE / 2), name, "black", font, anchor="mm")
        shown = Image.fromarray(np.asarray(picture)).resize((SIDE, SIDE), Image.Resampling.BOX)
        sheet.paste(shown, (x, y + LINE))
    sheet.save(TARGET, quality=88, optimize=True)
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
