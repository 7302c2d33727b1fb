"""Buttons set in rows like words, because a narrow panel has no room for all of them in one."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

__all__ = ["FlowRows"]


class FlowRows(QLayout):
    """Items at their preferred sizes; a row that is full is continued below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        """Take an item at the end."""
        self._items.append(item)

    def count(self) -> int:
        """Return how many items there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item, None past the end."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Give an item away."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Want no more room than needed."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Return that narrow means tall."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all rows."""
        places = self._places(width)
        return max((place.bottom() + 1 for place in places), default=0)

    def sizeHint(self) -> QSize:
        """Return the size of a single row."""
        sizes = [item.sizeHint() for item in self._items]
        gaps = self.spacing() * max(0, len(sizes) - 1)
        width = sum(size.width() for size in sizes) + gaps
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return the tallest item's height: any width will do, items are cut to it."""
        return QSize(0, max((item.minimumSize().height() for item in self._items), default=0))

    def setGeometry(self, rect: QRect) -> None:
        """Place the items, from the right where reading goes from the right."""
        super().setGeometry(rect)
        parent = self.parentWidget()
        flip = parent is not None and parent.layoutDirection() == Qt.LayoutDirection.RightToLeft
        for item, place in zip(self._items, self._places(rect.width()), strict=True):
            if flip:
                place.moveLeft(rect.width() - place.x() - place.width())
            item.setGeometry(place.translated(rect.topLeft()))

    def _places(self, width: int) -> list[QRect]:
        places: list[QRect] = []
        x = y = row = 0
        for item in self._items:
            size = item.sizeHint().boundedTo(QSize(max(width, 1), 1 << 16))
            if x and x + size.width() > width:
                x, y, row = 0, y + row + self.spacing(), 0
            places.append(QRect(QPoint(x, y), size))
            x += size.width() + self.spacing()
            row = max(row, size.height())
        return places
