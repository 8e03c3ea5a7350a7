"""How networks are trained to see pixels: what `--preprocess` takes by name."""

from typing import NamedTuple


class Normalisation(NamedTuple):
    """Mean and std of red, green and blue in units of 0..1, and whether blue is shown first."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    bgr: bool = False


_PER_LEVEL = (1 / 255, 1 / 255, 1 / 255)  # values stay in units of 0..255
# The first three are called so by Keras; "none" is for networks that do it themselves.
NORMALISATIONS = {
    "caffe": Normalisation((123.68 / 255, 116.779 / 255, 103.939 / 255), _PER_LEVEL, bgr=True),
    "tf": Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "torch": Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "unit": Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    "none": Normalisation((0.0, 0.0, 0.0), _PER_LEVEL),
}
