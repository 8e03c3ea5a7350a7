"""Trainings of the papers by name, `hardy train --as rusak2020`, and Hardy's own: data, in
`published.toml`.

Whatever is said beside the name comes first, and the run's record has the name and what was said
otherwise. This file does without torch.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.registry import Registry

_CROP = ("side", "scale", "ratio")


@dataclass(frozen=True)
class _Published:
    """One training as its paper has it; `published.toml` says what each part is."""

    summary: str
    source: str
    unlike: tuple[str, ...]
    method: str
    options: Mapping[str, Any]
    settings: Mapping[str, object] = field(default_factory=dict)
    begins_with: str = ""


TRAININGS: Registry[_Published] = Registry("training")


def _read_published() -> None:
    text = files("hardy.train").joinpath("published.toml").read_text("utf-8")
    for name, table in tomllib.loads(text).items():
        TRAININGS.add(name, _Published(**{**table, "unlike": tuple(table["unlike"])}))


_read_published()


class Chosen(NamedTuple):
    """What a training is to be: as it was asked for, over what is published."""

    method: str
    settings: dict[str, object]
    options: dict[str, Any]  # those that somebody said
    like: dict[str, Any] | None = None  # the name, and what was said otherwise: the record has both


def choose_training(
    like: str | None,
    method: str | None,
    settings: Mapping[str, object] | None,
    asked: Mapping[str, Any],
    init: object = None,
) -> Chosen:
    """What was asked for, None where nothing was said, over the published training `like`.

    Its settings are the method's: another method has its own. Epochs after which the learning rate
    drops move in proportion with the number of epochs; its crop is left out where images are said
    to be prepared otherwise, or to be held in memory. A method that has a training of its own name
    follows that one, unless it goes on from first weights.
    """
    said = {name: value for name, value in asked.items() if value is not None}
    own = dict(settings or {})
    if like is None and method in TRAININGS and init is None:
        like = method
    if like is None:
        if method is None:
            raise InputError("expected a method to train by, or a published training by `like`")
        return Chosen(method, own, said)
    published = TRAININGS[like]
    if published.begins_with and init is None:
        raise InputError(
            f"{like} begins with {published.begins_with}: expected its weights by `init`, as a "
            "file or a model such as zoo:resnet50, got none"
        )
    chosen = method or published.method
    usual = dict(published.settings) if chosen == published.method else {}
    options = dict(published.options)
    if "recipe" in said or said.get("stream") is False:
        options = {name: value for name, value in options.items() if name not in _CROP}
    if said.get("schedule", "step") != "step":
        options.pop("drops", None)
    elif "epochs" in said and options.get("drops"):
        share = said["epochs"] / options["epochs"]
        options["drops"] = [drop * share for drop in options["drops"]]
    otherwise = [] if chosen == published.method else ["method"]
    otherwise += [name for name in published.options if _differs(said, published.options, name)]
    otherwise += [name for name in own if _differs(own, usual, name)]
    return Chosen(chosen, usual | own, options | said, {"name": like, "said_otherwise": otherwise})


def _differs(said: Mapping[str, Any], usual: Mapping[str, Any], name: str) -> bool:
    """Whether something else is said; settings may come as text."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return [*map(plain, value)]
        with suppress(ValueError, TypeError):
            return float(value)
        return value

    return name in said and (name not in usual or plain(said[name]) != plain(usual[name]))


def told_like(like: Mapping[str, Any]) -> str:
    """What is said when such a training begins."""
    otherwise = ", ".join(like["said_otherwise"])
    but = f", but for {otherwise}" if otherwise else ""
    return f"as {like['name']}, {TRAININGS[like['name']].source}{but}"
