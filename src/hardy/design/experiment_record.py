"""What an overlap experiment leaves in its folder.

| name              | what                                                                         |
|-------------------|------------------------------------------------------------------------------|
| `experiment.json` | what is trained and tested; begun once, then only continued                  |
| `SUITE.toml`      | the suite, where it is none of Hardy's or was fitted to the images           |
| `models/NAME/`    | the log of each training; weights until the model has been tested            |
| `predictions/`    | a store, as `hardy eval` makes it                                            |
| `features.npz`    | how corruptions move the clean model's features (`hardy.design.proxy`)       |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardy.errors import InputError
from hardy.files import begin
from hardy.schema import Field, check_fields

FORMAT = 1
EXPERIMENT, FEATURES, FINISHED = "experiment.json", "features.npz", "finished.json"
MODELS, PREDICTIONS = "models", "predictions"
# What may differ between the sessions of one experiment.
OF_THE_SESSION = ("versions", "device", "data", "test")


def begin_overlap(out: Path, wanted: Mapping[str, Any]) -> None:
    """Begin the experiment, or make sure that the one in the folder is the same."""
    begin(out / EXPERIMENT, wanted, read_json, "an overlap", of_the_session=OF_THE_SESSION)


def read_json(path: Path, schema: Mapping[str, Field] | None = None) -> dict[str, Any]:
    """A record of which at least the fields of the schema are used."""
    try:
        found = json.loads(path.read_text())
        # What JSON has no words for, but is read: NaN, 1e999, half a pair of surrogates.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except FileNotFoundError:
        raise InputError(
            f"expected a folder that `hardy overlap` wrote, but {path} is not there"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}); begin anew in another folder") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged (no table); begin anew in another folder")
    check_fields(found, schema or {}, str(path), "restore the file, or begin anew elsewhere")
    return found
