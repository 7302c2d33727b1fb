"""Pictures of the Models page over 300 files: ``python -m tests.helpers.models_shots FOLDER``.

Run under a virtual or a real screen (or ``QT_QPA_PLATFORM=offscreen``). The whole program runs,
with its engine; only the folders of other programs are generated ones.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.paths import Paths, starter_model
from app.settings import Settings
from app.ui.application import Application
from app.ui.models.views import LibraryView, ScanView
from app.ui.page_area import PageArea
from tests.helpers.library_files import fill_library
from tests.helpers.shots import Shooter

__all__ = ["main", "models_program"]


def models_program(folder: Path, home: Path) -> Application:
    """Return the program with a data folder of its own, in a home folder with models."""
    for name in list(os.environ):
        if name.startswith(("XDG_", "HF_", "OLLAMA_", "LLAMA_")) and name != "XDG_RUNTIME_DIR":
            del os.environ[name]
    os.environ["HOME"] = str(home)
    paths = Paths(folder / "data", folder / "cache")
    paths.make()
    Settings(paths.settings).set("load_last_model", False)
    return Application(paths)


def _shoot_all(shooter: Shooter) -> None:
    program = shooter.program
    window, page, scanner = program.window, program.models_page.page, program.scanner
    window.show_page("models")
    shooter.until(lambda: scanner.is_scanning and bool(page.tree.library.groups))
    shooter.shoot("1-scanning")
    shooter.until(lambda: not scanner.is_scanning)
    shooter.until(lambda: program.engine.state.hello is not None)
    shooter.until(lambda: not program.models_page.is_planning)
    tree = page.tree
    title = "Llama-3.1-8B-Instruct"
    group = next(g for g in tree.library.groups if g.title == title)
    tree.choose([group.variants[3].key])
    shooter.shoot("2-list")
    tree.choose([row.key for row in group.variants[2:5]])
    shooter.shoot("3-three-chosen")
    page.toolbar.search.setText("gemma")
    shooter.shoot("4-search")
    page.toolbar.search.setText("no such model")
    shooter.shoot("5-nothing-found")
    page.toolbar.search.clear()
    page.toolbar.set_sort("fit")
    tree.verticalScrollBar().setValue(0)
    shooter.shoot("6-by-fit")
    page.toolbar.set_sort("name")
    tree.choose([])
    broken = tree.library.index_of("broken")
    tree.setExpanded(broken, True)
    tree.scrollTo(broken, tree.ScrollHint.PositionAtTop)
    tree.setCurrentIndex(broken)
    shooter.shoot("7-broken")
    tree.choose([group.variants[5].key])
    window.resize(1024, 700)
    shooter.shoot("8-narrow")
    for size in (150, 200):
        program.preferences.set_value("text_size", size)
        shooter.shoot(f"8-narrow-text-{size}")
        area = tree.parentWidget()
        while area is not None and not isinstance(area, PageArea):
            area = area.parentWidget()
        assert area is not None
        area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
        tree.scrollTo(tree.currentIndex())
        shooter.shoot(f"8-narrow-text-{size}-list")
        area.verticalScrollBar().setValue(0)
    program.preferences.set_value("text_size", 100)
    window.resize(1440, 900)
    program.models_page.open_details(group.variants[5].key)
    dialog = shooter.dialog()
    shooter.shoot("9-details", dialog)
    dialog.reject()
    shooter.until(lambda: not dialog_is_open(window))
    _shoot_variant(shooter)
    page.trash_requested.emit([group.variants[5].key])
    dialog = shooter.dialog()
    shooter.shoot("10-trash", dialog)
    dialog.reject()
    shooter.until(lambda: not dialog_is_open(window))


def _shoot_variant(shooter: Shooter) -> None:
    """Make a variant of the starter model and take it to the trash's question."""
    program = shooter.program
    page = program.models_page.page
    starter = str(starter_model())
    page.make_requested.emit(starter)
    dialog = program.variants.dialog
    assert dialog is not None
    shooter.until(lambda: bool(dialog.table.options))
    shooter.shoot("11-make-a-variant", dialog)
    dialog.allowed.setChecked(True)
    dialog.start.click()
    shooter.until(lambda: dialog.progress.value() > 300 or not dialog.progress.isVisible())
    shooter.shoot("12-making", dialog)
    shooter.until(lambda: not dialog.progress.isVisible())
    shooter.shoot("13-made", dialog)
    dialog.close()
    shooter.until(lambda: not program.scanner.is_scanning)
    page.toolbar.search.setText("smollm2 135m")
    shooter.until(lambda: len(page.tree.library.variants()) >= 7)
    shooter.until(lambda: not program.models_page.is_planning)
    shooter.shoot("14-in-the-list")
    page.toolbar.search.clear()


def _shoot_empty(shooter: Shooter) -> None:
    """Show the page without even the starter model, then with large text on a small window."""
    program = shooter.program
    page = program.models_page.page
    places = dict.fromkeys(place.source for place in program.scanner.places)
    page.set_library(LibraryView(), tuple(places))
    shooter.shoot("0-empty")
    page.set_scan(ScanView(0.4, "Looking in Hugging Face: 0 found"))
    shooter.shoot("0-scanning-empty")
    page.set_scan(None)


def dialog_is_open(window: QWidget) -> bool:
    """Tell whether a dialog of the window is on screen."""
    return any(d.isVisible() for d in window.findChildren(QDialog))


def main() -> None:
    """Take all pictures in both themes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", choices=("dark", "light"), action="append")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(["plimsoll"])
    app.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    with tempfile.TemporaryDirectory() as name:
        home, bare = Path(name) / "ada", Path(name) / "bare"
        bare.mkdir()
        fill_library(home)
        for theme in arguments.theme or ("dark", "light"):
            for place in (bare, home):
                program = models_program(Path(name) / f"{theme}-{place.name}", place)
                program.preferences.set_value("theme", theme)
                program.window.resize(1440, 900)
                program.window.show()
                shooter = Shooter(app, program, arguments.folder, theme)
                if place is home:
                    _shoot_all(shooter)
                else:
                    program.window.show_page("models")
                    shooter.until(lambda p=program: not p.scanner.is_scanning)  # type: ignore[misc]
                    _shoot_empty(shooter)
                shooter.end()


if __name__ == "__main__":
    main()
