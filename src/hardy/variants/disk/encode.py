"""Pixels to the bytes of a file and back: JPEG, PNG, and x264 video."""

import io
from fractions import Fraction
from pathlib import Path

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import HardyError, InputError, door, need
from hardy.limits import FRAMES, PIXELS, check_regular


def jpeg(image: UInt8, quality: int) -> bytes:
    """4:2:0 with optimised Huffman tables; decodes to the same pixels as Pillow's own JPEG."""
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_OPTIMIZE, 1]
    return _encoded(".jpg", image, options)


def png(image: UInt8) -> bytes:
    return _encoded(".png", image, [])


def _encoded(suffix: str, image: UInt8, options: list[int]) -> bytes:
    import cv2

    done, data = cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise HardyError(f"OpenCV could not encode an image of {image.shape} as {suffix}")
    return data.tobytes()


def jpeg_quality(storage: str) -> int:
    """85 of "jpeg:85"."""
    return int(storage.removeprefix("jpeg:"))


def video(frames: UInt8, storage: str) -> bytes:
    """MP4 at one frame per second, H.264 4:4:4, with the settings of "x264:crf=20,preset=..."."""
    av = need("av", "video", "a video")
    options = dict(word.split("=") for word in storage.removeprefix("x264:").split(","))
    # One thread: x264 may decide differently with more, and the bytes must not. For the same reason
    # not the instructions of the very newest processors: with AVX-512, x264's macroblock tree reads
    # memory that nobody has set, and what it decides differs from run to run.
    options |= {"threads": "1", "x264-params": "asm=SSSE3"}
    file = io.BytesIO()
    height, width = frames[0].shape[:2]
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=1, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv444p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1)
        for frame in frames:
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return file.getvalue()


def read_video(path: Path) -> UInt8:
    """All frames of a video file, (F, H, W, 3) RGB."""
    av = need("av", "video", "a video")
    frames: list[UInt8] = []
    # What is damaged, the library meets with errors of nearly any kind.
    with door(path, "fetch or build it again"):
        check_regular(path)
        # By its contents FFmpeg might take a file for a list of others, and open those.
        with path.open("rb") as file, av.open(file, format="mp4") as container:
            for frame in container.decode(video=0):
                PIXELS.check(frame.width * frame.height, path)
                FRAMES.check(len(frames) + 1, path)
                frames.append(frame.to_ndarray(format="rgb24"))
                if frames[-1].shape != frames[0].shape:
                    raise InputError(f"cannot read {path}: its frames have several sizes")
    if not frames:
        raise InputError(f"cannot read {path}: the video has no frames")
    return np.stack(frames)
