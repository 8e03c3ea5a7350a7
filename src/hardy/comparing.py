"""`hardy.compare`: two models on the same images, stored already or evaluated for it."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

from hardy.errors import InputError
from hardy.evaluation import AnyModel, evaluate
from hardy.progress import Track, watch
from hardy.schema import brief
from hardy.scores.compared import Compared
from hardy.scores.comparison import compare_runs, compare_stored
from hardy.scores.run_scores import Scores, score_run
from hardy.scores.sample_looks import DIFFERENCE
from hardy.scores.scoring import Run
from hardy.scores.stored_sample import find_sample


def compare(
    first: AnyModel | Scores | Run,
    second: AnyModel | Scores | Run,
    *,
    store: str | os.PathLike[str] | None = None,
    suite: str | None = None,
    until: float | None = None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
    **how: Any,
) -> Compared:
    """Compare two models on the same images, pair by pair; printed, what differs significantly.

    Each is a run, its scores, or with a `store` the name of a model in it, or any part of
    it that only one has; name the `suite` where a model was run on several. Runs that were not made
    alike are refused, and the difference is named. Where one has more images than the other, both
    are scored on those of the other.

    With `until`, both are models as `hardy.evaluate` takes them, with its other arguments, such as
    `images` and `at_most`: predictions of both are sampled until the 95 % interval of the
    difference of their main scores is ± that many points.

    ```python
    import hardy
    import numpy as np

    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), np.uint8)
    how = {"suite": "cifar10_c", "images": images, "labels": [0] * 20, "only": ["fog"]}
    plain = hardy.evaluate("fake:10", **how)
    defended = hardy.evaluate("fake:10", defend="median", **how)
    compared = hardy.compare(plain, defended)
    print(compared, compared.verdict)
    ```
    """
    given = {name: value for name, value in how.items() if value is not None}
    if until is None:
        for name in given:
            raise InputError(f"expected `{name}` with `until`, got it alone")
        return compare_stored(first, second, store, suite, track)
    if isinstance(until, bool) or not isinstance(until, Real) or not 0 < until < math.inf:
        raise InputError(f"expected `until` as points above 0, such as 0.5, got {brief(until)}")
    if suite is None:
        raise InputError("expected a `suite` with `until`, got none")
    options: dict[str, Any] = {**given, "until": {DIFFERENCE: until}, "warn": warn, "track": track}
    if store is not None:
        options["store"] = store
    runs = evaluate([first, second], suite=suite, **options)
    # What was asked for is this sample, whatever else is in the store.
    one, two = (
        replace(score_run(run.stored, sample=find_sample(run.stored)), called=run.called)
        for run in runs
    )
    return compare_runs(one, two)
