"""Draws rows of the models' tree: names with tags, small budget bars, figures at the right."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.ui.icons import draw_icon
from app.ui.models import words
from app.ui.models.tree_model import COLUMNS, GROUP_ROLE, VARIANT_ROLE
from app.ui.models.views import FitView, GroupView, VariantView, VerdictKind
from app.ui.theme import Theme, ThemeManager
from gguf_tools.machine import LOAD_LINE
from inspector.widgets.budget_bar import FREE_OPACITY
from inspector.widgets.drawing import draw_chevron, draw_text, mirrored, rounded_ends

__all__ = ["ROW_PX", "VERDICT_TOKENS", "LibraryDelegate", "draw_budget"]

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


def draw_budget(painter: QPainter, theme: Theme, rect: QRectF, fit: FitView, *, flip: bool) -> None:
    """Draw a memory as a bar: what the variant and others take, what is free, the load line."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipPath(rounded_ends(rect, theme.px(3)))
    painter.fillRect(rect, theme.colour("well"))

    def place(start: float, end: float) -> QRectF:
        left, right = rect.left() + start * rect.width(), rect.left() + end * rect.width()
        span = QRectF(left - rect.left(), 0, right - left, rect.height())
        return mirrored(span, rect.width(), flip).translated(rect.topLeft())

    at = 0.0
    for token, share in fit.shares:
        end = min(at + share, 1.0)
        painter.fillRect(place(at, end), theme.colour(token))
        at = end
    if at < 1.0:
        free = theme.colour("free")
        free.setAlphaF(FREE_OPACITY)
        painter.fillRect(place(at, 1.0), free)
    if sum(share for _, share in fit.shares) > 1.0:
        painter.fillRect(place(1.0 - theme.px(6) / rect.width(), 1.0), theme.colour("danger"))
    painter.restore()
    line = place(LOAD_LINE, LOAD_LINE).left()
    painter.fillRect(
        QRectF(line - 1, rect.top() - theme.px(2), 2, rect.height() + 2 * theme.px(2)),
        theme.colour("ink"),
    )


class LibraryDelegate(QStyledItemDelegate):
    """Draws the cells of groups and variants. The row's ground is the view's matter."""

    def __init__(self, themes: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Return the height that all rows share."""
        return QSize(self._themes.theme.px(40), self._themes.theme.px(ROW_PX))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one cell."""
        variant: VariantView | None = index.data(VARIANT_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(option.direction)
        rect = QRectF(option.rect)
        if variant is None:
            if index.column() == 0:
                is_open = bool(option.state & option.state.State_Open)
                self._paint_group(painter, rect, index.data(GROUP_ROLE), is_open=is_open)
        elif index.column() == 0:
            self._paint_name(painter, rect, variant)
        elif not variant.problem:
            self._paint_figure(painter, rect, variant, COLUMNS[index.column()])
        elif COLUMNS[index.column()] == "size":
            self._paint_figure(painter, rect, variant, "size")
        painter.restore()

    # --- parts ---

    def _paint_group(
        self, painter: QPainter, rect: QRectF, group: GroupView, *, is_open: bool
    ) -> None:
        theme = self._themes.theme
        flip = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
        line = _Line(painter, theme, rect, flip=flip)
        line.skip(theme.px(PAD_PX))
        mark = line.take(theme.px(9))
        draw_chevron(
            painter, theme.colour("faint"), QPointF(mark.center()), theme.px(9),
            is_open=is_open, flip=flip,
        )  # fmt: skip
        line.skip(theme.px(9))
        painter.setFont(theme.font(13.5, QFont.Weight.DemiBold))
        painter.setPen(theme.colour("ink"))
        facts = self._group_facts(group)
        tags = [*group.tags]
        room = sum(line.tag_width(tag) for tag in tags)
        line.text(group.title, keep=room + theme.px(24))
        for tag in tags:
            line.tag(tag)
        line.skip(theme.px(6))
        painter.setFont(theme.font(12))
        painter.setPen(theme.colour("faint"))
        line.text(facts, keep=0)

    def _group_facts(self, group: GroupView) -> str:
        count = len(group.variants)
        if group.kind == "model":
            said = self.tr("1 variant") if count == 1 else self.tr("%1 variants")
        else:
            said = self.tr("1 file") if count == 1 else self.tr("%1 files")
        parts = [said.replace("%1", str(count)), words.size(group.size_bytes)]
        kinds = {"projector": self.tr("projector"), "adapter": self.tr("adapter")}
        parts += [f"{kinds[part.kind]} {words.size(part.size_bytes)}" for part in group.parts]
        return " · ".join(parts)

    def _paint_name(self, painter: QPainter, rect: QRectF, row: VariantView) -> None:
        theme = self._themes.theme
        flip = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
        half = rect.height() / 2
        upper = QRectF(rect.left(), rect.top() + theme.px(4), rect.width(), half - theme.px(2))
        line = _Line(painter, theme, upper, flip=flip)
        line.skip(theme.px(INDENT_PX))
        painter.setFont(theme.font(13.5, QFont.Weight.Medium))
        painter.setPen(theme.colour("ink" if not row.problem else "dim"))
        room = sum(line.tag_width(tag) for tag in row.tags)
        room += theme.px(20) if row.is_loaded else 0
        line.text(row.name, keep=room)
        if row.is_loaded:
            line.skip(theme.px(6))
            draw_icon(painter, "check", theme.css("good"), line.take(theme.px(14)))
        for tag in row.tags:
            line.tag(tag)
        lower = QRectF(rect.left(), rect.top() + half, rect.width(), half - theme.px(3))
        line = _Line(painter, theme, lower, flip=flip)
        line.skip(theme.px(INDENT_PX))
        painter.setFont(theme.font(12))
        painter.setPen(theme.colour("warning" if row.problem else "faint"))
        middle = Qt.TextElideMode.ElideMiddle
        if row.problem:
            line.text(row.problem, keep=theme.px(6))
        else:
            line.text(row.place, keep=theme.px(6), elide=middle)

    def _paint_figure(self, painter: QPainter, rect: QRectF, row: VariantView, column: str) -> None:
        theme = self._themes.theme
        fit = row.fit
        flip = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
        inner = rect.adjusted(theme.px(PAD_PX), 0, -theme.px(PAD_PX), 0)
        if column == "budget":
            if fit.shares:
                bar = QRectF(inner.left(), 0, inner.width(), theme.px(_BAR_PX))
                bar.moveCenter(inner.center())
                draw_budget(painter, theme, bar, fit, flip=flip)
            return
        painter.setFont(theme.font(13))
        painter.setPen(theme.colour("ink"))
        texts = {
            "size": words.size(row.size_bytes),
            "bits": words.bits(row.bits_per_weight),
            "context": words.context(row.context_tokens),
            "fit": fit.words or "…",
            "max_context": words.context(fit.max_context_tokens),
            "decode": words.rate_range(fit.decode_low_per_s, fit.decode_per_s),
            "prefill": words.rate(fit.prefill_per_s),
        }
        if column == "fit":
            painter.setPen(theme.colour(VERDICT_TOKENS[fit.verdict]))
        text = painter.fontMetrics().elidedText(
            texts[column], Qt.TextElideMode.ElideRight, int(inner.width())
        )
        draw_text(painter, inner, text, at_end=column != "fit")


class _Line:
    """Text and tags side by side, from the start of a line to its end."""

    def __init__(self, painter: QPainter, theme: Theme, rect: QRectF, *, flip: bool) -> None:
        self._painter = painter
        self._theme = theme
        self._rect = rect
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
        *,
        keep: float,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        """Write a text, shortened so that ``keep`` pixels are left behind it."""
        metrics = QFontMetricsF(self._painter.font())
        room = max(self._rect.width() - self._at - keep, 0.0)
        shown = metrics.elidedText(text, elide, room)
        draw_text(self._painter, self.take(metrics.horizontalAdvance(shown) + 1), shown)

    def tag_width(self, text: str) -> float:
        """Return what a tag takes with the gap before it."""
        metrics = QFontMetricsF(self._theme.font(11.5))
        return metrics.horizontalAdvance(text) + self._theme.px(18)

    def tag(self, text: str) -> None:
        """Draw a small frame with a word."""
        theme, painter = self._theme, self._painter
        width = self.tag_width(text)
        if self._at + width > self._rect.width():
            return
        self.skip(theme.px(6))
        piece = self.take(width - theme.px(6))
        painter.setFont(theme.font(11.5))
        height = QFontMetricsF(painter.font()).height() + theme.px(1)
        frame = QRectF(piece.left(), 0, piece.width(), height)
        frame.moveCenter(piece.center())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.colour("line_strong"))
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(5), theme.px(5))
        painter.setPen(theme.colour("dim"))
        painter.drawText(frame, int(Qt.AlignmentFlag.AlignCenter), text)
