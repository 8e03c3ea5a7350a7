"""Stored predictions to numbers for people: scores, comparisons, tables and result files."""

from hardy.scores.comparison import Compared, compare
from hardy.scores.naming import choose
from hardy.scores.scores import Scores, score

__all__ = ["Compared", "Scores", "choose", "compare", "score"]
