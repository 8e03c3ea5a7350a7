"""Perturbers of nrtk as corruptions of Hardy: haze, a camera that shakes, a sensor in little light.

The formulas of Hardy's own benchmarks are written with the primitives of `ops` alone, so that all
devices give the same bytes. A plug-in's may call whatever it likes, here NumPy and nrtk; then it is
the plug-in that has to give the same bytes for the same image, by drawing nothing but its fields.
"""

from functools import cache
from threading import Lock

import numpy as np
from nrtk.impls.perturb_image.environment import HazePerturber
from nrtk.impls.perturb_image.optical import PybsmPerturber
from nrtk.impls.perturb_image.optical.otf import JitterPerturber

from hardy.corrupt.corruption import corruption

# The camera: a pixel of 8 µm behind 4 m of focal length sees 18 mm from 9 km away. The pictures
# are said to have that resolution too, so that they keep their size.
CAMERA = {"p_x": 8e-6, "f": 4.0, "altitude": 9000.0}
GROUND = CAMERA["p_x"] * CAMERA["altitude"] / CAMERA["f"]
LOCK = Lock()  # Hardy works in threads, and a camera has a state
EDITIONS = ("224", "cifar")  # those of whose suites these may be part


def rows(name, values):
    """One row for each severity, the same in each edition."""
    return {edition: [{name: value} for value in values] for edition in EDITIONS}


def one_by_one(ops, images, perturb):
    """Images as nrtk takes them, one after the other, and back to where they were."""
    pixels = images if isinstance(images, np.ndarray) else images.cpu().numpy()
    with LOCK:
        return ops.host(np.stack([perturb(place, pixel) for place, pixel in enumerate(pixels)]))


@corruption("weather", rows=rows("factor", (0.3, 0.6, 0.9, 1.2, 1.6)))
def nrtk_haze(ops, images, fields, *, factor):
    """Haze of nrtk: x exp(−factor) + mean(x) (1 − exp(−factor))."""
    haze = HazePerturber(factor)
    return one_by_one(ops, images, lambda place, pixel: haze(image=pixel)[0])


@cache
def shaking_camera(radians):
    return JitterPerturber(**CAMERA, D=0.275, s_x=radians, s_y=radians)


@corruption("blur", rows=rows("radians", (1e-6, 2e-6, 3e-6, 4e-6, 6e-6)))
def nrtk_jitter(ops, images, fields, *, radians):
    """A telescope that shakes by so many radians, by pyBSM's transfer functions in nrtk."""
    camera = shaking_camera(radians)
    return one_by_one(ops, images, lambda place, pixel: camera(image=pixel, img_gsd=GROUND)[0])


class Sensor(PybsmPerturber):
    """One whose seed may change; what it computes of its optics, it keeps."""

    def reseed(self, seed):
        self._seed = seed
        self._set_seed()


@cache
def sensor(seconds):
    return Sensor(**CAMERA, D=0.1, int_time=seconds)


def draw_seeds(draws, size, *, seconds):
    """nrtk draws by a seed: it follows from Hardy's seed, corruption, severity and image."""
    return {"seeds": draws.integers("seeds", (), 2**31)}


@corruption("noise", draw=draw_seeds, rows=rows("seconds", (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)))
def nrtk_sensor(ops, images, fields, *, seconds):
    """A sensor that is exposed for so many seconds, by pyBSM's model of a camera in nrtk."""
    camera = sensor(seconds)

    def perturb(place, pixel):
        camera.reseed(int(fields["seeds"][place]))
        return camera(image=pixel, img_gsd=GROUND)[0]

    return one_by_one(ops, images, perturb)
