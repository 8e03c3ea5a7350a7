"""A torch module as a model. This file imports torch; nothing imports this file unasked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.parameter import is_lazy

from hardy.engine.ops import out_of_memory
from hardy.errors import HardyError, InputError
from hardy.models.adapters.compiling import Compiling
from hardy.models.calling import as_logits, check_images, check_logits, check_widths, failure
from hardy.models.model import NO_FACTS, ModelFacts, Options, Preprocessing, digest
from hardy.models.pillow_resize import resize_exactly
from hardy.models.torch_identity import hash_weights, structure

_FIRST_BATCH = {"cpu": 64}
_FIRST_BATCH_ELSEWHERE = 256


class TorchModel:
    """A torch module in evaluation mode, without gradients.

    The precision "float32" is what torch makes of it: on a GPU its defaults let convolutions use
    TF32. The other precisions are autocast's.

    The bytes go to the device as they are, a quarter of the traffic of floats, and are made floats
    there. `logits` also takes a uint8 tensor on the model's device and then answers with one.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        options: Options,
        preprocessing: Preprocessing,
        device: torch.device,
        facts: ModelFacts = NO_FACTS,
        source: str = "",
    ) -> None:
        """`source` is the code of the factory that made the module, if one did."""
        plain = uncompiled(module)
        check_weights(plain, options.name)
        self.name = options.name
        self.preprocessing = preprocessing
        tensors = (*plain.parameters(), *plain.buffers())
        weight_bytes = sum(tensor.nbytes for tensor in tensors)
        weights = sum(one.numel() for one in plain.parameters())
        # By torch.compile, or in place.
        in_place = getattr(module, "_compiled_call_impl", None)
        self._compiled = plain is not module or in_place is not None
        self.facts = replace(
            facts,
            takes_tensors=True,
            weight_bytes=weight_bytes,
            compiled=self._compiled,
            found=facts.found or f"{type(plain).__name__} of torch, {weights:,} weights",
        )
        self.device = str(device)
        self.precision = options.precision
        self.identity = digest(
            "torch",
            {
                "structure": [*structure(plain), source],
                "weights": hash_weights(plain),
                "preprocessing": preprocessing,
                "precision": options.precision,
            },
        )
        self._module = module
        self._compiling: Compiling | None = None
        self._device = device
        self._fixed = options.batch != "auto"
        self._batch = (
            _FIRST_BATCH.get(device.type, _FIRST_BATCH_ELSEWHERE)
            if options.batch == "auto"
            else options.batch
        )

    @property
    def module(self) -> torch.nn.Module:
        return self._module

    @property
    def fixed_batch(self) -> int | None:
        """The batch size that was asked for; None: whatever fits."""
        return self._batch if self._fixed else None

    def with_module(self, module: torch.nn.Module, batch: int) -> TorchModel:
        """A copy with another module, not compiled, that is shown batches of just that size; it
        keeps the name, which the caller may have to change."""
        twin = copy(self)
        twin._module, twin._compiled, twin._compiling = module, False, None
        twin.facts = replace(self.facts, compiled=False)
        twin._fixed, twin._batch = True, batch
        return twin

    def begin_compiling(self, side: int | None) -> None:
        """Have torch compile the module for images of that side, while others are read."""
        if side is not None:
            images = torch.zeros((self._batch, side, side, 3), dtype=torch.uint8)
            self._compiling = Compiling(self.name, lambda: self._all(images, self.preprocessing))

    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any:
        check_images(images)
        wanted = preprocessing or self.preprocessing
        if self._compiling is not None:
            self._compiling.wait()
            self._compiling = None
        if isinstance(images, torch.Tensor):
            if images.device != self._device:
                raise InputError(
                    f"{self.name}: expected a tensor on {self.device}, got one on {images.device}"
                )
            return self._all(images, wanted)
        return as_logits(self._all(_shared(images), wanted).cpu(), len(images), self.name)

    def _all(self, images: torch.Tensor, preprocessing: Preprocessing) -> torch.Tensor:
        """Batch by batch. One that does not fit into memory halves the batch from then on."""
        outputs = []
        start = 0
        with _evaluating(self._module), torch.inference_mode():
            while start < len(images):
                batch = images[start : start + self._batch]
                shown = self._filled(batch)
                try:
                    outputs.append(self._one(shown, preprocessing)[: len(batch)])
                except HardyError:
                    raise
                except (Exception, SystemExit) as error:
                    if not out_of_memory(error):
                        todo = f"is it made for such images? They were prepared so: {preprocessing}"
                        raise failure(self.name, error, batch, todo) from error
                    self._halve(len(shown), error)
                else:
                    start += len(batch)
                    continue
                # Only here, after `error`, does nothing hold on to the tensors that filled up.
                if self._device.type == "cuda":
                    torch.cuda.empty_cache()
            check_widths(outputs, self.name)
            return torch.cat(outputs)

    def _filled(self, batch: torch.Tensor) -> torch.Tensor:
        """Fill up the last batch of a compiled module: each new shape would be compiled anew."""
        missing = self._batch - len(batch) if self._compiled else 0
        return torch.cat([batch, batch[:1].expand(missing, -1, -1, -1)]) if missing else batch

    def _one(self, images: torch.Tensor, preprocessing: Preprocessing) -> torch.Tensor:
        pixels = prepared(images.to(self._device, non_blocking=True), preprocessing)
        dtype = getattr(torch, self.precision)
        with torch.autocast(self._device.type, dtype, enabled=dtype != torch.float32):
            output = self._answer(pixels)
        if output.layout != torch.strided or output.is_meta:
            raise InputError(
                f"{self.name}: expected a dense tensor of logits, got one of {output.layout} on "
                f"{output.device}; return logits.to_dense(), with values"
            )
        check_logits(output, len(images), self.name)
        return output.float()

    def _answer(self, pixels: torch.Tensor) -> torch.Tensor:
        """The module's output, or what is called logits in it, as transformers has it."""
        output = self._module(pixels)
        found = output.get("logits") if isinstance(output, Mapping) else output
        found = getattr(found, "logits", found)
        if not isinstance(found, torch.Tensor):
            raise InputError(
                f"{self.name}: expected the module to return a tensor of logits, or an output with "
                f".logits, got {type(output).__name__}; wrap it in a module that does"
            )
        return found

    @contextmanager
    def from_pixels(self) -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
        """A function from pixels 0..1, float (N, 3, H, W), to logits, with gradients: for attacks.

        The module is in evaluation mode for as long; a resize leaves out the step to whole levels.
        """
        wanted = self.preprocessing
        # Not the ones that are kept: tensors of inference mode have no part in gradients.
        mean, std = (
            torch.tensor(figures, device=self._device).view(1, 3, 1, 1)
            for figures in (wanted.mean, wanted.std)
        )
        dtype = getattr(torch, self.precision)

        def logits(pixels: torch.Tensor) -> torch.Tensor:
            if wanted.size is not None and pixels.shape[2:] != (wanted.size, wanted.size):
                pixels = _interpolated(pixels, (wanted.size, wanted.size), wanted.interpolation)
            with torch.autocast(self._device.type, dtype, enabled=dtype != torch.float32):
                return self._answer(_ordered((pixels - mean) / std, wanted)).float()

        with _evaluating(self._module):
            yield logits

    def _halve(self, size: int, error: BaseException) -> None:
        if self._fixed or size == 1:
            todo = (
                "ask for a smaller batch or leave it to us (auto)"
                if self._fixed and size > 1
                else "try a lower precision (bfloat16), a smaller model, or another device"
            )
            raise HardyError(
                f"{self.name}: {self.device} has no memory left for a batch of {size}; {todo}"
            ) from error
        self._batch = size // 2


def _shared(images: npt.NDArray[np.uint8]) -> torch.Tensor:
    """A tensor on the same memory where possible. Nothing here writes to it, but torch wants to be
    allowed to, so an array that is read-only for good is copied."""
    view = np.ascontiguousarray(images).view()
    try:
        view.flags.writeable = True
    except ValueError:
        view = view.copy()
    return torch.from_numpy(view)


def prepared(images: torch.Tensor, preprocessing: Preprocessing) -> torch.Tensor:
    """uint8 NHWC -> float32 NCHW, normalised; the memory stays NHWC, which is channels_last."""
    size = preprocessing.size
    resized = size is not None and images.shape[1:3] != (size, size)
    if images.is_cuda and not resized and find_spec("triton") is not None:
        from hardy.engine.triton.points import looked_up

        table = _of_levels(tuple(preprocessing.mean), tuple(preprocessing.std), images.device)
        return _ordered(looked_up(images, table).permute(0, 3, 1, 2), preprocessing)
    if size is not None and resized and preprocessing.exact:
        images, resized = resize_exactly(images, size, preprocessing.interpolation), False
    pixels = images.permute(0, 3, 1, 2).to(torch.float32)
    if size is not None and resized:
        pixels = _resized(pixels, size, preprocessing.interpolation)
    return _ordered(_normalised(pixels, preprocessing.mean, preprocessing.std), preprocessing)


def _ordered(pixels: torch.Tensor, preprocessing: Preprocessing) -> torch.Tensor:
    return pixels.flip(1) if preprocessing.bgr else pixels


def _normalised(pixels: torch.Tensor, *figures: Sequence[float]) -> torch.Tensor:
    mean, std = (_per_channel(tuple(each), pixels.device) for each in figures)
    return pixels.div_(255).sub_(mean).div_(std)


# Both are kept: to bring them over, the host waits until the device has done all that it was asked.
@lru_cache(maxsize=64)
def _per_channel(figures: tuple[float, ...], device: torch.device) -> torch.Tensor:
    return torch.tensor(figures, device=device).view(1, 3, 1, 1)


@lru_cache(maxsize=64)
def _of_levels(
    mean: tuple[float, ...], std: tuple[float, ...], device: torch.device
) -> torch.Tensor:
    """The table (3, 256) of what each level becomes: one pass over the pixels instead of four."""
    levels = torch.arange(256, device=device, dtype=torch.float32).expand(1, 3, 1, 256).clone()
    return _normalised(levels, mean, std).reshape(3, 256)


def _resized(pixels: torch.Tensor, size: int, interpolation: str) -> torch.Tensor:
    """Resize as Pillow does: antialiased, across first and then down, each to whole levels.
    Only a tie may tip the other way in float32."""
    if interpolation == "nearest":
        return _interpolated(pixels, (size, size), interpolation)
    for sides in ((pixels.shape[2], size), (size, size)):
        pixels = _interpolated(pixels, sides, interpolation)
        pixels = pixels.add_(0.5).floor_().clamp_(0, 255)
    return pixels


def _interpolated(pixels: torch.Tensor, sides: tuple[int, int], how: str) -> torch.Tensor:
    resize = torch.nn.functional.interpolate
    if how == "nearest":
        return resize(pixels, sides, mode="nearest-exact")
    # Torch has no filter of Lanczos; the cubic is the one most like it.
    return resize(pixels, sides, mode="bicubic" if how == "lanczos" else how, antialias=True)


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Switch to evaluation mode for a while: the module may be in the midst of training."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def uncompiled(module: torch.nn.Module) -> torch.nn.Module:
    """The module that `torch.compile` was given: it has the same weights and layers."""
    inner = getattr(module, "_orig_mod", None)
    return inner if isinstance(inner, torch.nn.Module) else module


def check_weights(module: torch.nn.Module, name: str) -> None:
    """Refuse modules without values: lazy layers before their first batch, the device "meta"."""
    for part, tensor in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(tensor) or tensor.is_meta:
            why = "is lazy" if is_lazy(tensor) else "lies on the device meta"
            raise InputError(
                f"{name}: expected a module with weights, but {part} {why} and has no values yet; "
                "make it on a real device, and run one batch through lazy layers"
            )
