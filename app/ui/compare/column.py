"""One variant's answer: a card that fills as it streams, differences marked, figures below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.views import ColumnView
from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.theme import ThemeManager

__all__ = ["MARK_OPACITY", "AnswerCard"]

MARK_OPACITY: Final = 0.24
_LEAST_PX: Final = 96
_MOST_PX: Final = 300
_LINE_PERCENT: Final = 118.0


class AnswerCard(QFrame):
    """A card of one variant.

    Signals:
        reference_wanted(int): the others are to be held against this variant.
        measure_wanted(int): it alone is to answer and to be measured once more.
        removed(int): it is to leave the comparison.
    """

    reference_wanted = Signal(int)
    measure_wanted = Signal(int)
    removed = Signal(int)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._view: ColumnView | None = None
        self._running = False
        self._mark = QFrame(self)
        self._label = ElidedLabel("", self)
        self._label.setProperty("kind", "strong")
        self._size = QLabel(self)
        self._size.setProperty("kind", "dim")
        self._reference = QLabel(self)
        self._reference.setProperty("kind", "tag")
        self.more = QToolButton(self)
        self.more.setProperty("kind", "flat")
        self.more.setToolTip(self.tr("Reference, measure again, copy, take out"))
        IconKeeper(self.more, themes, "more", "dim", 15)
        self.more.clicked.connect(self._on_more)
        self.text = QTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setTabChangesFocus(True)
        self.text.setProperty("kind", "bare")
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.text.document().setDocumentMargin(0)
        self.text.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._figures = QLabel(self)
        self._figures.setProperty("kind", "figures")
        self._figures.setTextFormat(Qt.TextFormat.RichText)
        self._figures.setWordWrap(True)
        self._head = QHBoxLayout()
        for widget in (self._mark, self._label, self._reference):
            self._head.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self._head.addStretch(1)
        self._head.addWidget(self._size)
        self._head.addWidget(self.more)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self.text)
        self._column.addStretch(1)
        self._column.addWidget(self._figures)
        themes.changed.connect(self._space)
        self._space()

    def set_view(self, view: ColumnView, *, running: bool) -> None:
        """Show a variant as it is now."""
        before = self._view
        self._view, self._running = view, running
        self._label.setText(view.label)
        self._label.setToolTip(view.name)
        self._size.setText(view.size)
        self._say_reference(view)
        self.more.setAccessibleName(self.tr("What to do with {0}").format(view.label))
        if before is None or before.colour != view.colour:
            self._colour()
        if view.state == "failed":
            self._say(view.failure, view.advice)
        elif view.answer:
            self._show(view.answer)
        else:
            self._say("", view.doing)
        self._mark_differences()
        self._figures.setText(self._figure_line())
        name = self.tr("Reply of {0}").format(view.label)
        self.setAccessibleName(name)
        self.text.setAccessibleName(name)

    def append(self, text: str) -> None:
        """Add streamed text at the end."""
        if self._view is None:
            return
        if not self.text.property("answer"):
            self._show("")
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text)
        bar = self.text.verticalScrollBar()
        if bar.maximum() - bar.value() < 4 * self.fontMetrics().height():
            bar.setValue(bar.maximum())

    def menu(self) -> QMenu | None:
        """Return what can be done with the variant; the caller shows it."""
        view = self._view
        if view is None:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        reference = menu.addAction(self.tr("Hold the others against this one"))
        reference.setEnabled(not view.is_reference and not self._running)
        reference.triggered.connect(lambda: self.reference_wanted.emit(view.key))
        measure = menu.addAction(self.tr("Measure this one again"))
        measure.setToolTip(self.tr("It answers and is measured once more; the others stay."))
        measure.setEnabled(view.can_measure and not self._running)
        measure.triggered.connect(lambda: self.measure_wanted.emit(view.key))
        copy = menu.addAction(self.tr("Copy the reply"))
        copy.setEnabled(bool(view.answer))
        copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(view.answer))
        remove = menu.addAction(self.tr("Take out"))
        remove.setEnabled(not self._running)
        remove.triggered.connect(lambda: self.removed.emit(view.key))
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with a variant."""
        menu = self.menu()
        if menu is not None:
            menu.popup(event.globalPos())

    @Slot()
    def _on_more(self) -> None:
        menu = self.menu()
        if menu is not None:
            menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _say_reference(self, view: ColumnView) -> None:
        self._reference.setVisible(view.is_reference)
        self._reference.setText(self.tr("reference"))
        self._reference.setToolTip(self.tr("The other replies and tokens are held against it."))

    # --- inner

    def _show(self, answer: str) -> None:
        if self.text.property("answer") and self.text.toPlainText() == answer:
            return
        self.text.setProperty("answer", True)
        self.text.clear()
        cursor = QTextCursor(self.text.document())
        shape = QTextCharFormat()
        shape.setForeground(self._themes.theme.colour("ink"))
        cursor.setBlockFormat(_block_format())
        cursor.insertText(answer, shape)

    def _say(self, strong: str, quiet: str) -> None:
        """Say something in place of an answer."""
        self.text.setProperty("answer", False)
        self.text.clear()
        cursor = QTextCursor(self.text.document())
        cursor.setBlockFormat(_block_format())
        for text, token in ((strong, "danger"), (quiet, "dim")):
            if text:
                shape = QTextCharFormat()
                shape.setForeground(self._themes.theme.colour(token))
                if not self.text.document().isEmpty():
                    cursor.insertBlock()
                cursor.insertText(text, shape)

    def _mark_differences(self) -> None:
        selections = []
        view = self._view
        if view is not None and self.text.property("answer"):
            colour = QColor(self._themes.theme.colour("warning"))
            colour.setAlphaF(MARK_OPACITY)
            for start, end in _within_lines(view.answer, view.differing):
                selection = QTextEdit.ExtraSelection()
                shape = QTextCharFormat()
                shape.setBackground(colour)
                selection.format = shape
                cursor = QTextCursor(self.text.document())
                cursor.setPosition(start)
                cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                selection.cursor = cursor
                selections.append(selection)
        self.text.setExtraSelections(selections)

    def _figure_line(self) -> str:
        view = self._view
        if view is None:
            return ""
        ink = self._themes.theme.css("ink")
        parts = []
        for label, value, unit in view.figures:
            words = [f"<font color='{ink}'>{escape(value).replace(' ', '&nbsp;')}</font>"]
            if label:
                words.insert(0, escape(label).replace(" ", "&nbsp;"))
            if unit:
                words.append(escape(unit).replace(" ", "&nbsp;"))
            parts.append("&nbsp;".join(words))
        return " &nbsp; ".join(parts)

    @Slot()
    def _fit(self) -> None:
        theme = self._themes.theme
        wanted = round(self.text.document().size().height()) + 2
        self.text.setFixedHeight(min(max(wanted, theme.px(_LEAST_PX)), theme.px(_MOST_PX)))

    def _colour(self) -> None:
        if self._view is not None:
            theme = self._themes.theme
            self._mark.setStyleSheet(
                f"background: {theme.css(self._view.colour)}; border-radius: {theme.px(3)}px;"
            )

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(14)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(12))
        self._column.setSpacing(theme.px(8))
        self._head.setSpacing(theme.px(8))
        self._figures.setFont(theme.font(11))
        self._mark.setFixedSize(theme.px(10), theme.px(10))
        self.text.setFont(theme.text_font)
        self.text.setStyleSheet(
            "QTextEdit { background: transparent; border: 1px solid transparent; padding: 0; }"
            f"QTextEdit:focus {{ border-color: {theme.css('accent')}; }}"
        )
        self._colour()
        self._fit()
        if self._view is not None:
            view, self._view = self._view, None
            self.text.setProperty("answer", False)
            self.set_view(view, running=self._running)


def _block_format() -> QTextBlockFormat:
    """Return lines with the air of the chat's."""
    block = QTextBlockFormat()
    block.setLineHeight(_LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    return block


def _within_lines(text: str, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield ranges cut at the ends of lines, so that no empty line is marked.

    Qt counts UTF-16 units, so places behind characters beyond them are shifted.
    """
    wide = [index for index, letter in enumerate(text) if ord(letter) > 0xFFFF]

    def place(index: int) -> int:
        return index + sum(1 for at in wide if at < index)

    for start, end in ranges:
        at = start
        for part in text[start:end].split("\n"):
            if part.strip():
                yield place(at), place(at + len(part))
            at += len(part) + 1
