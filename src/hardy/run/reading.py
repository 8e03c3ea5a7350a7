"""Who reads the images of a run: threads, or beside a GPU processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import HardyError, InputError, told, warn_user
from hardy.execute import ArrayProcesses, Executor, Serial, Threads, processors
from hardy.execute.array_processes import can_send_arrays
from hardy.execute.executor import Item, Result, Results, Setup
from hardy.images.recipes import RECIPES
from hardy.run.subject import Piece, Rows, Subject
from hardy.variants.generated import Generated

# Threads that decode images keep at most so many processors busy: they wait for Python's lock.
_THREADS_KEEP_UP = 4
# Processes that read for a GPU where nobody says how many: more than it asks for, and few enough
# for a container that may use less of a large machine than it sees.
_ENOUGH = 16


class ReadingProcesses:
    """Processes that read images. What they cannot read, threads of this process do: it may have
    what they have not, such as a recipe that a script added when it ran."""

    def __init__(self, workers: int, warn: Callable[[str], None]) -> None:
        self._processes = ArrayProcesses(workers)
        self._warn = warn
        self._can_read: bool | None = None  # until one was asked

    @property
    def workers(self) -> int:
        return self._processes.workers

    def begin(self) -> None:
        self._processes.begin(__name__)

    def close(self) -> None:
        self._processes.close()

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        here = setup()
        there = None if self._can_read is False else self._function_of(setup)

        def read(item: Item) -> Result:
            if there is None:
                return here(item)
            try:
                found = there(item)
            except HardyError:
                raise
            except Exception:  # of what only threads may know; if it is not, they raise it too
                return here(item)
            return here(item) if _leaves_out(found) else found

        yield from self._processes.run(read, items)

    def _function_of(self, setup: Setup[Item, Result]) -> Callable[[Item], Result] | None:
        try:
            function = self._processes.function_of(setup)
        except Exception as error:
            if self._can_read is None:  # else they may be at work
                self.close()
            self._can_read = False
            why = error if isinstance(error, HardyError) else told(error)
            self._warn(
                f"threads read the images, which may take longer: processes cannot ({why}); they "
                "know modules and plug-ins, and not what a script adds when it runs"
            )
            return None
        self._can_read = True
        return function


def _leaves_out(found: object) -> bool:
    """Whether an image is missing in what was read."""
    return found is None or (isinstance(found, Piece) and bool(found.faults))


def begin_reading_processes(
    subject: Subject, workers: int | None, warn: Callable[[str], None] = warn_user
) -> ReadingProcesses | None:
    """Processes that will read for a GPU, begun while the model is loaded; None where threads do as
    well. `workers` of them, or where that is None, one per processor and not more than enough."""
    workers = min(processors(), _ENOUGH) if workers is None else workers
    decodes = isinstance(subject.variants, Generated) and subject.variants.decodes_files
    if workers <= _THREADS_KEEP_UP or not decodes or not can_send_arrays():
        return None
    processes = ReadingProcesses(min(workers, len(subject)), warn)
    try:
        processes.begin()
    except HardyError as error:
        processes.close()
        warn(f"threads read the images, which may take longer: {error}")
        return None
    return processes


def reading_executor(
    subject: Subject, workers: int, processes: ReadingProcesses | None
) -> Executor:
    """Who reads; what is made of images on the host is made by the same, so only a device's images
    are read by processes. Where threads will read, processes are ended."""
    if processes is not None and subject.device is not None:
        return processes
    if processes is not None:  # a guess had it that models would be on a GPU
        processes.close()
    return Serial() if workers == 1 else Threads(workers)


def piece_reader(subject: Subject) -> Callable[[], Callable[[Rows], Piece]]:
    """What executors want, for pieces of a block; it can travel to other processes."""
    return partial(_reader_of, subject, _pillow_settings())


def clean_reader(subject: Subject) -> Callable[[], Callable[[int], UInt8 | None]]:
    """The same for single clean images, None for those that cannot be read."""
    return partial(_clean_reader_of, subject, _pillow_settings())


def _pillow_settings() -> tuple[int | None, bool]:
    """What users change in Pillow to have large or damaged images read."""
    from PIL import Image, ImageFile

    return Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES


def _begin(subject: Subject, settings: tuple[int | None, bool]) -> None:
    from PIL import Image, ImageFile

    RECIPES[subject.suite.recipe]  # an error now, where a script's is not known, not at each image
    Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = settings


def _reader_of(subject: Subject, settings: tuple[int | None, bool]) -> Callable[[Rows], Piece]:
    _begin(subject, settings)
    return subject.read


def _clean_reader_of(
    subject: Subject, settings: tuple[int | None, bool]
) -> Callable[[int], UInt8 | None]:
    _begin(subject, settings)

    def read(row: int) -> npt.NDArray[np.uint8] | None:
        try:
            return subject.clean_images(np.array([row]))
        except InputError:
            return None

    return read
