"""What is said to be new, gone or changed."""

from __future__ import annotations

from pathlib import Path

from app.data.library.changes import changes_between
from app.data.library.places import Place
from app.data.library.scan import remembered, scan
from tests.app.data.library.conftest import MakeEntry
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


def test_new_gone_and_changed_files(tmp_path: Path) -> None:
    folder, cache = tmp_path / "models", tmp_path / "cache.sqlite3"
    places = [Place("Folder", folder)]
    for name in ("stays", "goes", "changes"):
        write_tiny_model(folder / f"{name}.gguf")
    first = list(scan(places, cache))
    (folder / "goes.gguf").unlink()
    write_tiny_model(folder / "changes.gguf", TinyModel(name="Another", layers=3))
    write_tiny_model(folder / "comes.gguf")
    # The next run begins with what the last one knew.
    before = remembered(places, cache)
    assert sorted(e.path.name for e in before) == sorted(e.path.name for e in first)
    found = changes_between(before, list(scan(places, cache)), expected=frozenset())
    assert [entry.path.name for entry in found.new] == ["comes.gguf"]
    assert [entry.path.name for entry in found.gone] == ["goes.gguf"]
    assert [entry.name for entry in found.changed] == ["Another"]
    again = changes_between(
        remembered(places, cache), list(scan(places, cache)), expected=frozenset()
    )
    assert (again.new, again.gone, again.changed) == ((), (), ())


def test_files_of_places_that_are_no_longer_looked_at_have_not_gone(tmp_path: Path) -> None:
    folder, cache = tmp_path / "models", tmp_path / "cache.sqlite3"
    write_tiny_model(folder / "x.gguf")
    before = list(scan([Place("Folder", folder)], cache))
    assert changes_between(before, [], expected=frozenset()).gone == ()
    assert remembered([], cache) == ()


def test_what_the_program_does_itself_is_no_news(make_entry: MakeEntry) -> None:
    gone = make_entry("/nowhere/gone.gguf")
    changed = make_entry("/nowhere/changed.gguf")
    expected = frozenset({gone.path, changed.path})
    after = [make_entry("/nowhere/changed.gguf", stamp="other")]
    found = changes_between([gone, changed], after, expected=expected)
    assert (found.gone, found.changed) == ((), ())
    found = changes_between([gone, changed], after, expected=frozenset())
    assert (found.gone, found.changed) == ((gone,), tuple(after))
