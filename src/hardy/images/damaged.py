"""Images that cannot be read, among very many: they are left out, listed, and bounded."""

from dataclasses import dataclass, field

from hardy.errors import HardyError, InputError

UNREADABLE = "unreadable.txt"


@dataclass
class Unreadable:
    """The images of a source that could not be read, by row, and how many of them are borne."""

    count: int  # of all images
    most: float  # a share of them
    found: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_share(self.most)

    def add(self, row: int, reason: str) -> None:
        self.found[row] = reason
        if len(self.found) > self.most * self.count:
            raise HardyError(
                f"{len(self.found):,} of {self.count:,} images cannot be read, which is more than "
                f"the share of {self.most:g} that is borne: {reason}; mend them, or say a larger "
                "`most_unreadable`"
            )


def check_share(most: float) -> None:
    if not 0 <= most < 1:
        raise InputError(f"expected `most_unreadable` as a share from 0 to below 1, got {most}")


def unreadable_list(*parts: Unreadable) -> bytes:
    """What the file `UNREADABLE` says: a reason on each line; others may add some meanwhile."""
    reasons = sorted(reason for part in parts for reason in part.found.copy().values())
    return "".join(f"{reason}\n" for reason in reasons).encode()
