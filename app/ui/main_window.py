"""The main window: where the shell's parts are, and which of them are on screen.

It knows neither the store nor the engine. Parts are reached as attributes (`header`, `sidebar`,
`chat`, `status`), and what the user asks for leaves through their signals and the few below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, Qt, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMainWindow,
    QVBoxLayout,
    QWidget,
)

from app.ui.actions import Actions
from app.ui.commands import Commands
from app.ui.frames import Frames
from app.ui.icons import app_icon
from app.ui.shell.chat_page import ChatPage
from app.ui.shell.columns import Columns, fit_columns
from app.ui.shell.drop_target import DropTarget
from app.ui.shell.header import Header
from app.ui.shell.inspector_column import InspectorColumn
from app.ui.shell.inspector_width import USUAL_PX
from app.ui.shell.model_choice import ModelChoice
from app.ui.shell.page_stack import PageStack
from app.ui.shell.sidebar import Sidebar
from app.ui.shell.status_line import StatusLine
from app.ui.shell.undo_toast import UndoKey, UndoToast
from app.ui.tab_order import step_focus
from app.ui.theme import ThemeManager
from app.ui.window_state import WindowState, pack_state, unpack_state

if TYPE_CHECKING:
    from app.ui.shell.first_run import FirstRunPage
    from app.ui.shell.model_picker import ModelPicker

__all__ = ["MainWindow"]

CHAT_PAGE = "chat"


class MainWindow(QMainWindow):
    """Header, sidebar, pages, inspector's column and status line.

    Signals:
        action_triggered(str): a command (key of `ACTIONS`) that the window does not do itself.
        model_wanted(str): path of a model: from the picker, the first-run page, the file dialog, or
            dropped onto the window.
        load_settings_wanted(str): path of a model whose settings are wanted.
        page_changed(str): key of the page that came on screen.
        closing(): the window is about to close; save and end the engine.
    """

    action_triggered = Signal(str)
    model_wanted = Signal(str)
    load_settings_wanted = Signal(str)
    page_changed = Signal(str)
    closing = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frames = Frames(self)
        self.setWindowTitle("Plimsoll")
        self.setWindowIcon(app_icon())
        self.setAcceptDrops(True)
        self._themes = themes
        self._page = CHAT_PAGE
        self._is_first_run = False
        self._sidebar_wanted = self._inspector_wanted = True
        self._inspector_first = False

        self.header = Header(themes, self)
        self.sidebar = Sidebar(themes, self)
        self.chat = ChatPage(themes, self)
        self.status = StatusLine(themes, self)
        self._stack = PageStack(self)
        self._stack.addWidget(self.chat)
        self._slot = InspectorColumn(themes, self)
        self.toast = UndoToast(themes, self._stack)
        self._choice = ModelChoice(themes, self, self._stack)
        self._drops = DropTarget(themes, self, self._stack)

        self._lay_out()
        self._commands = Commands(self)
        self.actions_by_key = Actions(self, self._commands.do)
        self.actions_by_key.attach_menus(self, self.header.set_menu)
        self._connect()
        themes.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self._arrange()

    # --- pages ---

    @property
    def page(self) -> str:
        """Key of the page on screen; ``chat`` also while the first-run page stands for it."""
        return self._page

    def offer_page(self, key: str, title: str, icon: str, make: Callable[[], object]) -> None:
        """Offer a page in the sidebar; ``make`` is called when it is first shown, and adds it."""
        self._stack.offer(key, make)
        self.sidebar.add_page(key, title, icon)

    def offer_inner_page(self, key: str, within: str, make: Callable[[], object]) -> None:
        """Take a page that another one leads to; the sidebar marks that other one."""
        self._stack.offer(key, make, within)

    def add_page(self, key: str, title: str, icon: str, widget: QWidget) -> None:
        """Add a page; the sidebar offers it from now on, if it does not yet."""
        if not self._stack.add(key, widget):
            self.sidebar.add_page(key, title, icon)

    def add_inner_page(self, key: str, within: str, widget: QWidget) -> None:
        """Add a page that another one leads to; the sidebar then marks that other one."""
        self._stack.add(key, widget, within)

    def show_page(self, key: str) -> None:
        """Bring a page on screen.

        Raises:
            KeyError: there is no such page.
        """
        if key == CHAT_PAGE:
            widget: QWidget = self.first_run if self._is_first_run else self.chat
        else:
            widget = self._stack.page(key)
        changed = key != self._page
        self._page = key
        self._stack.setCurrentWidget(widget)
        self.sidebar.set_page(self._stack.leading_to(key))
        self._arrange()
        self._offer_undo()
        if changed:
            self.page_changed.emit(key)

    @property
    def first_run(self) -> FirstRunPage:
        """What stands in place of the chat until there is a model."""
        return self._choice.first_run

    @property
    def is_first_run(self) -> bool:
        """Tell whether the first-run page stands in place of the chat."""
        return self._is_first_run

    @property
    def picker(self) -> ModelPicker:
        """The models to choose from, below the header's pill."""
        return self._choice.picker

    def set_first_run(self, is_first_run: bool) -> None:
        """Show the first-run page in place of the chat until there is a model."""
        self._is_first_run = is_first_run
        if self._page == CHAT_PAGE:
            self.show_page(CHAT_PAGE)

    # --- columns ---

    def expect_inspector(self) -> None:
        """Keep the right column free: what it shows comes soon, and nothing is to jump then."""
        self._slot.expect()
        self._arrange()

    def set_inspector(self, inspector: QWidget | None) -> None:
        """Put the inspector into the right column; without one its button is hidden too."""
        self._slot.put(inspector)
        self._arrange()

    @Slot()
    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar."""
        self._sidebar_wanted = self.sidebar.isHidden()
        self._inspector_first = not self._sidebar_wanted
        self._arrange()

    @Slot()
    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        if not self._has_inspector:
            return
        self._inspector_wanted = self._slot.isHidden()
        self._inspector_first = self._inspector_wanted
        self._arrange()

    def show_inspector(self) -> None:
        """Bring the inspector on screen."""
        if self._slot.isHidden():
            self.toggle_inspector()

    # --- state ---

    def set_generating(self, generating: bool) -> None:
        """Turn Send into Stop and let Esc stop the reply."""
        self.chat.composer.set_generating(generating)
        self.actions_by_key["stop"].setEnabled(generating)

    def show_undo(self, text: str, token: str) -> None:
        """Say what was done and offer to undo it; `toast` tells whether that is wanted."""
        self.toast.offer(text, token)
        self._place_toast()

    def save_state(self) -> bytes:
        """Return place, size and columns of the window."""
        geometry = bytes(self.saveGeometry().data())
        wanted = self._sidebar_wanted, self._inspector_wanted
        return pack_state(WindowState(geometry, *wanted, self._slot.wanted_px))

    def restore_state(self, data: bytes) -> bool:
        """Take what `save_state` gave; anything else is ignored. Tell whether it was taken."""
        state = unpack_state(data)
        if state is None:
            return False
        self._sidebar_wanted, self._inspector_wanted = state.sidebar, state.inspector
        self._slot.wanted_px = state.inspector_px or USUAL_PX
        restored = self.restoreGeometry(QByteArray(state.geometry))
        self._arrange()
        return bool(restored)

    # --- commands ---

    @Slot()
    def open_picker(self) -> None:
        """Show the model picker below the header's pill."""
        self.picker.open_below(self.header.model.button)

    @Slot()
    def choose_model_file(self) -> None:
        """Ask for a model file."""
        self._choice.choose_file()

    @Slot()
    def show_keyboard_map(self) -> None:
        """Show all shortcuts."""
        from app.ui.dialogs.keyboard_map import KeyboardMapDialog

        dialog = KeyboardMapDialog(self._themes, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    # --- Qt ---

    def event(self, event: QEvent) -> bool:
        """Draw frames in their own turn."""
        return self._frames.holds(event) or super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin with the composer."""
        super().showEvent(event)
        if self.focusWidget() is None:
            self.chat.composer.setFocus()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go on with Tab in reading order."""
        return step_focus(self, forward=forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the columns that have room."""
        super().resizeEvent(event)
        self._arrange()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Say that the window is about to close."""
        self.closing.emit()
        super().closeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Keep the full-screen command's mark true."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.actions_by_key["full_screen"].setChecked(self.isFullScreen())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take models and files."""
        self._drops.enter(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Take the hint away."""
        super().dragLeaveEvent(event)
        self._drops.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open a model, or attach files."""
        self._drops.drop(event)

    # --- inner ---

    def _lay_out(self) -> None:
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.sidebar)
        middle.addWidget(self._stack, 1)
        middle.addWidget(self._slot)
        whole = QWidget(self)
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addLayout(middle, 1)
        column.addWidget(self.status)
        self.setCentralWidget(whole)

    def _connect(self) -> None:
        self.header.model.pressed.connect(self.open_picker)
        self.header.inspector_toggled.connect(self.toggle_inspector)
        self.header.sidebar_toggled.connect(self.toggle_sidebar)
        self._slot.width_changed.connect(self._arrange)
        self._stack.least_width_changed.connect(self._arrange)
        for choice in (self._choice.model_wanted, self._drops.model_dropped):
            choice.connect(self.model_wanted)
        self._choice.load_settings_wanted.connect(self.load_settings_wanted)
        self._choice.get_models_requested.connect(partial(self._commands.do, "get_models"))
        self._drops.files_dropped.connect(self._on_files_dropped)
        self.chat.foot_moved.connect(self._place_toast)
        self.toast.available_changed.connect(self._offer_undo)
        self.toast.dismissed.connect(self._place_toast)
        UndoKey(self.toast, self.chat.composer.edit, *self.sidebar.findChildren(QLineEdit))
        self.sidebar.page_requested.connect(self.show_page)
        for signal in (self.sidebar.new_chat_requested, self.sidebar.chats.chat_selected):
            signal.connect(self._on_chat_wanted)
        self.sidebar.hit_selected.connect(self._on_chat_wanted)
        hint = self.actions_by_key.hint
        self.sidebar.set_hints(hint("new_chat"), hint("search"))
        self.header.set_hints(hint("inspector"), hint("sidebar"))
        self.actions_by_key["inspector"].setVisible(False)

    @Slot()
    def _offer_undo(self) -> None:
        """Give Ctrl+Z to what was done last, unless the page on screen undoes its own changes."""
        own = getattr(self._stack.currentWidget(), "undoes_itself", False)
        self.actions_by_key["undo"].setEnabled(self.toast.is_available and not own)

    @Slot()
    def _on_chat_wanted(self) -> None:
        self.show_page(CHAT_PAGE)

    @Slot(list)
    def _on_files_dropped(self, paths: list[str]) -> None:
        self.show_page(CHAT_PAGE)
        self.chat.composer.files_added.emit(paths)

    @property
    def _has_inspector(self) -> bool:
        """Whether there is one here: it is about the chat, other pages have the room."""
        return self._slot.is_taken and self._page == CHAT_PAGE

    @Slot()
    def _arrange(self) -> None:
        self.header.set_inspector_available(self._has_inspector)
        self.actions_by_key["inspector"].setVisible(self._has_inspector)
        side, theme = self.sidebar.width(), self._themes.theme
        # Below that lines of a few words are left, and the figures below them are cut.
        least = max(self._stack.minimumSizeHint().width(), theme.px(240))
        middle = max(theme.px(380), least)
        room = self.width() - middle - (side if self._sidebar_wanted else 0)
        shown = fit_columns(
            self.width(),
            Columns(side, self._slot.fit(room, self.width() - least), middle),
            sidebar=self._sidebar_wanted,
            inspector=self._inspector_wanted and self._has_inspector,
            inspector_first=self._inspector_first,
        )
        self.sidebar.setVisible(shown[0])
        self._slot.setVisible(shown[1])
        self.header.set_sidebar_shown(shown[0])
        self.actions_by_key["sidebar"].setChecked(shown[0])
        self.actions_by_key["inspector"].setChecked(shown[1])
        self._place_toast()

    @Slot()
    def _place_toast(self) -> None:
        if self.toast.isHidden():
            self.chat.set_toast_room(0)
            return
        gap = self._themes.theme.px(12)
        bottom = self._stack.height() - gap
        if self._stack.currentWidget() is self.chat:
            bottom = self.chat.foot_top() - gap
        self.toast.place(self._stack.width(), bottom, gap)
        self.chat.set_toast_room(self.toast.height() + 2 * gap)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.setMinimumSize(560, 420)
        self._arrange()
