"""What suites of natural shifts say: how folders name classes, and which answers of models count.

Their images are taken as they come, and nothing is made of them. Many have only some of ImageNet's
classes, and then their authors compare the logits of these classes alone.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hardy.schema import (
    TABLE,
    TEXT,
    TEXTS,
    WHOLE,
    Field,
    all_of,
    check_table,
    expect,
    is_text,
    one_of,
)

SHIFTS, OUTLIERS = "shifts", "outliers"  # the kinds of such suites
SHIFTED = "shifted"  # the one name that counts: its cell is the images themselves
# What a folder of images is called by: a WordNet name, the number of a class, or a name of the
# suite's own, which may stand for several classes. Of "labels" a JSON file has the right classes.
# Of broad types, "synsets" lie in folders or tars by WordNet name, and "subtypes" are the classes
# of a data set with a training and a test part.
SYNSETS, SUBTYPES = "synsets", "subtypes"
_LAYOUTS = ("wnids", "numbers", "names", "labels", "icons", SYNSETS, SUBTYPES)
# What is held out of icons: styles, some of all icons, subtypes, or paths that have a word in them.
PROTOCOLS = ("style", "traditional", "subtype", "paths")

_WNIDS = Field(
    "a list of WordNet names in the order of models, each once",
    lambda value: all_of(is_text)(value) and value == sorted(set(value)),
)
_SHIFT = {"layout": one_of(_LAYOUTS), "folder": TEXT}
_SHIFT_TOO = {
    "count": WHOLE,
    "kept": _WNIDS,
    "folders": TABLE,
    "border": WHOLE,
    "protocol": one_of(PROTOCOLS),
    "words": TEXTS,
    "types": TABLE,
}


class Subtypes(NamedTuple):
    """The classes that a broad type is made of: nets see the one part, and are tested on both."""

    seen: tuple[str, ...]
    unseen: tuple[str, ...]


@dataclass(frozen=True)
class Shift:
    """Images that nobody corrupted: how they lie in folders, and what counts as right."""

    layout: str
    folder: str  # what its authors call the folder that the class folders lie in
    count: int | None = None  # of images, where the authors' number is certain
    kept: tuple[str, ...] = ()  # WordNet names of the classes whose logits count; none: all
    folders: Mapping[str, tuple[str, ...]] | None = None  # the classes that each name stands for
    border: int = 0  # pixels that are cut off each side, before anything else
    protocol: str | None = None  # of icons: what is held out of them
    words: tuple[str, ...] = ()  # the styles or subtypes that are, unless a run names others
    types: Mapping[str, Subtypes] | None = None  # the classes of models, in their order

    @property
    def holds_out(self) -> bool:
        """Whether nets are trained for the suite, on a part that has nothing of what is tested."""
        return self.protocol is not None or self.types is not None

    def content(self) -> dict[str, Any]:
        """All that decides a score."""
        named = {name: list(wnids) for name, wnids in (self.folders or {}).items()}
        kept = {"kept": list(self.kept), "folders": named}
        held_out = {"protocol": self.protocol, "words": list(self.words)} if self.protocol else {}
        listed = {name: one._asdict() for name, one in (self.types or {}).items()}
        types = {"types": list(listed.items())} if listed else {}
        return {"layout": self.layout, "border": self.border, **kept, **held_out, **types}

    def restriction(self, classes: int) -> str:
        """Which logits are compared, in words; nothing where all are."""
        if not self.kept:
            return ""
        groups = f", as {len(self.folders)} names" if self.folders else ""
        return f"logits of {len(self.kept)} of {classes:,} classes{groups}"


def parse_shift(table: Any, where: str) -> Shift:
    check_table(table, _SHIFT, where, optional=_SHIFT_TOO)
    folders, named = table.get("folders", {}), table["layout"] == "names"
    expect(bool(folders) == named, 'folders if the layout is "names"', folders, f"{where}: folders")
    check_table(folders, dict.fromkeys(folders, _WNIDS), f"{where} [folders]")
    every = sorted(wnid for wnids in folders.values() for wnid in wnids)
    expect(_WNIDS.fits(every), "each class under one name", folders, f"{where}: folders")
    expect(not (named and "kept" in table), "no kept beside folders", "both", f"{where}: kept")
    icons = table["layout"] == "icons"
    expect(
        "protocol" in table if icons else not {"protocol", "words"} & table.keys(),
        'a protocol if the layout is "icons"',
        table.get("protocol"),
        f"{where}: protocol",
    )
    typed = table["layout"] in (SYNSETS, SUBTYPES)
    types = table.get("types", {})
    wanted = f'types if the layout is "{SYNSETS}" or "{SUBTYPES}"'
    expect(bool(types) == typed, wanted, types, f"{where}: types")
    return Shift(
        table["layout"],
        table["folder"],
        table.get("count"),
        tuple(every if named else table.get("kept", ())),
        {name: tuple(wnids) for name, wnids in folders.items()} if named else None,
        table.get("border", 0),
        table.get("protocol"),
        tuple(table.get("words", ())),
        _parse_types(types, where) if typed else None,
    )


def _parse_types(table: Mapping[str, Any], where: str) -> dict[str, Subtypes]:
    types = {}
    for name, one in table.items():
        check_table(one, {"seen": TEXTS, "unseen": TEXTS}, f"{where} [types.{name}]")
        types[name] = Subtypes(tuple(one["seen"]), tuple(one["unseen"]))
    every = Counter(subtype for one in types.values() for part in one for subtype in part)
    twice = sorted(subtype for subtype, times in every.items() if times > 1)
    expect(not twice, "each subtype once", twice, f"{where}: types")
    bare = [name for name, one in types.items() if not one.seen]
    expect(not bare, "seen subtypes of each type", bare, f"{where}: types")
    expect(any(one.unseen for one in types.values()), "unseen subtypes", [], f"{where}: types")
    return types
