"""A sentence and a button: beside each other where the sentence is one line, else below."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QLabel, QLayoutItem, QPushButton

from inspector.widgets.items_layout import ItemsLayout

__all__ = ["SentenceRow"]


class SentenceRow(ItemsLayout):
    """Gives a sentence the whole width once it has to be wrapped.

    Without the button (hidden, or none) it is the sentence's alone.
    """

    def __init__(self, sentence: QLabel, button: QPushButton | None = None) -> None:
        super().__init__()
        self._sentence = sentence
        self.addWidget(sentence)
        if button is not None:
            self.addWidget(button)

    def expandingDirections(self) -> Qt.Orientation:
        """Return that it takes the width there is."""
        return Qt.Orientation.Horizontal

    def heightForWidth(self, width: int) -> int:
        """Return the height of both at a width in pixels."""
        return max(place.bottom() + 1 for _, place in self._places(QRect(0, 0, width, 0)))

    def sizeHint(self) -> QSize:
        """Return the sentence's size, with room for the button."""
        return self._items[0].sizeHint().expandedTo(self.minimumSize())

    def minimumSize(self) -> QSize:
        """Return the size of the larger one."""
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        """Place both."""
        super().setGeometry(rect)
        for item, place in self._places(rect):
            item.setGeometry(place)

    def _places(self, rect: QRect) -> list[tuple[QLayoutItem, QRect]]:
        first, *others = self._items
        shown = [item for item in others if not item.isEmpty()]
        width = max(rect.width(), 1)
        if not shown:
            high = first.heightForWidth(width)
            return [(first, QRect(rect.topLeft(), QSize(width, max(high, rect.height()))))]
        size = shown[0].sizeHint()
        gap = max(self.spacing(), 0)
        room = width - gap - size.width()
        metrics = self._sentence.fontMetrics()
        if metrics.horizontalAdvance(self._sentence.text()) + 2 <= room:
            text = QRect(rect.topLeft(), QSize(room, first.heightForWidth(room)))
            button = QRect(rect.left() + room + gap, rect.top(), size.width(), size.height())
        else:
            text = QRect(rect.topLeft(), QSize(width, first.heightForWidth(width)))
            top = text.bottom() + 1
            button = QRect(rect.left(), top, min(size.width(), width), size.height())
        places = [(first, text), (shown[0], button)]
        parent = self.parentWidget()
        if parent is not None and parent.isRightToLeft():
            return [(item, _mirrored(place, rect)) for item, place in places]
        return places


def _mirrored(place: QRect, within: QRect) -> QRect:
    return place.translated(within.left() + within.right() - place.left() - place.right(), 0)
