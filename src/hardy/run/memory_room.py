"""How many models fit beside one another: measured while they are loaded."""

import sys

from hardy.execute.machine import available_memory
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.run.subject import Subject
from hardy.store.parts import GROUP

# Of the memory there is, so much is for models; the rest is for images, and for what a model needs
# to look at them, which only one of them does at a time.
_SHARE = 0.5
# Beyond so many nothing is gained: making the images is a small part of showing them to all. And
# each model's run has a file open, of which systems allow some thousand.
MOST = 256
_ROW = 128  # bytes of a prediction that waits to be written


class MemoryRoom:
    """The memory that a group of models takes, on their device and on the host, where each has
    notes of its run too. Of a model there are `copies` on the host if it runs there, one for each
    process; a device has two, that of this process and that of the one that works there."""

    def __init__(self, subject: Subject, copies: int = 1) -> None:
        self._notes = len(subject) * (len(subject.cells) + 64) + GROUP * _ROW
        self._copies = copies
        self._models = 0
        self._weights = self._largest = 0
        self._device = "cpu"

    def take(self, model: Model) -> None:
        """Count a model that is loaded and has been shown an image."""
        size = facts_of(model).weight_bytes
        self._models += 1
        self._weights += size
        self._largest = max(self._largest, size)
        self._device = model.device

    @property
    def full(self) -> bool:
        """Whether one more, as large as the largest, is too much."""
        if not self._models:
            return False
        one, all_notes = self._notes, self._notes * self._models
        if "cuda" in self._device:
            copies = min(self._copies, 2)
            weights, more = self._weights * copies, self._largest * copies
            if weights + more > _SHARE * (self._weights + _free_on(self._device)):
                return True
        else:
            one += self._largest * self._copies
            all_notes += self._weights * self._copies
        total = available_memory() + self._weights * ("cuda" not in self._device)
        return self._models >= MOST or all_notes + one > _SHARE * total


def _free_on(device: str) -> int:
    """Bytes of a GPU that are free, or held by torch for nothing."""
    torch = sys.modules.get("torch")
    if torch is None:  # a model of another library: nobody here can ask
        return 0
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + idle)
