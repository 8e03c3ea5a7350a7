"""Stored predictions to numbers for people: scores, comparisons, tables and result files."""

from hardy.scoring.naming import choose
from hardy.scoring.paired import Compared, compare
from hardy.scoring.scores import Scores, score

__all__ = ["Compared", "Scores", "choose", "compare", "score"]
