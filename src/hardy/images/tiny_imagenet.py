"""Tiny ImageNet's validation images as their authors give them out: all in one folder, and a file
that says the class and the box of each.

They go by the names that Tiny ImageNet-C has for them, `n03444034/val_0.JPEG`, so that what is
built of them has its layout.
"""

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.folders import scan
from hardy.images.image_files import Convert, read_image, rgb
from hardy.images.label_files import read_file_labels
from hardy.images.readers import Reader, Request
from hardy.images.source import Listing, identify, number_labels
from hardy.places import locate

IMAGES, ANNOTATIONS = "images", "val_annotations.txt"


class _TinySource(Listing):
    decodes_files = True

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return read_image(locate(self.where) / IMAGES / _file(self.files[index]), convert)


class _TinyReader(Reader):
    """Tiny ImageNet's folder val as its authors give it out: images, and val_annotations.txt."""

    brings_labels = True

    def recognises(self, request: Request) -> bool:
        top = request.folder
        return top is not None and (top / ANNOTATIONS).is_file() and (top / IMAGES).is_dir()

    def open(self, request: Request) -> _TinySource:
        top, faults, rule = request.path, request.faults, request.id_rule or "relative_path"
        there = scan(str(top / IMAGES), faults).images
        if not there:
            raise InputError(f"there are no image files in {top / IMAGES}")
        label = read_file_labels(top / ANNOTATIONS, there, top / IMAGES, faults)
        named = sorted(f"{label[file]}/{file}" for file in there if label.get(file))
        kept, ids = identify(named, rule, faults, lambda n: str(top / IMAGES / _file(named[n])))
        files = [named[index] for index in kept]
        labels, classes = number_labels(label[_file(file)] for file in files)
        return _TinySource("Tiny ImageNet in", str(top), files, ids, labels, classes)


READER = _TinyReader()


def _file(name: str) -> str:
    return name.rpartition("/")[2]
