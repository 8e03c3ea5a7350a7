"""A share of the JPEG files is decoded on the GPU: here by a stand-in that uses Pillow."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError, MissingResource
from hardy.images.image_files import decode_image
from hardy.train import checkpoint, gpu_decoding
from hardy.train.crops import ScaleCrop
from hardy.train.gpu_decoding import cut_there, file_or, open_decoder
from hardy.train.loop import run_training
from hardy.train.method import Draw
from hardy.train.processes import Ranks
from hardy.train.streaming import Stream
from hardy.train.training_data import Streaming, open_data
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow
from tests.train.test_loop import killed_in, same, weights
from tests.train.test_streaming import photos

__all__ = ["narrow", "photos"]

CROP = ScaleCrop(32)  # no part of the photos is so large that libjpeg would decode it smaller


class StandIn:
    """Decodes by Pillow; it refuses all files of a call if one of them is among `refused`."""

    def __init__(self) -> None:
        self.refused: set[bytes] = set()
        self.decoded: list[bytes] = []

    def __call__(self, files: list[torch.Tensor]) -> list[torch.Tensor]:
        data = [file.numpy().tobytes() for file in files]
        assert all(one.endswith(b"\xff\xd9") for one in data)
        if self.refused.intersection(data):
            raise RuntimeError("Error while decoding JPEG images")
        self.decoded += data
        return [torch.from_numpy(decode_image(one, "a file")).permute(2, 0, 1) for one in data]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn()
    monkeypatch.setattr(gpu_decoding, "nvjpeg", lambda device: made)
    monkeypatch.setattr(gpu_decoding, "version", lambda name: "0.26")
    return made


def opened(where: Path, decode: str, **more: object) -> Stream:
    stream = open_data(str(where), CPU, Streaming(crop=CROP, decode=decode, **more))
    assert isinstance(stream, Stream)
    return stream


def epoch(stream: Stream, ranks: Ranks | None = None, first: int = 0) -> list[tuple]:
    return list(stream.feed(5, Draw(0, CPU, ranks or Ranks())).epoch(0, first))


def file_of(stream: Stream, row: int) -> Path:
    return Path(stream.source.where) / stream.source.files[row]  # type: ignore[attr-defined]


def test_the_same_is_drawn_and_a_share_decoded_there(photos, stand_in) -> None:
    plain = epoch(opened(photos, "threads"))
    assert not stand_in.decoded
    for decode, least, most in (("both", 6, 18), ("gpu", 24, 24)):
        stream = opened(photos, decode)
        stand_in.decoded.clear()
        mixed = epoch(stream)
        assert least <= len(stand_in.decoded) <= most
        assert len(set(stand_in.decoded)) == len(stand_in.decoded)
        for (images, labels), (others, theirs) in zip(plain, mixed, strict=True):
            assert torch.equal(labels, theirs)
            # Pillow rounds twice, after each direction.
            assert (images.int() - others.int()).abs().max() <= 2
    assert not all(torch.equal(a[0], b[0]) for a, b in zip(plain, mixed, strict=True))


def test_threads_processes_and_steps_change_nothing(photos, stand_in) -> None:
    whole = epoch(opened(photos, "both", workers=1))
    again = epoch(opened(photos, "both", workers=7), first=2)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(whole[2:], again, strict=True))
    parts = [epoch(opened(photos, "both"), Ranks(rank, 2)) for rank in (0, 1)]
    for rank, part in enumerate(parts):
        for (images, _), (some, _) in zip(whole, part, strict=True):
            assert torch.equal(images[rank::2], some)


def test_what_the_gpu_refuses_is_read_by_libjpeg(photos, stand_in) -> None:
    """One of five files in a call is refused, and the others are decoded all the same."""
    stream = opened(photos, "gpu")
    plain = epoch(opened(photos, "threads"))
    stand_in.refused = {file_of(stream, 3).read_bytes(), file_of(stream, 20).read_bytes()}
    stand_in.decoded.clear()
    mixed = epoch(stream)
    assert len(stand_in.decoded) == 22
    equal = [
        bool(torch.equal(one, other))
        for (images, _), (others, _) in zip(plain, mixed, strict=True)
        for one, other in zip(images, others, strict=True)
    ]
    order = Draw(0, CPU).order_of(24, "shown in epoch 0").tolist()
    assert equal[order.index(3)]
    assert equal[order.index(20)]


def test_no_memory_is_no_refusal(photos, stand_in) -> None:
    def full(files: list[torch.Tensor]) -> list[torch.Tensor]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    stream = opened(photos, "gpu")
    assert stream.decoder is not None
    with pytest.raises(torch.OutOfMemoryError):
        epoch(replace(stream, decoder=replace(stream.decoder, decode=full)))


def test_what_neither_can_read_is_left_out(photos, stand_in) -> None:
    stream = opened(photos, "gpu", most_unreadable=0.1)
    damaged = file_of(stream, 3)
    broken = damaged.read_bytes()[:300] + b"\xff\xd9"
    damaged.write_bytes(broken)
    stand_in.refused = {broken}
    assert sum(len(labels) for _, labels in epoch(stream)) == 23
    assert set(stream.unreadable.found) == {3}
    short = opened(photos, "gpu", most_unreadable=0.1)
    damaged.write_bytes(broken[:-2])  # it never comes so far as the GPU
    stand_in.decoded.clear()
    assert sum(len(labels) for _, labels in epoch(short)) == 23
    assert len(stand_in.decoded) == 23


@pytest.mark.parametrize(
    ("how", "there"),
    [
        ({"format": "JPEG"}, True),
        ({"format": "JPEG", "progressive": True}, False),
        ({"format": "JPEG", "mode": "L"}, False),
        ({"format": "JPEG", "mode": "CMYK"}, False),
        ({"format": "JPEG", "keep_rgb": True}, False),
        ({"format": "PNG"}, False),
    ],
)
def test_which_files_are_for_the_gpu(how, there) -> None:
    file, how = io.BytesIO(), dict(how)
    image = Image.fromarray(random_images(1, 20, 30)[0]).convert(how.pop("mode", "RGB"))
    image.save(file, **how)
    found = decode_image(
        file.getvalue(), "a file", lambda picture: file_or(lambda one: np.zeros((4, 4, 3)), picture)
    )
    assert found.ndim == (1 if there else 3)
    if there:
        assert found.tobytes() == file.getvalue()


def test_a_thread_still_reads_what_it_has_looked_at() -> None:
    """A JPEG that does not end as it should has been read to its end before Pillow decodes it."""
    file = io.BytesIO()
    Image.fromarray(random_images(1, 20, 30)[0]).save(file, "JPEG")
    data = file.getvalue() + b"\0\0"
    read = decode_image(data, "a", lambda picture: file_or(lambda one: np.asarray(one), picture))
    assert np.array_equal(read, decode_image(data, "a"))


def test_cut_there_as_by_threads() -> None:
    images = [random_images(1, *size)[0] for size in ((40, 60), (9, 9), (200, 31))]
    crop = ScaleCrop(16)
    drawn = np.random.default_rng(1).random((3, crop.numbers))
    drawn[:, -1] = 0.1, 0.9, 0.2
    there = cut_there(
        crop,
        [
            (torch.from_numpy(image).permute(2, 0, 1), row)
            for image, row in zip(images, drawn, strict=True)
        ],
    )
    here = np.stack([crop.cut(image, row) for image, row in zip(images, drawn, strict=True)])
    assert there.dtype == torch.uint8
    assert np.abs(there.numpy().astype(int) - here).max() <= 2


def test_packs_and_pixels_that_are_no_files(photos, tmp_path, stand_in) -> None:
    for kind, count in (("jpeg", 24), ("raw", 0)):
        hardy.pack(photos, tmp_path / kind, side=32, format=kind)
        stand_in.decoded.clear()
        epoch(opened(tmp_path / kind, "gpu"))
        assert len(stand_in.decoded) == count + 1  # one is tried when it is opened


def test_it_is_recorded_and_resumed(photos, tmp_path, narrow, stand_in, monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)
    recipe = replace(NARROW, batch=5, deterministic=True)
    run_training("standard", opened(photos, "both"), tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training(
            "standard", opened(photos, "both"), tmp_path / "cut", recipe, track=killed_in(2)
        )
    with pytest.raises(InputError, match="decoded_on_gpu"):
        run_training("standard", opened(photos, "threads"), tmp_path / "cut", recipe)
    run_training("standard", opened(photos, "both"), tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    streamed = json.loads((tmp_path / "whole/run.json").read_text())["data"]["streamed"]
    assert streamed["decoded_on_gpu"] == 0.5
    assert streamed["decoder"]["torchvision"] == "0.26"
    said: list[str] = []
    asked = {"net": "narrow", "epochs": 1, "batch": 8, "side": 32, "workers": 2}
    out = tmp_path / "out"
    hardy.train("standard", data=photos, out=out, decode="gpu", say=said.append, **asked)
    assert "by 2 threads and nvJPEG, which decodes 100 % of the JPEG files, cut to 32" in said[0]


def test_what_cannot_be(photos, monkeypatch) -> None:
    with pytest.raises(InputError, match=r'unknown way to decode "host" \(all: threads, both, gpu'):
        Streaming(crop=CROP, decode="host")
    with pytest.raises(InputError, match="by `side`, for `decode` both, got none"):
        Streaming(True, decode="both")
    with pytest.raises(InputError, match="expected a GPU to decode on, got cpu"):
        opened(photos, "gpu")

    def missing(files: list[torch.Tensor]) -> list[torch.Tensor]:
        raise RuntimeError("decode_jpegs_cuda: torchvision not compiled with nvJPEG support")

    monkeypatch.setattr(gpu_decoding, "nvjpeg", lambda device: missing)
    with pytest.raises(MissingResource, match="expected nvJPEG in torchvision for `decode` gpu"):
        open_decoder("gpu", CROP, CPU)
    assert open_decoder("threads", None, CPU) is None
