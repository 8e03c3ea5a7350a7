"""Stored predictions to numbers for people: scores, comparisons, tables and result files.

Internal: it may change in any release.
"""

from hardy.scores.compared import Compared
from hardy.scores.comparison import compare_runs
from hardy.scores.naming import choose
from hardy.scores.run_scores import Scores, score_run

__all__ = ["Compared", "Scores", "choose", "compare_runs", "score_run"]
