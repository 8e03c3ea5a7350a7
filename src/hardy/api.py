"""The public functions: look the cell up, let the images in at the door, call the engine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from hardy.corrupt import CORRUPTIONS, PERTURBATIONS, Corruption
from hardy.corrupt import passes as engine
from hardy.corrupt.perturbation import Frames
from hardy.engine import door, rng
from hardy.engine.keys import (
    Ids,
    Seeds,
    by_seed,
    check_seed,
    image_ids,
    is_int,
)
from hardy.engine.ops import is_tensor, ops_for
from hardy.errors import InputError
from hardy.registry import unknown
from hardy.suites import SEVERITIES, editions, load, names, nearest_edition
from hardy.suites import edition as find_edition
from hardy.variants.base_picture import Stage

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from hardy.images import Recipe

# Same type back: an array for an array, an image for an image, a tensor for a tensor.
Images = TypeVar("Images", npt.NDArray[np.uint8], "Image", "Tensor")


def corrupt(
    images: Images,
    name: str,
    severity: int,
    *,
    seed: Seeds = 0,
    ids: Ids | None = None,
    edition: str = "auto",
) -> Images:
    """The image, or each image of the batch, corrupted: a new array, PIL image or tensor alike.

    The bytes depend on the pixels, edition, corruption, severity, seed and image id alone. `ids`
    are whole numbers or names, one per image, each used once; left out they are 0, 1, 2, ... `seed`
    is one for all, or one per image: an id is then used once with a seed.
    `edition` is "224", "299", "64" or "cifar", or one of the later benchmarks'; "auto" takes, of
    those that have the corruption, the one whose side is nearest to the images' shorter side. What
    may come in as an image is written in `hardy.engine.door`; a torch tensor is worked on where it
    lies, and the result lies there too.
    """
    corruption = _corruption(name)
    batch, restore = door.enter(images)
    cell, params = _cell(name, severity, batch.shape[1:3], edition)
    groups = by_seed(seed, ids, len(batch))
    if not len(batch):
        return restore(batch[:0])  # type: ignore[no-any-return]
    made = []
    for one, places, numbers in groups:
        key = rng.derive_key(one, cell, name, int(severity))
        part = batch if len(groups) == 1 else batch[places]
        made.append(engine.run(corruption, part, params, key=key, ids=numbers))
    if len(made) == 1:
        return restore(made[0])  # type: ignore[no-any-return]
    order = np.argsort([place for _, places, _ in groups for place in places])
    return restore(ops_for(batch).join(made)[order.tolist()])  # type: ignore[no-any-return]


def draw(
    name: str,
    severity: int,
    size: tuple[int, int],
    *,
    seed: int = 0,
    ids: Ids = (0,),
    edition: str = "auto",
) -> dict[str, npt.NDArray[Any]]:
    """What `corrupt` draws for images of `size` (H, W): named arrays, the first axis the image."""
    corruption = _corruption(name)
    height, width = _size(size)
    cell, params = _cell(name, severity, (height, width), edition)
    key = rng.derive_key(check_seed(seed), cell, name, int(severity))
    return engine.draw(corruption, (height, width), params, key=key, ids=image_ids(ids))


def replay(
    images: Images,
    name: str,
    severity: int,
    draws: Mapping[str, npt.NDArray[Any]],
    *,
    edition: str = "auto",
) -> Images:
    """`corrupt` with given draws in place of its own: those of `draw`, or others shaped alike."""
    corruption = _corruption(name)
    batch, restore = door.enter(images)
    _, params = _cell(name, severity, batch.shape[1:3], edition)
    if not len(batch):
        return restore(batch[:0])  # type: ignore[no-any-return]
    fields = _fields(corruption, params, draws, batch.shape)
    try:
        result = engine.replay(corruption, batch, params, fields)
    except KeyError as error:
        raise InputError(
            f"expected draws of {name} with {error}, got {', '.join(fields) or 'none'}; "
            "hardy.draw makes them"
        ) from error
    return restore(result)  # type: ignore[no-any-return]


def perturb(
    image: "npt.NDArray[np.uint8] | Image | Tensor",
    name: str,
    *,
    level: int = 1,
    seed: int = 0,
    id: int | str = 0,
    edition: str = "auto",
    recipe: "str | Recipe | None" = None,
) -> Frames:
    """The frames of a perturbation of one image: iterate, index, or take `.array()`, (F, H, W, 3).

    Without a recipe the frames are as large as the image, and what moves lets black in at the edge.
    With one, such as "resize256_rgb_crop224@1", the image is a picture as it was read: the recipe
    makes the base image that moves, and the square that is cut out of it afterwards. `level` is the
    strength of noise, 1 to 3; other perturbations have level 1 only. Frames are made when they are
    asked for, uint8 (H, W, 3), and depend on pixels, recipe, edition, name, level, seed and id.
    """
    if not isinstance(name, str):
        raise InputError(f'expected the name of a perturbation such as "tilt", got {name!r}')
    if name not in PERTURBATIONS:
        raise unknown("perturbation", name, perturbations())
    if not is_int(level):
        raise InputError(f"expected a level of 1, 2 or 3 as an int, got {level!r}")
    batch, _ = door.enter(image)
    if getattr(image, "ndim", 3) != 3:
        raise InputError(
            f"expected one image (H, W, 3), got a batch {tuple(batch.shape)}; go through them one "
            "by one, each with its id"
        )
    # Copies: frames are made later, and the caller may have changed the image by then.
    if is_tensor(image):
        stage = _tensor_stage(batch.clone(), recipe)
    else:
        picture = batch[0].copy() if isinstance(image, np.ndarray) else image
        stage = Stage.of(picture, _recipe(recipe))
    constants = find_edition(_edition(edition, stage.size, name, {}))
    image_ids([id], 1)
    return stage.frames(constants, name, int(level), seed=check_seed(seed), id=id)


def _tensor_stage(batch: "Tensor", recipe: object) -> Stage:
    if recipe is not None:
        raise InputError("a recipe expects an array or a PIL image, got a tensor; .cpu().numpy()")
    return Stage(batch, batch, None)


def _recipe(recipe: object) -> "Recipe | None":
    if recipe is None:
        return None
    # Imported here: it brings the readers of every kind of image set.
    from hardy.images import RECIPES, Recipe

    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str):
        raise InputError(f'expected a recipe such as "resize256_crop224@1", got {recipe!r}')
    return RECIPES[recipe]


def perturbations() -> tuple[str, ...]:
    """The names of all: the benchmark's ten, its four for validation, then plug-ins."""
    suite = load("imagenet_p")
    return tuple(dict.fromkeys((*suite.counted, *suite.validation, *PERTURBATIONS.names())))


def corruptions() -> tuple[str, ...]:
    """The names of all: ImageNet-C's nineteen, those of other benchmarks, then plug-ins."""
    suite = load("imagenet_c")
    return tuple(dict.fromkeys((*suite.counted, *suite.validation, *CORRUPTIONS.names())))


def suites() -> tuple[str, ...]:
    """The names of all suites."""
    return tuple(names())


def _corruption(name: object) -> Corruption:
    if not isinstance(name, str):
        raise InputError(f'expected the name of a corruption such as "fog", got {name!r}')
    return CORRUPTIONS[name]


def check_cell(name: str, severity: int, edition: str = "auto") -> None:
    """Refuses what `corrupt` would refuse, before there are images."""
    _cell(_corruption(name).name, severity, (224, 224), edition)


def _cell(
    name: str, severity: object, size: tuple[int, ...], edition: object
) -> tuple[str, Mapping[str, float]]:
    """The edition's name and the parameters of one corruption at one severity."""
    if not is_int(severity) or severity not in SEVERITIES:
        raise InputError(
            f"expected a severity of 1, 2, 3, 4 or 5 as an int, got {severity!r}; "
            "the clean image is the image itself, and there is nothing in between"
        )
    rows = CORRUPTIONS[name].rows
    chosen = _edition(edition, size, name, rows)
    if chosen in rows:
        return chosen, dict(rows[chosen][int(severity) - 1])
    return chosen, find_edition(chosen).params(name, int(severity))


def _edition(edition: object, size: tuple[int, ...], name: str, rows: Mapping[str, object]) -> str:
    """The one that was named, or of those that have the name the nearest in size."""
    if not isinstance(edition, str):
        raise InputError(f'expected an edition such as "224" or "auto", got {edition!r}')
    if edition != "auto":
        return edition
    having = [one for one in editions() if one in rows or name in find_edition(one)]
    return nearest_edition(size[0], size[1], having or editions())


def _fields(
    corruption: Corruption,
    params: Mapping[str, float],
    draws: Mapping[str, npt.NDArray[Any]],
    shape: tuple[int, ...],
) -> dict[str, npt.NDArray[Any]]:
    """The draws, each of the shape and kind the formula reads: compiled code checks neither."""
    if not isinstance(draws, Mapping):
        raise InputError(
            f"expected draws as a mapping of names to arrays, got {type(draws).__name__}; "
            "hardy.draw makes one"
        )
    usual = engine.draw(corruption, (shape[1], shape[2]), params, key=0, ids=image_ids(0))
    usual |= {name: np.empty((1, *shape[1:])) for name in corruption.replays}
    fields = {}
    for name, values in draws.items():
        if name not in usual:
            raise InputError(
                f"expected draws of {corruption.name} among {', '.join(usual) or 'none at all'}, "
                f"got {name!r}; hardy.draw makes them"
            )
        field, like = np.ascontiguousarray(values), usual[name]
        whole = field.dtype.kind in "iu" and like.dtype.kind in "iu"
        fits = whole or np.can_cast(field.dtype, like.dtype, "same_kind")
        if field.shape != (shape[0], *like.shape[1:]) or not fits:
            raise InputError(
                f"expected the draw {name!r} as {like.dtype} {(shape[0], *like.shape[1:])}, "
                f"got {field.dtype} {field.shape}; hardy.draw makes one that fits"
            )
        fields[name] = field.astype(like.dtype, copy=False)
    if corruption.looked_up:
        _check_looked_up(corruption, params, fields, shape)
    return fields


def _check_looked_up(
    corruption: Corruption,
    params: Mapping[str, float],
    fields: Mapping[str, npt.NDArray[Any]],
    shape: tuple[int, ...],
) -> None:
    ends = engine.extremes(corruption, (shape[1], shape[2]), params, ids=image_ids(0))
    for name in corruption.looked_up:
        field = fields.get(name, np.empty(0))
        low, high = (end[name].item() for end in ends)
        outside = field[(field < low) | (field > high)]
        if outside.size:
            raise InputError(
                f"expected the draw {name!r} of {corruption.name} from {low} to {high}, got "
                f"{outside[0]}; hardy.draw makes one that fits"
            )


def _size(size: object) -> tuple[int, int]:
    if not (isinstance(size, tuple | list) and len(size) == 2 and all(map(is_int, size))):
        raise InputError(f"expected a size (height, width) of two ints, got {size!r}")
    if min(size) < door.SMALLEST_SIDE:
        raise InputError(f"expected sides of at least {door.SMALLEST_SIDE} pixels, got {size!r}")
    return int(size[0]), int(size[1])
