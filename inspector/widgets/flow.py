"""A layout that sets widgets in rows like words, for buttons and chips on narrow windows."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayoutItem, QWidget

from inspector.widgets.items_layout import ItemsLayout

__all__ = ["FlowLayout"]


class FlowLayout(ItemsLayout):
    """Rows of items at their preferred sizes; a row that is full is continued below.

    With ``cuts_items`` it asks for no width: what is wider than the row is made as narrow as it.
    """

    def __init__(
        self, parent: QWidget | None = None, spacing_px: int = 6, *, cuts_items: bool = False
    ) -> None:
        super().__init__(parent)
        self._cuts_items = cuts_items
        self.setSpacing(spacing_px)

    def expandingDirections(self) -> Qt.Orientation:
        """Return that it wants no more room than it needs."""
        return Qt.Orientation(0)

    def heightForWidth(self, width: int) -> int:
        """Return the height of all rows at a width."""
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        """Return the size of a single row."""
        shown = [item.sizeHint() for item in self._items if not item.isEmpty()]
        if not shown:
            return QSize(0, 0)
        width = sum(size.width() for size in shown) + self.spacing() * (len(shown) - 1)
        return QSize(width, max(size.height() for size in shown))

    def minimumSize(self) -> QSize:
        """Return the size of the largest item, without its width where items may be cut."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return QSize(0, size.height()) if self._cuts_items else size

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Return the height of all rows; items of a row stand in its middle."""
        parent = self.parentWidget()
        mirrored = parent is not None and parent.isRightToLeft()
        y = rect.y()
        for row in self._rows(max(rect.width(), 1)):
            row_height = max(size.height() for _, size in row)
            x = rect.x()
            for item, size in row:
                if move:
                    place = QRect(QPoint(x, y + (row_height - size.height()) // 2), size)
                    if mirrored:
                        place.moveLeft(rect.x() + rect.width() - (x - rect.x()) - size.width())
                    item.setGeometry(place)
                x += size.width() + self.spacing()
            y += row_height + self.spacing()
        return max(y - self.spacing() - rect.y(), 0)

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        rows: list[list[tuple[QLayoutItem, QSize]]] = []
        used = width
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint().boundedTo(QSize(width, 1 << 20))
            if not rows or used + self.spacing() + size.width() > width:
                rows.append([])
                used = -self.spacing()
            rows[-1].append((item, size))
            used += self.spacing() + size.width()
        return rows
