"""The natural shifts: whose logits count, by the lists of the benchmarks' authors."""

from hashlib import sha256

import pytest

from hardy.errors import InputError
from hardy.images.labels import imagenet_classes
from hardy.suites import load, parse, suite_names, text_of

# sha256 of the WordNet names in the order of models, with a space between them; of ObjectNet each
# with its folder, n02708093=alarm_clock. They were taken from the authors' scripts.
LISTS = {
    "imagenet_a": "ff8c384504d3ec59dd70537e83c7ed3dfa0debb07210febc47b58c136a443706",
    "imagenet_r": "354baa0a46566aa68cee6a8093d8de471b7d45a1004b81a95c6210f757ad3740",
    "imagenet_o": "55722c5b79803f3068747ee03f6506845c70cb9ff9bd3fca9e09d45357c793eb",
    "objectnet": "a1b3501302918ca82f14cc3edf1ba75bbaca6ae813c00347cd37fed852fe68fc",
}
RECIPE = "resize256_crop224@1"  # the shorter side to 256, and the centre
NATURAL = [name for name in suite_names() if (shift := load(name).shift) and not shift.holds_out]


def test_each_benchmark_is_there():
    whole = {"imagenet_real", "imagenet_sketch", "imagenet_stylized"}
    whole |= {"imagenet_v2", "imagenet_v2_threshold", "imagenet_v2_top"}
    assert {*NATURAL} == {*LISTS, *whole}
    assert all(not load(name).shift.kept for name in whole)


@pytest.mark.parametrize("name", LISTS)
def test_the_classes_are_those_of_the_authors(name):
    shift = load(name).shift
    words = list(shift.kept)
    if shift.folders is not None:
        folder = {wnid: name for name, wnids in shift.folders.items() for wnid in wnids}
        words = [f"{wnid}={folder[wnid]}" for wnid in shift.kept]
    assert sha256(" ".join(words).encode()).hexdigest() == LISTS[name]
    assert {*shift.kept} <= {*imagenet_classes()}


# The folder that holds the class folders, as the authors publish it, what these are called by, and
# how many images there are where that is certain.
PUBLISHED = {
    "imagenet_a": ("imagenet-a", "wnids", 7_500),
    "imagenet_o": ("imagenet-o", "wnids", 2_000),
    "imagenet_r": ("imagenet-r", "wnids", 30_000),
    "imagenet_real": ("real.json", "labels", 46_837),
    "imagenet_sketch": ("sketch", "wnids", None),
    "imagenet_stylized": ("val", "wnids", 50_000),
    "imagenet_v2": ("imagenetv2-matched-frequency-format-val", "numbers", 10_000),
    "imagenet_v2_threshold": ("imagenetv2-threshold0.7-format-val", "numbers", 10_000),
    "imagenet_v2_top": ("imagenetv2-top-images-format-val", "numbers", 10_000),
    "objectnet": ("objectnet-1.0/images", "names", None),
}


@pytest.mark.parametrize("name", NATURAL)
def test_folders_and_counts_are_those_that_were_published(name):
    shift = load(name).shift
    assert (shift.folder, shift.layout, shift.count) == PUBLISHED[name]
    assert shift.border == (2 if name == "objectnet" else 0)
    assert load(name).recipe == ("as_is@1" if name == "imagenet_stylized" else RECIPE)


def test_how_many_classes_the_benchmarks_have_and_share():
    a, r, o = ({*load(f"imagenet_{letter}").shift.kept} for letter in "aro")
    assert (len(a), len(r), len(o)) == (200, 200, 200)
    assert (len(a & r), len(a & o), len(r & o), len(a & r & o)) == (86, 59, 36, 20)
    names = load("objectnet").shift.folders
    assert len(names) == 113
    assert len(load("objectnet").shift.kept) == 125
    assert sum(len(wnids) > 1 for wnids in names.values()) == 9


def test_what_decides_a_score_decides_the_hash_and_a_count_does_not():
    text = text_of(load("imagenet_a")).replace('"imagenet_a"', '"mine"')
    mine = parse(text, "mine").content_hash()
    fewer = text.replace('"n01498041", ', "")
    assert fewer != text
    assert parse(fewer, "mine").content_hash() != mine
    assert parse(text.replace("7500", "7000"), "mine").content_hash() == mine


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ('kind = "shifts"', 'kind = "corruptions"', "expected no table .shift."),
        ('layout = "wnids"', 'layout = "names"', 'folders if the layout is "names"'),
        ('layout = "wnids"', 'layout = "heaps"', "expected wnids or numbers or names or labels"),
        ('"n01498041", ', '"n01498041", "n01498041", ', "in the order of models, each once"),
    ],
)
def test_a_suite_that_says_it_wrongly_is_refused(before, after, match):
    text = text_of(load("imagenet_a")).replace('"imagenet_a"', '"mine"')
    assert before in text
    with pytest.raises(InputError, match=match):
        parse(text.replace(before, after), "mine")


def test_a_suite_of_shifts_says_how_its_images_lie():
    text = text_of(load("imagenet_v2")).replace('"imagenet_v2"', '"mine"').partition("[shift]")[0]
    with pytest.raises(InputError, match=r"expected a table \[shift\]"):
        parse(text.replace("[recipe]", "counted = []\nvalidation = []\n[recipe]"), "mine")
