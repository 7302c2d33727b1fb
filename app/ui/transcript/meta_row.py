"""The line below a reply: its figures, where they stand in reading order, and its controls."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.ui.transcript.controls import ControlBar
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.items import Figure, MessageView
from app.ui.transcript.rows import Row
from app.ui.transcript.style import Style

__all__ = ["MetaRow", "figure_text"]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of text at a place in the line."""

    x: float
    y: int
    text: str
    strong: bool


def _runs(figure: Figure) -> list[tuple[str, bool]]:
    """Return a figure as runs of text, strong or not."""
    short = len(figure.unit) <= 2
    value = f"{figure.value} {figure.unit}" if short and figure.unit else figure.value
    runs = [(figure.label, False), (value, figure.bold_value)]
    if figure.unit and not short:
        runs.append((figure.unit, False))
    if figure.note:
        runs.append((figure.note, False))
    return [(text, strong) for text, strong in runs if text]


def figure_text(figure: Figure) -> str:
    """Return a figure as it is read."""
    return " ".join(text for text, _ in _runs(figure))


class MetaRow(QWidget):
    """Shows one META row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._entry: Entry | None = None
        self._pieces: list[_Piece] = []
        self._tips: list[tuple[QRect, str]] = []
        self._version_box = QRect()
        self._active = False
        self.bar = ControlBar(host, self, words=True)

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._entry = entry
        view = entry.view
        self.bar.set_view(view)
        spoken = ", ".join(figure_text(figure) for figure in view.figures)
        self.setAccessibleName(spoken or self.tr("About this reply"))
        self.set_active(self._active)
        self.update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._entry = None
        self._active = False

    def restyle(self) -> None:
        """Take the style in force."""
        self.update()

    def set_active(self, active: bool, *, tab: bool = False) -> None:
        """Show the controls, or keep their room empty."""
        self._active = active
        view = self._view()
        # A reply that ended early asks for a decision, so its controls don't hide.
        always = view is not None and (
            view.state != "complete" or self._host.is_last_reply(view.id)
        )
        self.bar.set_shown(active or always, tab=tab or always)

    def _view(self) -> MessageView | None:
        return self._entry.view if self._entry is not None else None

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays figures and buttons out."""
        view = self._view()
        style = self._host.style_in_force
        line = style.px(22)
        if view is None:
            return line
        x, y = self._flow_figures(view, style, width, line)
        for compact in (False, True):
            self.bar.set_compact(compact)
            wide = self._bar_width(style)
            if x + wide <= width + style.px(4) or (compact and wide <= width):
                break
        if self.bar.buttons:
            if x + wide > width + style.px(4):
                if x > 0:
                    y += line
                x = 0.0
                if not self._fits_words(style, width):
                    self.bar.set_compact(True)
            self._place_buttons(style, x, y, line)
            self.set_active(self._active)
        has_line = bool(self.bar.buttons) or bool(self._pieces)
        return y + line if has_line else 0

    def _fits_words(self, style: Style, width: int) -> bool:
        self.bar.set_compact(False)
        return self._bar_width(style) <= width

    def _flow_figures(
        self, view: MessageView, style: Style, width: int, line: int
    ) -> tuple[float, int]:
        """Place the figures; return where the next thing goes."""
        plain, strong = QFontMetricsF(style.small_font), QFontMetricsF(style.small_strong_font)
        space = plain.horizontalAdvance(" ")
        gap = style.px(12)
        self._pieces, self._tips = [], []
        x, y = 0.0, 0
        figures = view.figures
        if view.model:
            figures = (Figure("", view.model, bold_value=False), *figures)
        for figure in figures:
            runs = [
                (text, bold, (strong if bold else plain).horizontalAdvance(text))
                for text, bold in _runs(figure)
            ]
            wide = sum(run[2] for run in runs) + space * (len(runs) - 1)
            if x and x + wide > width:
                x, y = 0.0, y + line
            start = x
            for text, bold, advance in runs:
                self._pieces.append(_Piece(x, y, text, bold))
                x += advance + space
            x += gap - space
            if figure.tip:
                self._tips.append((QRect(int(start), y, int(wide), line), figure.tip))
        return x, y

    def _bar_width(self, style: Style) -> int:
        version = self._version_width(style)
        return version + sum(button.sizeHint().width() for button in self.bar.buttons)

    def _version_width(self, style: Style) -> int:
        if not self.bar.version:
            return 0
        return round(
            QFontMetricsF(style.small_font).horizontalAdvance(self.bar.version)
        ) + style.px(4)

    def _place_buttons(self, style: Style, x: float, y: int, line: int) -> None:
        at = max(round(x) - style.px(4), 0)  # at 0, or the ring of the keyboard would be cut off
        self._version_box = QRect()
        for button in self.bar.buttons:
            size: QSize = button.sizeHint()
            button.setGeometry(QRect(QPoint(at, y + (line - size.height()) // 2), size))
            at += size.width()
            if button.objectName() == "previous_version":
                wide = self._version_width(style)
                self._version_box = QRect(at, y, wide, line)
                at += wide

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the figures."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)  # "0.2 s", not "s 0.2"
        line = style.px(22)
        metrics = QFontMetricsF(style.small_font)
        baseline = (line + metrics.ascent() - metrics.descent()) / 2
        for piece in self._pieces:
            painter.setFont(style.small_strong_font if piece.strong else style.small_font)
            painter.setPen(style.colour("dim" if piece.strong else "faint"))
            painter.drawText(QRectF(piece.x, piece.y + baseline, 0, 0).topLeft(), piece.text)
        if self.bar.version and not self._version_box.isNull():
            painter.setFont(style.small_font)
            painter.setPen(style.colour("dim"))
            painter.drawText(
                QRectF(self._version_box), int(Qt.AlignmentFlag.AlignCenter), self.bar.version
            )

    def event(self, event: QEvent) -> bool:
        """Explain the figure under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            for box, tip in self._tips:
                if box.contains(event.pos()):
                    QToolTip.showText(event.globalPos(), tip, self)
                    return True
            QToolTip.hideText()
            return True
        return super().event(event)
