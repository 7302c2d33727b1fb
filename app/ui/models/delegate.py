"""Draws rows of the models' tree: names with tags, small budget bars, figures at the right.

A whole row is drawn in one go, with fonts and colours fetched once a theme: some hundred rows
have to scroll smoothly on slow computers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.ui.icons import draw_icon
from app.ui.models import words
from app.ui.models.views import FitView, GroupView, VariantView, VerdictKind
from app.ui.theme import Theme, ThemeManager
from gguf_tools.machine import LOAD_LINE
from inspector.widgets.budget_bar import FREE_OPACITY
from inspector.widgets.drawing import draw_chevron, mirrored, rounded_ends

__all__ = ["INDENT_PX", "ROW_PX", "VERDICT_TOKENS", "LibraryDelegate", "RowPainter", "draw_budget"]

_Index = QModelIndex | QPersistentModelIndex

ROW_PX: Final = 46
INDENT_PX: Final = 26
PAD_PX: Final = 8
_BAR_PX: Final = 12

VERDICT_TOKENS: Final[dict[VerdictKind, str]] = {
    "fits": "good",
    "tight": "warning",
    "too_large": "danger",
    "unknown": "dim",
    "waiting": "faint",
}

_FIGURES: Final[dict[str, Callable[[VariantView], str]]] = {
    "size": lambda row: words.size(row.size_bytes),
    "bits": lambda row: words.bits(row.bits_per_weight),
    "context": lambda row: words.context(row.context_tokens),
    "fit": lambda row: row.fit.words or "…",
    "max_context": lambda row: words.context(row.fit.max_context_tokens),
    "decode": lambda row: words.rate_range(row.fit.decode_low_per_s, row.fit.decode_per_s),
    "prefill": lambda row: words.rate(row.fit.prefill_per_s),
}


def draw_budget(painter: QPainter, theme: Theme, rect: QRectF, fit: FitView, *, flip: bool) -> None:
    """Draw a memory as a bar: what the variant and others take, what is free, the load line."""
    painter.save()
    painter.setClipPath(rounded_ends(rect, theme.px(3)))

    def place(start: float, end: float) -> QRectF:
        width = rect.width()
        span = QRectF(start * width, 0, (end - start) * width, rect.height())
        return mirrored(span, width, flip).translated(rect.topLeft())

    at = 0.0
    for token, share in fit.shares:
        end = min(at + share, 1.0)
        painter.fillRect(place(at, end), theme.tokens[token])
        at = end
    if at < 1.0:
        painter.fillRect(place(at, 1.0), theme.tokens["well"])
        free = theme.colour("free")
        free.setAlphaF(FREE_OPACITY)
        painter.fillRect(place(at, 1.0), free)
    if sum(share for _, share in fit.shares) > 1.0:
        painter.fillRect(place(1.0 - theme.px(6) / rect.width(), 1.0), theme.tokens["danger"])
    painter.restore()
    line = place(LOAD_LINE, LOAD_LINE).left()
    over = theme.px(2)
    painter.fillRect(
        QRectF(line - 1, rect.top() - over, 2, rect.height() + 2 * over), theme.tokens["ink"]
    )


class LibraryDelegate(QStyledItemDelegate):
    """Says how high rows are; the view draws them whole."""

    def __init__(self, themes: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Return the height that all rows share."""
        return QSize(self._themes.theme.px(40), self._themes.theme.px(ROW_PX))


class _Face:
    """A font with its metrics and a colour, for one theme."""

    def __init__(self, font: QFont, colour: QColor) -> None:
        self.font = font
        self.colour = colour
        self.metrics = QFontMetricsF(font)


class RowPainter:
    """Draws a group's or a variant's row. The row's ground is the view's matter."""

    def __init__(self, themes: ThemeManager) -> None:
        self._themes = themes
        self.set_theme()

    def set_theme(self) -> None:
        """Fetch fonts and colours of the theme in force."""
        theme = self._themes.theme
        medium, strong = QFont.Weight.Medium, QFont.Weight.DemiBold
        self._title = _Face(theme.font(13.5, strong), theme.colour("ink"))
        self._name = _Face(theme.font(13.5, medium), theme.colour("ink"))
        self._greyed = _Face(theme.font(13.5, medium), theme.colour("dim"))
        self._small = _Face(theme.font(12), theme.colour("faint"))
        self._problem = _Face(theme.font(12), theme.colour("warning"))
        self._tag = _Face(theme.font(11.5), theme.colour("dim"))
        figure = theme.font(13)
        self._figure = _Face(figure, theme.colour("ink"))
        self._verdicts = {
            verdict: _Face(figure, theme.colour(token)) for verdict, token in VERDICT_TOKENS.items()
        }

    def group(
        self,
        painter: QPainter,
        rect: QRectF,
        view: GroupView,
        facts: str,
        *,
        is_open: bool,
        flip: bool,
    ) -> None:
        """Draw a heading over the whole width of a row."""
        theme = self._themes.theme
        line = _Line(painter, theme, rect, self._tag, flip=flip)
        line.skip(theme.px(PAD_PX))
        size = theme.px(9)
        centre = QPointF(line.take(size).center())
        draw_chevron(painter, theme.colour("faint"), centre, size, is_open=is_open, flip=flip)
        line.skip(theme.px(9))
        line.text(view.title, self._title, keep=sum(map(line.tag_width, view.tags)) + theme.px(24))
        for tag in view.tags:
            line.tag(tag)
        line.skip(theme.px(8))
        line.text(facts, self._small)

    def variant(
        self,
        painter: QPainter,
        row: VariantView,
        cells: Mapping[str, QRectF],
        whole: QRectF,
        *,
        flip: bool,
    ) -> None:
        """Draw a variant; ``cells`` are the columns on screen, ``whole`` the row."""
        if row.problem:
            self._name_of(painter, whole, row, flip=flip)
            return
        theme = self._themes.theme
        pad = theme.px(PAD_PX)
        for column, cell in cells.items():
            if row.is_part and column not in {"name", "size"}:
                continue
            inner = cell.adjusted(pad, 0, -pad, 0)
            if column == "name":
                self._name_of(painter, cell, row, flip=flip)
            elif column == "budget":
                if row.fit.shares:
                    bar = QRectF(inner.left(), 0, inner.width(), theme.px(_BAR_PX))
                    bar.moveCenter(inner.center())
                    draw_budget(painter, theme, bar, row.fit, flip=flip)
            else:
                self._figure_of(painter, inner, row, column, flip=flip)

    def _name_of(self, painter: QPainter, rect: QRectF, row: VariantView, *, flip: bool) -> None:
        theme = self._themes.theme
        half = rect.height() / 2
        upper = QRectF(rect.left(), rect.top() + theme.px(4), rect.width(), half - theme.px(2))
        line = _Line(painter, theme, upper, self._tag, flip=flip)
        line.skip(theme.px(INDENT_PX))
        mark = theme.px(20) if row.is_loaded else 0
        keep = sum(map(line.tag_width, row.tags)) + mark
        line.text(row.name, self._greyed if row.problem or row.is_part else self._name, keep=keep)
        if row.is_loaded:
            line.skip(theme.px(6))
            draw_icon(painter, "check", theme.css("good"), line.take(theme.px(14)))
        for tag in row.tags:
            line.tag(tag)
        lower = QRectF(rect.left(), rect.top() + half, rect.width(), half - theme.px(3))
        line = _Line(painter, theme, lower, self._tag, flip=flip)
        line.skip(theme.px(INDENT_PX))
        if row.problem:
            line.text(row.problem, self._problem, keep=theme.px(6))
        else:
            middle = Qt.TextElideMode.ElideMiddle
            line.text(row.place, self._small, keep=theme.px(6), elide=middle)

    def _figure_of(
        self, painter: QPainter, rect: QRectF, row: VariantView, column: str, *, flip: bool
    ) -> None:
        is_verdict = column == "fit"
        face = self._verdicts[row.fit.verdict] if is_verdict else self._figure
        text = _FIGURES[column](row)
        if is_verdict:
            text = face.metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        _write(painter, rect, text, face, to_right=is_verdict == flip)


def _write(painter: QPainter, rect: QRectF, text: str, face: _Face, *, to_right: bool) -> None:
    side = Qt.AlignmentFlag.AlignRight if to_right else Qt.AlignmentFlag.AlignLeft
    flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
    painter.setFont(face.font)
    painter.setPen(face.colour)
    painter.drawText(rect, int(flags) | int(Qt.TextFlag.TextSingleLine), text)


class _Line:
    """Text and tags side by side, from the start of a line to its end."""

    def __init__(
        self, painter: QPainter, theme: Theme, rect: QRectF, tag: _Face, *, flip: bool
    ) -> None:
        self._painter = painter
        self._theme = theme
        self._rect = rect
        self._tag = tag
        self._flip = flip
        self._at = 0.0

    def skip(self, width: float) -> None:
        self._at += width

    def take(self, width: float) -> QRectF:
        """Return the next piece of the line."""
        piece = QRectF(self._at, 0, width, self._rect.height())
        self._at += width
        return mirrored(piece, self._rect.width(), self._flip).translated(self._rect.topLeft())

    def text(
        self,
        text: str,
        face: _Face,
        *,
        keep: float = 0.0,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        """Write a text, shortened so that ``keep`` pixels are left behind it."""
        room = max(self._rect.width() - self._at - keep, 0.0)
        width = face.metrics.horizontalAdvance(text)
        if width > room:
            text = face.metrics.elidedText(text, elide, room)
            width = face.metrics.horizontalAdvance(text)
        _write(self._painter, self.take(width + 1), text, face, to_right=self._flip)

    def tag_width(self, text: str) -> float:
        """Return what a tag takes with the gap before it."""
        return self._tag.metrics.horizontalAdvance(text) + self._theme.px(18)

    def tag(self, text: str) -> None:
        """Draw a small frame with a word."""
        theme, painter, face = self._theme, self._painter, self._tag
        width = self.tag_width(text)
        if self._at + width > self._rect.width():
            return
        self.skip(theme.px(6))
        piece = self.take(width - theme.px(6))
        frame = QRectF(piece.left(), 0, piece.width(), face.metrics.height() + theme.px(1))
        frame.moveCenter(piece.center())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.colour("line_strong"))
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(5), theme.px(5))
        painter.setFont(face.font)
        painter.setPen(face.colour)
        painter.drawText(frame, int(Qt.AlignmentFlag.AlignCenter), text)
