"""Reading published tables: what is in them, and what their files may not say."""

from __future__ import annotations

from typing import Any

import pytest

from hardy.errors import InputError
from hardy.suites import published
from hardy.suites.published import parse_file
from hardy.suites.published.printed_table import PrintedNumber, parse_printed

CSV = "network,clean error,mCE,fog,snow\nA,10.0,50.0,40,60\n"


def data(**changes: Any) -> dict[str, Any]:
    table = {"name": "t", "title": "T", "suite": "s", "entries": "CE", "mean": "mCE"}
    table |= {"others": ["clean error"], "csv": CSV}
    return {"source": "Somebody 2020", "table": [{**table, **changes}]}


def flag(**changes: Any) -> dict[str, Any]:
    return {"row": "A", "column": "mCE", "inconsistent": True, "note": "odd", **changes}


def test_a_table_as_it_is_read() -> None:
    (table,) = parse_file(data(flag=[flag()]), "t.toml")
    assert (table.metric, table.mean, table.entries) == ("CE", "mCE", ("fog", "snow"))
    assert table.source == "Somebody 2020"
    assert table.rows["A"]["mCE"] == PrintedNumber("50.0", 50.0, 0.05)
    assert table.notes("A", "mCE") == ("odd",)
    assert [flag.inconsistent for flag in table.flags] == [True]
    (table,) = parse_file(data(source="Another 2021", flag=[flag(inconsistent=False)]), "t.toml")
    assert table.source == "Another 2021"
    assert [flag.inconsistent for flag in table.flags] == [False]


@pytest.mark.parametrize(
    ("text", "value", "half_step", "spread", "is_bound"),
    [
        ("76.7", 76.7, 0.05, None, False),
        ("17.90", 17.9, 0.005, None, False),
        ("100", 100.0, 0.5, None, False),
        ("+0.7", 0.7, 0.05, None, False),
        ("-41", -41.0, 0.5, None, False),
        (">76.7", 76.7, 0.05, None, True),
        ("58.1±0.4", 58.1, 0.05, 0.4, False),
    ],
)
def test_numbers_keep_the_digits_they_were_printed_with(
    text: str, value: float, half_step: float, spread: float | None, is_bound: bool
) -> None:
    found = parse_printed(text, "here")
    assert found is not None
    assert found == PrintedNumber(text, value, pytest.approx(half_step), spread, is_bound)
    assert parse_printed("", "here") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"csv": CSV + "B,1,2,3\n"}, "expected 5 cells in every row, got 4"),
        ({"csv": CSV + "A,1,2,3,4\n"}, 'got "A" twice'),
        ({"csv": CSV + "B,1,2,about 3,4\n"}, "B, fog: expected a number like .* got .about 3."),
        ({"mean": "mFR"}, r"to name columns.*got \['mFR'\]"),
        ({"text": ["authors"]}, r"to name columns.*got \['authors'\]"),
        ({"flag": [flag(row="Z")]}, 'a flag to name a number of the table, got row "Z"'),
        ({"flag": [flag(column="rain")]}, "a flag to name a number of the table"),
        ({"csv": CSV.replace("50.0", ""), "flag": [flag()]}, "a flag to name a number"),
        ({"flag": [{"row": "A"}]}, "column: expected text, got nothing; add it"),
        ({"colour": "red"}, 'unknown field of .* "colour"'),
        ({"suite": 3}, "suite: expected text, got 3"),
    ],
)
def test_what_a_file_may_not_say(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_file(data(**changes), "t.toml")


def test_mean_without_entries_is_refused() -> None:
    bad = data()
    del bad["table"][0]["entries"]
    with pytest.raises(InputError, match="only in a table with entries"):
        parse_file(bad, "t.toml")


def test_unknown_table() -> None:
    with pytest.raises(InputError, match=r'unknown published table "iclr".*iclr_ce'):
        published.load_table("iclr")


# Typed from the fact sheets by hand, not from the TOML files.
SPOTS = [
    ("iclr_ce", "VGG-19+BN", "pixelate", "85"),
    ("iclr_ce", "SqueezeNet", "jpeg_compression", "134"),
    ("iclr_relative_ce", "ResNet-50", "elastic_transform", "146"),
    ("iclr_flip_rate", "VGG-11", "translate", "52"),
    ("iclr_top5_distance", "ResNet-18", "mT5D", "87.0"),
    ("iclr_text_c", "ResNet-50 + stability training (best)", "mCE", ">76.7"),
    ("iclr_text_p", "ResNeXt-101", "mFR", "43.2"),
    ("imagenet_d_aude", "ResNet-50", "gaussian_noise", "61"),
    ("imagenet_d_text", "DenseNet-161", "mAUDE", "49.7"),
    ("leaderboard_c", "Assemble-ResNet50", "clean error", "17.90"),
    ("leaderboard_p", "Low Pass Filter Pooling (bin-5)", "mT5D", "71.9"),
    ("ant_top1", "ANT-SIN", "glass_blur", "37.54"),
    ("ant_top5", "clean", "mean top-5 accuracy", "59.33"),
    ("cbar_imagenet", "AugMix", "mean error", "52.4±0.2"),
    ("cbar_cifar10", "PatchGaussian", "transverse_chromatic_abberation", "59.5"),
    ("robust_summary", "BlurAfterConv", "mCE", "64.9"),
    ("assemble", "E8", "mCE", "56.48"),
    ("batch_norm_adaptation", "DeepAugment", "mCE full", "49.4"),
]


@pytest.mark.parametrize(("name", "row", "column", "text"), SPOTS)
def test_spots(name: str, row: str, column: str, text: str) -> None:
    value = published.load_table(name).rows[row][column]
    assert value is not None
    assert value.text == text


def test_alexnet_is_100_by_definition() -> None:
    for name in ("iclr_ce", "iclr_relative_ce", "iclr_flip_rate", "iclr_top5_distance"):
        row = published.load_table(name).rows["AlexNet"]
        values = {v.value for k, v in row.items() if v is not None and k != "clean error"}
        assert values == {100.0}


def test_find_puts_a_run_beside_all_of_them() -> None:
    found = published.find("mCE", "imagenet_c")
    by_table = {(f.table.name, f.row): f for f in found}
    assert by_table["iclr_ce", "ResNet-50"].value.value == 76.7
    assert "at the edge" in by_table["iclr_ce", "ResNet-18"].notes[0]
    assert ("blurpool_mce", "ResNet-50 bin-5") not in by_table  # recalled, not read
    assert len(published.find("mCE", "imagenet_c", verified=False)) > len(found)
    assert published.find("mCE", "cifar10_c") == []
