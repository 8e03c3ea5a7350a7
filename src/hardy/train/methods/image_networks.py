"""The two networks of DeepAugment: read from files, or trained once on the images at hand and kept
in the user's cache. They hang on images, steps and machine alone: runs of all seeds share them.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.files import write_file
from hardy.models.weight_files import packed, read_weights, unpacked
from hardy.progress import Track
from hardy.train.cuda_graphs import Recorded, can_record
from hardy.train.method import Draw, TrainingImages, to_pixels
from hardy.train.methods.auto_encoder import AutoEncoder
from hardy.train.methods.edsr import Edsr
from hardy.train.processes import Ranks

Network = Edsr | AutoEncoder
NETWORKS: dict[str, type[Network]] = {"edsr": Edsr, "cae": AutoEncoder}
_VERSION = 1  # of the training: another one gives other networks
_TOGETHER, _RATE = 16, 1e-4  # images of a step and learning rate, as both were published
_LARGEST_PATCH = 64  # pixels; the auto-encoder sees them twice as large, as published


def new_network(kind: str) -> Network:
    """An untrained one, always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return NETWORKS[kind]()


def read_network(kind: str, path: Path) -> dict[str, Tensor]:
    """The weights in a file of torch or safetensors, such as the authors released."""
    todo = f"bring another file, or leave `{kind}` out: it is then trained"
    found = read_weights(path, todo)
    network = NETWORKS[kind]
    wanted = _shapes(kind)
    learned = {name: one for name, one in found.items() if not name.startswith(network.fixed)}
    given = {name: tuple(getattr(one, "shape", ())) for name, one in learned.items()}
    wrong = sorted(name for name in {*wanted, *given} if wanted.get(name) != given.get(name))
    if wrong:
        first, more = wrong[0], f" and {len(wrong) - 1} more differ" if len(wrong) > 1 else ""
        raise InputError(
            f"{path}: expected the weights of {network.title}, where {first} is "
            f"{wanted.get(first, 'not there')}, got {given.get(first, 'none')}{more}; {todo}"
        )
    weights = {name: learned[name].float() for name in wanted}
    for name, weight in weights.items():
        if not torch.isfinite(weight).all():
            raise InputError(f"{path}: expected numbers as weights, got others in {name}; {todo}")
    return weights


def _shapes(kind: str) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        return {name: tuple(one.shape) for name, one in NETWORKS[kind]().named_parameters()}


def digest_of_weights(weights: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].numpy().tobytes())
    return digest.hexdigest()


def trained_network(
    kind: str, data: TrainingImages, steps: int, device: torch.device, ranks: Ranks, track: Track
) -> dict[str, Tensor]:
    """The weights, on the device; the same in all processes, of which the first has the cache."""
    path = _folder() / f"{kind}-{_key(data, steps, device)[:32]}.safetensors"
    network = new_network(kind).to(device)
    kept = _kept(kind, path) if ranks.first else None
    known = torch.tensor(float(kept is not None), device=device)
    ranks.take_first([known])
    if kept is not None:
        network.load_state_dict(kept)
    if not known:
        _learn(kind, network, data, steps, Draw(0, device), ranks, track)
    weights = {name: one.detach() for name, one in network.named_parameters()}
    ranks.take_first(list(weights.values()))
    if ranks.first and kept is None:
        write_file(path, packed(weights, {}, path))
    return weights


def _key(data: TrainingImages, steps: int, device: torch.device) -> str:
    """All that the weights hang on, to the last bit; on a CPU sums differ by the threads."""
    threads = torch.get_num_threads() if device.type == "cpu" else 0
    same = torch.are_deterministic_algorithms_enabled()
    trained = [_VERSION, data.sha256, data.input, data.shape, steps]
    where = [device.type, threads, same, torch.__version__]
    return hashlib.sha256(json.dumps(trained + where).encode()).hexdigest()


def _folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "deep_augment"


def _kept(kind: str, path: Path) -> dict[str, Tensor] | None:
    try:
        found, _ = unpacked(path, "")
    except InputError:  # it is not there, or was cut off
        return None
    shapes = {name: tuple(one.shape) for name, one in found.items()}
    return found if shapes == _shapes(kind) else None


def _learn(
    kind: str,
    network: Network,
    data: TrainingImages,
    steps: int,
    draw: Draw,
    ranks: Ranks,
    track: Track,
) -> None:
    """Adam down the network's objective, on patches of images drawn anew in each step."""
    cuda = draw.device.type == "cuda"
    adam = torch.optim.Adam(
        network.parameters(), _RATE, weight_decay=network.weight_decay, capturable=cuda
    )

    def descend(pixels: Tensor) -> None:
        adam.zero_grad(set_to_none=False)
        with torch.autocast(draw.device.type, enabled=False):
            network.objective(pixels, draw).backward()
        adam.step()

    step: Callable[[Tensor], None] = descend
    if can_record(draw.device, ranks):
        step = Recorded(descend, draw.there)
    drawn = _drawn(len(data), steps)
    for rows, corner in track(drawn, steps, f"steps of the network {kind}"):
        images, _ = data.shown(rows)
        if len(images) == _TOGETHER:  # streamed ones may be damaged
            step(to_pixels(_patch(images.to(draw.device).permute(0, 3, 1, 2), corner)))


def _drawn(count: int, steps: int) -> Iterator[tuple[Tensor, list[float]]]:
    """Images of each step, and where their patches lie: shares of what is left over."""
    draws = torch.Generator().manual_seed(0)
    for _ in range(steps):
        rows = torch.randint(count, (_TOGETHER,), generator=draws)
        yield rows, torch.rand(2, generator=draws).tolist()


def _patch(images: Tensor, corner: list[float]) -> Tensor:
    for axis, share in zip((2, 3), corner, strict=True):
        size = min(images.shape[axis], _LARGEST_PATCH)
        start = int(share * (images.shape[axis] - size + 1))
        images = images.narrow(axis, start, size)
    return images
