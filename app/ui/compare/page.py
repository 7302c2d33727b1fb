"""The Compare page: prompt, answers side by side, table, charts, places that differ."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.bars import DecodeBars
from app.ui.compare.column import AnswerCard
from app.ui.compare.differences import DifferencesCard
from app.ui.compare.scatter import FaithfulnessChart
from app.ui.compare.setup import SetupCard
from app.ui.compare.table import FigureTable
from app.ui.compare.views import BarView, ColumnView, DotView, EarlierView, RunOffer, TableView
from app.ui.elide import ElidedLabel
from app.ui.empty_state import EmptyState
from app.ui.icons import IconKeeper, icon_at_end
from app.ui.page_area import PageArea
from app.ui.page_head import PageHead
from app.ui.save_file import choose_report, file_stem, today
from app.ui.shell.bars import NoticeArea
from app.ui.shell.views import Choice, Notice
from app.ui.theme import ThemeManager

__all__ = ["ComparePage"]

_RUN: Final = "run"
_NARROW_PX: Final = 700
_COLUMN_PX: Final = 260


class _Card(QFrame):
    """A chart below its title."""

    def __init__(
        self, themes: ThemeManager, title: str, about: str, chart: QWidget, nothing: str
    ) -> None:
        super().__init__()
        self.setObjectName("card")
        self._themes = themes
        self.chart = chart
        heading = QLabel(title, self)
        heading.setProperty("kind", "strong")
        heading.setWordWrap(True)
        side = ElidedLabel(about, self)
        side.setProperty("kind", "dim")
        self._nothing = QLabel(nothing, self)
        self._nothing.setProperty("kind", "faint")
        self._nothing.setWordWrap(True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._head = QHBoxLayout()
        self._head.addWidget(heading, 1)
        self._head.addWidget(side)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(chart, 1)
        self._column.addWidget(self._nothing, 1)
        themes.changed.connect(self._space)
        self._space()

    def set_filled(self, filled: bool) -> None:
        """Show the chart, or why there is none."""
        self.chart.setVisible(filled)
        self._nothing.setVisible(not filled)

    def set_nothing(self, sentence: str) -> None:
        """Say why there is no chart."""
        self._nothing.setText(sentence)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(14)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(12))
        self._column.setSpacing(theme.px(8))


class _Nothing(QFrame):
    """What stands in place of answers while no variants are chosen."""

    def __init__(self, themes: ThemeManager) -> None:
        super().__init__()
        self.setObjectName("card")
        self._themes = themes
        self.state = EmptyState(themes, "compare", self)
        self.state.say(
            self.tr("Two to six variants, one prompt"),
            self.tr(
                "They answer one after another, each in an engine of its own. What a smaller file "
                "gains in speed and loses in faithfulness stands beside what its bytes predict."
            ),
        )
        self.choose = self.state.add_button(self.tr("Choose variants…"), primary=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.state)
        themes.changed.connect(self._space)
        self._space()

    @Slot()
    def _space(self) -> None:
        self.setMinimumHeight(self._themes.theme.px(320))


class ComparePage(QWidget):
    """Holds the parts.

    Signals:
        shown(): the page came on screen.
        report_wanted(str path): the report is to be written there.
        opened(str key), deleted(str key): a kept comparison.
        reference_wanted(int), removed(int): of a variant.
        run_again_wanted(): the comparison is to be run once more.
        measure_wanted(int): one variant alone is to be run once more.
        disturbed_wanted(): those alone whose rates something disturbed.
        reading_wanted(): quality alone is to be measured once more, against the present reference.
    """

    shown = Signal()
    report_wanted = Signal(str)
    opened = Signal(str)
    deleted = Signal(str)
    reference_wanted = Signal(int)
    removed = Signal(int)
    run_again_wanted = Signal()
    measure_wanted = Signal(int)
    disturbed_wanted = Signal()
    reading_wanted = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("comparePage")
        self._themes = themes
        self._earlier: tuple[EarlierView, ...] = ()
        self._cards: dict[int, AnswerCard] = {}
        self._order: tuple[int, ...] = ()
        self._labels: tuple[str, ...] = ()
        self._placed: dict[int, tuple[int, int]] = {}
        self.setup = SetupCard(themes)
        self.table = FigureTable(themes)
        self.bars = DecodeBars(themes)
        self.bars.setAccessibleName(self.tr("Decode rates"))
        self.scatter = FaithfulnessChart(themes)
        self.scatter.setAccessibleName(self.tr("Speed against faithfulness"))
        self._bar_card = _Card(
            themes,
            self.tr("Decode: measured bar, predicted band, ceiling line"),
            self.tr("tok/s"),
            self.bars,
            self.tr("Rates stand here after a run."),
        )
        self._dot_card = _Card(
            themes,
            self.tr("Speed against faithfulness"),
            self.tr("up and right is better"),
            self.scatter,
            self.tr("Held against the reference after a run with quality."),
        )
        self.differences = DifferencesCard(themes)
        self._content = QWidget()
        self._content.setObjectName("compareContent")
        self._answers = QGridLayout()
        self._charts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._charts.addWidget(self._bar_card, 1)
        self._charts.addWidget(self._dot_card, 1)
        self._empty = _Nothing(themes)
        self._empty.choose.clicked.connect(self.setup.variants_wanted)
        self._column = QVBoxLayout(self._content)
        self.notices = NoticeArea(themes, self._content)
        self.notices.hide()
        self.notices.shown_changed.connect(self.notices.setVisible)
        self.notices.chosen.connect(self._on_offer)
        self._column.addWidget(self.setup)
        self._column.addWidget(self.notices)
        self._column.addWidget(self._empty)
        self._column.addLayout(self._answers)
        self._column.addWidget(self.table)
        self._column.addLayout(self._charts)
        self._column.addWidget(self.differences)
        self._column.addStretch(1)
        self._area = PageArea(self._content, self)
        self._head = self._make_head()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._head)
        outer.addWidget(self._area, 1)
        themes.changed.connect(self._space)
        self._space()
        self.set_results(TableView(), (), ())

    def _make_head(self) -> PageHead:
        self.earlier = QPushButton(self.tr("Earlier"), self)
        IconKeeper(self.earlier, self._themes, "chevron-down", "dim", 14)
        icon_at_end(self.earlier)
        self.earlier.clicked.connect(self._open_earlier)
        self.save = QPushButton(self.tr("Save report"), self)
        IconKeeper(self.save, self._themes, "import", "dim", 14)
        self.save.clicked.connect(self._choose_report)
        return PageHead(self._themes, self.tr("Compare"), (self.earlier, self.save), self)

    # --- what is shown

    def set_title(self, model: str) -> None:
        """Name the model whose variants are compared."""
        self._head.set_tag(model)

    def _report_name(self) -> str:
        """Return what a report is about: the model and its variants."""
        return f"{self._head.tag()} {' '.join(self._labels)}".strip()

    def set_columns(self, columns: tuple[ColumnView, ...], *, running: bool) -> None:
        """Show the variants."""
        for key in [key for key in self._cards if key not in {view.key for view in columns}]:
            card = self._cards.pop(key)
            self._answers.removeWidget(card)
            card.hide()
            card.deleteLater()
        for view in columns:
            card = self._cards.get(view.key) or self._new_card(view.key)
            card.set_view(view, running=running)
        self._order = tuple(view.key for view in columns)
        self._labels = tuple(view.label for view in columns)
        self._empty.setVisible(not columns)
        self._lay_answers()

    def append(self, key: int, text: str) -> None:
        """Add streamed text to a variant's answer."""
        card = self._cards.get(key)
        if card is not None:
            card.append(text)

    def set_results(
        self, table: TableView, bars: tuple[BarView, ...], dots: tuple[DotView, ...]
    ) -> None:
        """Show figures, as far as there are some."""
        self.table.setVisible(bool(table.rows))
        self.table.set_view(table)
        self.bars.set_bars(bars)
        self.scatter.set_dots(dots)
        some = bool(table.rows)
        self._bar_card.setVisible(some)
        self._dot_card.setVisible(some)
        self._bar_card.set_filled(any(bar.per_s is not None for bar in bars))
        self._dot_card.set_filled(bool(dots))
        self.save.setEnabled(some)

    def set_no_quality(self, sentence: str) -> None:
        """Say why there is no figure of faithfulness."""
        self._dot_card.set_nothing(sentence)

    def set_earlier(self, earlier: tuple[EarlierView, ...]) -> None:
        """Offer comparisons that were kept."""
        self._earlier = earlier
        self.earlier.setEnabled(bool(earlier))

    def offer_run(self, offer: RunOffer | None) -> None:
        """Say what another run would change, with buttons for it; None says nothing."""
        if offer is None:
            self.notices.remove_notice(_RUN)
        elif _RUN not in self.notices.notices() or self.notices.bar(_RUN).text != offer.sentence:
            part = Choice(offer.part, offer.part_text, "primary")
            again = Choice("run", self.tr("Run all again"))
            notice = Notice(_RUN, offer.sentence, choices=(part, again), closable=False)
            self.notices.show_notice(notice)

    @Slot(str, str)
    def _on_offer(self, _key: str, choice: str) -> None:
        wanted = {
            "run": self.run_again_wanted,
            "disturbed": self.disturbed_wanted,
            "reading": self.reading_wanted,
        }
        wanted[choice].emit()

    def say(self, sentence: str) -> None:
        """Say that something was done, or could not be."""
        self._head.say(sentence)

    def said(self) -> str:
        """Return what was said last."""
        return self._head.said()

    def picture(self) -> QPixmap:
        """Return the page as a picture, what is scrolled away included."""
        layout = self._content.layout()
        if layout is not None:
            layout.activate()
        return self._content.grab()

    # --- events

    def showEvent(self, event: object) -> None:
        """Tell that the page came on screen."""
        super().showEvent(event)  # type: ignore[arg-type]
        self.shown.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set charts and answers beside or below each other."""
        super().resizeEvent(event)
        narrow = self.width() < _NARROW_PX * self._themes.theme.scale
        self._charts.setDirection(
            QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        )
        self._lay_answers()

    def minimumSizeHint(self) -> QSize:
        """Allow any size: the page scrolls."""
        return QSize(0, 0)

    # --- inner

    def _new_card(self, key: int) -> AnswerCard:
        card = AnswerCard(self._themes, self._content)
        card.reference_wanted.connect(self.reference_wanted)
        card.measure_wanted.connect(self.measure_wanted)
        card.removed.connect(self.removed)
        self._cards[key] = card
        card.show()
        return card

    def _lay_answers(self) -> None:
        theme = self._themes.theme
        room = self.width() - 2 * theme.px(22)
        fitting = max(1, min(len(self._order), room // max(theme.px(_COLUMN_PX), 1)))
        if len(self._order) > fitting:
            # Rows of equal length rather than one straggler.
            rows = -(-len(self._order) // fitting)
            fitting = -(-len(self._order) // rows)
        places = {key: divmod(index, fitting) for index, key in enumerate(self._order)}
        if self._placed == places:
            return
        self._placed = places
        for key in self._order:
            self._answers.removeWidget(self._cards[key])
        for column in range(6):
            self._answers.setColumnStretch(column, 1 if column < fitting else 0)
        for key, (row, column) in places.items():
            self._answers.addWidget(self._cards[key], row, column)

    @Slot()
    def _open_earlier(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for view in self._earlier:
            action = menu.addAction(f"{view.title}    {view.when}")
            action.triggered.connect(lambda _checked=False, key=view.key: self.opened.emit(key))
        menu.addSeparator()
        gone = menu.addMenu(self.tr("Delete"))
        for view in self._earlier:
            action = gone.addAction(f"{view.title}    {view.when}")
            action.triggered.connect(lambda _checked=False, key=view.key: self.deleted.emit(key))
        menu.popup(self.earlier.mapToGlobal(QPoint(0, self.earlier.height())))

    @Slot()
    def _choose_report(self) -> None:
        stem = file_stem(f"Compare {self._report_name()}", today())
        choose_report(self, stem, self.report_wanted.emit)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(22)
        self._column.setContentsMargins(side, theme.px(6), side, theme.px(12))
        self._column.setSpacing(theme.px(14))
        self._answers.setSpacing(theme.px(12))
        self._charts.setSpacing(theme.px(14))
        self.setStyleSheet(
            f"#comparePage, #compareContent {{ background: {theme.css('background')}; }}"
        )
