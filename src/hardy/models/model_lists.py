"""Several models at once: for each its name, weights and preprocessing, as typed or in a file."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from glob import glob, has_magic
from os import PathLike, fspath
from os.path import exists, isfile
from pathlib import Path
from typing import Any, NamedTuple

from hardy.documents import read_document, read_toml
from hardy.engine.maite_door import follows_maite, gives_floats
from hardy.errors import InputError, door, printable
from hardy.models import MODELS, heeds
from hardy.models.adapters.maite_model import UNIT
from hardy.models.model import Override, Preprocessing, as_override
from hardy.schema import TABLES, TEXT, WHOLE, Field, all_of, check_table, is_number

# What follows the last @ of a model is weights if it is a file, or is called like one: revisions
# of a library's models have an @ too.
_WEIGHT_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".tar", ".safetensors")

_TRIPLE = Field("three numbers", lambda v: all_of(is_number)(v) and len(v) == 3)
_PREPARED = {"mean": _TRIPLE, "std": _TRIPLE, "size": WHOLE, "preprocess": TEXT}
_OPTIONAL = {"name": TEXT, "checkpoint": TEXT, "prompts": TEXT, **_PREPARED}

Prepared = Preprocessing | Override | str | None


class WantedModel(NamedTuple):
    """A model as it was asked for; None: as it comes."""

    model: Any
    name: str | None = None
    checkpoint: Path | None = None
    preprocessing: Prepared = None
    prompts: str | None = None
    in_full: bool = False  # named with the folder of its weights: another's file has that name too

    @property
    def label(self) -> str:
        """What to call it before it is loaded."""
        own = self.name or getattr(self.model, "name", getattr(self.model, "__name__", None))
        given = self.model if isinstance(self.model, str) else type(self.model).__name__
        file = self.checkpoint if self.in_full or not self.checkpoint else self.checkpoint.name
        weights = f" @ {file}" if file else ""
        texts = f" with {Path(self.prompts).name}" if self.prompts else ""
        return printable(str(own or f"{given}{weights}{texts}"))

    @property
    def load_as(self) -> str | None:
        """The name to load it by; None: its own."""
        return self.label if self.in_full else self.name

    def typed(self, shown: str) -> tuple[str, ...]:
        """The name of the loaded model with its weights as they were typed, with their folder; and
        the name that was given to it, if one was."""
        if self.checkpoint is None or self.in_full:
            return (shown,)
        if self.name is None:
            return (shown.replace(f" @ {self.checkpoint.name}", f" @ {self.checkpoint}"),)
        if not isinstance(self.model, str):
            return (shown,)
        return f"{self.model} @ {self.checkpoint}{shown.removeprefix(self.name)}", shown

    def prepared_for(self, images: Any) -> Prepared:
        """How it gets pixels: one of MAITE's as its data set gives them, which may be floats."""
        own = self.preprocessing is None and follows_maite(self.model)
        return UNIT if own and gives_floats(images) else self.preprocessing


def list_wanted(model: Any, models: Any, **options: Any) -> list[WantedModel]:
    """The models that were asked for, one by one or by the hundred."""
    several = isinstance(model, list | tuple)
    if models is not None:
        if model is not None:
            raise InputError("expected models by name, or by `models`, got both")
        return list_many(models, **options)
    if model is None or (several and not model):
        raise InputError('expected at least one model, such as "timm:resnet50", got none')
    if not several:
        refuse_lone_list(model)
    return list_models(model if several else [model], **options)


def list_models(
    given: Sequence[Any],
    *,
    name: str | Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    preprocessing: Prepared = None,
    prompts: str | PathLike[str] | None = None,
) -> list[WantedModel]:
    """Put what was asked for the models together, those in files among them; `preprocessing` and
    `prompts` are for all, but where one has its own."""
    wanted = [one for model in given for one in _expanded(model, preprocessing)]
    return _completed(_prompted(wanted, prompts), name, checkpoint)


def list_many(
    given: Any,
    *,
    name: str | Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    preprocessing: Prepared = None,
    prompts: str | PathLike[str] | None = None,
) -> list[WantedModel]:
    """The same of models by the hundred: `given` is a text file with one on each line, a name with
    * in the files that it stands for, or a list of such."""
    wanted: list[WantedModel] = []
    for source in given if isinstance(given, list | tuple) else [given]:
        for own, model in _lines(source):
            found = [one for each in _globbed(model) for one in _expanded(each, preprocessing)]
            if own is not None:
                if len(found) != 1 or found[0].name is not None:
                    raise InputError(
                        f'expected one model to be called "{own}", got {len(found)}: {model}; '
                        "leave the name out"
                    )
                found = [found[0]._replace(name=own)]
            wanted += found
    return _completed(_prompted(wanted, prompts), name, checkpoint)


def _prompted(wanted: list[WantedModel], prompts: str | PathLike[str] | None) -> list[WantedModel]:
    """Those that know classes by their names are told them by these prompts."""
    if prompts is None:
        return wanted
    if not any(heeds("prompts", one.model) for one in wanted):
        raise InputError(
            f"expected `prompts` for a model of images and texts, such as clip:DIR, got "
            f"{', '.join(one.label for one in wanted[:3])}; leave them out"
        )
    return [
        one._replace(prompts=one.prompts or fspath(prompts)) if heeds("prompts", one.model) else one
        for one in wanted
    ]


def _completed(
    wanted: list[WantedModel],
    name: str | Sequence[str] | None,
    checkpoint: str | PathLike[str] | None,
) -> list[WantedModel]:
    if checkpoint is not None:
        if len(wanted) > 1:
            raise InputError(
                f"expected one model for the checkpoint {checkpoint}, got {len(wanted)}; write "
                "each as MODEL@FILE"
            )
        wanted = [_weighted(wanted[0], checkpoint)]
    if name is not None:
        names = [name] if isinstance(name, str) else list(name)
        if len(names) != len(wanted) or any(one.name for one in wanted):
            raise InputError(
                f"expected a `name` for each of {len(wanted)} models, and none in a file, got "
                f"{', '.join(names)}"
            )
        wanted = [one._replace(name=own) for one, own in zip(wanted, names, strict=True)]
    for own, times in Counter(one.name for one in wanted if one.name is not None).items():
        if times > 1 or not own:
            raise InputError(f'expected names that differ, got {times} models called "{own}"')
    return _told_apart(wanted)


def refuse_lone_list(model: Any) -> None:
    """A file of several models is no single model, of which one result would be returned."""
    if _is_list(model):
        raise InputError(f'expected a file of models in a list, ["{model}"], got it alone')


def _is_list(model: Any) -> bool:
    file = isinstance(model, str) and model.endswith(".toml")
    return file and model.partition(":")[0] not in MODELS


def _lines(source: Any) -> Iterator[tuple[str | None, Any]]:
    """The models of a text file, each with its name if it has one; of anything else, itself."""
    given = fspath(source) if isinstance(source, PathLike) else source
    if not isinstance(given, str) or not given.endswith(".txt") or given.split(":")[0] in MODELS:
        yield None, given
        return
    with door(f"the models in {given}", "it is a text file with one model on each line"):
        text = read_document(Path(given)).decode("utf-8-sig")
    # A path may have a # in it, a comment stands apart.
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
    if not any(lines):
        raise InputError(f"{given}: expected a model on each line, got none")
    for line in filter(None, lines):
        own, equals, model = line.partition(" = ")
        yield (own.strip(), model.strip()) if equals else (None, line)


def _globbed(model: Any) -> list[Any]:
    """A model for each of the files that a pattern stands for; others as they are."""
    if not isinstance(model, str) or not has_magic(model):
        return [model]
    front, at, pattern = model.rpartition("@")
    if not at:
        front, at, pattern = model.partition(":")
        if front not in MODELS or not MODELS.form(front).endswith((":FILE", "DIR")):
            raise InputError(
                "expected files after the net that they belong to, such as "
                f'"torch:net.py:make@checkpoints/*.safetensors", got "{model}"'
            )
    if exists(pattern):  # it is a name, with a bracket in it
        return [model]
    files = sorted(glob(pattern, recursive=True))
    if not files:
        raise InputError(f'expected files that fit "{pattern}", found none; check the path')
    return [f"{front}{at}{file}" for file in files]


def _expanded(model: Any, preprocessing: Prepared) -> list[WantedModel]:
    if _is_list(model):
        return _read(Path(model), preprocessing)
    return [_with_weights(model, preprocessing)]


def _with_weights(model: Any, preprocessing: Prepared) -> WantedModel:
    """MODEL@FILE is a model and its weights, unless there is a model of that path."""
    if isinstance(model, str):
        plain, at, file = model.rpartition("@")
        its_own = exists(model.partition(":")[2] or model)  # unlike Path's, for any text
        weights = Path(file).suffix in _WEIGHT_SUFFIXES or isfile(file)
        if at and file and weights and not its_own:
            return WantedModel(plain, None, Path(file), preprocessing)
    return WantedModel(model, preprocessing=preprocessing)


def _weighted(one: WantedModel, checkpoint: str | PathLike[str]) -> WantedModel:
    if one.checkpoint is not None:
        raise InputError(
            f"expected one file of weights for {one.model}, got {one.checkpoint} and {checkpoint}"
        )
    return one._replace(checkpoint=Path(checkpoint))


def _read(file: Path, preprocessing: Prepared) -> list[WantedModel]:
    """A file of tables [[model]]; paths in it are those one would type."""
    _, data = read_toml(file, "the models in")
    check_table(data, {"model": Field("tables [[model]]", TABLES.fits)}, str(file))
    found = []
    for place, entry in enumerate(data["model"]):
        check_table(
            entry, {"model": TEXT}, str(file), optional=_OPTIONAL, prefix=f"model[{place}]."
        )
        its = {name: entry[name] for name in _PREPARED if name in entry}
        if "preprocess" in its:
            its["named"] = its.pop("preprocess")
        given = as_override(preprocessing)
        if isinstance(given, Preprocessing):
            given = Override(**its).onto(given)
        elif its:
            given = replace(given or Override(), **its)
        one = _with_weights(entry["model"], given)._replace(
            name=entry.get("name"), prompts=entry.get("prompts")
        )
        found.append(_weighted(one, entry["checkpoint"]) if "checkpoint" in entry else one)
    if not found:
        raise InputError(f"{file}: expected at least one table [[model]], got none")
    return found


def _told_apart(wanted: list[WantedModel]) -> list[WantedModel]:
    """Weights of one model whose files are called alike are named by their whole paths."""
    times = Counter((str(one.model), one.checkpoint.name) for one in wanted if one.checkpoint)
    return [
        one._replace(in_full=True)
        if one.checkpoint and not one.name and times[str(one.model), one.checkpoint.name] > 1
        else one
        for one in wanted
    ]
