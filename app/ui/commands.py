"""What the window's commands do: those that concern the window, and the way on for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

__all__ = ["Commands"]


class Commands:
    """Does commands (keys of `app.ui.actions.ACTIONS`) for a window.

    Commands of a chat act on the one on screen, through the same signals as the sidebar's context
    menu; commands that are not the window's own leave by its ``action_triggered``.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def do(self, key: str) -> None:
        """Do a command."""
        own = self._own().get(key)
        if own is not None:
            own()
        elif key in {"delete_chat", "duplicate_chat", "export_chat", "chat_settings"}:
            self._of_chat(key)
        else:
            self._window.action_triggered.emit(key)

    def _own(self) -> dict[str, Callable[[], object]]:
        window = self._window
        return {
            "new_chat": window.sidebar.new_chat_requested.emit,
            "open_model": window.choose_model_file,
            "choose_model": window.open_picker,
            "settings": window.sidebar.settings_requested.emit,
            "quit": window.close,
            "search": self._search,
            "next_chat": lambda: self._go(1),
            "previous_chat": lambda: self._go(-1),
            "focus_composer": self._focus_composer,
            "attach": window.chat.composer.choose_files,
            "stop": window.chat.composer.stop_requested.emit,
            "rename_chat": self._rename,
            "pin_chat": self._pin,
            "sidebar": window.toggle_sidebar,
            "inspector": window.toggle_inspector,
            "full_screen": self._toggle_full_screen,
            "keyboard_map": window.show_keyboard_map,
            "undo": window.toast.undo_last,
        }

    def _of_chat(self, key: str) -> None:
        chats = self._window.sidebar.chats
        signal = {
            "delete_chat": chats.delete_requested,
            "duplicate_chat": chats.duplicate_requested,
            "export_chat": chats.export_requested,
            "chat_settings": chats.chat_settings_requested,
        }[key]
        if chats.open_key:
            signal.emit(chats.open_key)

    def _search(self) -> None:
        self._show_sidebar()
        self._window.sidebar.focus_search()

    def _go(self, step: int) -> None:
        chats = self._window.sidebar.chats
        key = chats.neighbour(step)
        if key is not None:
            chats.chat_selected.emit(key)

    def _focus_composer(self) -> None:
        self._window.show_page("chat")
        self._window.chat.composer.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _rename(self) -> None:
        sidebar = self._window.sidebar
        if sidebar.chats.open_key:
            self._show_sidebar()
            sidebar.rename(sidebar.chats.open_key)

    def _pin(self) -> None:
        chats = self._window.sidebar.chats
        entry = chats.chats.entry(chats.open_key)
        if entry is not None:
            chats.pin_requested.emit(entry.key, not entry.pinned)

    def _show_sidebar(self) -> None:
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()

    def _toggle_full_screen(self) -> None:
        if self._window.isFullScreen():
            self._window.showNormal()
        else:
            self._window.showFullScreen()
