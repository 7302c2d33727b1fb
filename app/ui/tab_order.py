"""Tab goes through a window as it is read: by rows, and through what lies together first.

Qt's own order is that in which widgets were made, so what is made later (a reply's buttons, a
card of the inspector, another variant's column) would come last wherever it stands.
"""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QScrollArea,
    QScrollBar,
    QWidget,
)

__all__ = ["bring_into_sight", "in_reading_order", "step_focus"]


def in_reading_order(root: QWidget) -> list[QWidget]:
    """Return what the Tab key reaches below a widget, in the order in which it is read."""
    found: list[QWidget] = []
    _collect(root, _wanted_policy(), found)
    return found


def step_focus(root: QWidget, *, forward: bool) -> bool:
    """Give the focus to the next or the previous widget below a root, around its ends.

    What is scrolled away comes into sight. Returns False where nothing takes the focus.
    """
    order = in_reading_order(root)
    if not order:
        return False
    at = _place(order, QApplication.focusWidget(), forward=forward)
    target = order[(at + (1 if forward else -1)) % len(order)]
    reasons = Qt.FocusReason
    target.setFocus(reasons.TabFocusReason if forward else reasons.BacktabFocusReason)
    bring_into_sight(target)
    return True


def _wanted_policy() -> Qt.FocusPolicy:
    """Return what a widget's policy must hold: some systems go to fields and lists only."""
    behaviour = QGuiApplication.styleHints().tabFocusBehavior()
    every = behaviour == Qt.TabFocusBehavior.TabFocusAllControls
    return Qt.FocusPolicy.TabFocus if every else Qt.FocusPolicy.StrongFocus


def _place(order: list[QWidget], focus: QWidget | None, *, forward: bool) -> int:
    """Return where the focus is in the order: of a widget outside of it, where its holder is."""
    holder = focus
    while holder is not None:
        if holder in order:
            return order.index(holder)
        inside = [index for index, widget in enumerate(order) if holder.isAncestorOf(widget)]
        if inside:
            return inside[0] - 1 if forward else inside[-1] + 1
        holder = None if holder.isWindow() else holder.parentWidget()
    return -1 if forward else 0


def _collect(holder: QWidget, policy: Qt.FocusPolicy, found: list[QWidget]) -> None:
    children = [
        child
        for child in holder.children()
        if isinstance(child, QWidget)
        and not child.isHidden()
        and child.isEnabled()
        and not child.isWindow()
        and not isinstance(child, QScrollBar)
    ]
    for child in _by_rows(children, right_to_left=holder.isRightToLeft()):
        if not child.isVisible():
            continue
        if (child.focusPolicy() & policy) == policy and child.focusProxy() is None:
            found.append(child)
        if not isinstance(child, QAbstractSpinBox | QComboBox):
            _collect(child, policy, found)


def _by_rows(widgets: list[QWidget], *, right_to_left: bool) -> list[QWidget]:
    """Return widgets from top to bottom; those beside each other in reading direction."""
    rows: list[tuple[QRect, list[QWidget]]] = []
    for widget in sorted(widgets, key=lambda item: (item.y(), item.x())):
        place = widget.geometry()
        if rows and _is_beside(rows[-1][0], place):
            rows[-1][1].append(widget)
            rows[-1] = (rows[-1][0].united(place), rows[-1][1])
        else:
            rows.append((place, [widget]))

    def start(widget: QWidget) -> int:
        return -widget.geometry().right() if right_to_left else widget.x()

    return [widget for _, row in rows for widget in sorted(row, key=start)]


def _is_beside(row: QRect, place: QRect) -> bool:
    """Tell whether a widget shares a row: its middle, or the row's, is at the other's height."""
    middle = row.center().y()
    return (
        row.top() <= place.center().y() <= row.bottom() or place.top() <= middle <= place.bottom()
    )


def bring_into_sight(target: QWidget) -> None:
    """Scroll what holds a widget until it is seen."""
    inner: QWidget | None = target
    while inner is not None and not inner.isWindow():
        holder = inner.parentWidget()
        area = holder.parentWidget() if holder is not None else None
        if isinstance(area, QScrollArea) and area.viewport() is holder:
            area.ensureWidgetVisible(target)
        inner = holder
