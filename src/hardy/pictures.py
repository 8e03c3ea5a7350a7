"""Pictures to look at: every corruption at every severity on one sheet; a sequence as a clip."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from hardy.corrupt.calls import corrupt, corruptions
from hardy.errors import MissingResource
from hardy.images.clip import check_clip, write_clip
from hardy.images.image_files import check_output, read_image, write_image
from hardy.images.recipes import eight_sevenths
from hardy.images.sheet import contact_sheet
from hardy.suites import SEVERITIES, editions, load
from hardy.variants.base_picture import perturb

Track = Callable[[list[str]], Iterable[str]]


def write_sheet(photo: Path, target: Path, *, side: int = 224, track: Track = iter) -> Path:
    """The contact sheet of a photograph: a row per corruption, clean and severities across."""
    clean = read_image(photo, eight_sevenths(side).prepare)
    check_output(target, photo)
    rows = [
        (name, [clean, *(corrupt(clean, name, s, ids=photo.stem) for s in SEVERITIES)])
        for name in track(_names())
    ]
    write_image(target, contact_sheet(["clean", *(f"severity {s}" for s in SEVERITIES)], rows))
    return target


def _names() -> list[str]:
    """ImageNet-C's, and plug-ins."""
    own = load("imagenet_c").corruptions
    return [name for name in corruptions() if name in own or not editions(name)]


def write_sequence(
    photo: Path, target: Path, name: str, *, level: int = 1, side: int = 224
) -> Path:
    """The frames of one perturbation: a .gif or .mp4 that moves, else a sheet of all frames."""
    picture = read_image(photo)
    frames = perturb(picture, name, level=level, id=photo.stem, recipe=eight_sevenths(side))
    check_clip(target, photo)
    write_clip(target, frames)
    return target


def sample_photo() -> Path:
    """A photograph that scikit-learn ships; found without importing it."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise MissingResource(
            "the demo takes its photograph from scikit-learn, which is missing; either "
            'pip install "hardy[demo]", or bring your own: hardy show PHOTO -o sheet.png'
        )
    return Path(spec.origin).parent / "datasets" / "images" / "china.jpg"
