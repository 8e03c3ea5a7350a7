"""What a metric is, and the registry that score tables, files, report, docs and help are made of.

A metric is a function of what it needs; the first sentence of its docstring is the caption:

    @metric("NLL", group="calibration")
    def nll(log_prob):
        \"""Negative log-likelihood of the label, in nats.\"""
        return -log_prob

Here `log_prob` is a column of the store, and the result is a number per image; its mean over images
is a score, with an interval from the bootstrap. A metric `of` another one is a formula over the
means of that one instead, with parameters among `MEANS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec

import numpy.typing as npt

from hardy.registry import Registry, summary, unknown

P = ParamSpec("P")
CORRUPTIONS, PERTURBATIONS, HEADLINE = "corruptions", "perturbations", "headline"
SHIFTS, OUTLIERS = "shifts", "outliers"
# What a formula over the means of another metric may ask for; it gives a number per corruption.
MEANS = {
    "means": "(..., corruptions): the means over images and severities",
    "curve": "(..., corruptions, severities): by severity, where all five were run",
    "clean": "(...): the mean over clean images",
    "reference": "`means` of the model that scores are divided by",
    "reference_clean": "`clean` of that model",
}


@dataclass(frozen=True, eq=False)
class Metric(Generic[P]):
    """A function, and what is to be known of its numbers, which are shown times their `scale`.

    A metric of perturbations gets the columns of one perturbation, (images, frames, ...), and by
    keyword `noise` and `difficulty`, which say what frames are compared.
    """

    name: str  # of a single corruption's score too: "CE" for "CE fog"
    compute: Callable[P, npt.NDArray[Any]]
    mean: str = ""  # the score over all corruptions that count: "mCE"; if left out, the name
    validation: str | None = None  # the score over those for tuning; None: there is none
    single: bool = True  # whether each corruption has a score by itself
    title: str = ""  # in words, for the axes of figures; if left out, the name
    heading: str = ""  # of figures that show it, such as "Flips"; if left out, the title
    unit: str = ""  # "%" or nothing
    lower_is_better: bool = True
    signed: bool = False  # whether it may be below 0
    most: float | None = None  # that one image can have; of shares 1; None: there is no bound
    group: str = HEADLINE  # scores of the headline are quoted wherever there are scores
    report: Literal["table", "beside", "files"] = "table"  # of its group, or beside the headline
    decides: bool = False  # whether a model that is worse in it is a regression
    kind: str = CORRUPTIONS  # of suite
    of: Metric[...] | None = None  # the metric whose means it is a formula of
    # Of the same columns, with means that err below the truth where these err above: there the
    # interval begins.
    beneath: Metric[...] | None = None
    # What is said where a ratio has nothing to divide by; if empty, it is left out quietly.
    undivided: str = "{reference} has too little under {names} to divide by"

    def __post_init__(self) -> None:
        for field, default in (("mean", "name"), ("title", "name"), ("heading", "title")):
            object.__setattr__(self, field, getattr(self, field) or getattr(self, default))
        if self.most is None and self.unit == "%":
            object.__setattr__(self, "most", 1.0)
        object.__setattr__(self, "__doc__", self.compute.__doc__)
        if strange := [name for name in self.needs if self.of and name not in MEANS]:
            raise unknown(f"parameter of the metric {self.name}:", strange[0], MEANS)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> npt.NDArray[Any]:
        return self.compute(*arguments, **options)

    @property
    def needs(self) -> tuple[str, ...]:
        """The parameters that have to be given by position: columns, or names of `MEANS`."""
        every = inspect.signature(self.compute).parameters.values()
        return tuple(p.name for p in every if p.default is p.empty and p.kind is not p.KEYWORD_ONLY)

    @property
    def base(self) -> Metric[...]:
        """The metric that has a number per image: itself, or the one that it is a formula of."""
        return self if self.of is None else self.of

    @property
    def is_ratio(self) -> bool:
        """Whether its numbers are percents of a reference model's, printed without a unit."""
        return self.of is not None and "reference" in self.needs

    @property
    def is_relative(self) -> bool:
        """Whether it is a ratio of what is lost, above what the clean images cost."""
        return self.is_ratio and "reference_clean" in self.needs

    @property
    def scale(self) -> float:
        return 100.0 if self.unit == "%" or self.is_ratio else 1.0

    @property
    def clean(self) -> str:
        """The score over clean images; sequences have none, outliers are told from them, and
        formulas do not concern them."""
        has_clean = self.of is None and self.kind in (CORRUPTIONS, SHIFTS)
        return f"clean {self.name}" if has_clean else ""

    def single_label(self, corruption: str) -> str:
        return f"{self.name} {corruption}"

    @property
    def caption(self) -> str:
        return summary(self)


METRICS: Registry[Metric[...]] = Registry("metric", "hardy.metrics", of=Metric)


def metric(name: str, **facts: Any) -> Callable[[Callable[P, npt.NDArray[Any]]], Metric[P]]:
    """Register the function as a metric with these facts, which are fields of `Metric`."""

    def decorate(function: Callable[P, npt.NDArray[Any]]) -> Metric[P]:
        made = Metric(name, function, **facts)
        METRICS.add(name, made)
        return made

    return decorate
