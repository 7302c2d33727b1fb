"""The edge of the inspector's column: dragged, or moved by the arrow keys, within limits."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme import ThemeManager

__all__ = ["LEAST_PX", "MOST_PX", "USUAL_PX", "InspectorEdge", "column_width"]

USUAL_PX: Final = 392
"""As designed, in design pixels."""

LEAST_PX: Final = 368
"""Each figure still has room for how it was got beside it."""

MOST_PX: Final = 720
_GRAB_PX: Final = 6
_STEP_PX: Final = 16


def column_width(wanted_px: int, room_px: float) -> int:
    """Return the column's width in design pixels.

    A wide column shrinks to the usual width before anything else gives way.

    Args:
        wanted_px: as the user set it.
        room_px: what the window leaves beside the least of its other columns.
    """
    within = min(max(wanted_px, LEAST_PX), MOST_PX)
    return within if within <= USUAL_PX else max(USUAL_PX, min(within, int(room_px)))


class InspectorEdge(QWidget):
    """Lies over the edge of a column; a double click or Home brings the usual width back.

    Signals:
        width_wanted(int): in design pixels, within the limits.
    """

    width_wanted = Signal(int)

    def __init__(self, themes: ThemeManager, column: QWidget) -> None:
        super().__init__(column)
        self._themes = themes
        self._column = column
        self._from: tuple[float, int] | None = None  # where it was grabbed, and the width then
        self._hovered = False
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Width of the inspector"))
        self.setToolTip(
            self.tr("Drag to make the inspector wider; double click for the usual width")
        )
        column.installEventFilter(self)
        themes.changed.connect(self._place)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay at the column's edge, above what is in it."""
        kinds = {QEvent.Type.Resize, QEvent.Type.ChildAdded, QEvent.Type.LayoutDirectionChange}
        if watched is self._column and event.type() in kinds:
            self._place()
        return super().eventFilter(watched, event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the edge."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._from = event.globalPosition().x(), self._column.width()
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer."""
        if self._from is not None:
            start, width = self._from
            moved = (start - event.globalPosition().x()) * self._towards_start
            self._ask(round((width + moved) / self._themes.theme.scale))

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        """Let go."""
        self._from = None
        self.update()

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Take the usual width."""
        self._from = None
        self._ask(USUAL_PX)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the edge with the arrow keys."""
        now = round(self._column.width() / self._themes.theme.scale)
        wanted = {
            Qt.Key.Key_Left: now + _STEP_PX * self._towards_start,
            Qt.Key.Key_Right: now - _STEP_PX * self._towards_start,
            Qt.Key.Key_Home: USUAL_PX,
        }.get(Qt.Key(event.key()))
        if wanted is None:
            super().keyPressEvent(event)
        else:
            self._ask(wanted)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that it can be dragged."""
        super().enterEvent(event)
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Be quiet again."""
        super().leaveEvent(event)
        self._hovered = False
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show where the keyboard is."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Be quiet again."""
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw a line while it is looked for, held, or has the keyboard."""
        if not (self._hovered or self._from is not None or self.hasFocus()):
            return
        theme = self._themes.theme
        width = max(theme.px(2), 1)
        x = 0 if self._towards_start > 0 else self.width() - width
        token = "accent" if self.hasFocus() or self._from is not None else "line_strong"
        QPainter(self).fillRect(x, 0, width, self.height(), theme.colour(token))

    @property
    def _towards_start(self) -> int:
        """1 where the column grows to the left, -1 where it grows to the right."""
        return -1 if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 1

    def _ask(self, wanted_px: int) -> None:
        self.width_wanted.emit(min(max(wanted_px, LEAST_PX), MOST_PX))

    @Slot()
    def _place(self) -> None:
        width = self._themes.theme.px(_GRAB_PX)
        x = 0 if self._towards_start > 0 else self._column.width() - width
        self.setGeometry(x, 0, width, self._column.height())
        self.raise_()
