"""What will be compared: the prompt, a line of settings, and the button that runs it."""

from __future__ import annotations

from math import ceil
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.views import SetupView
from app.ui.elide import ElidedButton, ElidedLabel
from app.ui.second_click import SecondClick
from app.ui.theme import ThemeManager
from app.ui.wrapping import WrappingRow

__all__ = ["SetupCard"]

_MOST_LINES: Final = 5


class _Prompt(QPlainTextEdit):
    """A text that says when its lines may be others.

    Signals:
        wrapped(): its width is another one.
    """

    wrapped = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Say so, once the lines are wrapped."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.wrapped.emit()

    def fit(self, most: int, air_px: int) -> None:
        """Take the height of the lines, of at most so many; with more there is a scroll bar.

        The bar is not left to Qt: it takes width, so that lines wrap otherwise, and what needed it
        may need it no more without it, round and round. Here it goes only where the lines fit
        beside it; then they fit without it, too.
        """
        height, are_more = self._lines(most)
        always, never = Qt.ScrollBarPolicy.ScrollBarAlwaysOn, Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(always if are_more else never)
        self.setFixedHeight(height + air_px)

    def _lines(self, most: int) -> tuple[int, bool]:
        """Return the height of at most so many lines as Qt lays them out, and if there are more."""
        found, height, block = 0, 0.0, self.document().begin()
        while block.isValid() and found < most:
            self.blockBoundingRect(block)  # lays it out
            whole = block.layout().boundingRect().height()
            count = max(block.layout().lineCount(), 1)
            height += whole * min(count, most - found) / count
            found += count
            block = block.next()
        return ceil(height), found > most or block.isValid()


class SetupCard(QFrame):
    """The card at the top.

    Signals:
        run_wanted(str prompt), stop_wanted()
        options_wanted(): temperature, seed and so on are to be changed.
        variants_wanted(): variants are to be chosen.
    """

    run_wanted = Signal(str)
    stop_wanted = Signal()
    options_wanted = Signal()
    variants_wanted = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._themes = themes
        self._view = SetupView(options="", how="")
        self.prompt = _Prompt(self)
        self.prompt.setProperty("kind", "bare")
        self.prompt.setPlaceholderText(self.tr("Ask all variants the same question."))
        self.prompt.setAccessibleName(self.tr("Prompt for all variants"))
        self.prompt.setTabChangesFocus(True)
        # All is wrapped; a bar below would cover the last line.
        self.prompt.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.prompt.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.prompt.installEventFilter(self)
        self.prompt.wrapped.connect(self._fit)
        self.prompt.document().documentLayout().documentSizeChanged.connect(self._fit)
        first = QWidget(self)
        first.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.options = ElidedButton("", first, self.tr("Change what all variants share"))
        self.options.setProperty("kind", "flat")
        self.options.clicked.connect(self.options_wanted)
        self.variants = QPushButton(self.tr("Choose variants…"), first)
        self.variants.setProperty("kind", "flat")
        self.variants.clicked.connect(self.variants_wanted)
        self._how = ElidedLabel("", self)
        self._how.setProperty("kind", "faint")
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
        self.run = QPushButton(self.tr("Run"), self)
        self.run.setProperty("kind", "primary")
        self.run.clicked.connect(self._on_run_clicked)
        self.stop = QPushButton(self.tr("Stop"), self)
        self.stop.setProperty("kind", "ink")
        self.stop.clicked.connect(self._on_stop_clicked)
        self._second_click = SecondClick()
        self._row = QHBoxLayout(first)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.addWidget(self.options)
        self._row.addWidget(self.variants)
        self._row.addStretch(1)
        others = (self._how, self.progress, self.run, self.stop)
        self._whole = WrappingRow(first, others, self)
        self._problem = QLabel(self)
        self._problem.setProperty("kind", "error")
        self._problem.setWordWrap(True)
        self._column = QVBoxLayout(self)
        self._text_row = QHBoxLayout()
        self._text_row.addWidget(self.prompt)
        self._column.addLayout(self._text_row)
        self._column.addWidget(self._whole)
        self._column.addWidget(self._problem)
        themes.changed.connect(self._space)
        self._space()
        self.set_view(self._view)

    def set_view(self, view: SetupView) -> None:
        """Show what will be run, or how far it is."""
        if view.is_running and not self._view.is_running:
            self._second_click.begin()
        self._view = view
        self.options.setText(view.options)
        self._share_row()
        self.options.setEnabled(not view.is_running)
        self.variants.setEnabled(not view.is_running)
        self.prompt.setReadOnly(view.is_running)
        self._how.setText(view.doing if view.is_running else view.how)
        self._how.setVisible(bool(self._how.text()))
        self.progress.setVisible(view.is_running)
        if view.progress is not None:
            self.progress.setValue(round(view.progress * 1000))
        had_focus = self.run.hasFocus() or self.stop.hasFocus()
        self.stop.setVisible(view.is_running)
        if had_focus and view.is_running:
            self.stop.setFocus()  # before the other one hands the focus on to anybody
        self.run.setEnabled(not view.is_running and view.can_run and not view.problem)
        self.run.setVisible(not view.is_running)
        if had_focus and not view.is_running:
            self.run.setFocus()
        self._problem.setText("" if view.is_running else view.problem)
        self._problem.setVisible(bool(self._problem.text()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Run with Ctrl+Enter."""
        if (
            watched is self.prompt
            and event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            if self.run.isEnabled():
                self._on_run()
            return True
        return super().eventFilter(watched, event)

    @Slot()
    def _on_run(self) -> None:
        self.run_wanted.emit(self.prompt.toPlainText().strip())

    @Slot()
    def _on_run_clicked(self) -> None:
        if not self._second_click.is_due:
            self._on_run()

    @Slot()
    def _on_stop_clicked(self) -> None:
        if not self._second_click.is_due:
            self._second_click.begin()  # of a stop that takes no time
            self.stop_wanted.emit()

    @Slot()
    def _fit(self) -> None:
        self.prompt.fit(_MOST_LINES, self._themes.theme.px(4))

    def _share_row(self) -> None:
        """Let what will be run and how stand beside each other only where both have room."""
        words = self.options.sizeHint().width() + self.variants.sizeHint().width()
        gap = self._themes.theme.px(8)
        self._whole.set_sizes(gap, words + 2 * gap)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        # The buttons' words stand below the prompt's: 7 px of the margin are within their frames.
        inset = theme.px(7)
        side = theme.px(12)
        self._column.setContentsMargins(side - inset, theme.px(10), side, theme.px(10))
        self._text_row.setContentsMargins(inset, 0, 0, 0)
        self._problem.setContentsMargins(inset, 0, 0, 0)
        self._column.setSpacing(theme.px(8))
        self._row.setSpacing(theme.px(8))
        self.progress.setFixedWidth(theme.px(110))
        self._share_row()
        self.prompt.document().setDocumentMargin(0)
        self.prompt.setFont(theme.text_font)
        self._fit()
