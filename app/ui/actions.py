"""Every command of the window, declared once: menus, shortcuts and the keyboard map come from here.

Shortcuts are written as Qt writes them; ``Ctrl`` is the Command key on macOS. Keys were chosen so
that none is taken by a system for something else there (Command+M, Command+H). Texts of the table
are translated when they are shown, in the context ``Actions``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

__all__ = ["ACTIONS", "ActionSpec", "Actions", "Where", "where_title"]

Where: TypeAlias = Literal["file", "chat", "view", "help"]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """A command: its name in code, its text, its keys and the menu it is in.

    ``group`` separates neighbours in a menu; ``role`` puts it where macOS expects it.
    """

    key: str
    text: str
    shortcuts: tuple[str, ...]
    where: Where
    group: int = 0
    checkable: bool = False
    enabled: bool = True
    role: QAction.MenuRole = QAction.MenuRole.NoRole


ACTIONS: Final[tuple[ActionSpec, ...]] = (
    ActionSpec("new_chat", "New chat", ("Ctrl+N",), "file"),
    ActionSpec("open_model", "Open a GGUF file…", ("Ctrl+O",), "file", 1),
    ActionSpec(
        "choose_model",
        "Choose a model…",
        ("Ctrl+Shift+M",),
        "file",
        1,
    ),
    ActionSpec(
        "unload_model",
        "Unload the model",
        (),
        "file",
        1,
        enabled=False,
    ),
    ActionSpec(
        "measure_again",
        "Measure what is fastest again",
        (),
        "file",
        1,
        enabled=False,
    ),
    ActionSpec("get_models", "Get models…", ("Ctrl+Shift+G",), "file", 1),
    ActionSpec("import_chats", "Import chats…", (), "file", 2),
    ActionSpec("export_all", "Export all chats…", (), "file", 2),
    ActionSpec(
        "settings",
        "Settings…",
        ("Ctrl+,",),
        "file",
        3,
        role=QAction.MenuRole.PreferencesRole,
    ),
    ActionSpec(
        "quit",
        "Quit Plimsoll",
        ("Ctrl+Q",),
        "file",
        4,
        role=QAction.MenuRole.QuitRole,
    ),
    ActionSpec("search", "Search all chats", ("Ctrl+K",), "chat"),
    ActionSpec("find", "Find in this chat…", ("Ctrl+F",), "chat"),
    ActionSpec("next_chat", "Next chat", ("Ctrl+PgDown",), "chat"),
    ActionSpec("previous_chat", "Previous chat", ("Ctrl+PgUp",), "chat"),
    ActionSpec("focus_composer", "Write a message", ("Ctrl+L",), "chat", 1),
    ActionSpec("attach", "Attach files…", ("Ctrl+Shift+A",), "chat", 1),
    ActionSpec("stop", "Stop the reply", ("Esc",), "chat", 1, enabled=False),
    ActionSpec(
        "regenerate",
        "Regenerate the last reply",
        ("Ctrl+R",),
        "chat",
        1,
    ),
    ActionSpec(
        "regenerate_several",
        "Answer again with several replies at once",
        ("Ctrl+Shift+R",),
        "chat",
        1,
    ),
    ActionSpec(
        "copy_reply",
        "Copy the last reply",
        ("Ctrl+Shift+C",),
        "chat",
        1,
    ),
    ActionSpec("undo", "Undo what was done last", ("Ctrl+Z",), "chat", 2, enabled=False),
    ActionSpec("rename_chat", "Rename the chat", ("F2",), "chat", 2),
    ActionSpec(
        "pin_chat",
        "Pin or unpin the chat",
        ("Ctrl+Shift+D",),
        "chat",
        2,
    ),
    ActionSpec("duplicate_chat", "Duplicate the chat", (), "chat", 2),
    ActionSpec(
        "chat_settings",
        "Chat settings…",
        ("Ctrl+Shift+P",),
        "chat",
        2,
    ),
    ActionSpec("context_log", "What left the context…", (), "chat", 2),
    ActionSpec("export_chat", "Export the chat…", ("Ctrl+E",), "chat", 3),
    ActionSpec(
        "delete_chat",
        "Delete the chat",
        ("Ctrl+Shift+Backspace",),
        "chat",
        3,
    ),
    ActionSpec("sidebar", "Sidebar", ("Ctrl+B",), "view", checkable=True),
    ActionSpec("inspector", "Inspector", ("Ctrl+I",), "view", checkable=True),
    ActionSpec("open_record", "Open a record in the inspector…", (), "view"),
    ActionSpec("text_larger", "Larger text", ("Ctrl++", "Ctrl+="), "view", 1),
    ActionSpec("text_smaller", "Smaller text", ("Ctrl+-",), "view", 1),
    ActionSpec("text_normal", "Normal text size", ("Ctrl+0",), "view", 1),
    ActionSpec(
        "full_screen",
        "Full screen",
        ("F11",),
        "view",
        2,
        checkable=True,
    ),
    ActionSpec("keyboard_map", "Keyboard map", ("F1", "Ctrl+/"), "help"),
    ActionSpec("logs", "Show log files", (), "help"),
    ActionSpec("updates", "Look for updates…", (), "help"),
    ActionSpec(
        "about",
        "About Plimsoll",
        (),
        "help",
        1,
        role=QAction.MenuRole.AboutRole,
    ),
)

_TITLES: Final[dict[Where, str]] = {
    "file": "File",
    "chat": "Chat",
    "view": "View",
    "help": "Help",
}


_INNER_PLACES: Final[tuple[Where, ...]] = ("chat", "view", "help")


def _translated(text: str) -> str:
    return QCoreApplication.translate("Actions", text)


def where_title(where: Where) -> str:
    """Return the title of a menu."""
    return _translated(_TITLES[where])


class Actions:
    """The commands as QActions of one window.

    ``triggered`` is called with a command's key; the window handles what concerns itself and
    passes the rest on.
    """

    def __init__(self, window: QWidget, triggered: Callable[[str], None]) -> None:
        self._by_key: dict[str, QAction] = {}
        for spec in ACTIONS:
            action = QAction(_translated(spec.text), window)
            action.setObjectName(spec.key)
            action.setShortcuts([QKeySequence(keys) for keys in spec.shortcuts])
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.setCheckable(spec.checkable)
            action.setEnabled(spec.enabled)
            action.setMenuRole(spec.role)
            action.triggered.connect(lambda _checked=False, key=spec.key: triggered(key))
            window.addAction(action)
            self._by_key[spec.key] = action

    def __getitem__(self, key: str) -> QAction:
        return self._by_key[key]

    def hint(self, key: str) -> str:
        """Return the first shortcut of a command as the system writes it, or nothing."""
        return self._by_key[key].shortcut().toString(QKeySequence.SequenceFormat.NativeText)

    def menu(self, where: Where, parent: QWidget) -> QMenu:
        """Return a menu of the commands of one place."""
        menu = QMenu(where_title(where), parent)
        self.fill(menu, (spec for spec in ACTIONS if spec.where == where))
        return menu

    def whole_menu(self, parent: QWidget) -> QMenu:
        """Return one menu of all commands, for systems without a menu bar."""
        menu = QMenu(parent)
        self.fill(menu, (spec for spec in ACTIONS if spec.where == "file"))
        before = self._by_key["quit"]
        for where in _INNER_PLACES:
            menu.insertMenu(before, self.menu(where, menu))
        menu.insertSeparator(before)
        return menu

    def attach_menus(self, window: QMainWindow, set_menu: Callable[[QMenu], None]) -> None:
        """Give a window its menus: a menu bar where the system has one, else one whole menu."""
        if sys.platform == "darwin":
            for menu in self.menus(window):
                window.menuBar().addMenu(menu)
        else:
            set_menu(self.whole_menu(window))

    def menus(self, parent: QWidget) -> list[QMenu]:
        """Return the menus of a menu bar."""
        return [self.menu(where, parent) for where in ("file", *_INNER_PLACES)]

    def fill(self, menu: QMenu, specs: Iterable[ActionSpec]) -> None:
        """Add commands to a menu, with lines between groups."""
        last: tuple[Where, int] | None = None
        for spec in specs:
            if last is not None and last != (spec.where, spec.group):
                menu.addSeparator()
            menu.addAction(self._by_key[spec.key])
            last = (spec.where, spec.group)
