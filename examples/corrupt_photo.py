"""Fog at severity 3 on a photograph; run it twice, on any machine: the same bytes."""

from PIL import Image
from skimage.data import astronaut

import hardy

photo = Image.fromarray(astronaut()).resize((256, 256)).crop((16, 16, 240, 240))
foggy = hardy.corrupt(photo, "fog", severity=3, seed=0, ids="astronaut")
foggy.save("foggy.png")
