from __future__ import annotations

from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.images.labels import cifar_classes, imagenet_classes, spoken_class
from hardy.models.prompts import class_words, prompt_sets, read_prompts

WORDNET = imagenet_classes()
SPELLINGS = tuple((name, spoken_class(name)) for name in WORDNET)


def test_the_sets_that_come_with_it() -> None:
    assert list(prompt_sets()) == ["varied", "single"]
    assert read_prompts() == read_prompts("varied")
    single = read_prompts("single")
    assert single.templates == ("a photo of a {}.",)
    assert single.fill(["tench", "sea lion"]) == ["a photo of a tench.", "a photo of a sea lion."]
    assert str(single) == 'single ("a photo of a {}.")'
    varied = read_prompts().templates
    assert len(set(varied)) == len(varied) == 8
    assert all(one.count("{}") == 1 for one in varied)
    assert single.templates[0] in varied
    filled = read_prompts().fill(["x", "y"])
    assert len(filled) == 16
    assert all("x" in one for one in filled[:8])


def test_a_file_of_prompts(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes("\ufeffone {}.\r\n\r\n  ein {} für {{alle}}\n".encode())
    prompts = read_prompts(str(file))
    assert prompts.templates == ("one {}.", "ein {} für {{alle}}")
    assert prompts.fill(["cat"]) == ["one cat.", "ein cat für {{alle}}"]
    assert str(prompts).startswith("mine.txt (2 sentences, ")
    file.write_text("one {}.\ntwo {}s.\n")
    assert str(read_prompts(str(file))) != str(prompts), "files of one name are told apart"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a photo of a {}.\na photo\n", r'line 2: expected a sentence with \{\} once, got "a ph'),
        (b"a {} beside a {}\n", r"line 1: expected a sentence with \{\} once"),
        (b"\n \n", r"mine\.txt: expected one sentence on each line.*got none"),
        (b"a {} \xff\n", r"mine\.txt: expected one sentence on each line.*utf-8"),
        (None, r'expected `prompts` as "varied" or "single", or a file.*which is neither'),
    ],
)
def test_files_that_are_no_prompts(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_prompts(str(file))
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_prompts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected one sentence on each line"):
        read_prompts(str(tmp_path))


def test_what_classes_are_called() -> None:
    words = class_words(SPELLINGS, "clip:m")
    assert len(words) == 1000
    assert (words[0], words[134], words[517], words[657]) == (
        "tench",
        "crane bird",
        "construction crane",
        "missile",
    )
    assert len(set(words)) == 998, "two names stand for two classes each"
    assert class_words(((WORDNET[517],),), "clip:m") == ("construction crane",)
    cifar = tuple((name,) for name in cifar_classes(100))
    assert class_words(cifar, "clip:m")[1] == "aquarium fish"
    assert class_words((("two_step  walk",),), "clip:m") == ("two step walk",)


def test_classes_without_names() -> None:
    with pytest.raises(InputError, match=r"clip:m: it knows classes by their names.*have none"):
        class_words(None, "clip:m")
    with pytest.raises(InputError, match=r'names of classes in words, got "n99999999", "7"; bring'):
        class_words((("cat",), ("n99999999",), ("7",)), "clip:m")


def test_what_is_no_name_of_a_file() -> None:
    with pytest.raises(InputError, match=r"^a\\x00b: expected one sentence on each line.*null by"):
        read_prompts("a\0b")
