"""Photographs of any size as squares, for a suite that takes images as they are."""

from dataclasses import dataclass

from hardy.engine.door import UInt8
from hardy.images.image_files import Convert, rgb
from hardy.images.recipes import eight_sevenths
from hardy.images.source import Listing, Source


@dataclass(frozen=True)
class _CutImages(Listing):
    whole: Source
    side: int

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return convert(self.whole.read(index, eight_sevenths(self.side).prepare))

    def describe(self) -> str:
        return f"{self.whole.describe()}, the centre {self.side} x {self.side}"


def cut_images(whole: Source, side: int) -> Source:
    """The images of a source, cut as those of a training with crops are in a test."""
    labels, classes = whole.labels, whole.classes
    return _CutImages("", "", whole.files, whole.ids, labels, classes, whole, side)
