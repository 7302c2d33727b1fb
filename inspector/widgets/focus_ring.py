"""The ring around what has the keyboard, outside of it: inside, it would cut through figures."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QWidget

from inspector.widgets.card import CardHeader
from inspector.widgets.palette import Painted, Palette

__all__ = ["FocusRing"]

_GAP_PX = 4
_FOLLOWED = {
    QEvent.Type.Move,
    QEvent.Type.Resize,
    QEvent.Type.Show,
    QEvent.Type.Hide,
    QEvent.Type.ParentChange,
}


class FocusRing(Painted):
    """Lies above the panel's content and follows the widget that has the focus there.

    Widgets with a ring of their own (buttons, fields) are left alone.
    """

    def __init__(self, palette: Palette, content: QWidget) -> None:
        super().__init__(palette, content)
        self._content = content
        self._followed: list[QWidget] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the widget and those that hold it."""
        if event.type() in _FOLLOWED:
            self._place()
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the ring."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.theme.colour("accent"), 1.5))
        rect = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(rect, self.theme.px(5), self.theme.px(5))

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        for widget in self._followed:
            widget.removeEventFilter(self)
        self._followed = []
        if isinstance(new, Painted | CardHeader) and self._content.isAncestorOf(new):
            follow: QWidget | None = new
            while follow is not None and follow is not self._content:
                follow.installEventFilter(self)
                self._followed.append(follow)
                follow = follow.parentWidget()
        self._place()

    def _place(self) -> None:
        target = self._followed[0] if self._followed else None
        if target is None or not target.isVisible():
            self.hide()
            return
        gap = self.theme.px(_GAP_PX)
        at = target.mapTo(self._content, QPoint(0, 0))
        self.setGeometry(
            at.x() - gap, at.y() - gap // 2, target.width() + 2 * gap, target.height() + gap
        )
        self.raise_()
        self.show()
