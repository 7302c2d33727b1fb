"""What layouts of our own share: items in order, and a height that follows from the width."""

from __future__ import annotations

from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

__all__ = ["ItemsLayout"]


class ItemsLayout(QLayout):
    """Keeps items; subclasses say where they lie and how high they are at a width."""

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
        """Return an item, or None past the end."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Give an item away."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        """Return that the height follows from the width."""
        return True
