"""What `hardy.corrupt_files` has written into a folder: one line of JSON for each image."""

import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from hardy.errors import InputError
from hardy.inside import open_inside
from hardy.variants.file_lines import FileLines, Work, telling_of_disk

CORRUPTED, LOCK = "corrupted.jsonl", ".corrupted.lock"
BEGUN = ".corrupted.begun"  # is there from a call's first image to its end, however that comes


class MirrorManifest(FileLines):
    """The lines of a folder; to write any, it must be `held`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, CORRUPTED, "hardy corrupt")

    def begin(self) -> None:
        """Mark the folder as unfinished."""
        with telling_of_disk(self.folder):
            os.close(open_inside(str(self.folder), BEGUN, os.O_WRONLY | os.O_CREAT))

    def end(self) -> None:
        with telling_of_disk(self.folder):
            (self.folder / BEGUN).unlink(missing_ok=True)

    @property
    def is_unfinished(self) -> bool:
        """Whether a call was stopped before its end, or is at work."""
        return (self.folder / BEGUN).exists()

    @property
    def celled(self) -> bool:
        """Whether there are images in folders CORRUPTION/SEVERITY."""
        return any(_is_celled(line) and self._has(line) for line in self.lines.values())

    def check_alike(
        self, made: Collection[str], *, celled: bool, keep_format: bool, edition: str
    ) -> None:
        """Refuse to put images beside others of another layout, format or edition; those of which
        `made` takes the place do not count."""
        names = {_without_suffix(output) for output in made}
        for line in self.lines.values():
            fault = _apart(line, celled, keep_format, edition)
            if fault and _without_suffix(line["output"]) not in names and self._has(line):
                raise InputError(f"the images in {self.folder} {fault}, or name another folder")

    def twins(self, outputs: Collection[str]) -> set[str]:
        """What is there of the same images in another format, by another suffix."""
        names = {_without_suffix(output) for output in outputs}
        return {
            output
            for output in self.lines.keys() - set(outputs)
            if _without_suffix(output) in names and self._has(self.lines[output])
        }

    def _has(self, line: Work) -> bool:
        return os.path.lexists(self.folder / line["output"])


def _is_celled(line: Work) -> bool:
    return bool(line["output"].count("/") == line["source"].count("/") + 2)


def _is_kept(line: Work) -> bool | None:
    """Whether an image has the name and format of its source; None where PNG has both."""
    source, output = PurePosixPath(line["source"]), PurePosixPath(line["output"])
    if output.suffix != ".png":
        return True
    return None if output.name == source.name else False


def _apart(line: Work, celled: bool, keep_format: bool, edition: str) -> str | None:
    """What sets an image apart from those to come, and what to do about it."""
    if celled and not _is_celled(line):
        return "are of one corruption, without a folder such as fog/3; ask for one corruption"
    kept = _is_kept(line)
    if kept and not keep_format:
        return "keep their names and formats; say `keep_format=True`"
    if keep_format and kept is False:
        return "are PNG files; leave `keep_format` out"
    there = line.get("edition")
    if there != edition:
        return f"are of the edition {there}, not {edition}; say `edition={there}`"
    return None


def _without_suffix(output: str) -> str:
    return str(PurePosixPath(output).with_suffix(""))
