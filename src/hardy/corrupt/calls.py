"""The public functions on images: `corrupt`, `draw`, `replay`, and the names they take.

Each looks its cell up, lets the images in at the door and hands them to `passes`.
"""

from collections.abc import Iterable, Mapping

from hardy.corrupt import passes
from hardy.corrupt.corruption import CORRUPTIONS, Corruption
from hardy.corrupt.perturbation import PERTURBATIONS
from hardy.engine import door, rng
from hardy.engine.door import HostArray, Images
from hardy.engine.keys import Ids, Seeds, by_seed, check_seed, image_ids, is_int
from hardy.engine.ops import ops_for
from hardy.errors import InputError
from hardy.suites import SEVERITIES, editions, load, nearest_edition
from hardy.suites import edition as find_edition
from hardy.suites.edition_files import lacking


def corrupt(
    images: Images,
    name: str,
    severity: int,
    *,
    seed: Seeds = 0,
    ids: Ids | None = None,
    edition: str = "auto",
) -> Images:
    """Corrupt an image, or each image of a batch, and return a new one of the same type.

    Images are uint8 RGB: an array or torch tensor (H, W, 3) or (N, H, W, 3), or a PIL image; the
    table in `hardy.engine.door` says what else is taken. A tensor is worked on where it lies. The
    bytes depend on the pixels, edition, corruption, severity, seed and image id alone.

    `severity` is 1 to 5. `ids` are whole numbers or names, one per image, each used once; left out
    they are 0, 1, 2, ... `seed` is one for all images, or one per image: an id is then used once
    with a seed. `edition` says for which image size the constants were chosen ("224", "299", "64",
    "cifar", or that of a later benchmark); "auto" takes, of those that have the corruption, the one
    whose side is nearest to the images' shorter side.

    >>> import hardy, numpy
    >>> image = numpy.full((32, 32, 3), 128, numpy.uint8)
    >>> hardy.corrupt(image, "fog", severity=3).shape
    (32, 32, 3)
    """
    corruption = _corruption(name)
    batch, restore = door.enter(images)
    cell, params = _cell(corruption, severity, batch.shape[1:3], edition)
    groups = by_seed(seed, ids, len(batch))
    if not len(batch):
        return restore(batch[:0])  # type: ignore[no-any-return]
    made = []
    for one, places, numbers in groups:
        key = rng.derive_key(one, cell, name, int(severity))
        part = batch if len(groups) == 1 else batch[places]
        made.append(passes.run_pass(corruption, part, params, key=key, ids=numbers))
    if len(made) == 1:
        return restore(made[0])  # type: ignore[no-any-return]
    places = [place for _, some, _ in groups for place in some]
    order = sorted(range(len(places)), key=places.__getitem__)
    return restore(ops_for(batch).join(made)[order])  # type: ignore[no-any-return]


def draw(
    name: str,
    severity: int,
    size: tuple[int, int],
    *,
    seed: int = 0,
    ids: Ids = (0,),
    edition: str = "auto",
) -> dict[str, HostArray]:
    """Return what `corrupt` draws for images of `size` (H, W): named arrays, one row per image.

    >>> import hardy
    >>> hardy.draw("gaussian_noise", 3, (32, 32), ids=["a", "b"])["word"].shape
    (2, 32, 32, 3)
    """
    corruption = _corruption(name)
    height, width = door.check_size(size)
    cell, params = _cell(corruption, severity, (height, width), edition)
    key = rng.derive_key(check_seed(seed), cell, name, int(severity))
    return passes.draw_pass(corruption, (height, width), params, key=key, ids=image_ids(ids))


def replay(
    images: Images,
    name: str,
    severity: int,
    draws: Mapping[str, HostArray],
    *,
    edition: str = "auto",
) -> Images:
    """Do what `corrupt` does with given draws: those of `draw`, or others of the same shapes.

    >>> import hardy, numpy
    >>> image = numpy.full((32, 32, 3), 128, numpy.uint8)
    >>> draws = hardy.draw("gaussian_noise", 3, (32, 32))
    >>> again = hardy.replay(image, "gaussian_noise", 3, draws)
    >>> bool((again == hardy.corrupt(image, "gaussian_noise", 3)).all())
    True
    """
    corruption = _corruption(name)
    batch, restore = door.enter(images)
    _, params = _cell(corruption, severity, batch.shape[1:3], edition)
    if not len(batch):
        return restore(batch[:0])  # type: ignore[no-any-return]
    fields = _fields(corruption, params, draws, batch.shape)
    try:
        result = passes.replay_pass(corruption, batch, params, fields)
    except KeyError as error:
        raise InputError(
            f"expected draws of {name} with {error}, got {', '.join(fields) or 'none'}; "
            "hardy.draw makes them"
        ) from error
    return restore(result)  # type: ignore[no-any-return]


def corruptions() -> tuple[str, ...]:
    """List the corruptions: ImageNet-C's nineteen, those of other benchmarks, then plug-ins.

    >>> import hardy
    >>> "fog" in hardy.corruptions()
    True
    """
    return _names("imagenet_c", CORRUPTIONS)


def perturbations() -> tuple[str, ...]:
    """List the perturbations: ImageNet-P's ten, then its four for validation.

    >>> import hardy
    >>> "tilt" in hardy.perturbations()
    True
    """
    return _names("imagenet_p", PERTURBATIONS)


def _names(first: str, all_names: Iterable[str]) -> tuple[str, ...]:
    """The names of a suite in its order, then the others."""
    suite = load(first)
    return tuple(dict.fromkeys((*suite.counted, *suite.validation, *all_names)))


def check_cell(name: str, severity: int, edition: str = "auto") -> None:
    """Refuse what `corrupt` would refuse, before there are images."""
    _cell(_corruption(name), severity, (224, 224), edition)


def _corruption(name: object) -> Corruption:
    if not isinstance(name, str):
        raise InputError(f'expected the name of a corruption such as "fog", got {name!r}')
    try:
        return CORRUPTIONS[name]
    except InputError:
        if name not in PERTURBATIONS:
            raise
        raise InputError(
            f'expected a corruption such as "fog", got the perturbation "{name}", which makes a '
            "sequence of frames: hardy.perturb, or `hardy show` with `sequence`"
        ) from None


def _cell(
    corruption: Corruption, severity: object, size: tuple[int, ...], edition: object
) -> tuple[str, Mapping[str, float]]:
    """The edition's name and the parameters of one corruption at one severity."""
    if not is_int(severity):
        raise InputError(
            f"expected a severity of 1, 2, 3, 4 or 5 as an int, got {severity!r}; there is nothing "
            "in between, so name one of these"
        )
    if severity not in SEVERITIES:
        clean = ", or leave a clean image as it is" if severity == 0 else ""
        raise InputError(
            f"expected a severity of 1, 2, 3, 4 or 5, got {severity}; name one of these{clean}"
        )
    name, rows = corruption.name, corruption.rows
    chosen = choose_edition(edition, size, {*editions(name), *rows})
    constants = find_edition(chosen)
    if chosen in rows:
        constants = constants.having(name, rows[chosen])
    if name not in constants.corruptions:
        raise lacking(name, chosen, (*editions(name), *rows))
    return chosen, constants.params(name, int(severity))


def choose_edition(edition: object, size: tuple[int, ...], having: Iterable[str]) -> str:
    """The edition that was named, or the one nearest in size of those that have the name."""
    if not isinstance(edition, str):
        raise InputError(f'expected an edition such as "224" or "auto", got {edition!r}')
    if edition != "auto":
        return edition
    return nearest_edition(size[0], size[1], sorted(having) or editions())


def _fields(
    corruption: Corruption,
    params: Mapping[str, float],
    draws: Mapping[str, HostArray],
    shape: tuple[int, ...],
) -> dict[str, HostArray]:
    """The draws, each of the shape and type the formula reads: compiled code checks neither."""
    if not isinstance(draws, Mapping):
        raise InputError(
            f"expected draws as a mapping of names to arrays, got {type(draws).__name__}; "
            "hardy.draw makes one"
        )
    size = (shape[1], shape[2])
    usual = passes.draw_pass(corruption, size, params, key=0, ids=image_ids(0))
    usual |= {name: door.per_value(size) for name in corruption.replays}
    for name in draws:
        if name not in usual:
            raise InputError(
                f"expected draws of {corruption.name} among {', '.join(usual) or 'none at all'}, "
                f"got {name!r}; hardy.draw makes them"
            )
    fields = {
        name: door.fitting_draw(name, values, usual[name], shape[0])
        for name, values in draws.items()
    }
    if corruption.looked_up:
        ends = passes.extremes(corruption, size, params, ids=image_ids(0))
        for name in fields.keys() & set(corruption.looked_up):
            low, high = (end[name].item() for end in ends)
            door.check_range(f"{name!r} of {corruption.name}", fields[name], low, high)
    return fields
