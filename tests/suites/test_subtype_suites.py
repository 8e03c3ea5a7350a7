"""Suites of broad types: their lists are those of the paper's code."""

from hashlib import sha256

import pytest

from hardy.errors import InputError
from hardy.images.labels import cifar_classes, imagenet_classes
from hardy.suites import load, parse, text_of

# WordNet's name of each type, in the order of its number; how many seen and unseen subtypes it has.
ROOTS = (
    *(("n01627424", 8, 86), ("n02729837", 13, 38), ("n02062017", 4, 55), ("n01503061", 58, 792)),
    *(("n02131653", 4, 8), ("n07881800", 4, 327), ("n02127808", 6, 13), ("n02913152", 14, 229)),
    *(("n02121620", 7, 24), ("n03051540", 49, 484), ("n02084071", 118, 72), ("n03278248", 13, 70)),
    *(("n02512053", 16, 538), ("n03380867", 5, 48), ("n13134947", 16, 293), ("n12992868", 7, 292)),
    *(("n09287968", 10, 141), ("n02370806", 17, 257), ("n02159955", 27, 408)),
    *(("n03800933", 26, 131), ("n02469914", 20, 71), ("n01661091", 36, 232), ("n04516672", 7, 79)),
    *(("n07707451", 13, 163), ("n04576211", 44, 166)),
)
# Of the lists as a CSV file, by which they were checked against the authors' scripts.
LISTS = "606efede141fbdc32d78319c447bc3753d1851209384882ec5fdccddb2a395e2"
# The fine class that is held out of each superclass of CIFAR-100, by number.
CIFAR = (72, 73, 92, 16, 51, 40, 20, 14, 43, 37, 49, 15, 75, 77, 11, 29, 65, 56, 8, 81)


def test_the_synsets_are_those_of_the_paper():
    types = load("imagenet_subtypes").shift.types
    lines = ["index,broad_type,root_wnid,split,wnid"]
    for number, ((name, one), (root, seen, unseen)) in enumerate(
        zip(types.items(), ROOTS, strict=True)
    ):
        assert (len(one.seen), len(one.unseen)) == (seen, unseen)
        assert root in one.unseen
        for split in ("seen", "unseen"):
            lines += [f"{number},{name},{root},{split},{wnid}" for wnid in getattr(one, split)]
    assert sha256("\n".join([*lines, ""]).encode()).hexdigest() == LISTS
    known = {*imagenet_classes()}
    assert sum(len(one.seen) for one in types.values()) == 542
    assert sum(len(one.unseen) for one in types.values()) == 5017
    assert all(wnid in known for one in types.values() for wnid in one.seen)
    assert not any(wnid in known for one in types.values() for wnid in one.unseen)


def test_one_fine_class_of_each_superclass_is_held_out():
    suite = load("cifar100_superclass")
    types, fine = suite.shift.types, cifar_classes(100)
    assert len(types) == suite.classes == 20
    assert [one.unseen for one in types.values()] == [(fine[number],) for number in CIFAR]
    assert all(len(one.seen) == 4 for one in types.values())
    assert sorted(name for one in types.values() for part in one for name in part) == [*fine]
    assert list(types) == sorted(types)  # the authors' order of the superclasses


def test_of_groceries_the_first_kind_is_held_out():
    types = load("groceries_superclass").shift.types
    assert sum(len(part) for one in types.values() for part in one) == 14
    for one in types.values():
        if one.unseen:
            assert one.unseen == (min(*one.seen, *one.unseen),)


def test_the_lists_decide_a_score():
    text = text_of(load("cifar100_superclass")).replace('"cifar100_superclass"', '"mine"')
    hash = parse(text, "mine").content_hash()
    swapped = text.replace('"seal"', '"x"').replace('"otter"', '"seal"').replace('"x"', '"otter"')
    assert parse(swapped, "mine").content_hash() != hash
    for wrong, why in (
        (text.replace('"otter"', '"seal"'), "each subtype once"),
        (text.replace('layout = "subtypes"', 'layout = "wnids"'), "expected types if the layout"),
        (text.replace('unseen = ["seal"]', ""), "unseen"),
        (text.replace('seen = ["orchid", "poppy", "rose", "sunflower"]', "seen = []"), "seen sub"),
    ):
        assert wrong != text
        with pytest.raises(InputError, match=why):
            parse(wrong, "mine")
