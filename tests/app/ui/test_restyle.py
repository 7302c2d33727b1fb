from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSlider,
    QStackedWidget,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import delete, isValid

from app.ui.restyle import Restyler
from app.ui.theme import ThemeManager

_LABELS = ("dim", "faint", "figures", "small", "strong", "title", "heading", "caps", "error", "tag")
_BUTTONS = ("primary", "ink", "small", "danger", "flat", "nav", "link")


class _Changes(QObject):
    """Counts how often each widget was told of another style."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self.count: Counter[QObject] = Counter()
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count[watched] += event.type() == QEvent.Type.StyleChange
        return False


def _page() -> QWidget:
    """Return a page with a widget of each kind that the sheet has rules for."""
    page = QWidget()
    grid = QGridLayout(page)
    made: list[QWidget] = []
    for kind in _LABELS:
        made.append(QLabel(kind))
        made[-1].setProperty("kind", kind)
    for kind in _BUTTONS:
        for enabled in (True, False):
            made.append(QPushButton(kind))
            made[-1].setProperty("kind", kind)
            made[-1].setEnabled(enabled)
    tool, ticked = QToolButton(), QCheckBox("ticked")
    slider, bar = QSlider(Qt.Orientation.Horizontal), QProgressBar()
    tool.setText("tool")
    ticked.setChecked(True)
    slider.setValue(40)
    bar.setValue(40)
    made.extend((tool, ticked, slider, bar, QComboBox(), QLineEdit("text")))
    made.append(QPlainTextEdit("plain\ntext"))
    rows, tree = QListWidget(), QTreeWidget()
    rows.addItems(["one", "two"])
    tree.addTopLevelItem(QTreeWidgetItem(["branch"]))
    made.extend((rows, tree))
    for name in ("header", "composer", "card", "bar", "toast", "chip"):
        frame = QFrame()
        frame.setObjectName(name)
        inner = QVBoxLayout(frame)
        inner.addWidget(QLabel(name))
        inner.addWidget(QPushButton("flat", flat=True))
        made.append(frame)
    area = QScrollArea()
    area.setProperty("kind", "plain")
    area.setWidget(QLabel("within"))
    made.append(area)
    for place, widget in enumerate(made):
        grid.addWidget(widget, place // 4, place % 4)
    for widget in page.findChildren(QWidget):
        widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return page


def _pages(qtbot: QtBot) -> QStackedWidget:
    """Return a window of two such pages, both of which have been on screen."""
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    for _ in range(2):
        stack.addWidget(_page())
    stack.resize(900, 900)
    with qtbot.waitExposed(stack):
        stack.show()
    stack.setCurrentIndex(1)
    qtbot.wait(1)
    stack.setCurrentIndex(0)
    return stack


def _seen(qtbot: QtBot, stack: QStackedWidget) -> list[QImage]:
    """Return how the pages look, the hidden one last."""
    found: list[QImage] = []
    for index in (0, 1):
        stack.setCurrentIndex(index)
        qtbot.wait(1)
        found.append(stack.grab().toImage())
    return found


def test_what_is_changed_looks_as_after_a_round_of_qt_itself(
    qtbot: QtBot, qapp: QApplication
) -> None:
    themes = ThemeManager("dark")
    stack = _pages(qtbot)
    before = _seen(qtbot, stack)
    themes.set_mode("light")
    themes.set_text_size(130)
    qtbot.waitUntil(lambda: not themes.is_laying_on)
    pages = _seen(qtbot, stack)
    qapp.setStyleSheet(qapp.styleSheet() + "/* again */")
    assert _seen(qtbot, stack) == pages
    assert pages[0] == pages[1] != before[0]


def test_each_widget_is_told_once_however_deep_it_is(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    top = QWidget()
    qtbot.addWidget(top)
    inner: list[QWidget] = [top]
    for _ in range(8):
        frame = QFrame(inner[-1])
        QVBoxLayout(inner[-1]).addWidget(frame)
        inner.append(frame)
    with qtbot.waitExposed(top):
        top.show()
    changes = _Changes(*inner)
    themes.set_mode("light")
    qtbot.waitUntil(lambda: not themes.is_laying_on)
    assert [changes.count[widget] for widget in inner] == [1] * len(inner)


def _crowd(qtbot: QtBot) -> tuple[QLabel, list[QLabel], QStackedWidget]:
    """Return a label on screen, and many that have been there: more than fit into a slice."""
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    shown, back = QLabel("shown"), QWidget()
    column = QVBoxLayout(back)
    hidden = [QLabel("hidden") for _ in range(1500)]
    for label in (shown, *hidden):
        label.setProperty("kind", "dim")
    for label in hidden:
        column.addWidget(label)
    stack.addWidget(back)
    stack.addWidget(shown)
    stack.resize(300, 300)
    with qtbot.waitExposed(stack):
        stack.show()
    stack.setCurrentIndex(1)
    qtbot.wait(1)
    return shown, hidden, stack


def _colour(label: QLabel) -> str:
    return label.palette().windowText().color().name()


def test_what_is_hidden_follows_between_events(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    shown, hidden, _ = _crowd(qtbot)
    themes.set_mode("light")
    dim = themes.theme.css("dim")
    assert _colour(shown) == dim
    assert themes.is_laying_on
    assert _colour(hidden[-1]) != dim
    qtbot.waitUntil(lambda: not themes.is_laying_on)
    assert {_colour(label) for label in hidden} == {dim}


def test_a_change_during_a_change_holds(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    shown, hidden, _ = _crowd(qtbot)
    themes.set_mode("light")
    assert themes.is_laying_on
    themes.set_mode("dark")
    qtbot.waitUntil(lambda: not themes.is_laying_on)
    assert {_colour(label) for label in (shown, *hidden)} == {themes.theme.css("dim")}


@pytest.mark.filterwarnings("error")
def test_widgets_that_go_meanwhile_are_let_go(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    shown, hidden, stack = _crowd(qtbot)
    themes.set_mode("light")
    assert themes.is_laying_on
    gone = stack.widget(0)
    assert gone is not None
    stack.removeWidget(gone)
    gone.deleteLater()
    del hidden
    qtbot.waitUntil(lambda: not themes.is_laying_on)
    assert _colour(shown) == themes.theme.css("dim")


class _Ends(QObject):
    """Ends an object as soon as a widget is told of another style."""

    def __init__(self, victim: QObject) -> None:
        super().__init__()
        self._victim = victim

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange and isValid(self._victim):
            delete(self._victim)
        return False


def test_what_a_widget_ends_meanwhile_is_not_asked_any_more(
    qtbot: QtBot, qapp: QApplication
) -> None:
    """A widget's handler, or a collection in the middle of it, may end the restyler itself."""
    qapp.setStyleSheet("QLabel { color: red; }")
    restyler = Restyler(qapp)
    hidden = [QLabel(str(i)) for i in range(3)]
    for label in hidden:
        qtbot.addWidget(label)
        label.ensurePolished()
    ends = _Ends(restyler)
    hidden[0].installEventFilter(ends)
    restyler.lay_on("QLabel { color: blue; }")
    qtbot.waitUntil(lambda: not isValid(restyler))
    assert not restyler.is_running
    qtbot.wait(50)  # a slice that goes on would fail here: errors in slots fail a test
