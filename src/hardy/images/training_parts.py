"""What nets may be trained on that are tested by a protocol: icons, or subtypes of broad types."""

from pathlib import Path

from hardy.images.icons50.icon_parts import HeldOut, open_parts, read_hold_out
from hardy.images.source import Faults, Source, part_of
from hardy.images.subtypes import SUPERCLASS, seen_part, subtype_suites
from hardy.registry import unknown
from hardy.suites.shift import PROTOCOLS
from hardy.suites.suite import Suite


def without_held_out(where: str | Path, hold_out: str, faults: Faults = None) -> tuple[Source, str]:
    """The training part of a source, and what it leaves out, in one way of writing.

    `hold_out` is "style:microsoft" or the like for icons, "superclass" for a data set of subtypes,
    or the name of a suite of these.
    """
    if hold_out == SUPERCLASS or hold_out in subtype_suites():
        return seen_part(where, hold_out, faults)
    if hold_out.partition(":")[0] not in PROTOCOLS:
        raise unknown("protocol", hold_out, (*PROTOCOLS, SUPERCLASS, *subtype_suites()))
    held_out = read_hold_out(hold_out)
    source, parts, title = open_parts(where, held_out)
    return part_of(source, parts.training), held_out_of(held_out, title)


def held_out_of(held_out: HeldOut, title: str) -> str:
    """What a net has not seen: of one set of icons alone, since another one may have drawings of
    its own that are near to those that it has."""
    return f"{held_out} of {title}"


def held_out_by(suite: Suite) -> str:
    """What a net leaves out that is trained for a suite."""
    if suite.shift is None or not suite.shift.holds_out:
        raise unknown("suite that holds something out", suite.name, subtype_suites())
    return suite.shift.protocol or suite.name
