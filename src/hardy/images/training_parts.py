"""What nets may be trained on that are tested by a protocol: icons, or subtypes of broad types."""

from pathlib import Path

from hardy.images.icons50.icon_parts import read_hold_out, training_part
from hardy.images.source import Faults, Source
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
    return training_part(where, held_out), str(held_out)


def held_out_by(suite: Suite) -> str:
    """What a net leaves out that is trained for a suite."""
    if suite.shift is None or not suite.shift.holds_out:
        raise unknown("suite that holds something out", suite.name, subtype_suites())
    return suite.shift.protocol or suite.name
