"""How a model of images and texts is told what classes there are: by sentences with their names."""

import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from hardy.documents import parse_toml, read_document, why_unread
from hardy.errors import InputError, printable
from hardy.models.class_order import Spellings

USUAL = "varied"
_SLOT = "{}"
_FORM = 'one sentence on each line, such as "a photo of a {}.", in which {} is the class\'s name'
_WORDNET = re.compile(r"n\d{8}")
_HERE = Path(__file__)


class PromptSet(NamedTuple):
    """Sentences with one {} each, and what they are called."""

    label: str
    templates: tuple[str, ...]

    def fill(self, names: Sequence[str]) -> list[str]:
        """All sentences about the first name, then all about the next."""
        return [one.replace(_SLOT, name) for name in names for one in self.templates]

    def __str__(self) -> str:
        if len(self.templates) == 1:
            return f'{self.label} ("{printable(self.templates[0][:80])}")'
        # Files of one name are told apart.
        short = sha256("\n".join(self.templates).encode()).hexdigest()[:8]
        return f"{self.label} ({len(self.templates)} sentences, {short})"


def read_prompts(asked: str | None = None) -> PromptSet:
    """A set by its name, or one that a file has."""
    if (templates := prompt_sets().get(asked or USUAL)) is not None:
        return PromptSet(asked or USUAL, templates)
    file = Path(asked or USUAL)
    try:
        text = read_document(file).decode("utf-8-sig")
    except InputError:
        raise
    except FileNotFoundError:
        known = " or ".join(f'"{name}"' for name in prompt_sets())
        raise InputError(
            f'expected `prompts` as {known}, or a file with {_FORM}; got "{file}", which is neither'
        ) from None
    except (OSError, ValueError) as error:  # ValueError: no text, or no name of a file
        raise InputError(
            f"{printable(str(file))}: expected {_FORM}, but {why_unread(error)}"
        ) from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    found = [(number, line) for number, line in lines if line]
    if not found:
        raise InputError(f"{file}: expected {_FORM}, got none")
    for number, line in found:
        if line.count(_SLOT) != 1:
            raise InputError(
                f"{file}, line {number}: expected a sentence with {_SLOT} once, got "
                f'"{printable(line[:80])}"; put {_SLOT} where the class\'s name goes'
            )
    return PromptSet(printable(file.name), tuple(line for _, line in found))


@cache
def prompt_sets() -> dict[str, tuple[str, ...]]:
    """The sets that Hardy brings, by name."""
    file = _HERE.with_name("prompt_sets.toml")
    return {name: tuple(one) for name, one in parse_toml(file.read_text("ascii"), file).items()}


def class_words(classes: Spellings | None, model: str) -> tuple[str, ...]:
    """What to call each class in a sentence; ImageNet's as CLIP's authors do."""
    todo = "bring images in folders that are called what they show"
    if classes is None:
        raise InputError(
            f"{model}: it knows classes by their names, and those of these images have none; {todo}"
        )
    known = _imagenet_names()
    words = tuple(known.get(names[0]) or _plain(names[-1]) for names in classes)
    nameless = [word for word in words if word.isdecimal() or _WORDNET.fullmatch(word) or not word]
    if nameless:
        shown = ", ".join(f'"{printable(word[:40])}"' for word in nameless[:3])
        raise InputError(
            f"{model}: expected names of classes in words, got {shown}"
            f"{', …' if len(nameless) > 3 else ''}; {todo}"
        )
    return words


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


@cache
def _imagenet_names() -> dict[str, str]:
    lines = _HERE.with_name("imagenet_clip_names.txt").read_text("ascii").splitlines()
    pairs = (line.partition(" ") for line in lines if not line.startswith("#"))
    return {wordnet: name for wordnet, _, name in pairs}
