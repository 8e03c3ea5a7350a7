"""The text of a model card: results are put into its head, and all else stays as it is.

The head is YAML between two lines `---`. It is changed as text, at the places that a parser found,
so that comments, order and spelling of everything else survive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from hardy.errors import InputError, door, need
from hardy.limits import CARD_HEAD

INDEX = "model-index"
_MAKER = "evaluated_with"  # by this argument of a data set Hardy knows its own results
_HEAD = re.compile(r"(\s*---[ \t]*(\r?\n))(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"\s*---[ \t]*(?:[\r\n]|\Z)")
_BOM = "\ufeff"


def mark_as_ours(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a data set, with what tells that Hardy wrote them."""
    return {_MAKER: f"hardy {import_module('hardy').__version__}", **arguments}


def with_results(text: str, model: str, results: Sequence[Mapping[str, Any]], where: str) -> str:
    """The text of a card, new if it was empty, with results that take the place of Hardy's earlier
    ones on the same suites."""
    found = _HEAD.match(text)
    _check_beginning(text, found is not None, where)
    opening, line_end, head, closing = found.groups() if found else ("---\n", "\n", "", "---\n")
    body = text[found.end() :] if found else text or f"\n# {model}\n"
    CARD_HEAD.check(len(head), where)
    editor = _HeadEditor(head, line_end, where)
    with door(f"the head of {where}", "correct the file"):
        before = editor.read()
        for result in results:
            editor.put(model, result)
        if _of_others(editor.read()) != _of_others(before):
            raise editor.refusal(f"whose {INDEX} can be extended", "one of another form")
    return opening + editor.head + closing + body


def _check_beginning(text: str, has_head: bool, where: str) -> None:
    """Refuse what others may take for a head, and Hardy does not: it would get a second one."""
    if text.startswith(_BOM):
        raise InputError(
            f"{where}: expected text from the first byte on, got a byte order mark; save it as "
            "UTF-8 without one"
        )
    if not has_head and _OPENING.match(text):
        raise InputError(
            f"{where}: expected a head of YAML between two lines of ---, got the first of them "
            r"alone, or lines that end with \r; correct the file"
        )


def _is_ours(result: Any, suite: str | None = None) -> bool:
    """Whether Hardy wrote a result, on this suite if one is named."""
    given = _arguments(result)
    ours = str(given.get(_MAKER, "")).startswith("hardy ")
    return ours and (suite is None or given.get("suite") == suite)


def _arguments(result: Any) -> dict[Any, Any]:
    """Those of its data set, if it has any."""
    known = result.get("dataset") if isinstance(result, dict) else None
    given = known.get("args") if isinstance(known, dict) else None
    return given if isinstance(given, dict) else {}


def _of_others(data: dict[Any, Any]) -> dict[Any, Any]:
    """What the head says, without results of Hardy and what holds nothing else."""
    kept = deepcopy(data)
    for entry in kept.get(INDEX) or ():
        entry["results"] = [one for one in entry.get("results") or () if not _is_ours(one)]
    left = [entry for entry in kept.pop(INDEX, None) or () if entry["results"]]
    return {**kept, INDEX: left}


class _HeadEditor:
    """The YAML of a head, into which results are put one by one."""

    def __init__(self, head: str, line_end: str, where: str) -> None:
        self.head, self._line_end, self._where = head, line_end, where
        self._yaml = need("yaml", "card", "a model card")
        self._loader = _without_aliases(self._yaml)

    def refusal(self, expected: str, got: str) -> InputError:
        return InputError(
            f"{self._where}: expected a head of YAML {expected}, got {got}; correct the file"
        )

    def read(self) -> dict[Any, Any]:
        """What it says; refused where it is no table, or has no model-index of the usual form."""
        try:
            data = self._yaml.load(self.head, self._loader)
        except Exception as error:  # over a value that is none of its type, whatever Python raises
            mark = getattr(error, "problem_mark", None)
            spot = f" in line {mark.line + 2}" if mark else ""  # after the first, which is ---
            reason = getattr(error, "problem", None) or type(error).__name__
            raise self.refusal("between two lines of ---", f"a fault{spot}: {reason}") from error
        data = {} if data is None else data
        if not isinstance(data, dict):
            raise self.refusal("with keys", f"{type(data).__name__}")
        entries = data.get(INDEX) or []
        for one in entries if isinstance(entries, list) else [None]:
            results = one.get("results") or [] if isinstance(one, dict) else None
            if not isinstance(results, list):
                raise self.refusal(
                    f"with {INDEX} as a list of models and their results",
                    "something else there",
                )
        return data

    def put(self, model: str, result: Mapping[str, Any]) -> None:
        """Put one result in: over Hardy's own on that suite, else at the end of the model's."""
        entries = self.read().get(INDEX) or []
        key, index = self._pair(self._yaml.compose(self.head, self._loader), INDEX)
        new = {"name": model, "results": [result]}
        if not entries:
            span = (len(self.head), len(self.head)) if key is None else self._lines(key, index)
            return self._write(span, {INDEX: [new]}, 0)
        place = _place_of(model, entries)
        if place is None:
            end = self._lines(index.value[-1], index.value[-1])[1]
            return self._write((end, end), [new], self._column(index))
        entry = index.value[place]
        key, results = self._pair(entry, "results")
        there = entries[place].get("results") or []
        if key is None:
            end = self._lines(entry, entry)[1]
            return self._write((end, end), {"results": [result]}, self._column(entry))
        if not there:
            span = self._lines(key, results)
            return self._write(span, {"results": [result]}, self._column(entry))
        column, end = self._column(results), self._lines(key, results)[1]
        suite = result["dataset"]["args"]["suite"]
        for node, one in zip(results.value, there, strict=True):
            if _is_ours(one, suite):
                return self._write(self._lines(node, node), [result], column)
        return self._write((end, end), [result], column)

    def _pair(self, table: Any, name: str) -> tuple[Any, Any]:
        """The nodes of a key and its value, if they are there."""
        found = [pair for pair in (table.value if table else ()) if pair[0].value == name]
        if len(found) > 1:
            raise self.refusal(f"with {name} once", f"it {len(found)} times")
        return found[0] if found else (None, None)

    def _column(self, collection: Any) -> int:
        """Where its items begin in their lines; they must have lines of their own."""
        if collection.flow_style:
            raise self.refusal(f"with a line for each item of {INDEX}", "brackets")
        return int(collection.start_mark.column)

    def _lines(self, first: Any, last: Any) -> tuple[int, int]:
        """Where the lines of these nodes begin and end in the head."""
        start = self.head.rfind("\n", 0, first.start_mark.index) + 1
        while last.value and not isinstance(last.value, str) and not last.flow_style:
            last = last.value[-1][1] if isinstance(last.value[-1], tuple) else last.value[-1]
        end = last.end_mark.index
        if self.head[end - 1 : end] != "\n":
            end = self.head.find("\n", end) + 1 or len(self.head)
        return start, end

    def _write(self, span: tuple[int, int], content: Any, column: int) -> None:
        made = self._yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6)
        text = "".join(f"{' ' * column}{line}{self._line_end}" for line in made.splitlines())
        before = self.head[: span[0]]
        if before and not before.endswith("\n"):
            before += self._line_end
        self.head = before + text + self.head[span[1] :]


def _without_aliases(yaml: Any) -> Any:
    """A loader for which each part of the head stands where it is read: with aliases, a few lines
    can stand for more than any memory holds, or for themselves."""

    class TreeLoader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                problem = "an alias; write out what it stands for"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            return super().compose_node(parent, index)

    return TreeLoader


def _place_of(model: str, entries: Sequence[Mapping[str, Any]]) -> int | None:
    """The entry of this model, or the only one, unless Hardy's results in it are of another."""
    named = [place for place, one in enumerate(entries) if one.get("name") == model]
    if named or len(entries) > 1:
        return named[0] if named else None
    ours = [_arguments(one) for one in entries[0].get("results") or () if _is_ours(one)]
    return 0 if all(one.get("model") == model for one in ours) else None
