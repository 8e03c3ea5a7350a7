"""What a training run leaves in its folder.

| file                     | what                                                                  |
|--------------------------|-----------------------------------------------------------------------|
| `run.json`               | method, data, recipe, versions, and which corruptions have been seen  |
| `checkpoint.safetensors` | while it trains: weights, momentum, random state, the method's own    |
| `log.csv`, `log.jsonl`   | a line per epoch                                                      |
| `model.safetensors`      | the weights, once it has finished                                     |

The checkpoint is one file, so that its parts always belong together.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from hardy.errors import InputError
from hardy.models.checkpoint import load_checkpoint
from hardy.train.files import write_whole
from hardy.train.nets import make_net

FORMAT = 1
RUN, CHECKPOINT, MODEL = "run.json", "checkpoint.safetensors", "model.safetensors"
LOG = "log.jsonl"
# What may differ between the sessions of one run.
OF_THE_SESSION = ("versions", "device", "data.images", "note")
# What older runs do not say, and was so.
LATER = {"recipe.blur_after_conv": False, "input": None, "stylised": None}
RECONSTRUCTED = (
    "blur_after_conv is Hardy's reconstruction of BlurAfterConv, for which no code is published: "
    "the size of the filter and which activations are Swish are ours"
)


def open_run(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Begin a run, or make sure that the one in the folder is the same."""
    wanted = json.loads(json.dumps(wanted))  # tuples are lists, as in the file
    if wanted["recipe"].get("blur_after_conv"):
        wanted = {**wanted, "note": RECONSTRUCTED}
    if not (folder / RUN).exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f"{folder} holds other things than a training run; name a folder that is new"
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / RUN, (json.dumps(wanted, indent=1) + "\n").encode())
        return
    found = read_run(folder)
    before, now = {**LATER, **_flat(found)}, _flat(wanted)
    changed = [
        f"{name} is {now.get(name)!r} and was {before.get(name)!r}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name) and not _of_the_session(name)
    ]
    if changed:
        raise InputError(
            f"{folder} holds another run: {'; '.join(changed)}; ask for the same to resume it, or "
            "name another folder"
        )


def read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    try:
        found = json.loads(path.read_text())
        form = found["format"]
    except FileNotFoundError:
        raise InputError(
            f"expected a folder that `hardy train` wrote, got {folder}, which has no {RUN}"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error!r}); train anew in another folder") from error
    if form != FORMAT:
        raise InputError(f"{path}: expected format {FORMAT}, got {form!r}; update hardy")
    return found  # type: ignore[no-any-return]


def trained_net(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The finished net in a folder, and its `run.json`."""
    run = read_run(folder)
    if not (folder / MODEL).exists():
        raise InputError(
            f"{folder}: its training has not finished; run the same `hardy train` again, which "
            "resumes it"
        )
    recipe = run["recipe"]
    net = make_net(
        recipe["net"],
        run["data"]["classes"],
        recipe["antialias"],
        recipe.get("blur_after_conv", LATER["recipe.blur_after_conv"]),
    )
    load_checkpoint(net, folder / MODEL)
    return net, run


def read_log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def write_log(folder: Path, rows: Sequence[Mapping[str, float]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write_whole(folder / LOG, lines.encode())
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "log.csv", table.getvalue().encode())


def _of_the_session(name: str) -> bool:
    return any(name == other or name.startswith(f"{other}.") for other in OF_THE_SESSION)


def _flat(found: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
