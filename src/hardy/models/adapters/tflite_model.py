"""A TensorFlow Lite file as a model, run by LiteRT. This file imports ai_edge_litert."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ai_edge_litert.interpreter import Interpreter

from hardy.engine.door import UInt8
from hardy.errors import InputError, door, told
from hardy.execute import processors
from hardy.models.adapters.tflite_file import ends_in_softmax, stated_normalisation
from hardy.models.calling import (
    as_logits,
    in_batches,
    in_its_name,
    normalised,
    resized,
    shape_in_words,
)
from hardy.models.model import (
    Logits,
    ModelFacts,
    OnHost,
    Options,
    Preprocessing,
    Triple,
    digest,
    existing,
    hash_files,
)

_AUTO_BATCH = 16
_TODO = "convert it with a batch of 1 or a free one, and with a score per class as first output"
# Of the range of an input: a mean and std that lead further out are not meant for it.
_BEYOND = 0.05


class _Tensor(NamedTuple):
    """An input or output; a whole number q in a quantised one stands for (q − zero) · scale."""

    place: int  # among the tensors of the file
    kind: Any  # such as np.uint8
    shape: tuple[int | None, ...]  # None where it is free
    scale: float
    zero: int

    @property
    def is_whole(self) -> bool:
        return issubclass(self.kind, np.integer)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest whole number that it can hold."""
        known = np.iinfo(self.kind)
        return int(known.min), int(known.max)

    def __str__(self) -> str:
        steps = f" in steps of {self.scale:g} around {self.zero}" if self.is_whole else ""
        return f"{self.kind.__name__} {shape_in_words(self.shape)}{steps}"

    def real(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if not self.is_whole:
            return stored
        return (stored.astype(np.float32) - np.float32(self.zero)) * np.float32(self.scale)

    def stored(self, real: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        if not self.is_whole:
            return real
        whole = np.rint(real / np.float32(self.scale)) + np.float32(self.zero)
        return np.asarray(np.clip(whole, *self.limits), self.kind)


class TfliteModel(OnHost):
    """A TensorFlow Lite file, quantised or not, run by LiteRT.

    It has one image input, floats or bytes, NHWC or NCHW; the first output has a score per class.
    Pixels are normalised by the file's own metadata. Where it has none, a quantised input gets the
    bytes as they are and floats go from −1 to 1. Scales of quantised inputs and outputs are the
    file's. Where the last step is a softmax, logits are the logarithms of its probabilities.
    """

    def __init__(self, rest: str, options: Options) -> None:
        options.refuse(
            checkpoint="the file holds its weights", precision="it computes as it was converted"
        )
        options.check_cpu()
        path = existing(Path(rest), "a TensorFlow Lite file")
        self.name = options.name
        content = path.read_bytes()
        self._run = _open(content, path)
        with door(path, "convert it again"):  # names and tables are read as they are needed
            inputs, outputs = self._run.get_input_details(), self._run.get_output_details()
            if len(inputs) != 1 or not _takes_images(_tensor(inputs[0])):
                found = ", ".join(
                    f"{one.shape} of {one.kind.__name__}" for one in map(_tensor, inputs)
                )
                raise InputError(
                    f"{path}: expected one input of float32, uint8 or int8, (N, H, W, 3) or "
                    f"(N, 3, H, W), got {found}; convert it so"
                )
            self._input, self._output = _tensor(inputs[0]), _tensor(outputs[0])
            self.precision = "int8" if self._input.is_whole else "float32"
            self._channels_last = self._input.shape[3] == 3
            self._batch = _AUTO_BATCH if options.batch == "auto" else options.batch
            self._softmax = ends_in_softmax(content)
            self.facts = ModelFacts(weight_bytes=len(content), found=self._found())
            try:
                self.preprocessing = options.prepared_as(self._own(content))
            except InputError as error:
                raise InputError(f"{path}: {error}") from error
        parts = {"weights": hash_files([path]), "preprocessing": self.preprocessing}
        self.identity = digest("tflite", parts)

    def _found(self) -> str:
        given = f"logits in {self._output}"
        if self._softmax:
            given = f"probabilities in {self._output}, whose logarithms are logits"
        return f"takes {self._input}, gives {given}"

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        used = preprocessing or self.preprocessing
        size = self._input.shape[0] or self._batch
        return in_batches(images, size, lambda batch: self._one(batch, used), self.name)

    def _one(self, images: UInt8, used: Preprocessing) -> Logits:
        pixels = normalised(resized(images, used.size, used.interpolation), used)
        if not self._channels_last:
            pixels = pixels.transpose(0, 3, 1, 2)
        rows, *sides = self._input.shape
        if any(a not in (None, b) for a, b in zip(sides, pixels.shape[1:], strict=True)):
            raise InputError(
                f"{self.name}: expected pixels {tuple(sides)}, got {pixels.shape[1:]}; convert it "
                "with square images or free sides"
            )
        if rows:  # a file of fixed batch takes no fewer: fill up, and cut off afterwards
            pixels = np.pad(pixels, [(0, rows - len(images)), *[(0, 0)] * 3])
        with in_its_name(self.name, images, _TODO):
            scores = self._output.real(self._answer(self._input.stored(pixels)))
        if self._softmax:
            # Less than half a step is stored as 0, whose logarithm would be infinite.
            least = self._output.scale / 2 if self._output.is_whole else np.finfo(np.float32).tiny
            scores = np.log(np.maximum(scores, np.float32(least)))
        if rows and len(scores) == rows:
            scores = scores[: len(images)]
        return as_logits(scores, len(images), self.name, _TODO)

    def _answer(self, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if tuple(self._run.get_input_details()[0]["shape"]) != pixels.shape:
            self._run.resize_tensor_input(self._input.place, pixels.shape, strict=True)
            self._run.allocate_tensors()
        self._run.set_tensor(self._input.place, np.ascontiguousarray(pixels))
        self._run.invoke()
        return np.asarray(self._run.get_tensor(self._output.place))

    def _own(self, content: bytes) -> Preprocessing:
        sides = self._input.shape[1:3] if self._channels_last else self._input.shape[2:]
        size = sides[0] if sides[0] == sides[1] else None
        if stated := stated_normalisation(content):
            mean, std = (_three(figures) for figures in stated)
            found = Preprocessing(mean, std, size, source="the file's metadata")
            if not self._input.is_whole or self._holds(found):
                return found
        if self._input.is_whole:
            mean = ((self._input.zero - self._input.limits[0]) / 255,) * 3
            std = (1 / (255 * self._input.scale),) * 3
            return Preprocessing(mean, std, size, source="bytes as they are, by its input's scale")
        half = (0.5, 0.5, 0.5)
        return Preprocessing(half, half, size, source="−1..1, since the file has no metadata")

    def _holds(self, found: Preprocessing) -> bool:
        """Whether an input of whole numbers can hold the pixels; else bytes were meant."""
        real = normalised(np.array([[[[0] * 3, [255] * 3]]], np.uint8), found)
        low, high = self._input.real(np.array(self._input.limits))
        beyond = max(low - real.min(), real.max() - high)
        return bool(beyond <= _BEYOND * (high - low))


def _tensor(details: Any) -> _Tensor:
    shape = tuple(int(side) if side > 0 else None for side in details["shape_signature"])
    scale, zero = details["quantization"]
    # Whole numbers without a scale stand for themselves.
    return _Tensor(details["index"], details["dtype"], shape, float(scale) or 1.0, int(zero))


def _takes_images(given: _Tensor) -> bool:
    kinds = (np.float32, np.uint8, np.int8)
    return given.kind in kinds and len(given.shape) == 4 and 3 in (given.shape[1], given.shape[3])


def _three(figures: npt.NDArray[np.float32]) -> Triple:
    """One figure stands for all channels; the file has them in units of 0..255."""
    spread = figures if len(figures) != 1 else np.repeat(figures, 3)
    return tuple(float(figure) / 255 for figure in spread)  # type: ignore[return-value]


def _open(content: bytes, path: Path) -> Any:
    try:
        with _silence():
            interpreter = Interpreter(model_content=content, num_threads=processors())
            interpreter.allocate_tensors()
    except Exception as error:  # ValueError or RuntimeError, as it happens
        raise InputError(f"{path} is no file that LiteRT can run: {told(error)}") from error
    return interpreter


@contextmanager
def _silence() -> Iterator[None]:
    """Hold back what the runtime writes past Python, which no setting of it turns off.

    It says how it will compute. Its errors are raised.
    """
    try:
        kept = os.dup(2)
    except OSError:  # under some services there is nowhere to write to
        kept = -1
    if kept < 0:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
