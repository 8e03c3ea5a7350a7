"""How far a sampled run goes from round to round, by what the sample says so far."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hardy.run.cells_per_image import Costs, Looked, cells_per_image, growth_needed
from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import SampleExtent, SamplePlan, first_round
from hardy.suites.cells import CLEAN, Cell

# Cells that are predicted for each clean image: in the first round, and after it unless clean
# images have a target.
_CLEAN_SHARE_AT_FIRST, _CLEAN_SHARE = 2, 16
# A round goes up to a part of what seems to be needed, at most so many times what is there, and
# takes at least a little more.
_AIM, _MOST, _LEAST = 0.97, 2.0, 1.015


class SampleRounds:
    """How far the sample goes: visits of images, and clean images."""

    def __init__(
        self,
        design: SampleDesign,
        cells: Sequence[Cell],
        plan: SamplePlan | None = None,
        frames: float = 1.0,
    ) -> None:
        """`cells` are all that are run, the clean images too if these are, and sequences have so
        many frames on average."""
        self._frames = frames
        self._clean = [cell == CLEAN for cell in cells]
        self.design, self.cells = design, design.cells
        self.plan = plan or first_round(len(design), self.cells)
        self.visits = 0
        self.clean = self._clean_beside(self._turns() // _CLEAN_SHARE_AT_FIRST)

    @property
    def extent(self) -> SampleExtent:
        return SampleExtent(self.visits, self.clean)

    def _turns(self) -> int:
        return int(self.design.turns_taken(self.visits, self.plan).sum())

    def _clean_beside(self, clean: int) -> int:
        """So many clean images, but all where nothing else is left: then the run is a full one."""
        every = len(self.design)
        return every if self._turns() == every * self.cells else min(every, clean)

    @property
    def predictions(self) -> int:
        return round(self._turns() * self._frames) + self.clean * sum(self._clean)

    @property
    def all_predictions(self) -> int:
        every = self.cells * self._frames + sum(self._clean)
        return round(len(self.design) * every)

    @property
    def is_full(self) -> bool:
        return self.predictions == self.all_predictions

    def wanted(self) -> Any:
        """(images, cells) along the line, the cells as the subject has them."""
        taken = np.zeros((len(self.design), len(self._clean)), np.bool_)
        taken[:, np.flatnonzero(~np.array(self._clean))] = self.design.wanted(
            self.visits, self.plan
        )
        taken[: self.clean, np.flatnonzero(self._clean)] = True
        return taken

    def choose(self, looked: Looked, costs: Costs, tell: Callable[[str], None]) -> None:
        """Fix how many cells each image gets, and tell why."""
        best, why = cells_per_image(looked, costs, len(self.design), self.cells)
        self.plan = self.plan._replace(per_image=best)
        tell(why)

    def take_one_each(self) -> None:
        """Go on by one cell of each image: there are so few images that nothing is known yet."""
        self.plan = self.plan._replace(per_image=1)

    def advance(self, worst: Looked, clean_far: float, most: float) -> bool:
        """Go on to the next round; False if there is none."""
        turns, visits, clean = self._turns(), self.visits, self.clean
        if worst.far > 1:
            goal = turns * min(_MOST, max(_LEAST, _AIM * growth_needed(worst)))
            self.visits = self._visits_for(math.ceil(goal))
            self.clean = max(clean, self._turns() // _CLEAN_SHARE)
        if clean_far > 1:
            wider = min(_MOST, max(_LEAST, _AIM * clean_far**2))
            self.clean = math.ceil(clean * wider)
        self.clean = self._clean_beside(self.clean)
        if self.predictions > most:
            self.clean = int(max(clean, min(self.clean, most - turns * self._frames)))
            room = int((most - self.clean * sum(self._clean)) / self._frames)
            self.visits = max(visits, self._visits_for(room + 1) - self.cells)
            if self.predictions > most:
                self.visits = visits
        return (visits, clean) != (self.visits, self.clean) and self.predictions <= most

    def _visits_for(self, turns: int) -> int:
        """The fewest visits, in whole blocks, that have so many turns, as far as there are any."""
        count, every = len(self.design), self.design.all_visits(self.plan)

        def taken(visits: int) -> int:
            return int(self.design.turns_taken(visits, self.plan).sum())

        passes, rest = divmod(bisect_left(range(every), turns, key=taken), count)
        return min(every, passes * count + min(count, math.ceil(rest / self.cells) * self.cells))
