"""Corruptions as named calls of whatever libraries this Python has, from Python 3.6 on.

Run as a script, which needs nothing of Hardy: `formulas.py FOLDER` reads every cell-*.npz there
(images, what was drawn for them, parameters) and writes made-*.npz beside it.
"""

import io
import json
import platform
import sys
from math import ceil, cos, pi, radians, sin, tan
from pathlib import Path

import cv2
import numpy as np
import PIL
import scipy
import skimage
from PIL import Image
from scipy import ndimage
from skimage import color
from skimage.draw import line_aa


def to_bytes(unit):
    return (np.clip(unit, 0, 1) * 255).astype(np.uint8)


def gaussian_noise(image, drawn, sigma):
    return to_bytes(image / 255.0 + sigma * drawn["normal"])


def shot_noise(image, drawn, photons):
    return to_bytes(drawn["count"] / float(photons))


def impulse_noise(image, drawn, amount):
    extreme = np.where(drawn["salt"] < 0.5, 1.0, 0.0)
    return to_bytes(np.where(drawn["hit"] < amount, extreme, image / 255.0))


def speckle_noise(image, drawn, sigma):
    x = image / 255.0
    return to_bytes(x + x * sigma * drawn["normal"])


def blurred(x, sigma):
    return ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest", truncate=4.0)


def gaussian_blur(image, drawn, sigma):
    return to_bytes(blurred(image / 255.0, sigma))


def glass_blur(image, drawn, sigma, reach, passes):
    a = to_bytes(blurred(image / 255.0, sigma))
    reach = int(reach)
    for scan in drawn["moves"]:
        step = iter(scan.tolist())
        for h in range(a.shape[0] - reach, reach, -1):
            for w in range(a.shape[1] - reach, reach, -1):
                dy, dx = divmod(next(step), 2 * reach)
                a[h, w] = a[h + dy - reach, w + dx - reach]
    return to_bytes(blurred(a / 255.0, sigma))


def defocus_blur(image, drawn, radius, alias):
    reach, window = (8, 3) if radius <= 8 else (int(radius), 5)
    grid = np.arange(-reach, reach + 1)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disk / disk.sum(), (window, window), sigmaX=alias)
    return to_bytes(cv2.filter2D(image / 255.0, -1, kernel))


def smeared(image, angle, radius, sigma):
    """ImageMagick's motion blur by OpenCV's filter: 16-bit quanta, then the nearest byte."""
    taps = np.arange(2 * ceil(radius) + 1)
    weights = np.exp(-(taps**2) / (2.0 * sigma**2))
    reach = len(taps) - 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    dx = np.ceil(taps * cos(radians(angle)) - 0.5).astype(int)
    dy = np.ceil(taps * sin(radians(angle)) - 0.5).astype(int)
    np.add.at(kernel, (reach + dy, reach + dx), weights / weights.sum())
    blown = cv2.filter2D(image * 257.0, -1, kernel, borderType=cv2.BORDER_REPLICATE)
    return np.rint(np.floor(blown + 0.5) / 257).astype(np.uint8)


def motion_blur(image, drawn, radius, sigma):
    return smeared(image, drawn["angle"][0], radius, sigma)


def zoomed(x, factor):
    side = x.shape[0]
    crop = ceil(side / factor)
    top = (side - crop) // 2
    larger = ndimage.zoom(
        x[top : top + crop, top : top + crop], (factor, factor) + (1,) * (x.ndim - 2), order=1
    )  # fmt: skip
    trim = (larger.shape[0] - side) // 2
    return larger[trim : trim + side, trim : trim + side]


def zoom_blur(image, drawn, stop, step):
    x = (image / 255.0).astype(np.float32)
    factors = np.arange(1, stop, step)
    total = np.zeros_like(x)
    for factor in factors:
        total += zoomed(x, factor)
    return to_bytes((x + total) / (len(factors) + 1))


def snow(image, drawn, mean, sd, zoom, threshold, radius, sigma, keep):
    side = image.shape[0]
    layer = ndimage.zoom(mean + sd * drawn["layer"], zoom, order=1)
    top = (layer.shape[0] - side) // 2
    layer = layer[top : top + side, top : top + side].copy()
    layer[layer < threshold] = 0
    layer = smeared(to_bytes(layer), drawn["angle"][0], radius, sigma) / 255.0
    x = image.astype(np.float32) / 255.0
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    x = keep * x + (1 - keep) * np.maximum(x, grey * 1.5 + 0.5)
    return to_bytes(x + layer[..., None] + np.rot90(layer, 2)[..., None])


def frost(image, drawn, image_weight, frost_weight, texture_scale, textures):
    photo = cv2.imread(textures[int(drawn["texture"])])
    if texture_scale != 1:
        photo = cv2.resize(photo, (0, 0), fx=texture_scale, fy=texture_scale)
    y, x = int(drawn["row"]), int(drawn["column"])
    crop = photo[y : y + image.shape[0], x : x + image.shape[1], ::-1]
    mixed = image_weight * image.astype(float) + frost_weight * crop
    return np.clip(mixed, 0, 255).astype(np.uint8)


def plasma(steps, decay):
    """Diamond-square on a torus: each level is three blocks of uniform numbers, amplitude w * w."""
    side = round((len(steps) + 1) ** 0.5)
    cloud, stream = np.zeros((side, side)), iter(steps)
    step, wibble = side, 100.0

    def shaken(total):
        uniform = np.array([next(stream) for _ in range(total.size)]).reshape(total.shape)
        return total / 4 + wibble * (-wibble + 2 * wibble * uniform)

    while step >= 2:
        half = step // 2
        corner = cloud[::step, ::step]
        right, below = np.roll(corner, -1, axis=1), np.roll(corner, -1, axis=0)
        centre = shaken((corner + below) + (right + np.roll(below, -1, axis=1)))
        cloud[half::step, half::step] = centre
        above, left = np.roll(centre, 1, axis=0), np.roll(centre, 1, axis=1)
        cloud[::step, half::step] = shaken((centre + above) + (corner + right))
        cloud[half::step, ::step] = shaken((centre + left) + (corner + below))
        step, wibble = half, wibble / decay
    cloud -= cloud.min()
    return cloud / cloud.max()


def fog(image, drawn, amount, decay):
    x = image / 255.0
    most = x.max()
    cloud = plasma(drawn["steps"], decay)[: image.shape[0], : image.shape[1], None]
    return to_bytes((x + amount * cloud) * most / (most + amount))


def brightness(image, drawn, shift):
    hsv = color.rgb2hsv(image / 255.0)
    hsv[..., 2] = np.clip(hsv[..., 2] + shift, 0, 1)
    return to_bytes(color.hsv2rgb(hsv))


def saturate(image, drawn, gain, offset):
    hsv = color.rgb2hsv(image / 255.0)
    hsv[..., 1] = np.clip(hsv[..., 1] * gain + offset, 0, 1)
    return to_bytes(color.hsv2rgb(hsv))


def contrast(image, drawn, gain):
    x = image / 255.0
    means = np.mean(x, axis=(0, 1), keepdims=True)
    return to_bytes((x - means) * gain + means)


def elastic_transform(image, drawn, base, alpha, sigma, affine):
    height, width = image.shape[:2]
    cx, cy, q = width // 2, height // 2, min(height, width) // 3
    corners = np.float32([[cx + q, cy + q], [cx + q, cy - q], [cx - q, cy - q]])
    matrix = cv2.getAffineTransform(corners, corners + drawn["corners"].astype(np.float32))
    x = image.astype(np.float32) / 255
    x = cv2.warpAffine(x, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101)
    dx, dy = (
        (ndimage.gaussian_filter(drawn[name], base * sigma, mode="reflect", truncate=3)
         * (base * alpha)).astype(np.float32)
        for name in ("along", "down")
    )  # fmt: skip
    rows, columns = np.mgrid[:height, :width]
    place = (rows + dy, columns + dx)
    planes = [ndimage.map_coordinates(x[..., c], place, order=1, mode="reflect") for c in range(3)]
    return to_bytes(np.stack(planes, axis=-1))


def pixelate(image, drawn, scale):
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize((int(width * scale), int(height * scale)), Image.BOX)
    return np.asarray(small.resize((width, height), Image.BOX))


def jpeg_compression(image, drawn, quality):
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=int(quality))
    return np.asarray(Image.open(stream))


def spatter(image, drawn, mean, sd, sigma, threshold, strength, mud):
    x = image.astype(np.float32) / 255
    layer = ndimage.gaussian_filter(mean + sd * drawn["layer"], sigma, mode="nearest", truncate=4)
    layer[layer < threshold] = 0
    if mud:
        mask = np.where(layer > threshold, 1.0, 0.0)
        mask = ndimage.gaussian_filter(mask, strength, mode="nearest", truncate=4)
        mask = np.where(mask < 0.8, 0, mask).astype(np.float32)[..., None]
        return to_bytes(x * (1 - mask) + mask * np.float32([63 / 255, 42 / 255, 20 / 255]))
    liquid = ((255 * layer).astype(np.int64) % 256).astype(np.uint8)
    depth = cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5)
    depth = cv2.threshold(depth, 20, 20, cv2.THRESH_TRUNC)[1]
    depth = cv2.equalizeHist(cv2.blur(depth, (3, 3)).astype(np.uint8))
    emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    shine = liquid.astype(np.float32) * cv2.blur(cv2.filter2D(depth, cv2.CV_8U, emboss), (3, 3))
    shine = (shine / shine.max() * np.float32(strength))[..., None]
    return to_bytes(x + shine * np.float32([175 / 255, 238 / 255, 238 / 255]))


def lines(image, drawn, density):
    side, out = image.shape[0], image.copy()
    for k in range(len(drawn["row"])):
        angle = drawn["angle"][0] + 2 * pi * drawn["spread"][0] * drawn["turn"][k]
        row, column = drawn["row"][k], drawn["column"][k]
        down, along = side * cos(angle), side * sin(angle)
        ends = (int(row - down), int(column - along), int(row + down), int(column + along))
        rows, columns, cover = line_aa(*ends)
        inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
        place, weight = (rows[inside], columns[inside]), cover[inside, None]
        out[place] = ((1 - weight) * out[place] + weight * 128).astype(np.uint8)
    return out


def transverse_chromatic_abberation(image, drawn, spread):
    side, planes = image.shape[0], []
    for channel, number in enumerate(drawn["order"]):
        zoom = 1 + spread * int(number)
        larger = ndimage.zoom(image[..., channel], zoom, order=3, prefilter=False)
        first = (larger.shape[0] - side) // 2
        planes.append(larger[first : first + side, first : first + side])
    return np.stack(planes, axis=-1)


def turned(image, a, b, d, e):
    """Pillow's affine map about half a pixel past the middle, as torchvision 0.6 calls it."""
    x, y = image.shape[1] * 0.5 + 0.5, image.shape[0] * 0.5 + 0.5
    matrix = (a, b, x - a * x - b * y, d, e, y - d * x - e * y)
    size = (image.shape[1], image.shape[0])
    return np.asarray(Image.fromarray(image).transform(size, Image.AFFINE, matrix, Image.NEAREST))


def degrees(drawn):
    return radians(int(drawn["strength"]) * (-1 if drawn["negative"] else 1))


def noc_shear(image, drawn, low, high):
    return turned(image, 1, tan(degrees(drawn)), 0, 1)


def noc_rotation(image, drawn, low, high):
    angle = degrees(drawn)
    return turned(image, cos(angle), sin(angle), -sin(angle), cos(angle))


FORMULAS = {
    formula.__name__: formula
    for formula in (
        gaussian_noise, shot_noise, impulse_noise, speckle_noise, gaussian_blur, glass_blur,
        defocus_blur, motion_blur, zoom_blur, snow, frost, fog, brightness, saturate, contrast,
        elastic_transform, pixelate, jpeg_compression, spatter, lines,
        transverse_chromatic_abberation, noc_shear, noc_rotation,
    )
}  # fmt: skip


def main(folder):
    for file in sorted(folder.glob("cell-*.npz")):
        with np.load(str(file)) as cell:
            about = json.loads(str(cell["about"]))
            drawn = {name[2:]: cell[name] for name in cell.files if name.startswith("d_")}
            images = cell["images"]
        formula = FORMULAS[about["name"]]
        made = [
            formula(image, {name: rows[i] for name, rows in drawn.items()}, **about["parameters"])
            for i, image in enumerate(images)
        ]
        np.savez(str(folder / file.name.replace("cell-", "made-")), made=np.stack(made))
    versions = {
        "Python": platform.python_version(), "NumPy": np.__version__, "SciPy": scipy.__version__,
        "Pillow": PIL.__version__, "OpenCV": cv2.__version__, "scikit-image": skimage.__version__,
    }  # fmt: skip
    (folder / "versions.json").write_text(json.dumps(versions))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
