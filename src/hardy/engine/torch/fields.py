"""The glass shuffle, plasma clouds and spatter's relief in the torch engine.

What the CPU does pixel after pixel is done for all pixels at once here, in a number of rounds that
depends on the size alone, so that the device never waits for the host. Canny's hysteresis, a flood
fill on the CPU, is here a search for connected parts.
"""

from math import ceil, log2

import torch
import torch.nn.functional as F
from torch import Tensor

from hardy.engine.torch.filters import widened

# Spatter's relief looks no further than this many pixels; OpenCV's distances in 16-bit fixed point.
_DEPTH = 20
_ONE, _DIAGONAL, _KNIGHT = 65536, 91750, 143976
_EMBOSS = ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))
# Canny's thresholds.
_WEAK, _STRONG = 50, 150
Slices = tuple[slice, slice, slice]
_TAN_22 = 13573  # tan 22.5 degrees in 15-bit fixed point


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
    """The sum of the 3 x 3 whole numbers about each pixel."""
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


def edges(layers: Tensor) -> Tensor:
    """Canny(50, 150) of bytes (N, H, W), 3 x 3 Sobel, |dx| + |dy|; bool."""
    kept, strength = _ridges(layers)
    return kept & _reached(kept, kept & (strength > _STRONG))


def _ridges(layers: Tensor) -> tuple[Tensor, Tensor]:
    """Pixels that top both neighbours across the edge, and the gradient's magnitude."""
    height, width = layers.shape[1:]
    padded = widened(widened(layers.to(torch.int32), 1, 1, "nearest"), 2, 1, "nearest")
    rows = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    columns = padded[..., :-2] + 2 * padded[..., 1:-1] + padded[..., 2:]
    dx, dy = rows[..., 2:] - rows[..., :-2], columns[:, 2:] - columns[:, :-2]
    strength = dx.abs() + dy.abs()
    around = F.pad(strength, (1, 1, 1, 1))

    def beside(down: int, right: int) -> Tensor:
        return around[:, 1 + down : 1 + down + height, 1 + right : 1 + right + width]

    across, along = dx.abs() * _TAN_22, dy.abs() << 15
    level, upright = along < across, along > across + (dx.abs() << 16)
    opposed = (dx ^ dy) < 0
    tops = torch.where(
        level,
        (strength > beside(0, -1)) & (strength >= beside(0, 1)),
        torch.where(
            upright,
            (strength > beside(-1, 0)) & (strength >= beside(1, 0)),
            torch.where(
                opposed,
                (strength > beside(-1, 1)) & (strength > beside(1, -1)),
                (strength > beside(-1, -1)) & (strength > beside(1, 1)),
            ),
        ),
    )
    return tops & (strength > _WEAK), strength


def _reached(kept: Tensor, strong: Tensor) -> Tensor:
    """Which kept pixels hang together with a strong one, by corners too.

    Kept pixels of a 2 x 2 block touch, so blocks are the nodes. A part's label is one of its
    blocks, counted from 1; label 0 is all parts with a strong pixel. In each round a part joins the
    neighbour with the least label: of any two that choose each other the lesser stays, longer
    cycles cannot be, and the number of parts that still have neighbours halves at least.
    """
    n, height, width = kept.shape
    room = (0, width % 2, 0, height % 2)
    kept, strong = F.pad(kept, room), F.pad(strong, room)
    tall, wide = kept.shape[1] // 2, kept.shape[2] // 2
    links = _links(kept)
    own = torch.arange(tall * wide + 1, device=kept.device).expand(n, -1)
    none = tall * wide + 1
    label = own[:, 1:].unflatten(1, (tall, wide))
    label = torch.where(F.max_pool2d(strong.float(), 2) > 0, 0, label)
    most = ceil(log2(tall * wide))
    for done in range(most):
        least = torch.full_like(label, none)
        for link, here, there in links:
            a, b = label[here], label[there]
            parted = link & (a != b)
            torch.minimum(least[here], torch.where(parted, b, none), out=least[here])
            torch.minimum(least[there], torch.where(parted, a, none), out=least[there])
        chosen = torch.full_like(own, none)
        chosen = chosen.scatter_reduce(1, label.flatten(1), least.flatten(1), "amin")
        chosen = torch.where(chosen == none, own, chosen)
        chosen[:, 0] = 0
        mutual = chosen.gather(1, chosen) == own
        chosen = torch.where(mutual & (own < chosen), own, chosen)
        for _ in range(most - done):
            chosen = chosen.gather(1, chosen)
        label = chosen.gather(1, label.flatten(1)).view(label.shape)
    reached = (label == 0).repeat_interleave(2, 1).repeat_interleave(2, 2)
    return reached[:, :height, :width]


def _links(kept: Tensor) -> list[tuple[Tensor, Slices, Slices]]:
    """Which blocks' kept pixels touch, for each direction: a mask, this side and that side."""
    a, b = kept[:, ::2, ::2], kept[:, ::2, 1::2]
    c, d = kept[:, 1::2, ::2], kept[:, 1::2, 1::2]
    every, but_first, but_last = slice(None), slice(1, None), slice(None, -1)
    sides = [
        (b | d, a | c, every, but_last, every, but_first),
        (c | d, a | b, but_last, every, but_first, every),
        (d, a, but_last, but_last, but_first, but_first),
        (c, b, but_last, but_first, but_first, but_last),
    ]
    links = []
    for this, that, row, column, next_row, next_column in sides:
        here, there = (every, row, column), (every, next_row, next_column)
        links.append((this[here] & that[there], here, there))
    return links
