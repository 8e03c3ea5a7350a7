"""An ONNX file as a model, run by onnxruntime. This file imports onnxruntime."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from hardy.engine.door import UInt8
from hardy.errors import InputError, door, sides
from hardy.models.calling import (
    as_logits,
    in_batches,
    in_its_name,
    normalised,
    resized,
    shape_in_words,
)
from hardy.models.model import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Logits,
    ModelFacts,
    Options,
    Preprocessing,
    Triple,
    digest,
    existing,
    hash_files,
)

_DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_AUTO_BATCH = 64
_FREE_BATCH = "export it with logits as first output and with a free batch, or try a batch of 1"


class OnnxModel:
    """An ONNX file, run by onnxruntime.

    It has one image input, floats or bytes, NCHW or NHWC; the first output holds the logits.
    Floats are normalised by the file's own metadata, keys `mean`, `std`, `size`, `interpolation`,
    else by ImageNet's figures; bytes go in as they are. Whether a network ends in a softmax cannot
    be seen from outside: export it without one, or its calibration is measured wrongly.
    """

    def __init__(self, rest: str, options: Options) -> None:
        options.refuse(
            checkpoint="the file holds its weights", precision="it computes as it was exported"
        )
        path = existing(Path(rest), "an ONNX file")
        self.name = options.name
        gpu = _gpu(options)
        self._session = _open(path, gpu)
        on_gpu = "CUDA" in self._session.get_providers()[0]
        if options.device not in ("auto", "cpu") and not on_gpu:
            raise InputError(
                f"{self.name}: expected onnxruntime to run it on {options.device}, got the CPU; "
                "name another device, such as cpu, or leave `device` out"
            )
        self.device = f"cuda:{gpu}" if on_gpu else "cpu"
        with door(f"the inputs of {path}", "export it again"):
            inputs = self._session.get_inputs()
            found = ", ".join(f"{i.name}: {i.type} {i.shape}" for i in inputs)
        if len(inputs) != 1 or not _takes_images(inputs[0]):
            raise InputError(
                f"{path}: expected one input of floats or bytes (N, 3, H, W) or (N, H, W, 3), got "
                f"{found}; export it so"
            )
        self._input = inputs[0].name
        self._dtype = _DTYPES[inputs[0].type]
        self.precision = "float16" if self._dtype is np.float16 else "float32"
        fixed = _fixed(inputs[0].shape)
        with door(f"the outputs of {path}", _FREE_BATCH):
            given = _fixed(self._session.get_outputs()[0].shape)
        taken = f"{np.dtype(self._dtype)} {shape_in_words(fixed)}"
        self.facts = ModelFacts(
            weight_bytes=path.stat().st_size,
            found=f"takes {taken}, gives {shape_in_words(given)}",
        )
        self._channels_last = fixed[3] == 3 and fixed[1] != 3
        self._sides = fixed[1:3] if self._channels_last else fixed[2:4]
        self._rows = fixed[0]
        self._batch = _AUTO_BATCH if options.batch == "auto" else options.batch
        with door(f"the metadata of {path}", "export it again"):  # which need not be UTF-8
            metadata = self._session.get_modelmeta().custom_metadata_map
        self.preprocessing = self._choose(metadata, options)
        files = [path, *_outside_files(path)]
        parts = {"weights": hash_files(files), "preprocessing": self.preprocessing}
        self.identity = digest("onnx", parts)

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        used = preprocessing or self.preprocessing
        size = self._rows or self._batch
        return in_batches(images, size, lambda batch: self._one(batch, used), self.name)

    def _one(self, images: UInt8, preprocessing: Preprocessing | None) -> Logits:
        pixels = self._prepared(images, preprocessing)
        if self._rows:  # a file of fixed batch takes no fewer: fill up, and cut off afterwards
            pixels = np.pad(pixels, [(0, self._rows - len(images)), *[(0, 0)] * 3])
        with in_its_name(self.name, images, _FREE_BATCH):
            output = self._session.run(None, {self._input: pixels})[0]
        if np.shape(output)[:1] == (self._rows,):
            output = output[: len(images)]
        return as_logits(output, len(images), self.name, _FREE_BATCH)

    def _prepared(self, images: UInt8, used: Preprocessing | None) -> npt.NDArray[Any]:
        pixels: npt.NDArray[Any] = images
        if used is not None:
            pixels = normalised(resized(images, used.size, used.interpolation), used)
        if any(a not in (None, b) for a, b in zip(self._sides, pixels.shape[1:3], strict=True)):
            raise InputError(
                f"{self.name}: expected images of {self._sides[0]} x {self._sides[1]}, got "
                f"{sides(*pixels.shape[1:3])}; export it with free sides, or with an "
                "input of floats, which is resized"
            )
        if not self._channels_last:
            pixels = pixels.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(pixels, self._dtype)

    def _choose(self, metadata: Mapping[str, str], options: Options) -> Preprocessing | None:
        if self._dtype is np.uint8:
            options.refuse(preprocessing="its input is bytes")
            return None
        own = metadata.get("mean") and metadata.get("std")
        try:
            size = int(metadata["size"]) if metadata.get("size") else None
            if size is None and self._sides[0] == self._sides[1]:
                size = self._sides[0]
            found = Preprocessing(
                _figures(metadata["mean"]) if own else IMAGENET_MEAN,
                _figures(metadata["std"]) if own else IMAGENET_STD,
                size,
                metadata.get("interpolation", "bilinear"),
                "the file's metadata" if own else "ImageNet's, since the file has no metadata",
            )
        except ValueError as error:
            raise InputError(f"{self.name}: its metadata cannot be used: {error}") from error
        return options.prepared_as(found)


def _fixed(shape: Sequence[int | str | None]) -> list[int | None]:
    """The fixed sides; a free one has a name there instead of a number, and is None here."""
    return [side if isinstance(side, int) and side > 0 else None for side in shape]


def _takes_images(given: Any) -> bool:
    fixed = _fixed(given.shape)
    return given.type in _DTYPES and len(fixed) == 4 and (fixed[1] in (3, None) or fixed[3] == 3)


def _gpu(options: Options) -> int | None:
    """The number of the GPU to try; None for the CPU."""
    here = onnxruntime.get_available_providers()
    there = "CUDAExecutionProvider" in here
    if options.device == "cpu":
        return None
    if options.device == "auto":
        return 0 if there else None
    named = re.fullmatch(r"cuda(?::(\d{1,4}))?", options.device)
    if named is None or not there:
        more = ", or cuda:0 and so on" if there else "; for a GPU, pip install onnxruntime-gpu"
        raise InputError(
            f"{options.name}: expected a device that this onnxruntime has ({', '.join(here)}), got "
            f"{options.device!r}; name cpu{more}"
        )
    return int(named[1] or 0)


def _open(path: Path, gpu: int | None) -> Any:
    settings = onnxruntime.SessionOptions()
    # Waiting threads sleep instead of spinning: the next batch is being corrupted meanwhile.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.log_severity_level = 4  # its errors are raised, and told once
    providers: list[Any] = ["CPUExecutionProvider"]
    if gpu is not None:
        providers.insert(0, ("CUDAExecutionProvider", {"device_id": gpu}))
    try:
        return onnxruntime.InferenceSession(path, settings, providers)
    except Exception as error:  # its errors have no base of their own
        raise InputError(f"{path} is no ONNX file that onnxruntime can run: {error}") from error


def _outside_files(path: Path) -> Iterator[Path]:
    """The files beside it that hold weights: large networks keep them there.

    In the protocol buffer such a file is an entry with key (field 1) "location" and its relative
    path as value (field 2); the length before the path is a number of 7 bits per byte.
    """
    content = path.read_bytes()
    found = set()
    for match in re.finditer(rb"\n\x08location\x12([\x80-\xff]*[\x00-\x7f])", content):
        length = sum((byte & 127) << 7 * k for k, byte in enumerate(match[1]))
        found.add(content[match.end() : match.end() + length].decode(errors="replace"))
    for name in sorted(found):
        if (path.parent / name).is_file():
            yield path.parent / name


def _figures(text: str) -> Triple:
    figures = re.findall(r"[-+.\deE]+", text)
    return tuple(map(float, figures))  # type: ignore[return-value]
