"""What an overlap experiment leaves in its folder.

| name              | what                                                                         |
|-------------------|------------------------------------------------------------------------------|
| `experiment.json` | what is trained and tested; begun once, then only continued                  |
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
from hardy.whole import whole_file

FORMAT = 1
EXPERIMENT, FEATURES, FINISHED = "experiment.json", "features.npz", "finished.json"
MODELS, PREDICTIONS = "models", "predictions"
# What may differ between the sessions of one experiment.
OF_THE_SESSION = ("versions", "device", "data", "test")


def begin(out: Path, wanted: Mapping[str, Any]) -> None:
    """Begin the experiment, or make sure that the one in the folder is the same."""
    if not (out / EXPERIMENT).exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out} holds other things than an overlap; name a folder that is new")
        (out / MODELS).mkdir(parents=True)
        write_json(out / EXPERIMENT, wanted)
        return
    before, now = read_json(out / EXPERIMENT), json.loads(json.dumps(wanted))
    changed = [
        f"{name} is {now.get(name)!r} and was {before.get(name)!r}"
        for name in sorted({*before, *now} - set(OF_THE_SESSION))
        if before.get(name) != now.get(name)
    ]
    if changed:
        raise InputError(
            f"{out} holds another overlap: {'; '.join(changed)}; ask for the same to resume it, or "
            "name another folder"
        )


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError(
            f"expected a folder that `hardy overlap` wrote, but {path} is not there"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); begin anew in another folder") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged (no table); begin anew in another folder")
    return found


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with whole_file(path) as file:
        file.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
