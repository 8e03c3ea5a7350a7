"""What texts are to a model, kept in the user's cache: it takes minutes on a processor."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.files import whole_file

Features = npt.NDArray[np.float32]  # (classes, features), rows of length 1

_KEY, _FEATURES = "key", "features"
_LONGER = 1e-3  # than 1, by rounding


def text_cache() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "text_features"


def cached_features(key: str, classes: int, make: Callable[[], Features]) -> Features:
    """The features that are kept under a key, or those that are made now. A file that is damaged,
    or of other features, is made anew; where none can be written, nothing is kept."""
    path = text_cache() / f"{key}.npz"
    kept = _read(path, key, classes)
    if kept is not None:
        return kept
    made = make()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.savez(file, **{_KEY: np.array(key), _FEATURES: made})  # type: ignore[arg-type]
    return made


def _read(path: Path, key: str, classes: int) -> Features | None:
    try:
        # A zip has a sum of each member.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            said, features = str(file[_KEY]), np.asarray(file[_FEATURES])
    except Exception:  # of many kinds, for all that can be wrong with a file
        return None
    return features if said == key and _fit(features, classes) else None


def _fit(features: npt.NDArray[Any], classes: int) -> bool:
    if features.dtype != np.float32 or features.ndim != 2 or len(features) != classes:
        return False
    return bool(np.allclose(np.linalg.norm(features, axis=1), 1, atol=_LONGER))
