from __future__ import annotations

import pytest

from app.ui.later import Later, is_made, modules_of


class Holder:
    def __init__(self) -> None:
        self.made: list[str] = []

    part = Later("math", lambda holder: holder.made.append("part") or object())
    around = Later("cmath", lambda holder: holder.around)


def test_a_part_is_made_when_it_is_first_read_and_once() -> None:
    holder = Holder()
    assert not is_made(holder, "part")
    assert holder.made == []
    part = holder.part
    assert holder.part is part
    assert holder.made == ["part"]
    assert is_made(holder, "part")


def test_every_object_has_its_own() -> None:
    one, other = Holder(), Holder()
    assert one.part is not other.part


def test_the_class_tells_what_its_parts_import() -> None:
    assert Holder.part.module == "math"
    assert modules_of(Holder) == ["math", "cmath"]


def test_a_part_that_asks_for_itself_is_refused_and_not_made() -> None:
    holder = Holder()
    with pytest.raises(RuntimeError, match="around asks for it"):
        _ = holder.around
    assert not is_made(holder, "around")
