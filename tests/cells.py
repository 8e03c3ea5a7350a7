"""Which cells a corruption has: not every edition has every one, and some have one severity."""

from __future__ import annotations

from hardy.suites import edition, editions


def severities(name: str) -> tuple[int, ...]:
    """The same in all editions that have it."""
    (found,) = {edition(chosen).severities(name) for chosen in editions(name)}
    return found


def middle(name: str) -> int:
    """3 of 1 to 5."""
    return severities(name)[len(severities(name)) // 2]


def cells(name: str) -> list[tuple[str, int]]:
    """(edition, severity): all of them."""
    return [(chosen, severity) for chosen in editions(name) for severity in severities(name)]


def small(name: str) -> str:
    """The edition of CIFAR where it has one, else its last."""
    return "cifar" if "cifar" in editions(name) else editions(name)[-1]
