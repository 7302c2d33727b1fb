from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.shell.views import (
    ChatEntry,
    Choice,
    ContextUse,
    HeaderModel,
    Notice,
    Overflow,
    Segment,
    StatusFacts,
)
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    return ThemeManager("dark")


@pytest.fixture
def window(qtbot: QtBot, themes: ThemeManager) -> Iterator[MainWindow]:
    window = MainWindow(themes)
    qtbot.addWidget(window)
    window.chat.set_transcript(QLabel("transcript"))
    now = datetime.now().astimezone()
    window.sidebar.set_chats(
        ChatEntry(f"c{n}", f"Chat {n}", now - timedelta(seconds=n)) for n in range(3)
    )
    window.sidebar.set_current("c1")
    window.resize(1440, 900)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    yield window
    window.close()


def trigger(window: MainWindow, key: str) -> None:
    window.actions_by_key[key].trigger()


def test_the_window_begins_in_the_composer(window: MainWindow) -> None:
    assert window.chat.composer.edit.hasFocus()
    assert window.page == "chat"


def test_measures_of_the_design(window: MainWindow) -> None:
    assert window.header.height() == 44
    assert window.sidebar.width() == 236
    assert window.status.height() == 26
    window.set_inspector(QLabel("inspector"))
    QApplication.processEvents()
    assert window._slot.width() == 392
    assert window.chat.width() == 1440 - 236 - 392


# --- pages ---


def test_pages_are_added_and_shown(qtbot: QtBot, window: MainWindow) -> None:
    page = QLabel("models")
    window.add_page("models", "Models", "models", page)
    with qtbot.waitSignal(window.page_changed) as changed:
        window.sidebar._pages["models"].click()
    assert changed.args == ["models"]
    assert page.isVisible()
    with pytest.raises(ValueError, match="models"):
        window.add_page("models", "Models", "models", QLabel())
    with pytest.raises(KeyError):
        window.show_page("planner")


@pytest.mark.parametrize("way", ["chat", "new", "hit"])
def test_a_chat_comes_back_on_screen_when_one_is_wanted(window: MainWindow, way: str) -> None:
    window.add_page("models", "Models", "models", QLabel())
    window.show_page("models")
    if way == "chat":
        window.sidebar.chats.chat_selected.emit("c1")
    elif way == "new":
        trigger(window, "new_chat")
    else:
        window.sidebar.hit_selected.emit("c1", "m1")
    assert window.page == "chat"
    assert window.chat.isVisible()
    assert not window.sidebar._pages["models"].isChecked()


def test_the_first_run_page_stands_for_the_chat(window: MainWindow) -> None:
    window.set_first_run(True)
    assert window.first_run.isVisible()
    assert window.page == "chat"
    window.set_first_run(False)
    assert window.chat.isVisible()


# --- columns ---


def test_the_sidebar_can_be_hidden(qtbot: QtBot, window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert window.sidebar.isHidden()
    assert window.header._sidebar.isVisible()
    assert not window.actions_by_key["sidebar"].isChecked()
    window.header._sidebar.click()
    assert window.sidebar.isVisible()


def test_the_inspector_is_there_when_there_is_one(window: MainWindow) -> None:
    assert not window.actions_by_key["inspector"].isVisible()
    window.toggle_inspector()
    assert window._slot.isHidden()
    inspector = QLabel("inspector")
    window.set_inspector(inspector)
    assert inspector.isVisible()
    trigger(window, "inspector")
    assert not inspector.isVisible()
    window.set_inspector(None)
    assert inspector.parent() is None
    assert window.header._inspector.isHidden()


def test_on_a_narrow_window_the_column_asked_for_last_stays(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.set_inspector(QLabel("inspector"))
    window.resize(900, 700)
    qtbot.waitUntil(window._slot.isHidden)
    assert window.sidebar.isVisible()
    trigger(window, "inspector")
    assert window._slot.isVisible()
    assert window.sidebar.isHidden()
    trigger(window, "sidebar")
    assert window.sidebar.isVisible()
    assert window._slot.isHidden()
    window.resize(1440, 900)
    qtbot.waitUntil(window._slot.isVisible)
    assert window.sidebar.isVisible()


# --- commands ---


@pytest.mark.parametrize(
    "key",
    [
        "unload_model",
        "get_models",
        "import_chats",
        "export_all",
        "regenerate",
        "copy_reply",
        "text_larger",
        "text_smaller",
        "text_normal",
        "logs",
        "updates",
        "about",
    ],
)
def test_commands_of_others_leave_the_window(qtbot: QtBot, window: MainWindow, key: str) -> None:
    window.actions_by_key[key].setEnabled(True)
    with qtbot.waitSignal(window.action_triggered) as triggered:
        trigger(window, key)
    assert triggered.args == [key]


def test_commands_of_a_chat_act_on_the_one_on_screen(window: MainWindow) -> None:
    chats = window.sidebar.chats
    asked: list[tuple[object, ...]] = []
    chats.delete_requested.connect(lambda key: asked.append(("delete", key)))
    chats.duplicate_requested.connect(lambda key: asked.append(("duplicate", key)))
    chats.export_requested.connect(lambda key: asked.append(("export", key)))
    chats.chat_settings_requested.connect(lambda key: asked.append(("settings", key)))
    chats.pin_requested.connect(lambda key, pinned: asked.append(("pin", key, pinned)))
    keys = ("delete_chat", "duplicate_chat", "export_chat", "chat_settings", "pin_chat")
    for key in keys:
        trigger(window, key)
    assert asked == [
        ("delete", "c1"),
        ("duplicate", "c1"),
        ("export", "c1"),
        ("settings", "c1"),
        ("pin", "c1", True),
    ]
    window.sidebar.set_current(None)
    for key in (*keys, "rename_chat"):
        trigger(window, key)
    assert len(asked) == 5


def test_chats_are_gone_through_by_keys(window: MainWindow) -> None:
    opened: list[str] = []
    window.sidebar.chats.chat_selected.connect(opened.append)
    QTest.keyClick(window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert opened == ["c2", "c0"]


def test_rename_brings_the_sidebar_back(window: MainWindow) -> None:
    window.toggle_sidebar()
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert window.sidebar.isVisible()
    assert window.sidebar.chats.findChild(QLineEdit, "renameEdit") is not None


def test_search_and_composer_by_keys(window: MainWindow) -> None:
    window.toggle_sidebar()
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.sidebar._search.hasFocus()
    QTest.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert window.chat.composer.edit.hasFocus()


def test_escape_stops_a_reply_while_one_is_written(qtbot: QtBot, window: MainWindow) -> None:
    composer = window.chat.composer
    with qtbot.assertNotEmitted(composer.stop_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Escape)
    window.set_generating(True)
    with qtbot.waitSignal(composer.stop_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Escape)
    window.set_generating(False)
    assert not window.actions_by_key["stop"].isEnabled()


def test_escape_in_a_search_ends_the_search_first(qtbot: QtBot, window: MainWindow) -> None:
    window.set_generating(True)
    search = window.sidebar._search
    window.sidebar.focus_search()
    search.setText("cache")
    with qtbot.assertNotEmitted(window.chat.composer.stop_requested):
        QTest.keyClick(search, Qt.Key.Key_Escape)
    assert search.text() == ""
    with qtbot.waitSignal(window.chat.composer.stop_requested):
        QTest.keyClick(search, Qt.Key.Key_Escape)


def test_the_picker_opens_by_keys_and_by_the_pill(qtbot: QtBot, window: MainWindow) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    with qtbot.waitSignal(window.picker.opened):
        QTest.keyClick(window, Qt.Key.Key_M, modifiers)
    assert window.picker.isVisible()
    window.picker.close()
    with qtbot.waitSignal(window.picker.opened):
        window.header.model.button.click()
    window.picker.close()


def test_a_chosen_file_is_handed_over(qtbot: QtBot, window: MainWindow) -> None:
    window.choose_model_file()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    with qtbot.waitSignal(window.model_wanted) as opened:
        dialog.fileSelected.emit("/m/llama.gguf")
    assert opened.args == ["/m/llama.gguf"]
    dialog.close()


def test_the_keyboard_map_opens(window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_F1)
    dialog = window.findChild(QWidget, "keyboardMap")
    assert isinstance(dialog, QWidget)
    assert dialog.isVisible()
    dialog.close()


def test_quit_closes_the_window_and_says_so(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.closing):
        trigger(window, "quit")
    assert not window.isVisible()


def test_full_screen_and_back(qtbot: QtBot, window: MainWindow) -> None:
    trigger(window, "full_screen")
    qtbot.waitUntil(window.isFullScreen)
    assert window.actions_by_key["full_screen"].isChecked()
    trigger(window, "full_screen")
    qtbot.waitUntil(lambda: not window.isFullScreen())


# --- drops ---


def drag(window: MainWindow, *names: str) -> tuple[QDragEnterEvent, QMimeData]:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(name) for name in names])
    event = QDragEnterEvent(
        QPointF(400, 200).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dragEnterEvent(event)
    return event, data


def drop(window: MainWindow, data: QMimeData) -> None:
    event = QDropEvent(
        QPointF(400, 200),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)


def test_a_model_can_be_dropped(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    event, data = drag(window, str(tmp_path / "Llama.GGUF"))
    assert event.isAccepted()
    assert window._drops.hint.isVisible()
    with qtbot.waitSignal(window.model_wanted) as dropped:
        drop(window, data)
    assert dropped.args is not None
    assert Path(dropped.args[0]) == tmp_path / "Llama.GGUF"
    assert not window._drops.hint.isVisible()


def test_files_can_be_dropped_anywhere(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    _event, data = drag(window, str(tmp_path / "a.txt"), str(tmp_path / "b.csv"))
    with qtbot.waitSignal(window.chat.composer.files_added) as added:
        drop(window, data)
    assert added.args is not None
    assert [Path(path).name for path in added.args[0]] == ["a.txt", "b.csv"]


def test_links_from_the_web_are_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/model.gguf")])
    event = QDragEnterEvent(
        QPointF(400, 200).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dragEnterEvent(event)
    assert not event.isAccepted()


# --- state ---


def test_the_state_of_the_window_is_kept(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    window.resize(700, 600)
    window.toggle_sidebar()
    data = window.save_state()
    other = MainWindow(themes)
    qtbot.addWidget(other)
    assert other.restore_state(data)
    other.show()
    assert other.sidebar.isHidden()
    assert (other.width(), other.height()) == (700, 600)
    other.close()


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\xff", b"[]", b"null", b'{"geometry": 5}', b'{"geometry": "!", "sidebar": 1}'],
)
def test_a_damaged_state_is_ignored(window: MainWindow, data: bytes) -> None:
    assert not window.restore_state(data)
    assert window.sidebar.isVisible()


# --- the whole ---


def test_undo_is_offered_above_the_composer(qtbot: QtBot, window: MainWindow) -> None:
    window.show_undo("“Chat 1” was deleted.", "c1")
    toast = window.toast
    assert toast.isVisible()
    assert toast.geometry().bottom() < window.chat.composer.geometry().top()
    with qtbot.waitSignal(toast.undone) as undone:
        toast.undo_button.click()
    assert undone.args == ["c1"]


def test_a_page_that_undoes_its_own_changes_has_the_key(window: MainWindow) -> None:
    own = QLabel("planner")
    own.undoes_itself = True  # type: ignore[attr-defined]
    window.add_page("planner", "Planner", "planner", own)
    undo = window.actions_by_key["undo"]
    assert not undo.isEnabled()
    window.show_undo("“Chat 1” was deleted.", "c1")
    assert undo.isEnabled()
    window.show_page("planner")
    assert not undo.isEnabled()
    window.show_page("chat")
    assert undo.isEnabled()
    window.toast.undo_last()
    assert not undo.isEnabled()


def _click(button: QWidget) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_click_leaves_the_keyboard_in_the_composer(qtbot: QtBot, window: MainWindow) -> None:
    composer, search = window.chat.composer, window.sidebar._search
    choices = (Choice("do", "Do it"),)
    window.chat.notices.show_notice(Notice("n", "Said.", choices=choices, details="more"))
    window.chat.overflow.set_overflow(Overflow("Too long.", choices))
    window.show_undo("“Chat 1” was deleted.", "c1")
    composer.set_text("question")
    overflow = window.chat.overflow.bar
    assert overflow is not None
    notice = window.chat.notices.bar("n")
    qtbot.waitUntil(lambda: overflow.isVisible() and notice.isVisible())
    buttons = (
        composer._send,
        window.toast.undo_button,
        overflow.buttons()[0],
        notice.buttons()[0],
        notice._unfold,
    )
    for button in buttons:
        for before in (search, composer.edit):
            window.show_undo("“Chat 1” was deleted.", "c1")
            before.setFocus()
            _click(button)
            assert composer.edit.hasFocus(), (button, before)


def test_a_button_that_goes_gives_the_keyboard_to_the_composer(
    qtbot: QtBot, window: MainWindow
) -> None:
    composer = window.chat.composer
    choices = (Choice("do", "Do it"),)
    window.chat.notices.show_notice(Notice("n", "Said.", choices=choices))
    window.chat.overflow.set_overflow(Overflow("Too long.", choices))
    window.show_undo("“Chat 1” was deleted.", "c1")
    window.header.model.set_model(HeaderModel("loading", "Llama"))
    composer.set_text("question")
    overflow = window.chat.overflow.bar
    assert overflow is not None
    leaving: list[tuple[QWidget, Callable[[], None]]] = [
        (composer._send, composer.clear),
        (window.toast.undo_button, window.toast.dismiss),
        (overflow.buttons()[0], lambda: window.chat.overflow.set_overflow(None)),
        (
            window.chat.notices.bar("n").buttons()[0],
            lambda: window.chat.notices.remove_notice("n"),
        ),
        (
            window.header.model._cancel,
            lambda: window.header.model.set_model(HeaderModel("loaded", "Llama")),
        ),
    ]
    for button, leave in leaving:
        button.setFocus()
        assert button.hasFocus()
        leave()
        assert composer.edit.hasFocus(), button


def test_everything_that_takes_the_focus_has_a_name(window: MainWindow) -> None:
    window.add_page("models", "Models", "models", QLabel())
    window.set_inspector(QLabel("inspector"))
    window.chat.notices.show_notice(Notice("n", "Said.", details="more"))
    for kind in (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox):
        for widget in window.findChildren(kind):
            if widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
                continue
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            assert widget.accessibleName() or text, widget


class _Busy(QObject):
    """Counts what costs time in a window that nobody touches."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {
            QEvent.Type.LayoutRequest,
            QEvent.Type.Paint,
            QEvent.Type.UpdateRequest,
            QEvent.Type.Resize,
        }:
            name = watched.objectName() or type(watched).__name__
            self.seen[f"{event.type().name} {name}"] += 1
        return False


def _inspector_like() -> QWidget:
    inspector = QWidget()
    column = QVBoxLayout(inspector)
    area = QScrollArea()
    area.setWidgetResizable(True)
    facts = QLabel("memory " * 80)
    facts.setWordWrap(True)
    area.setWidget(facts)
    column.addWidget(QPushButton("Pause"))
    column.addWidget(area)
    return inspector


@pytest.mark.parametrize("percent", [100, 150])
@pytest.mark.parametrize("width", [1440, 1024, 620])
def test_an_idle_window_does_nothing(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager, width: int, percent: int
) -> None:
    flash_ms = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)  # a blinking caret is painted, as it should be
    busy = _Busy()
    try:
        themes.set_text_size(percent)
        window.set_inspector(_inspector_like())
        window.header.gauge.set_use(ContextUse(3_000, 8_192))
        window.header.model.set_model(HeaderModel("loaded", "Llama-3.1-8B", "Q8_0", 8 << 30))
        window.header.preset.set_presets(("Default",), "Default")
        window.status.set_facts(StatusFacts((Segment("12.3 tokens/s"),)))
        window.chat.notices.show_notice(Notice("n", "Said at some length. " * 8, details="more"))
        window.resize(width, 700)
        qtbot.wait(150)  # until what was posted is done
        QApplication.instance().installEventFilter(busy)  # type: ignore[union-attr]
        qtbot.wait(500)
    finally:
        QApplication.instance().removeEventFilter(busy)  # type: ignore[union-attr]
        QApplication.setCursorFlashTime(flash_ms)
    assert not busy.seen


def test_no_timer_runs_when_nothing_happens(qtbot: QtBot, window: MainWindow) -> None:
    window.set_generating(True)
    window.set_generating(False)
    qtbot.waitUntil(lambda: not [t for t in window.findChildren(QTimer) if t.isActive()])


@pytest.mark.parametrize("direction", list(Qt.LayoutDirection)[:2])
@pytest.mark.parametrize(
    ("width", "height", "percent"), [(1024, 700, 100), (1024, 700, 200), (560, 420, 100)]
)
def test_the_shell_fits_small_windows_and_large_text(
    qtbot: QtBot,
    window: MainWindow,
    themes: ThemeManager,
    direction: Qt.LayoutDirection,
    width: int,
    height: int,
    percent: int,
) -> None:
    window.setLayoutDirection(direction)
    themes.set_text_size(percent)
    window.set_inspector(QLabel("inspector"))
    window.header.gauge.set_use(ContextUse(1000, 2000))
    window.status.set_facts(
        StatusFacts((Segment("CUDA · a device with a long name " * 3),), (Segment("Engine"),))
    )
    window.resize(width, height)
    assert (window.width(), window.height()) == (width, height)
    qtbot.waitUntil(lambda: 150 < window.chat.composer.width() < width)
    central = window.centralWidget()
    assert central is not None
    for part in (window.header, window.status, window.chat.composer):
        corner = part.mapTo(central, part.rect().bottomRight())
        assert part.isVisible()
        assert 0 <= corner.x() < width
        assert corner.y() < height


def test_a_theme_is_changed_while_the_window_stands(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    themes.set_mode("light")
    image = window.grab().toImage()
    assert image.pixelColor(3, 300).name() == themes.theme.css("panel")
    composer = window.chat.composer
    middle = composer.mapTo(window, composer.rect().center())
    assert image.pixelColor(middle).name() == themes.theme.css("raised")


def test_menus_hold_every_command(window: MainWindow) -> None:
    menu = window.header._menu.menu()
    found = {action.objectName() for action in menu.actions()}
    for inner in menu.findChildren(QMenu):
        found |= {action.objectName() for action in inner.actions()}
    found.discard("")  # titles of menus, and the lines between groups
    assert found == {action.objectName() for action in window.actions()}
