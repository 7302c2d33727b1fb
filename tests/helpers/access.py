"""What a person needs who has only a keyboard, a screen reader, or large text: found in a window.

Each function walks the widgets below a root and returns a line for every fault, so that a test's
failure names all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QToolButton,
    QWidget,
)

from app.ui.elide import ElidedLabel
from app.ui.tab_order import bring_into_sight

__all__ = [
    "cut_off",
    "described",
    "name_of",
    "nameless",
    "overlapping",
    "takes_focus",
    "unmarked_focus",
]


def takes_focus(root: QWidget) -> Iterator[QWidget]:
    """Yield what the Tab key can reach below a widget."""
    for widget in root.findChildren(QWidget):
        if (
            widget.isVisible()
            and widget.isEnabled()
            and widget.window() is root.window()
            and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and widget.focusProxy() is None
            and not isinstance(widget, QScrollBar)
            and not isinstance(widget.parent(), QAbstractSpinBox | QComboBox)
        ):
            yield widget


def name_of(widget: QWidget) -> str:
    """Return the name that a screen reader says, empty where there is none."""
    interface = QAccessible.queryAccessibleInterface(widget)
    text = interface.text(QAccessible.Text.Name).strip()
    if not text and isinstance(widget, QLineEdit):
        text = widget.placeholderText()
    return text


def described(widget: QWidget) -> str:
    """Return a widget in words, for a failure's message."""
    text = name_of(widget) or getattr(widget, "text", str)() or widget.objectName()
    return f"{type(widget).__name__} {str(text)[:40]!r} in {type(widget.parent()).__name__}"


def nameless(root: QWidget) -> list[str]:
    """Return what takes the keyboard and has no name."""
    return [described(widget) for widget in takes_focus(root) if not name_of(widget)]


def cut_off(root: QWidget) -> list[str]:
    """Return words that are not all to be seen: too narrow, too low, or outside of what holds them.

    A label that shortens its words on purpose keeps them in its tooltip and is no fault, unless
    it is too low; what a scroll area can bring on screen is none either.
    """
    faults = []
    for widget in _with_words(root):
        fault = _too_small(widget) or _outside(widget)
        if fault:
            faults.append(f"{described(widget)}: {fault}")
    return faults


def overlapping(root: QWidget) -> list[str]:
    """Return pairs of controls and labels that lie on each other."""
    found = [(widget, _on_screen(widget)) for widget in _with_words(root)]
    found = [(widget, rect) for widget, rect in found if not rect.isEmpty()]
    return [
        f"{described(one)} and {described(other)}: {first & second}"
        for index, (one, first) in enumerate(found)
        for other, second in found[index + 1 :]
        if not one.isAncestorOf(other)
        and not other.isAncestorOf(one)
        and (first & second).width() > 2
        and (first & second).height() > 2
    ]


def unmarked_focus(root: QWidget, margin_px: int = 12) -> list[str]:
    """Return controls that look the same with and without the keyboard.

    The root's window has to be active. A field may be marked by what holds it, so a margin around
    each is looked at too.
    """
    faults = []
    for widget in list(takes_focus(root)):
        if not widget.isVisible():
            continue  # a control that is shown only where the keyboard is
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        bring_into_sight(widget)
        QApplication.processEvents()
        if not widget.hasFocus():
            faults.append(f"{described(widget)}: does not take the focus")
            continue
        marked = _around(widget, margin_px)
        widget.clearFocus()
        QApplication.processEvents()
        if marked == _around(widget, margin_px):
            faults.append(described(widget))
    return faults


def _around(widget: QWidget, margin_px: int) -> object:
    window = widget.window()
    rect = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
    rect = rect.adjusted(-margin_px, -margin_px, margin_px, margin_px)
    return window.grab(rect & window.rect()).toImage()


def _with_words(root: QWidget) -> Iterator[QWidget]:
    for widget in root.findChildren(QWidget):
        if not widget.isVisible() or isinstance(widget.parent(), QAbstractSpinBox | QComboBox):
            continue
        is_field = isinstance(widget, QLineEdit | QAbstractSpinBox | QComboBox)
        is_picture = isinstance(widget, QLabel) and not widget.pixmap().isNull()
        is_worded = isinstance(widget, QLabel | QAbstractButton) and bool(widget.text())
        is_button = isinstance(widget, QAbstractButton)
        if is_field or is_button or (is_worded and not is_picture):
            yield widget


def _too_small(widget: QWidget) -> str:
    metrics = QFontMetricsF(widget.font())
    room = _contents(widget)
    needed_px = math.ceil(metrics.height())
    if isinstance(widget, QLabel):
        if widget.wordWrap():
            needed_px = widget.heightForWidth(widget.width())
            if widget.height() < needed_px - 2:
                return f"{widget.height()} high of {needed_px}"
            narrowest = widget.minimumSizeHint().width()
            return f"{widget.width()} wide of {narrowest}" if widget.width() < narrowest else ""
        if widget.height() < needed_px - 1:
            return f"{widget.height()} high of {needed_px}"
        if isinstance(widget, ElidedLabel):
            kept = widget.text() in widget.toolTip()
            return "shortened, and not in its tooltip" if widget.is_elided() and not kept else ""
        wide = widget.minimumSizeHint().width()
        return f"{widget.width()} wide of {wide}" if widget.width() < wide - 1 else ""
    text = _text(widget)
    if not text and not isinstance(widget, QLineEdit):
        return ""
    if room.height() < needed_px - 2:
        return f"room for words {room.height()} high of {needed_px}"
    if isinstance(widget, QLineEdit):
        return ""  # its words scroll
    wide = math.ceil(metrics.horizontalAdvance(text))
    if isinstance(widget, QAbstractButton) and not widget.icon().isNull():
        wide += widget.iconSize().width()
    if room.width() < wide - 1 and text not in widget.toolTip():
        return f"room for words {room.width()} wide of {wide}"
    return ""


def _text(widget: QWidget) -> str:
    if isinstance(widget, QComboBox):
        return widget.currentText()
    if isinstance(widget, QAbstractSpinBox):
        return widget.text()
    if isinstance(widget, QToolButton):
        only_icon = widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
        return "" if only_icon and not widget.icon().isNull() else widget.text()
    if getattr(widget, "compact", False):
        return ""  # only its icon is drawn, its words are its name and its tooltip
    if isinstance(widget, QAbstractButton):
        return widget.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
    return ""


def _contents(widget: QWidget) -> QRect:
    """Return where the words of a control are drawn."""
    style = widget.style()
    element = QStyle.SubElement
    if isinstance(widget, QPushButton | QCheckBox | QRadioButton):
        option = QStyleOptionButton()
        widget.initStyleOption(option)
        kind = {
            QCheckBox: element.SE_CheckBoxContents,
            QRadioButton: element.SE_RadioButtonContents,
        }
        found = next((kind[base] for base in kind if isinstance(widget, base)), None)
        return style.subElementRect(found or element.SE_PushButtonContents, option, widget)
    if isinstance(widget, QComboBox):
        box = QStyleOptionComboBox()
        widget.initStyleOption(box)
        part = QStyle.SubControl.SC_ComboBoxEditField
        return style.subControlRect(QStyle.ComplexControl.CC_ComboBox, box, part, widget)
    if isinstance(widget, QAbstractSpinBox):
        line = widget.lineEdit()
        margins = line.textMargins()
        return line.rect().adjusted(margins.left(), 0, -margins.right(), 0)
    if isinstance(widget, QLineEdit):
        # What the style sheet takes for border and padding.
        whole = widget.sizeHint().height() - widget.fontMetrics().height()
        return widget.rect().adjusted(0, 0, 0, -min(whole, 2))
    return widget.contentsRect()


def _outside(widget: QWidget) -> str:
    """Return how far a widget sticks out of what holds it, where nothing scrolls it into sight."""
    rect = widget.rect()
    inner: QWidget = widget
    while (holder := inner.parentWidget()) is not None and not inner.isWindow():
        rect.translate(inner.pos())
        area = holder.parentWidget()
        off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        scrolls = across = False
        if isinstance(area, QAbstractScrollArea) and holder is area.viewport():
            scrolls, across = True, area.horizontalScrollBarPolicy() != off
        limits = holder.rect()
        if not across and (rect.left() < limits.left() - 1 or rect.right() > limits.right() + 1):
            return f"{rect.left()} to {rect.right()} across, of {limits.width()}"
        if scrolls:
            return ""
        if rect.top() < limits.top() - 1 or rect.bottom() > limits.bottom() + 1:
            return f"{rect.top()} to {rect.bottom()} down, of {limits.height()}"
        inner = holder
    return ""


def _on_screen(widget: QWidget) -> QRect:
    region = widget.visibleRegion().boundingRect()
    return region.translated(widget.mapTo(widget.window(), QPoint(0, 0)))
