"""A row of a field and buttons that becomes two rows, or more, where there is no room for one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QWidget

from inspector.widgets.flow import FlowLayout

__all__ = ["WrappingRow"]


class WrappingRow(QWidget):
    """``first`` takes the room that is left beside ``others``, down to a least width; below that
    the others go under it, in as many rows as they need.
    """

    def __init__(
        self, first: QWidget, others: Sequence[QWidget], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._first = first
        self._least_px = 0
        self._wishes: tuple[object, ...] = ()
        self._others = QWidget(self)
        self._flow = FlowLayout(self._others)
        for widget in others:
            self._flow.addWidget(widget)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.addWidget(first, 1)
        self._box.addWidget(self._others)
        # Its size is fixed, so Qt does not pass its wishes on.
        self._others.installEventFilter(self)

    def set_sizes(self, spacing_px: int, least_px: int) -> None:
        """Set the gaps, and the width below which ``first`` gets a row of its own."""
        self._least_px = least_px
        self._box.setSpacing(spacing_px)
        self._flow.setSpacing(spacing_px)
        self._arrange()

    def others_width(self) -> int:
        """Return the room that the others take beside the first, with the gap; 0 below it."""
        across = self._box.direction() == QBoxLayout.Direction.LeftToRight
        return self._flow.sizeHint().width() + self._box.spacing() if across else 0

    def minimumSizeHint(self) -> QSize:
        """Allow any width: there is always another row."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Change between one row and more."""
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        """Look at the widths again when a widget wants another one."""
        taken = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return taken

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look at the widths again when one of the others wants another one."""
        if watched is self._others and event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        row = self._flow.sizeHint().width()
        own = max(self._first.sizeHint().height(), self._first.minimumHeight())
        rows = self._flow.heightForWidth(max(self.width(), 1))
        # What it follows from; arranging posts the next request, which then changes nothing.
        wishes = (
            self.width(),
            self._flow.sizeHint(),
            rows,
            own,
            self._least_px,
            self._box.spacing(),
        )
        if wishes == self._wishes:
            return
        self._wishes = wishes
        wide = self._least_px + self._box.spacing() + row <= self.width()
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._box.setDirection(across if wide else down)
        policy = QSizePolicy.Policy.Fixed if wide else QSizePolicy.Policy.Preferred
        self._others.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        height = self._flow.heightForWidth(row) if wide else rows
        self._others.setFixedHeight(height)
        if wide:
            self._others.setFixedWidth(row)
        else:
            self._others.setMinimumWidth(0)
            self._others.setMaximumWidth(16_777_215)
        gap = 0 if wide else own + self._box.spacing()
        self.setFixedHeight(max(height + gap, own))
