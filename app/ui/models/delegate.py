"""Draws rows of the models' tree: names with tags, small budget bars, figures at the right.

A whole row is drawn in one go, with fonts and colours fetched once a theme: some hundred rows
have to scroll smoothly on slow computers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.ui.icons import draw_icon
from app.ui.models import words
from app.ui.models.columns import Extra
from app.ui.models.line import Face, Line, part, write
from app.ui.models.tree_model import VARIANT_ROLE
from app.ui.models.views import FitView, GroupView, VariantView, VerdictKind
from app.ui.theme import Theme, ThemeManager
from gguf_tools.machine import LOAD_LINE
from inspector.widgets.budget_bar import FREE_OPACITY
from inspector.widgets.drawing import draw_chevron, mirrored, rounded_ends

__all__ = [
    "GAP_PX",
    "INDENT_PX",
    "ROW_PX",
    "VERDICT_TOKENS",
    "LibraryDelegate",
    "RowPainter",
    "draw_budget",
]

_Index = QModelIndex | QPersistentModelIndex

ROW_PX: Final = 46
INDENT_PX: Final = 26
PAD_PX: Final = 8
LINE_PX: Final = 19
"""Height of a line of figures below a variant's two lines."""

GAP_PX: Final = 14
EXTRA_BAR_PX: Final = 64
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
    """Says how high rows are; the view draws them whole. ``lines`` are those below a variant."""

    def __init__(self, themes: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self.lines = 0

    def sizeHint(self, _option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height that all rows share but those with figures below their columns."""
        theme = self._themes.theme
        high = theme.px(ROW_PX)
        row = index.data(VARIANT_ROLE) if self.lines else None
        if row is not None and has_figures(row):
            high += self.lines * theme.px(LINE_PX)
        return QSize(theme.px(40), high)


def has_figures(row: VariantView) -> bool:
    """Tell whether a row has more figures than its size."""
    return not row.problem and not row.is_part


class RowPainter:
    """Draws a group's or a variant's row. The row's ground is the view's matter."""

    def __init__(self, themes: ThemeManager) -> None:
        self._themes = themes
        self.set_theme()

    def set_theme(self) -> None:
        """Fetch fonts and colours of the theme in force."""
        theme = self._themes.theme
        medium, strong = QFont.Weight.Medium, QFont.Weight.DemiBold
        self._title = Face(theme.font(13.5, strong), theme.colour("ink"))
        self._name = Face(theme.font(13.5, medium), theme.colour("ink"))
        self._greyed = Face(theme.font(13.5, medium), theme.colour("dim"))
        self._small = Face(theme.font(12), theme.colour("faint"))
        self._extra = Face(theme.font(12), theme.colour("dim"))
        self._problem = Face(theme.font(12), theme.colour("warning"))
        self._tag = Face(theme.font(11.5), theme.colour("dim"))
        figure = theme.font(13)
        self._figure = Face(figure, theme.colour("ink"))
        self._verdicts = {
            verdict: Face(figure, theme.colour(token)) for verdict, token in VERDICT_TOKENS.items()
        }
        self._verdict_small = {
            verdict: Face(self._small.font, face.colour) for verdict, face in self._verdicts.items()
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
        line = Line(painter, theme, rect, self._tag, flip=flip)
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
        extra: Extra,
        *,
        flip: bool,
    ) -> None:
        """Draw a variant.

        Args:
            painter: at work on the view.
            row: what is drawn.
            cells: the columns on screen.
            whole: the row.
            extra: where the other columns go.
            flip: right to left.
        """
        if row.problem:
            self._name_of(painter, whole, row, flip=flip)
            return
        theme = self._themes.theme
        pad = theme.px(PAD_PX)
        high = theme.px(ROW_PX)
        beside = extra.beside if has_figures(row) else ()
        lower = QRectF(whole.left(), whole.top() + high / 2, whole.width(), high / 2 - theme.px(3))
        if beside:
            # The place shares its line with figures; those in columns stand beside the name.
            taken = self._named(painter, lower, row, beside, flip=flip, at_end=True)
            name = cells["name"]
            place = mirrored(
                QRectF(0, 0, whole.width() - taken - 2 * pad, lower.height()), whole.width(), flip
            ).translated(lower.topLeft())
            self._title_of(painter, part(name, theme.px(4), high / 2 - theme.px(2)), row, flip=flip)
            self._place_of(painter, place, row, flip=flip)
        for number, names in enumerate(extra.lines if has_figures(row) else ()):
            step = theme.px(LINE_PX)
            top = whole.top() + high - theme.px(3) + number * step
            self._named(
                painter, QRectF(whole.left(), top, whole.width(), step), row, names, flip=flip
            )
        for column, whole_cell in cells.items():
            cell = part(whole_cell, 0, high)
            if beside:
                if column == "name":
                    continue
                cell = part(whole_cell, theme.px(4), high / 2 - theme.px(2))
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
        self._title_of(painter, part(rect, theme.px(4), half - theme.px(2)), row, flip=flip)
        self._place_of(painter, part(rect, half, half - theme.px(3)), row, flip=flip)

    def _title_of(self, painter: QPainter, rect: QRectF, row: VariantView, *, flip: bool) -> None:
        theme = self._themes.theme
        line = Line(painter, theme, rect, self._tag, flip=flip)
        line.skip(theme.px(INDENT_PX))
        mark = theme.px(20) if row.is_loaded else 0
        keep = sum(map(line.tag_width, row.tags)) + mark
        line.text(row.name, self._greyed if row.problem or row.is_part else self._name, keep=keep)
        if row.is_loaded:
            line.skip(theme.px(6))
            draw_icon(painter, "check", theme.css("good"), line.take(theme.px(14)))
        for tag in row.tags:
            line.tag(tag)

    def _place_of(self, painter: QPainter, rect: QRectF, row: VariantView, *, flip: bool) -> None:
        theme = self._themes.theme
        line = Line(painter, theme, rect, self._tag, flip=flip)
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
        write(painter, rect, text, face, to_right=is_verdict == flip)

    def _named(
        self,
        painter: QPainter,
        rect: QRectF,
        row: VariantView,
        names: Sequence[str],
        *,
        flip: bool,
        at_end: bool = False,
    ) -> float:
        """Draw figures with their names on a line; return the width they take."""
        theme = self._themes.theme
        gap = theme.px(GAP_PX)
        texts = {
            name: words.figure_with_name(name, _FIGURES[name](row))
            for name in names
            if name != "budget"
        }
        advance, needs = self._small.metrics.horizontalAdvance, self.needs_px()
        # Beside the place they stand below each other from row to row.
        wide = [
            max(advance(texts.get(name, "")) + 1, needs[name] if at_end or name not in texts else 0)
            for name in names
        ]
        whole = sum(wide) + gap * (len(names) - 1)
        line = Line(painter, theme, rect, self._tag, flip=flip)
        line.skip(rect.width() - whole - theme.px(PAD_PX) if at_end else theme.px(INDENT_PX))
        for name, width in zip(names, wide, strict=True):
            piece = line.take(width)
            if name in texts:
                face = self._verdict_small[row.fit.verdict] if name == "fit" else self._extra
                write(painter, piece, texts[name], face, to_right=flip != at_end)
            elif row.fit.shares:
                bar = QRectF(piece.left(), 0, piece.width(), theme.px(_BAR_PX - 3))
                bar.moveCenter(piece.center())
                draw_budget(painter, theme, bar, row.fit, flip=flip)
            line.skip(gap)
        return whole

    def needs_px(self) -> dict[str, float]:
        """Return what columns usually take at most where they stand on a line with their names."""
        advance = self._small.metrics.horizontalAdvance
        longest = {
            "size": "1,023 MiB",
            "bits": "16.00",
            "context": "512K",
            "fit": "Tight, up to 131,072",
            "max_context": "512K",
            "decode": "100–250",
            "prefill": "1,000",
        }
        found = {
            name: advance(words.figure_with_name(name, text)) for name, text in longest.items()
        }
        return found | {"budget": self._themes.theme.px(EXTRA_BAR_PX)}
