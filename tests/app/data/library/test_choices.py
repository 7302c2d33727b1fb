"""What was added to the list and removed from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.library.choices import LibraryChoices
from app.data.state import StateFile

A, B = Path("/m/a.gguf"), Path("/m/b ü.gguf")


def test_choices_last(tmp_path: Path) -> None:
    choices = LibraryChoices(StateFile(tmp_path / "state.json"))
    choices.add([A, B])
    choices.add([A])
    choices.hide([B])
    again = LibraryChoices(StateFile(tmp_path / "state.json"))
    assert list(again.added) == [A, B]
    assert again.hidden == {B}
    again.show([B])
    assert not again.hidden
    again.hide([A])
    again.forget([A])
    assert list(again.added) == [B]
    assert not again.hidden


def test_what_is_added_again_is_listed_again() -> None:
    choices = LibraryChoices(StateFile(None))
    choices.hide([A])
    choices.add([A])
    assert choices.hidden == frozenset()


@pytest.mark.parametrize("kept", [b"", b"{", b"7", b'{"a": 1}', b"[7, null]"])
def test_a_damaged_list_is_an_empty_one(kept: bytes) -> None:
    state = StateFile(None)
    state.set_blob("library added", kept)
    assert LibraryChoices(state).added == ()
