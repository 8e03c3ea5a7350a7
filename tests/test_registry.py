import importlib.metadata
import random
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from hardy.corrupt import CORRUPTIONS
from hardy.errors import HardyError, InputError
from hardy.registry import Registry, Row, names_known_here_alone

GROUP = "hardy.test_things"


def things() -> Registry[object]:
    registry: Registry[object] = Registry("thing", GROUP)
    for name in ("snow", "fog", "gaussian_noise"):
        registry.add(name, name.upper())
    return registry


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretends that packages with these (name, value) entry points are installed."""

    def install(*points: tuple[str, str], group: str | None = GROUP) -> None:
        installed = [EntryPoint(name, value, group) for name, value in points]

        def entry_points(*, group: str) -> list[EntryPoint]:
            return [point for point in installed if point.group == group]

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)

    return install


def test_looks_like_a_read_only_mapping_in_registration_order():
    registry = things()
    assert registry["fog"] == "FOG"
    assert registry.names() == ("snow", "fog", "gaussian_noise")
    assert list(registry) == ["snow", "fog", "gaussian_noise"]
    assert len(registry) == 3
    assert "fog" in registry
    assert "mist" not in registry
    assert 3 not in registry


def test_decorator_registers_and_returns_the_object():
    registry: Registry[Callable[[], int]] = Registry("thing")

    @registry.register("seven")
    def seven() -> int:
        return 7

    assert seven() == 7
    assert registry["seven"] is seven


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("fgo", '"fog"'),
        ("GAUSSIAN NOISE", '"gaussian_noise"'),
        ("Gaussian-Noise", '"gaussian_noise"'),
        ("gaus", '"gaussian_noise"'),
        ("s", '"snow" or "sleet"'),
    ],
)
def test_unknown_name_offers_the_nearest_and_no_more(wrong: str, meant: str):
    registry = things()
    registry.add("sleet", 4)
    with pytest.raises(InputError, match=rf'^unknown thing "{wrong}"; did you mean {meant}\?$'):
        registry[wrong]


def test_unknown_name_far_from_all_offers_nothing():
    with pytest.raises(InputError, match=r'^unknown thing "xyz" \(all: snow, fog, gaussian_noise'):
        things()["xyz"]


def test_an_unknown_name_is_a_value_error_and_a_hardy_error():
    with pytest.raises(ValueError, match="unknown thing"):
        things()["xyz"]
    with pytest.raises(HardyError, match="unknown thing"):
        things()["xyz"]


def test_duplicate_is_refused_and_changes_nothing():
    registry = things()
    with pytest.raises(InputError, match=r'"fog" exists already.*new name for 5.*\'FOG\'.*rename'):
        registry.add("fog", 5)
    assert registry["fog"] == "FOG"
    assert len(registry) == 3


def test_plug_in_is_found_and_comes_after_our_own(plug_in):
    plug_in(("mist", "math:tau"), ("haze", "math:pi"))
    registry = things()
    assert registry.names() == ("snow", "fog", "gaussian_noise", "haze", "mist")
    assert registry["haze"] == pytest.approx(3.14159, abs=1e-5)
    assert registry.names() == ("snow", "fog", "gaussian_noise", "haze", "mist")
    assert "mist" in registry
    with pytest.raises(InputError, match='did you mean "haze"'):
        registry["hase"]


def test_plug_ins_of_another_group_are_not_ours(plug_in):
    plug_in(("mist", "math:tau"), group="hardy.others")
    assert "mist" not in things()


def test_registry_without_a_group_reads_no_entry_points(plug_in):
    plug_in(("mist", "math:tau"), group=None)
    assert len(Registry("thing")) == 0


def test_entry_points_wait_for_the_first_look_up_and_are_read_once(monkeypatch):
    calls = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        calls.append(group)
        return []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry = things()
    assert calls == []
    assert "fog" in registry
    assert registry["fog"] == "FOG"
    assert calls == [GROUP]


def test_broken_plug_in_breaks_only_itself(plug_in):
    plug_in(("broken", "no_such_module_anywhere:thing"), ("haze", "math:pi"))
    registry = things()
    assert registry["fog"] == "FOG"
    assert registry["haze"] == pytest.approx(3.14159, abs=1e-5)
    with pytest.raises(HardyError, match=r'plug-in thing "broken" \(no_such_module.*uninstall'):
        registry["broken"]


def test_a_plug_in_that_takes_our_name_breaks_only_that_name(plug_in):
    plug_in(("fog", "math:pi"), ("haze", "math:pi"))
    registry = things()
    assert registry.names() == ("snow", "fog", "gaussian_noise", "haze")
    assert registry.plugins() == ("haze",)
    assert registry["snow"] == "SNOW"
    for _ in range(2):
        with pytest.raises(
            InputError, match=r'^the plug-in thing "fog" \(math:pi\) of the package m'
        ):
            registry["fog"]
    told: list[str] = []
    assert dict(registry.usable(tell=told.append))["fog"] == "FOG", "where all are used"
    assert [line.partition(" has the name of ")[2] for line in told] == [
        "one of Hardy's own; repair, rename or uninstall it"
    ]


def test_a_row_keeps_its_name_too(plug_in):
    plug_in(("pi", "math:e"))
    registry: Registry[float] = Registry("thing", GROUP, {"pi": Row("math:pi")})
    with pytest.raises(InputError, match=r'"pi" \(math:e\) .* has the name of one of Hardy\'s own'):
        registry["pi"]
    with pytest.warns(UserWarning, match=r'"pi" \(math:e\)'):
        assert dict(registry.usable()) == {"pi": pytest.approx(3.14159, abs=1e-5)}


def test_two_plug_ins_that_share_a_name_break_only_that_name(plug_in):
    plug_in(("haze", "math:pi"), ("haze", "math:e"), ("mist", "math:tau"))
    registry = things()
    assert registry.names()[-2:] == ("haze", "mist")
    with pytest.raises(
        InputError, match=r'"haze" \(math:e\) .* of one of the package math; repair'
    ):
        registry["haze"]
    with pytest.warns(UserWarning, match="haze"):
        assert list(dict(registry.usable())) == ["snow", "fog", "gaussian_noise", "mist"]


def test_the_same_plug_in_found_twice_is_one(plug_in):
    plug_in(("haze", "math:pi"), ("haze", "math:pi"))
    assert things()["haze"] == pytest.approx(3.14159, abs=1e-5)


def test_a_plug_in_of_another_kind_breaks_only_itself(plug_in):
    plug_in(("haze", "math:pi"), ("mist", "string:digits"))
    registry: Registry[str] = Registry("thing", GROUP, of=str)
    registry.add("fog", "FOG")
    wrong = r'"haze" \(math:pi\) of the package math is of another kind: expected str, got 3\.14'
    with pytest.raises(InputError, match=wrong):
        registry["haze"]
    with pytest.warns(UserWarning, match="haze"):
        assert dict(registry.usable()) == {"fog": "FOG", "mist": "0123456789"}


def test_plug_in_that_registers_itself_is_no_duplicate(plug_in, monkeypatch):
    """A plug-in may use the decorator too, whether it was imported before or at the look-up."""
    marker = object()
    registry = things()

    def load(self: EntryPoint) -> object:
        if "haze" not in registry._objects:
            registry.add("haze", marker)
        return marker

    monkeypatch.setattr(EntryPoint, "load", load)
    plug_in(("haze", "somewhere:haze"))
    assert registry["haze"] is marker
    assert registry.names().count("haze") == 1

    imported_before = things()
    imported_before.add("haze", marker)
    assert imported_before["haze"] is marker


def test_a_row_is_listed_by_the_first_sentence_of_its_docstring(monkeypatch, tmp_path):
    """Read from the source, where a package may be missing that the module imports."""
    (tmp_path / "hardy").mkdir()
    source = (
        'import no_such_package\nclass Rain:\n  """Drops of 0.5 mm ... and\n  more. They fall."""'
    )
    (tmp_path / "hardy/heavy.py").write_text(source)
    monkeypatch.setattr("hardy.registry.__file__", str(tmp_path / "hardy/registry.py"))
    row = Row("hardy.heavy:Rain", needs="no_such_package")
    registry: Registry[object] = Registry("thing", rows={"rain": row})
    assert registry.summary("rain") == "Drops of 0.5 mm ... and more."
    assert "hardy.heavy" not in sys.modules
    with pytest.raises(HardyError, match="no_such_package"):
        registry["rain"]


def test_a_row_without_needs_is_imported_to_be_listed():
    registry: Registry[object] = Registry("thing", rows={"pick": Row("random:choice")})
    assert registry.summary("pick") == random.choice.__doc__


def test_names_that_another_process_would_lack(
    plug_in: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that no module of Hardy's has added, and no plug-in."""
    assert not CORRUPTIONS.known_here_alone()
    plug_in(("rain", "weather_package:rain"))
    monkeypatch.setitem(sys.modules, "weather_package", SimpleNamespace(rain="wet"))
    registry: Registry[object] = Registry("thing", GROUP)
    exec("registry.add('hail', 1)", {"registry": registry, "__name__": "hardy.weather"})
    assert not registry.known_here_alone()
    registry.add("rain", "wet")  # by the plug-in, which was imported before
    registry.add("sleet", 3)
    assert registry.known_here_alone() == {"sleet"}
    assert names_known_here_alone()
