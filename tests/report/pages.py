"""What a page is made of, read by a parser of the standard library."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "input", "br", "path", "circle"}
TEXT_ONLY = {"script", "style"}


class Parsed(HTMLParser):
    """Elements as (name, attributes); complains about what is opened and not closed."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []  # outside scripts and style sheets
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(page.decode())
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open[-1:] == [tag], f"</{tag}> closes {self._open[-1:]}"
            self._open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in TEXT_ONLY:
            self.scripts.append(data)
        else:
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def check_safe(parsed: Parsed) -> None:
    """Nothing from elsewhere, and nothing that runs but our own scripts."""
    for name, attributes in parsed.elements:
        for attribute, value in attributes.items():
            assert not attribute.startswith("on"), f"{name} {attribute}"
            if attribute in ("src", "href", "action", "data", "poster"):
                assert value.startswith(("data:", "#")), f"{name} {attribute}={value[:80]}"
    assert len(parsed.ids) == len(set(parsed.ids))
    for image in parsed.all("img"):
        assert image.get("alt")
