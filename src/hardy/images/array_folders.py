"""Folders with one array of images and one of labels, such as `hardy stylise` makes of arrays."""

from hardy.errors import InputError
from hardy.images.numpy_files import ArraySource, open_npy
from hardy.images.readers import Reader, Request

IMAGES, LABELS = "images.npy", "labels.npy"


class _ArrayFolder(Reader):
    """A folder with images.npy, and labels.npy if there are labels."""

    def recognises(self, request: Request) -> bool:
        return IMAGES in request.names.others

    def open(self, request: Request) -> ArraySource:
        folder, labels = request.path, request.labels
        own = folder / LABELS if LABELS in request.names.others else None
        if own is not None and labels is not None:
            raise InputError(f"{folder} has labels, and so has {labels}; give only one of them")
        return open_npy(folder / IMAGES, own or labels, request.id_rule or "row_index")


READER = _ArrayFolder()
