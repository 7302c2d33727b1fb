"""A section of the panel: a heading that folds it, a figure at the far end, and what it holds."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QEnterEvent, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from inspector.widgets.drawing import draw_chevron, draw_focus, draw_text, mirrored
from inspector.widgets.palette import Painted, Palette

__all__ = ["Card", "CardHeader"]


class CardHeader(QAbstractButton):
    """The heading: title, summary, and a mark that shows that it folds."""

    def __init__(self, palette: Palette, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._summary = ""
        self._hovered = False
        self.setText(title)
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.toggled.connect(self._describe)
        palette.changed.connect(self._on_theme_changed)
        self._describe()

    @property
    def summary(self) -> str:
        """What stands at the far end."""
        return self._summary

    def set_summary(self, summary: str) -> None:
        """Show a figure or a name at the far end."""
        if summary != self._summary:
            self._summary = summary
            self._describe()
            self.update()

    def sizeHint(self) -> QSize:
        """Return a line's height."""
        theme = self._palette.theme
        height = QFontMetricsF(theme.font(13.5, QFont.Weight.DemiBold)).height()
        return QSize(theme.px(200), round(height) + theme.px(4))

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the mark."""
        super().enterEvent(event)
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Hide the mark."""
        super().leaveEvent(event)
        self._hovered = False
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw title, mark and summary; the summary is shortened first."""
        theme = self._palette.theme
        painter = QPainter(self)
        width, height = float(self.width()), float(self.height())
        flip = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        strong = theme.font(13.5, QFont.Weight.DemiBold)
        metrics = QFontMetricsF(strong)
        title_width = min(metrics.horizontalAdvance(self.text()) + 2, width)
        painter.setFont(strong)
        painter.setPen(theme.colour("ink"))
        title = QRectF(0, 0, title_width, height)
        elided = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, title_width)
        draw_text(painter, mirrored(title, width, flip), elided)
        mark = theme.px(9)
        mark_x = title_width + theme.px(8) + mark / 2
        if self._hovered or self.hasFocus() or not self.isChecked():
            centre = QPointF(width - mark_x if flip else mark_x, height / 2)
            draw_chevron(
                painter,
                theme.colour("faint"),
                centre,
                mark,
                is_open=self.isChecked(),
                flip=flip,
            )
        start = mark_x + mark / 2 + theme.px(8)
        if self._summary and start < width:
            plain = theme.font()
            painter.setFont(plain)
            painter.setPen(theme.colour("dim"))
            room = QRectF(start, 0, width - start, height)
            text = QFontMetricsF(plain).elidedText(
                self._summary, Qt.TextElideMode.ElideRight, room.width()
            )
            draw_text(painter, mirrored(room, width, flip), text, at_end=True)
        if self.hasFocus():
            draw_focus(painter, theme, QRectF(self.rect()).adjusted(-0.5, 0, 0.5, 0), theme.px(4))

    @Slot()
    def _describe(self) -> None:
        state = self.tr("shown") if self.isChecked() else self.tr("folded")
        self.setAccessibleName(", ".join(part for part in (self.text(), self._summary) if part))
        self.setAccessibleDescription(state)
        self.setToolTip(self._summary)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


class Card(Painted):
    """A foldable section with a line below it.

    Signals:
        folded(str key, bool is_folded): the reader has folded or unfolded it.
    """

    folded = Signal(str, bool)

    def __init__(
        self, palette: Palette, key: str, title: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(palette, parent)
        self.key = key
        self._is_last = False
        self.header = CardHeader(palette, title, self)
        self.body = QWidget(self)
        self.rows = QVBoxLayout(self.body)
        self.rows.setContentsMargins(0, 0, 0, 0)
        self._layout = QVBoxLayout(self)
        self._layout.addWidget(self.header)
        self._layout.addWidget(self.body)
        self.header.setVisible(bool(title))
        self.header.toggled.connect(self._on_toggled)
        self._space()

    @property
    def is_folded(self) -> bool:
        """Tell whether only the heading shows."""
        return not self.header.isChecked()

    def set_folded(self, is_folded: bool) -> None:
        """Fold or unfold without saying so."""
        self.header.blockSignals(True)
        self.header.setChecked(not is_folded)
        self.header.blockSignals(False)
        self.header.update()
        self.body.setVisible(not is_folded)
        self._space()

    def set_last(self, is_last: bool) -> None:
        """Leave the line below out: nothing follows."""
        self._is_last = is_last
        self._space()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the line below."""
        if self._is_last:
            return
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self.theme.colour("line"))

    @Slot(bool)
    def _on_toggled(self, is_shown: bool) -> None:
        self.body.setVisible(is_shown)
        self._space()
        self.folded.emit(self.key, not is_shown)

    def _space(self) -> None:
        theme = self.theme
        self._layout.setContentsMargins(0, 0, 0, 0 if self._is_last else theme.px(12))
        self._layout.setSpacing(theme.px(5) if self.header.isChecked() else 0)
        self.rows.setSpacing(theme.px(6))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._space()
