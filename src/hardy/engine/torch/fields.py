"""The glass shuffle, plasma clouds and spatter's relief in the torch engine.

What the CPU does pixel after pixel is done for all pixels at once here, in a number of rounds that
depends on the size alone, so that the device never waits for the host.
"""

from __future__ import annotations

from math import ceil, log2

import torch
from torch import Tensor

from hardy.engine.torch.edges import edges
from hardy.engine.torch.filters import widened

# Spatter's relief looks no further than this many pixels; OpenCV's distances in 16-bit fixed point.
_DEPTH = 20
_ONE, _DIAGONAL, _KNIGHT = 65536, 91750, 143976
_EMBOSS = ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))


def shuffle(images: Tensor, moves: Tensor, reach: int) -> Tensor:
    """A source already visited by the scan stands for its own source, and so on: a forest.

    Pointer doubling finds its roots. A chain of copies goes down, or right along its row, and each
    step down leads back left by `reach` at most, which bounds its length.
    """
    n, height, width, _ = images.shape
    tall, wide = height - 2 * reach, width - 2 * reach
    if tall <= 0 or wide <= 0:
        return images.clone()
    span = 2 * reach
    own = torch.arange(height * width, device=images.device)
    targets = (slice(None), slice(reach + 1, reach + 1 + tall), slice(reach + 1, reach + 1 + wide))
    is_target = torch.zeros((1, height, width), dtype=torch.bool, device=images.device)
    is_target[targets] = True
    is_target = is_target.flatten()
    rounds = ceil(log2(wide + (reach + 1) * tall)) if reach > 1 else 0
    image = images.flatten(1, 2)
    for one_pass in moves.unbind(1):
        # The scan descends: turned round, its moves are in the order of the pixels.
        move = one_pass.long().flip(1).unflatten(1, (tall, wide))
        # Replayed moves may be anything; none may read outside the image.
        move = torch.where((move < 0) | (move >= span * span), span * span - 1, move)
        step = torch.zeros((n, height, width), dtype=torch.int64, device=images.device)
        step[targets] = (move // span - reach) * width + (move % span - reach)
        source = own + step.flatten(1)
        # ~source is the source as it was before the pass: a root.
        source = torch.where((source > own) & is_target[source], source, ~source)
        for _ in range(rounds):
            further = source.gather(1, source.clamp(min=0))
            source = torch.where(source < 0, source, further)
        image = image.gather(1, (~source)[..., None].expand(-1, -1, image.shape[2]))
    return image.unflatten(1, (height, width))


def plasma(steps: Tensor, decay: float, side: int) -> Tensor:
    """Each level is elementwise: the centres, then both sets of edge midpoints from them."""
    cloud = torch.zeros((len(steps), side, side), dtype=torch.float64, device=steps.device)
    step, wibble, used = side, 100.0, 0
    while step >= 2:
        half, cells = step // 2, side // step
        draws = steps[:, used : used + 3 * cells * cells].unflatten(1, (3, cells, cells))
        jolts = (draws * (2 * wibble) - wibble) * wibble
        used += 3 * cells * cells
        corner = cloud[:, ::step, ::step]
        right, below = corner.roll(-1, 2), corner.roll(-1, 1)
        centre = ((corner + below) + (right + below.roll(-1, 2))) / 4 + jolts[:, 0]
        above, left = centre.roll(1, 1), centre.roll(1, 2)
        cloud[:, half::step, half::step] = centre
        cloud[:, ::step, half::step] = ((centre + above) + (corner + right)) / 4 + jolts[:, 1]
        cloud[:, half::step, ::step] = ((centre + left) + (corner + below)) / 4 + jolts[:, 2]
        step, wibble = half, wibble / decay
    lowest, highest = cloud.amin((1, 2), keepdim=True), cloud.amax((1, 2), keepdim=True)
    return (cloud - lowest) / (highest - lowest)


def relief(liquid: Tensor) -> Tensor:
    """Canny's edges, distance to them cut at 20, box mean, equalised, embossed, box mean."""
    distance = _distance(edges(liquid))
    # Nine distances add up exactly in 16-bit fixed point; OpenCV rounds their mean to float32.
    mean = (_box_sum(distance).double() * 2.0**-16 * (1 / 9)).float()
    even = _equalised(mean.to(torch.int32))
    height, width = liquid.shape[1:]
    padded = _mirrored(even)
    embossed = torch.zeros_like(even)
    for dy, row in enumerate(_EMBOSS):
        for dx, weight in enumerate(row):
            embossed += padded[:, dy : dy + height, dx : dx + width] * weight
    return ((_box_sum(embossed.clamp_(0, 255)) + 4) // 9).to(torch.uint8)


def _distance(edge: Tensor) -> Tensor:
    """Fixed-point chamfer distance of every pixel to the nearest True, 20 pixels at most.

    The CPU's two scans find the shortest of all paths. By free way, as here, its length has a
    closed form that grows with |dx|: so the nearest edge of each row within 20 is enough.
    """
    height, width = edge.shape[1:]
    along = torch.where(edge, 0, _DEPTH).to(torch.uint8)
    for step in (1, 2, 4, 8, 16):
        if step < width:
            before, after = along[..., :-step] + step, along[..., step:] + step
            torch.minimum(along[..., step:], before, out=along[..., step:])
            torch.minimum(along[..., :-step], after, out=along[..., :-step])
    columns = along.flatten().to(torch.int32)
    nearest = torch.full_like(along, _DEPTH * _ONE, dtype=torch.int32)
    for dy, lengths in enumerate(_lengths(edge.device)[:height]):
        path = lengths.index_select(0, columns).view(edge.shape)
        torch.minimum(nearest[:, dy:], path[:, : height - dy], out=nearest[:, dy:])
        if dy:
            torch.minimum(nearest[:, :-dy], path[:, dy:], out=nearest[:, :-dy])
    return nearest


def _lengths(device: torch.device) -> Tensor:
    """(dy, dx): straight steps and knight's moves, or those and diagonals: the longer is right."""
    dy = torch.arange(_DEPTH, dtype=torch.int32, device=device)[:, None]
    dx = torch.arange(_DEPTH + 1, dtype=torch.int32, device=device)
    longer, shorter = torch.maximum(dy, dx), torch.minimum(dy, dx)
    flat = longer * _ONE + shorter * (_KNIGHT - 2 * _ONE)
    steep = longer * (_KNIGHT - _DIAGONAL) + shorter * (2 * _DIAGONAL - _KNIGHT)
    return torch.maximum(flat, steep)


def _mirrored(layer: Tensor) -> Tensor:
    return widened(widened(layer, 1, 1, "mirror"), 2, 1, "mirror")


def _box_sum(layer: Tensor) -> Tensor:
    """Of 3 x 3 whole numbers."""
    padded = _mirrored(layer)
    rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]


def _equalised(layer: Tensor) -> Tensor:
    """OpenCV's histogram equalisation of levels 0 .. 20; a flat layer stays as it is."""
    pixels = layer.shape[1] * layer.shape[2]
    upto = torch.stack([(layer <= level).sum((1, 2)) for level in range(_DEPTH + 1)], 1)
    lowest = torch.where(upto > 0, upto, pixels).amin(1, keepdim=True)
    full = torch.full((), 255.0, device=layer.device)
    scale = full / (pixels - lowest).clamp(min=1).float()
    levels = ((upto - lowest).clamp(min=0).float() * scale).round().clamp(max=255).to(torch.int32)
    flat = torch.arange(_DEPTH + 1, dtype=torch.int32, device=layer.device)
    levels = torch.where(lowest == pixels, flat, levels)
    return levels.gather(1, layer.flatten(1).long()).view(layer.shape)
