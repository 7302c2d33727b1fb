"""A section of the panel: a heading that folds it, a figure at the far end, and what it holds."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QEnterEvent, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from inspector.widgets.drawing import draw_chevron, draw_text, mirrored
from inspector.widgets.palette import Painted, Palette
from inspector.widgets.wrapped import WrappedText

__all__ = ["Card", "CardHeader"]

_MARK_PX = 9
_GAP_PX = 8


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
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
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
            fitted = self._fits(self.width())
            self._summary = summary
            self._describe()
            if self._fits(self.width()) != fitted:
                self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Return a line's height."""
        return QSize(self._palette.theme.px(200), self._line())

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, self._line())

    def hasHeightForWidth(self) -> bool:
        """Return that a narrow heading takes two lines."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of one line, or of two if the summary has no room in the first."""
        return self._line() * (1 if self._fits(width) else 2)

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
        """Draw title, mark and summary."""
        theme = self._palette.theme
        painter = QPainter(self)
        width, line = float(self.width()), float(self._line())
        flip = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        strong = self._title_font()
        metrics = QFontMetricsF(strong)
        title_width = min(metrics.horizontalAdvance(self.text()) + 2, width)
        painter.setFont(strong)
        painter.setPen(theme.colour("ink"))
        elided = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, title_width)
        draw_text(painter, mirrored(QRectF(0, 0, title_width, line), width, flip), elided)
        mark = theme.px(_MARK_PX)
        mark_x = title_width + theme.px(_GAP_PX) + mark / 2
        if self._hovered or self.hasFocus() or not self.isChecked():
            centre = QPointF(width - mark_x if flip else mark_x, line / 2)
            colour = theme.colour("faint")
            draw_chevron(painter, colour, centre, mark, is_open=self.isChecked(), flip=flip)
        if not self._summary:
            return
        plain = theme.font()
        painter.setFont(plain)
        painter.setPen(theme.colour("dim"))
        start = mark_x + mark / 2 + theme.px(_GAP_PX) if self._fits(self.width()) else 0.0
        room = QRectF(start, 0.0 if start else line, max(0.0, width - start), line)
        text = QFontMetricsF(plain).elidedText(
            self._summary, Qt.TextElideMode.ElideRight, room.width()
        )
        draw_text(painter, mirrored(room, width, flip), text, at_end=True)

    def _title_font(self) -> QFont:
        return self._palette.theme.font(13.5, QFont.Weight.DemiBold)

    def _line(self) -> int:
        height = QFontMetricsF(self._title_font()).height()
        return round(height) + self._palette.theme.px(4)

    def _fits(self, width: int) -> bool:
        theme = self._palette.theme
        title = QFontMetricsF(self._title_font()).horizontalAdvance(self.text()) + 2
        summary = QFontMetricsF(theme.font()).horizontalAdvance(self._summary)
        return title + theme.px(_MARK_PX + 2 * _GAP_PX) + summary <= width

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

    `lesson` says in a sentence or two what the section is about, for who has never met it; it
    shows only where the panel explains itself.

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
        self.lesson = WrappedText(palette, self.body, token="dim")
        self._lesson = ""
        self._explains = False
        self.rows.addWidget(self.lesson)
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

    @property
    def folds(self) -> bool:
        """Tell whether it has a heading that folds it."""
        return not self.header.isHidden()

    def set_folded(self, is_folded: bool) -> None:
        """Fold or unfold without saying so."""
        self.header.blockSignals(True)
        self.header.setChecked(not is_folded)
        self.header.blockSignals(False)
        self.header.update()
        self.body.setVisible(not is_folded)
        self._space()

    def set_explains(self, explains: bool) -> None:
        """Show or hide the lesson."""
        self._explains = explains
        self.lesson.show_text(self._lesson if explains else "")

    def set_lesson(self, text: str) -> None:
        """Change what the lesson says."""
        self._lesson = text
        self.set_explains(self._explains)

    def set_last(self, is_last: bool) -> None:
        """Leave the line below out: nothing follows."""
        if is_last != self._is_last:
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
