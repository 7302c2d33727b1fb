"""Words in less room: a label and a button that shorten them, a font in which figures fit."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QLabel,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOption,
    QStyleOptionButton,
    QStylePainter,
    QWidget,
)

__all__ = ["ElidedButton", "ElidedLabel", "fitting"]


def fitting(font: QFont, words: str, width: float) -> tuple[QFont, QFontMetricsF]:
    """Return a font in which words take no more than a width, as large as it may be."""
    measure = QFontMetricsF(font)
    wanted = measure.horizontalAdvance(words)
    if wanted <= width or width <= 0:
        return font, measure
    smaller = QFont(font)
    size = font.pixelSize() if font.pixelSize() > 0 else font.pointSizeF()
    for share in (0.94, 0.88, 0.82, 0.76, 0.7):
        if font.pixelSize() > 0:
            smaller.setPixelSize(max(int(size * share), 1))
        else:
            smaller.setPointSizeF(size * share)
        measure = QFontMetricsF(smaller)
        if measure.horizontalAdvance(words) <= width:
            break
    return smaller, measure


class ElidedLabel(QLabel):
    """One line of plain text that never pushes its row apart and is never cut in mid-letter."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._hint = ""
        self._shorter: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show a text; line breaks become spaces."""
        super().setText(" ".join(text.split()))
        self._update_tooltip()

    def set_short(self, *shorter: str) -> None:
        """Set fewer and fewer words that say the same, for where the text has no room."""
        wanted = tuple(filter(None, shorter))
        if wanted != self._shorter:
            self._shorter = wanted
            self.update()

    def least_width(self) -> int:
        """Return the room that the fewest words take."""
        texts = (self.text(), *self._shorter)
        return min(self.fontMetrics().horizontalAdvance(text) for text in texts)

    def shown_text(self) -> str:
        """Return what is drawn at the present width: the most words that fit."""
        metrics, room = self.fontMetrics(), self._text_width()
        texts = (self.text(), *self._shorter)
        fitting = (text for text in texts if metrics.horizontalAdvance(text) <= room)
        return metrics.elidedText(next(fitting, texts[-1]), self._mode, room)

    def set_hint(self, hint: str) -> None:
        """Set a tooltip that is shown below the whole text of a shortened label."""
        self._hint = hint
        self._update_tooltip()

    def is_elided(self) -> bool:
        """Tell whether the text is shortened at the present width."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self._text_width()

    def minimumSizeHint(self) -> QSize:
        """Leave room for three letters and the ellipsis."""
        hint = super().sizeHint()
        shortest = self.fontMetrics().horizontalAdvance("WWW…") + hint.width() - self._natural()
        return QSize(min(hint.width(), shortest), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the whole text in the tooltip when it no longer fits."""
        super().resizeEvent(event)
        self._update_tooltip()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the frame of the style sheet, then as much of the text as fits."""
        painter = QPainter(self)
        # Words of another direction than the window's keep their order: "4.2 GiB", not "GiB 4.2".
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        option = QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
        flags = QStyle.visualAlignment(self.layoutDirection(), self.alignment())
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(flags) | int(Qt.TextFlag.TextSingleLine),
            self.palette(),
            self.isEnabled(),
            self.shown_text(),
            self.foregroundRole(),
        )

    def _natural(self) -> int:
        return self.fontMetrics().horizontalAdvance(self.text())

    def _text_width(self) -> int:
        return self.contentsRect().width()

    def _update_tooltip(self) -> None:
        lines = [self.text()] if self.is_elided() else []
        if self._hint:
            lines.append(self._hint)
        self.setToolTip("\n".join(lines))


class ElidedButton(QPushButton):
    """A button with words of any length: what has no room is shortened, and all is in the tooltip.

    ``hint`` says what the button does, below its words.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None, hint: str = "") -> None:
        super().__init__(parent)
        self._hint = hint
        policy = self.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Maximum)
        self.setSizePolicy(policy)
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show other words."""
        super().setText(text)
        self._update_tooltip()

    def is_elided(self) -> bool:
        """Tell whether the words are shortened at the present width."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self._text_width()

    def minimumSizeHint(self) -> QSize:
        """Leave room for a few letters."""
        hint = super().sizeHint()
        metrics = self.fontMetrics()
        natural = metrics.horizontalAdvance(self.text())
        shortest = hint.width() - natural + metrics.horizontalAdvance("WWWW…")
        return QSize(min(hint.width(), shortest), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the whole words in the tooltip when they no longer fit."""
        super().resizeEvent(event)
        self._update_tooltip()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the button with as much of its words as fits."""
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self._text_width()
        )
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_PushButton, option)

    def _text_width(self) -> int:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        contents = QStyle.SubElement.SE_PushButtonContents
        return self.style().subElementRect(contents, option, self).width()

    def _update_tooltip(self) -> None:
        lines = [self.text()] if self.is_elided() else []
        self.setToolTip("\n".join([*lines, self._hint] if self._hint else lines))
